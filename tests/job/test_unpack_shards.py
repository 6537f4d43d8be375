"""unpack_shards: the pictures of a set come back as they are stored, wherever it came from, and
nothing is written outside of the output."""

import json
import os

import h5py
import harness
import numpy
import pictures
import pytest
import sets
from PIL import Image


def unpack(folder, target, *options, **more):
    return harness.run([harness.program("unpack_shards"), folder, target, *options], **more)


def listed(folder):
    """The lines of samples.jsonl behind the first."""
    lines = [json.loads(line) for line in (folder / "samples.jsonl").read_text("utf-8").splitlines()]
    assert lines[0]["format"] == "lockstep-unpacked"
    return lines[1:]


def expect_pictures(folder, contents, indices):
    """The folder holds these samples of a set, and nothing else."""
    entries = listed(folder)
    assert [entry["index"] for entry in entries] == list(indices)
    for entry in entries:
        index = entry["index"]
        assert numpy.array_equal(numpy.asarray(Image.open(folder / entry["file"])),
                                 contents.images[index])
        assert entry["label"] == contents.labels[index]
        assert entry["class"] == contents.classes[entry["label"]]
        assert entry["source"] == contents.paths[index]
    written = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert written == {"samples.jsonl"} | {entry["file"] for entry in entries}


@pytest.fixture
def source(tmp_path):
    folder = pictures.write_folder(tmp_path / "in", {"b c": 5, "été": 4, "10": 6}, size=(12, 10))
    pictures.write_folder(folder / "10", {"deep": 3}, size=(12, 10), seed=8)
    return folder


def test_all_pictures_come_back(source, tmp_path):
    sets.pack(source, tmp_path / "set", "--shards", 3).ok()
    result = unpack(tmp_path / "set", tmp_path / "out").ok()
    assert "unpacked 18 of 18 samples" in result.out
    contents = sets.Contents(tmp_path / "set")
    expect_pictures(tmp_path / "out", contents, range(18))
    for path, image in contents.by_path().items():
        name = path.replace("10/deep/", "10/deep_")
        assert numpy.array_equal(numpy.asarray(Image.open(tmp_path / "out" / name)), image)


def test_packed_again_it_is_the_same_set(source, tmp_path):
    sets.pack(source, tmp_path / "set", "--size", 8).ok()
    unpack(tmp_path / "set", tmp_path / "out").ok()
    result = sets.pack(tmp_path / "out", tmp_path / "again").ok()
    assert "found 19 files = 18 packed + 1 ignored + 0 bad" in result.out
    first, second = sets.Contents(tmp_path / "set"), sets.Contents(tmp_path / "again")
    assert first.classes == second.classes

    def samples(contents):
        return sorted((path.replace("deep/", "deep_"), label, image.tobytes()) for path, label, image
                      in zip(contents.paths, contents.labels.tolist(), contents.images))

    assert samples(first) == samples(second)
    assert first.info["mean"] == second.info["mean"]


def test_lossy_pictures_come_back_as_they_were_decoded(tmp_path):
    pictures.write_folder(tmp_path / "in", {"a": 6, "b": 6}, suffix=".jpg")
    sets.pack(tmp_path / "in", tmp_path / "set").ok()
    unpack(tmp_path / "set", tmp_path / "out").ok()
    contents = sets.Contents(tmp_path / "set")
    expect_pictures(tmp_path / "out", contents, range(12))
    sets.pack(tmp_path / "out", tmp_path / "again").ok()
    again = sets.Contents(tmp_path / "again").by_path()
    for path, image in contents.by_path().items():
        assert numpy.array_equal(again[path.replace(".jpg", ".png")], image)


def test_samples_by_index(source, tmp_path):
    sets.pack(source, tmp_path / "set").ok()
    contents = sets.Contents(tmp_path / "set")
    result = unpack(tmp_path / "set", tmp_path / "out", "--index", "7,3", "--index", 11).ok()
    expect_pictures(tmp_path / "out", contents, [3, 7, 11])
    for index in (3, 7, 11):
        label, path = contents.labels[index], contents.paths[index]
        assert (f"sample {index}: label {label}, class '{contents.classes[label]}', from '{path}', "
                f"in {tmp_path}/out/{path.replace('deep/', 'deep_')}") in result.out
    assert "unpacked 3 of 18 samples" in result.out
    # A sample has the same name whatever is written with it.
    unpack(tmp_path / "set", tmp_path / "all").ok()
    names = {entry["index"]: entry["file"] for entry in listed(tmp_path / "all")}
    assert all(names[entry["index"]] == entry["file"] for entry in listed(tmp_path / "out"))


def test_limit(source, tmp_path):
    sets.pack(source, tmp_path / "set").ok()
    unpack(tmp_path / "set", tmp_path / "out", "--limit", 5).ok()
    expect_pictures(tmp_path / "out", sets.Contents(tmp_path / "set"), range(5))
    unpack(tmp_path / "set", tmp_path / "more", "--limit", 500).ok()
    expect_pictures(tmp_path / "more", sets.Contents(tmp_path / "set"), range(18))


# ---- sets that are not as they should be

def rewrite(folder, paths=None, classes=None):
    """Puts other texts into a set of one shard, as its maker might."""
    def text(values):
        raw = [value if isinstance(value, bytes) else value.encode() for value in values]
        return numpy.array(raw, dtype=h5py.string_dtype("utf-8", max(map(len, raw)) or 1))

    with h5py.File(folder / "00000.h5", "r+") as file:
        for name, values in (("source_paths", paths), ("classes", classes)):
            if values is not None:
                del file[name]
                file[name] = text(values)
    if classes is not None:
        info = json.loads((folder / "set.json").read_text("utf-8"))
        info["classes"] = classes
        (folder / "set.json").write_text(json.dumps(info), "utf-8")


def test_no_name_leads_out_of_the_output(tiny_set, copy_set, tmp_path):
    folder = copy_set(tiny_set(24))
    paths = ["../../../evil.png", "/etc/evil.png", "..", ".", "../", ".hidden", "a/../../evil", "",
             "x.png", "x.jpg", "X.png", "c0/../../../evil.png", "line\nbreak", "new" * 100,
             b"\xff\xfe.png"]
    paths += [f"c0/{i}.png" for i in range(24 - len(paths))]
    rewrite(folder, paths, ["../up", "/abs", ".."])
    before = sets.file_bytes(tmp_path)
    unpack(folder, tmp_path / "deep/er/out").ok()
    after = sets.file_bytes(tmp_path)
    new = set(after) - set(before)
    assert len(new) == 25 and all(name.startswith("deep/er/out/") for name in new)
    entries = listed(tmp_path / "deep/er/out")
    names = [entry["file"] for entry in entries]
    assert len({name.lower() for name in names}) == 24
    for name in names:
        parts = name.split("/")
        assert len(parts) == 2 and not any(part.startswith(".") for part in parts), name
        assert name.endswith(".png") and len(name.encode()) < 255
    assert not os.path.exists("/etc/evil.png")
    with h5py.File(folder / "00000.h5", "r") as file:
        images = file["images"][...]
    for entry in entries:
        picture = Image.open(tmp_path / "deep/er/out" / entry["file"])
        assert numpy.array_equal(numpy.asarray(picture), images[entry["index"]])


def test_a_damaged_sample_is_named_and_nothing_written(tiny_set, copy_set, tmp_path):
    folder = copy_set(tiny_set(24, pack=("--shards", "2")))
    with h5py.File(folder / "00001.h5", "r") as file:
        offset = file["images"].id.get_offset()
    data = bytearray((folder / "00001.h5").read_bytes())
    data[offset + 5 * 16 * 16 * 3 + 100] ^= 1
    (folder / "00001.h5").write_bytes(data)
    sets.said(unpack(folder, tmp_path / "out"), 1, "sample 17", "checksum")
    assert not (tmp_path / "out").exists() and sets.leftovers(tmp_path) == []
    unpack(folder, tmp_path / "out", "--index", 16).ok()
    sets.said(unpack(folder, tmp_path / "out", "--index", 17, "--overwrite"), 1, "sample 17")
    assert [entry["index"] for entry in listed(tmp_path / "out")] == [16]


def test_what_unpack_shards_did_not_make_is_never_overwritten(tiny_set, source, tmp_path):
    folder = tiny_set(24)
    before = sets.file_bytes(source)
    sets.said(unpack(folder, source), 2, "exists", "--overwrite")
    sets.said(unpack(folder, source, "--overwrite"), 2, "something else than")
    assert sets.file_bytes(source) == before
    sets.pack(source, tmp_path / "set").ok()
    sets.said(unpack(folder, tmp_path / "set", "--overwrite"), 2, "something else than")
    unpack(folder, tmp_path / "out").ok()
    sets.said(sets.pack(source, tmp_path / "out", "--overwrite"), 2, "something else than")
    unpack(folder, tmp_path / "out", "--overwrite", "--limit", 3).ok()
    assert len(listed(tmp_path / "out")) == 3
    (tmp_path / "out" / "c0" / "mine.png").write_bytes(b"mine")
    before = sets.file_bytes(tmp_path / "out")
    sets.said(unpack(folder, tmp_path / "out", "--overwrite"), 2, "something else than")
    assert sets.file_bytes(tmp_path / "out") == before


def test_wrong_use(tiny_set, tmp_path):
    folder = tiny_set(24)
    out = tmp_path / "out"
    text = harness.run([harness.program("unpack_shards"), "--help"]).ok().out
    for word in ("SET OUT", "OUT/CLASS/NAME.png", "--index", "--limit", "--overwrite"):
        assert word in text
    for options, words in [
            (("--index", 24), ["--index 24", "0 to 23"]), (("--index", -1), ["--index"]),
            (("--index", "3,x"), ["--index"]), (("--index", "3,"), ["--index"]),
            (("--index", ""), ["--index"]), (("--limit", 0), ["--limit"]),
            (("--index", 1, "--limit", 2), ["--index and --limit"]),
            (("--limit", 1, "--limit", 2), ["twice"])]:
        sets.said(unpack(folder, out, *options), 2, *words)
    sets.said(unpack(tmp_path / "nowhere", out), 2, "nowhere")
    sets.said(unpack(folder, folder / "out"), 2, "lies in SET")
    sets.said(harness.run([harness.program("unpack_shards"), folder]), 2, "OUT is not given")
    assert os.listdir(tmp_path) == []
