"""pack_cifar: every version of the archives, in every way that Python pickles them, and none that
would run anything."""

import os
import pickle

import archives
import harness
import numpy
import pytest
import sets


def pack(source, target, *options, **more):
    return harness.run([harness.program("pack_cifar"), source, target, *options], **more)


def expect_cifar10(folder, suffix="", names=False):
    """The two sets hold the pictures of archives.cifar10_batches()."""
    batches = archives.cifar10_batches()
    for part in ("train", "test"):
        contents = sets.Contents(folder / part)
        assert contents.classes == contents.info["classes"] == archives.CIFAR10
        wanted = {}
        for batch, (images, labels) in batches.items():
            if (batch == "test_batch") == (part == "test"):
                for i, (image, label) in enumerate(zip(images, labels)):
                    more = f"-{batch}_{i}.png" if names else ""
                    wanted[f"{batch}{suffix}/{i:06d}{more}"] = (image.transpose(1, 2, 0), label)
        assert set(contents.paths) == set(wanted) and len(contents.paths) == len(wanted)
        for path, image in contents.by_path().items():
            assert numpy.array_equal(image, wanted[path][0]), path
        assert contents.label_of() == {path: label for path, (_, label) in wanted.items()}
        sets.inspect(folder / part, "--verify").ok()


@pytest.mark.parametrize("form", ["archive", "plain", "folder"])
def test_binary_version(form, tmp_path):
    files = archives.cifar10_binary()
    if form == "folder":
        source = archives.write_files(tmp_path / "cifar-10-batches-bin", files)
    else:
        source = archives.write_archive(tmp_path / "cifar-10-binary.tar.gz", files)
        if form == "plain":
            source = tmp_path / "cifar.tar"
            source.write_bytes(archives.gzip.decompress(
                (tmp_path / "cifar-10-binary.tar.gz").read_bytes()))
    result = pack(source, tmp_path / "out").ok()
    expect_cifar10(tmp_path / "out", ".bin")
    assert "packed 36 pictures of CIFAR-10, binary version" in result.out
    assert "note: train has 30 pictures, that of the official archive has 50000" in result.out
    assert "note: test has 6 pictures, that of the official archive has 10000" in result.out


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("protocol", [2, None, 3, 4, 5])
def test_python_version_in_every_protocol(protocol, order, tmp_path):
    files = archives.cifar10_python(protocol=protocol, order=order)
    source = archives.write_archive(tmp_path / "cifar-10-python.tar.gz", files)
    result = pack(source, tmp_path / "out").ok()
    expect_cifar10(tmp_path / "out", names=True)
    assert "CIFAR-10, python version" in result.out


def test_all_protocols_make_the_same_set(tmp_path):
    made = []
    for protocol in (2, 4, 5):
        source = archives.write_files(tmp_path / f"in{protocol}",
                                      archives.cifar10_python(protocol=protocol))
        pack(source, tmp_path / f"out{protocol}").ok()
        made.append(sets.file_bytes(tmp_path / f"out{protocol}"))
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("version", ["binary", "python"])
@pytest.mark.parametrize("labels", ["default", "fine", "coarse"])
def test_cifar100(version, labels, tmp_path):
    files = getattr(archives, f"cifar100_{version}")()
    source = archives.write_archive(tmp_path / "cifar-100.tar.gz", files)
    options = () if labels == "default" else ("--labels", labels)
    pack(source, tmp_path / "out", *options).ok()
    for seed, part in enumerate(("train", "test")):
        contents = sets.Contents(tmp_path / "out" / part)
        assert contents.classes == (archives.COARSE if labels == "coarse" else archives.FINE)
        images = archives.pictures(12, seed).transpose(0, 2, 3, 1)
        fine = archives.labels(12, len(archives.FINE))
        for path, image, label in zip(contents.paths, contents.images, contents.labels):
            index = int(path.split("/")[1][:6])
            assert numpy.array_equal(image, images[index])
            assert label == (fine[index] // 2 if labels == "coarse" else fine[index])


def test_threads_seed_and_shards(tmp_path):
    source = archives.write_files(tmp_path / "in", archives.cifar10_binary())
    made = []
    for threads in (1, 2, 8):
        pack(source, tmp_path / f"out{threads}", "--threads", threads, "--shards", 2).ok()
        made.append(sets.file_bytes(tmp_path / f"out{threads}"))
    assert made[0] == made[1] == made[2]
    assert len(sets.Contents(tmp_path / "out1" / "train").info["shards"]) == 2
    pack(source, tmp_path / "other", "--seed", 3).ok()
    pack(source, tmp_path / "same", "--seed", 0).ok()
    assert sets.Contents(tmp_path / "other/train").paths != sets.Contents(tmp_path / "same/train").paths
    assert sets.Contents(tmp_path / "same/train").paths == sets.Contents(tmp_path / "out1/train").paths
    labels = sets.Contents(tmp_path / "same/train").labels.tolist()
    assert sorted(labels) != labels, "the order is not shuffled"


def test_size(tmp_path):
    source = archives.write_files(tmp_path / "in", archives.cifar10_binary())
    pack(source, tmp_path / "out", "--size", "8x40", "--fit", "pad", "--background", "1,2,3").ok()
    images = sets.Contents(tmp_path / "out" / "test").images
    assert images.shape == (6, 8, 40, 3)
    assert (images[:, :, :16] == [1, 2, 3]).all()


# ---- pickles that are more than data

class Calls:
    """What unpickling of it would do is to make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def with_batch(change, protocol=2):
    """The python version with one batch changed before it is pickled."""
    files = archives.cifar10_python(protocol=protocol)
    batch = pickle.loads(files["data_batch_3"])  # our own
    change(batch)
    files["data_batch_3"] = pickle.dumps(batch, protocol=protocol)
    return files


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_in_a_pickle_is_run(protocol, tmp_path):
    trap = tmp_path / "it_ran"
    for key in (b"data", b"labels", b"something else"):
        files = with_batch(lambda batch: batch.update({key: Calls(trap)}), protocol)
        source = archives.write_archive(tmp_path / "in.tar.gz", files)
        opcode = "GLOBAL" if protocol < 4 else "STACK_GLOBAL"
        sets.said(pack(source, tmp_path / "out"), 1, "data_batch_3", f"{opcode} at offset",
                  "system is not allowed")
        assert not trap.exists() and not (tmp_path / "out").exists()
    pickle.loads(files["data_batch_3"])
    assert trap.exists(), "the trap does not work"


@pytest.mark.parametrize("value, words", [
    (numpy.zeros((6, 3072), numpy.int64), ["data", "not unsigned bytes"]),
    (numpy.zeros((6, 3072), object), ["data_batch_3"]),
    (numpy.zeros((6, 3071), numpy.uint8), ["rows of 3072"]),
    (numpy.zeros((5, 3072), numpy.uint8), ["6 labels for 5 pictures"]),
    (b"bytes", ["data", "no array"]),
    ({1, 2}, ["data_batch_3", "offset"]),
])
def test_other_contents_are_named(value, words, tmp_path):
    source = archives.write_files(tmp_path / "in",
                                  with_batch(lambda batch: batch.update({b"data": value})))
    sets.said(pack(source, tmp_path / "out"), 1, *words)


def test_other_labels_are_named(tmp_path):
    for number, (labels, words) in enumerate([
            ([0, 1, 2, 3, 0, 1], ["record 3 has label 3 of 3 classes"]),
            ([0, 1, -1, 0, 0, 1], ["record 2 has label -1"]),
            ([0, 1, 0.5, 0, 0, 1], ["label 2 is no whole number"]),
            ([0, 1, numpy.int64(1), 0, 0, 1], ["scalar is not allowed"]),
            ((0, 1, 1, 0, 0, 1), ["no list"]),
            ([], ["0 labels for 6 pictures"])]):
        source = archives.write_files(tmp_path / f"in{number}",
                                      with_batch(lambda batch: batch.update({b"labels": labels})))
        sets.said(pack(source, tmp_path / "out"), 1, "data_batch_3", *words)


# ---- archives that are not whole

def test_a_cut_or_damaged_archive_leaves_nothing(tmp_path):
    whole = archives.write_archive(tmp_path / "whole.tar.gz", archives.cifar10_binary()).read_bytes()
    broken = tmp_path / "broken.tar.gz"
    for size in (0, 1, 15, 1000, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        broken.write_bytes(whole[:size])
        sets.said(pack(broken, tmp_path / "out"), 1, "broken.tar.gz")
    for place in (0, len(whole) // 3, len(whole) // 2, len(whole) - 6):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        broken.write_bytes(damaged)
        sets.said(pack(broken, tmp_path / "out"), 1, "broken.tar.gz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.tar.gz", "whole.tar.gz"]


def test_incomplete_archives_are_named(tmp_path):
    for number, (change, words) in enumerate([
            (lambda f: f.pop("data_batch_4.bin"), ["CIFAR-10, binary version", "data_batch_4.bin"]),
            (lambda f: f.pop("batches.meta.txt"), ["batches.meta.txt"]),
            (lambda f: f.update({"data_batch_2.bin": f["data_batch_2.bin"][:-1]}),
             ["data_batch_2.bin", "18437 bytes", "3073"]),
            (lambda f: f.clear(), ["no archive of CIFAR", "cifar-10-binary.tar.gz"])]):
        files = archives.cifar10_binary()
        change(files)
        source = archives.write_archive(tmp_path / f"in{number}.tar.gz", files)
        sets.said(pack(source, tmp_path / "out"), 1, *words)
        assert not (tmp_path / "out").exists()


def test_wrong_use(tmp_path):
    source = archives.write_files(tmp_path / "in", archives.cifar10_binary())
    out = tmp_path / "out"
    text = harness.run([harness.program("pack_cifar"), "--help"]).ok().out
    for word in ("cifar-10-binary.tar.gz", "--labels fine|coarse", "--seed", "--overwrite", "--size"):
        assert word in text
    version = harness.run([harness.program("pack_cifar"), "--version"]).ok().out
    assert version == harness.run([harness.program("pack_images"), "--version"]).ok().out
    assert version.startswith("lockstep ")
    sets.said(pack(tmp_path / "nowhere", out), 2, "nowhere")
    sets.said(pack(source, out, "--labels", "fine"), 2, "--labels has no effect", "CIFAR-10")
    sets.said(pack(source, out, "--labels", "course"), 2, "did you mean coarse?")
    sets.said(pack(source, out, "--background", "1,2,3"), 2, "--background has no effect")
    sets.said(pack(source, out, "--split", "80/20"), 2, "--split")
    sets.said(harness.run([harness.program("pack_cifar"), source]), 2, "OUT is not given")
    assert sorted(os.listdir(tmp_path)) == ["in"]
