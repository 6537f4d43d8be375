"""pack_idx: pairs of IDX files, grey and in colour, plain and gzip's, and what it refuses."""

import os

import archives
import harness
import numpy
import pytest
import sets
from PIL import Image


def pack(images, labels, target, *options, **more):
    return harness.run([harness.program("pack_idx"), images, labels, target, *options], **more)


def grey(count=30, height=9, width=7, seed=0):
    return numpy.random.default_rng(seed).integers(0, 256, (count, height, width)).astype(numpy.uint8)


def digits(count=30):
    return [(3 * i + 1) % 10 for i in range(count)]


@pytest.fixture
def pair(tmp_path):
    return archives.write_idx(tmp_path / "in", grey(), digits())


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_grey_pictures(suffix, tmp_path):
    files = archives.write_idx(tmp_path / "in", grey(), digits(), suffix)
    result = pack(*files, tmp_path / "set").ok()
    assert f"packed 30 pictures of {files[0]}" in result.out
    contents = sets.Contents(tmp_path / "set")
    assert contents.classes == list("0123456789")
    assert contents.info["class_counts"] == [3] * 10
    assert sorted(contents.paths) == [f"images-idx3-ubyte/{i:06d}" for i in range(30)]
    for path, image in contents.by_path().items():
        index = int(path[-6:])
        assert (image == grey()[index][:, :, None]).all()
        assert contents.label_of()[path] == digits()[index]
    sets.inspect(tmp_path / "set", "--verify").ok()


def test_pictures_in_colour(tmp_path):
    images = numpy.random.default_rng(1).integers(0, 256, (10, 5, 6, 3))
    files = archives.write_idx(tmp_path / "in", images, range(10), ".gz")
    pack(*files, tmp_path / "set").ok()
    for path, image in sets.Contents(tmp_path / "set").by_path().items():
        assert (image == images[int(path[-6:])]).all()


def test_plain_and_packed_files_make_the_same_set_with_any_threads(tmp_path):
    made = []
    for suffix, threads in (("", 1), (".gz", 2), ("", 8)):
        files = archives.write_idx(tmp_path / f"in{threads}", grey(300), digits(300), suffix)
        pack(*files, tmp_path / f"set{threads}", "--threads", threads, "--shards", 3).ok()
        made.append(sets.file_bytes(tmp_path / f"set{threads}"))
    assert len(made[0]) == 4
    assert made[0] == made[1] == made[2]


def test_the_order_is_that_of_pack_images(pair, tmp_path):
    """The same pictures and labels under the same paths: the same permutation of the same order."""
    pack(*pair, tmp_path / "idx", "--seed", 5).ok()
    folder = tmp_path / "files"
    for index, label in enumerate(digits()):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(grey()[index]).save(folder / str(label) / f"{index:06d}.png")
    sets.pack(folder, tmp_path / "images", "--seed", 5).ok()
    idx, images = sets.Contents(tmp_path / "idx"), sets.Contents(tmp_path / "images")
    assert [int(p[-6:]) for p in idx.paths] == [int(p[-10:-4]) for p in images.paths]
    assert (idx.images == images.images).all()


def test_size(pair, tmp_path):
    pack(*pair, tmp_path / "set", "--size", "18x14", "--fit", "stretch").ok()
    assert sets.Contents(tmp_path / "set").images.shape == (30, 18, 14, 3)


def test_names_of_classes(tmp_path):
    files = archives.write_idx(tmp_path / "in", grey(6), [0, 1, 2, 0, 1, 2])
    (tmp_path / "names.txt").write_text("T-shirt/top\nTrouser\nPullover\n")
    pack(*files, tmp_path / "set", "--classes", tmp_path / "names.txt").ok()
    assert sets.Contents(tmp_path / "set").classes == ["T-shirt/top", "Trouser", "Pullover"]
    sets.said(pack(*files, tmp_path / "other"), 2, "class '3' has no picture",
              "--allow-empty-classes")
    pack(*files, tmp_path / "other", "--allow-empty-classes").ok()
    assert sets.Contents(tmp_path / "other").info["class_counts"] == [2, 2, 2] + [0] * 7
    (tmp_path / "few.txt").write_text("T-shirt/top\nTrouser\n")
    sets.said(pack(*files, tmp_path / "no", "--classes", tmp_path / "few.txt"), 1, "sample 2",
              "label 2 of 2 classes", "--classes")
    (tmp_path / "twice.txt").write_text("a\na\n")
    sets.said(pack(*files, tmp_path / "no", "--classes", tmp_path / "twice.txt"), 2, "twice.txt")


def test_files_that_are_wrong_are_named(pair, tmp_path):
    images, labels = pair
    out = tmp_path / "set"
    sets.said(pack(labels, images, out), 1, labels.name, "[30] is not that of pictures", "first")
    sets.said(pack(images, images, out), 1, images.name, "[30, 9, 7] is not that of labels")
    for data, words in [
            (b"", ["does not begin as IDX files do"]),
            (images.read_bytes()[:-1], ["announces 1890 values", "there are 1889"]),
            (images.read_bytes() + b"x", ["more values than the 1890"]),
            (archives.gzip.compress(images.read_bytes())[:-4], ["cut off"]),
            (archives.idx(grey(29)), ["30 labels for 29 pictures"]),
            (bytes([0, 0, 13, 3]) + images.read_bytes()[4:], ["type 13"]),
            (archives.idx(numpy.zeros((30, 3, 9, 7))), ["[30, 3, 9, 7]"])]:
        images.write_bytes(data)
        sets.said(pack(images, labels, out), 1, *words)
    damaged = bytearray(archives.gzip.compress(archives.idx(grey())))
    damaged[len(damaged) // 2] ^= 1
    images.write_bytes(damaged)
    sets.said(pack(images, labels, out), 1, images.name, "damaged")
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_wrong_use(pair, tmp_path):
    out = tmp_path / "set"
    text = harness.run([harness.program("pack_idx"), "--help"]).ok().out
    for word in ("IMAGES LABELS OUT", "train-images-idx3-ubyte.gz", "--classes", "(default 0 to 9)",
                 "--size", "--overwrite"):
        assert word in text
    sets.said(pack(tmp_path / "nowhere", pair[1], out), 2, "nowhere")
    sets.said(pack(pair[0], tmp_path / "in", out), 2, "not a regular file")
    sets.said(pack(*pair, out, "--fit", "pad"), 2, "--fit has no effect")
    sets.said(pack(*pair, out, "more"), 2, "'more' is one argument too many")
    sets.said(harness.run([harness.program("pack_idx"), *pair]), 2, "OUT is not given")
    assert sorted(os.listdir(tmp_path)) == ["in"]
