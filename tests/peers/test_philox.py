"""The numpy generator against the published known-answer vectors of Philox and splitmix64."""

import numpy
import philox
import pytest


@pytest.mark.parametrize("counter, key, expected", [
    # Random123, kat_vectors, philox4x32 10
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
])
def test_philox_known_answers(counter, key, expected):
    words = philox.philox4x32(numpy.array(counter, dtype=numpy.uint32), key[0] | key[1] << 32)
    assert tuple(int(w) for w in words) == expected


def test_splitmix64_known_answers():
    # The first outputs of splitmix64 seeded with 1234567: state advances by the golden ratio.
    state, seen = 1234567, []
    for _ in range(3):
        seen.append(philox.mix64(state))
        state = (state + philox.GOLDEN) & philox.MASK64
    assert seen == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_random_words_are_per_item_and_block():
    words = philox.random_words(99, [5, 1 << 40], 3)
    one = philox.philox4x32(numpy.array([0, 256, 2, 0], dtype=numpy.uint32), 99)
    assert words.shape == (2, 3, 4)
    assert (words[1, 2] == one).all()


def test_dropout_rate_and_purity():
    keep = philox.dropout_keep(3, 7, 1, list(range(50)), 401, 0.25)
    assert abs(keep.mean() - 0.75) < 0.02
    assert (philox.dropout_keep(3, 7, 1, [9], 401, 0.25)[0] == keep[9]).all()
    assert (philox.dropout_keep(3, 8, 1, [9], 401, 0.25)[0] != keep[9]).any()
