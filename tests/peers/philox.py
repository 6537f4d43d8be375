"""The project's counter-based random numbers in numpy, written from their documentation alone
(base/seed.hpp, model/layers.hpp and data/augment.hpp below include/lockstep).
"""

import numpy

GOLDEN = 0x9E3779B97F4A7C15
MASK64 = (1 << 64) - 1
EPOCH_ORDER, AUGMENTATION, DROPOUT, INIT, HOLDOUT, PACKING = range(1, 7)


def mix64(x):
    """One step of splitmix64: adds the golden ratio, then mixes."""
    x = (x + GOLDEN) & MASK64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK64
    return x ^ (x >> 31)


def derive_key(seed, stream, a=0, b=0):
    key = mix64(seed)
    for word in (stream, a, b):
        key = mix64(key ^ word)
    return key


def philox4x32(counter, key):
    """Philox4x32-10. `counter` is uint32 [..., 4], `key` an int of 64 bits (low word first)."""
    c = [numpy.asarray(counter)[..., i].astype(numpy.uint64) for i in range(4)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    low = numpy.uint64(0xFFFFFFFF)
    shift = numpy.uint64(32)
    for _ in range(10):
        p0 = c[0] * numpy.uint64(0xD2511F53)
        p1 = c[2] * numpy.uint64(0xCD9E8D57)
        c = [(p1 >> shift) ^ c[1] ^ numpy.uint64(k0), p1 & low,
             (p0 >> shift) ^ c[3] ^ numpy.uint64(k1), p0 & low]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return numpy.stack(c, axis=-1).astype(numpy.uint32)


def random_words(key, items, blocks):
    """uint32 [len(items), blocks, 4]: the four words of every (item, block)."""
    items = numpy.asarray(items, dtype=numpy.uint64)[:, None]
    block = numpy.arange(blocks, dtype=numpy.uint64)[None, :]
    items, block = numpy.broadcast_arrays(items, block)
    low, shift = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
    counter = numpy.stack([items & low, items >> shift, block & low, block >> shift], axis=-1)
    return philox4x32(counter, key)


def draw_transforms(seed, epoch, ids, padding, flip):
    """dy, dx, flip of every sample, as lists."""
    words = random_words(derive_key(seed, AUGMENTATION, epoch), ids, 1)[:, 0].astype(numpy.uint64)
    bound, shift = numpy.uint64(2 * padding + 1), numpy.uint64(32)
    dy, dx = (words[:, 0] * bound) >> shift, (words[:, 1] * bound) >> shift
    flips = (words[:, 2] >> numpy.uint64(31)) if flip else numpy.zeros(len(ids))
    return [[int(v) for v in values] for values in (dy, dx, flips)]


def dropout_keep(seed, update, layer, ids, elements, probability):
    """bool [len(ids), elements]: what dropout keeps."""
    key = derive_key(seed, DROPOUT, update, layer)
    words = random_words(key, ids, -(-elements // 4)).reshape(len(ids), -1)[:, :elements]
    return words.astype(numpy.float64) * 2.0**-32 >= probability
