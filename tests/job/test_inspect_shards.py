"""inspect_shards: what it prints, that it finds every damage, and its contact sheet."""

import json
import os
import re

import h5py
import harness
import numpy
import pictures
import pytest
import sets
from PIL import Image


@pytest.fixture
def damaged(tiny_set, copy_set):
    """A copy of a set of 24 samples in 2 shards, to be damaged."""
    return copy_set(tiny_set(24, pack=("--shards", "2")))


def test_summary(tiny_set):
    folder = tiny_set({"ant": 4, "bee": 8, "cat": 12})
    info = json.loads((folder / "set.json").read_text())
    out = sets.inspect(folder).ok().out
    assert info["set_id"] in out
    assert re.search(r"samples\s+24 of 16x16", out)
    for value in info["mean"] + info["std"]:
        assert f"{value:.6f}" in out
    bars = {}
    for label, count, bar, name in re.findall(r"^\s+(\d+)\s+(\d+)\s+(#+)\s+(\w+)$", out, re.M):
        bars[name] = (int(label), int(count), len(bar))
    assert {n: b[:2] for n, b in bars.items()} == {"ant": (0, 4), "bee": (1, 8), "cat": (2, 12)}
    assert bars["ant"][2] < bars["bee"][2] < bars["cat"][2]


def test_verify_passes_on_a_whole_set(tiny_set):
    out = sets.inspect(tiny_set(24, pack=("--shards", "2")), "--verify").ok().out
    assert "verified: 24 samples" in out


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_one_flipped_bit_is_found_and_named(damaged):
    with h5py.File(damaged / "00001.h5", "r") as file:
        offset = file["images"].id.get_offset()
    flip(damaged / "00001.h5", offset + 5 * 16 * 16 * 3 + 100)
    sets.inspect(damaged).ok()
    result = sets.inspect(damaged, "--verify")
    sets.said(result, 1, "00001.h5", "sample 5")
    assert "00001.h5: the file differs" in result.out
    assert "00000.h5" not in result.out + result.err


def test_a_bit_beside_the_pictures_is_found(damaged):
    with h5py.File(damaged / "00000.h5", "r") as file:
        offset = file["source_paths"].id.get_offset()
    flip(damaged / "00000.h5", offset)
    sets.said(sets.inspect(damaged, "--verify"), 1, "00000.h5")


def test_wrong_mean_is_found(damaged):
    info = json.loads((damaged / "set.json").read_text())
    info["mean"][1] += 1e-6
    (damaged / "set.json").write_text(json.dumps(info))
    sets.said(sets.inspect(damaged), 1, "00000.h5", "not those of set.json")
    for shard in info["shards"]:  # now all agree, and are wrong
        with h5py.File(damaged / shard["file"], "r+") as file:
            file.attrs.modify("mean", info["mean"])
    sets.inspect(damaged).ok()
    result = sets.inspect(damaged, "--verify")
    result.failed(1)
    assert "channel 1: the mean" in result.out and "standard deviation" not in result.out


def test_a_truncated_shard_is_named(damaged):
    path = damaged / "00001.h5"
    path.write_bytes(path.read_bytes()[:-100])
    for options in ((), ("--verify",)):
        sets.said(sets.inspect(damaged, *options), 1, "00001.h5", "truncated")


@pytest.mark.parametrize("layout", ["chunked", "gzip", "latest"])
def test_a_set_rewritten_elsewhere_is_read(damaged, layout):
    """Chunked or compressed by h5py, or in HDF5's newest format: read, and said to be slow."""
    path = damaged / "00000.h5"
    with h5py.File(path, "r") as file:
        data = {name: file[name][...] for name in file}
        types = {name: file[name].dtype for name in file}
        attributes = dict(file.attrs)
    path.unlink()
    libver = "latest" if layout == "latest" else None
    with h5py.File(path, "w", libver=libver) as file:
        for name, values in data.items():
            more = {"chunks": (2, *values.shape[1:])} if name == "images" and layout != "latest" else {}
            if layout == "gzip" and more:
                more["compression"] = "gzip"
            file.create_dataset(name, data=values, dtype=types[name], **more)
        for name, value in attributes.items():
            file.attrs[name] = value
    result = sets.inspect(damaged, "--verify")
    result.failed(1)  # the file's digest is another one, its contents are not
    assert "1 fault;" in result.err and "00000.h5: the file differs" in result.out
    assert ("1 shard not contiguous" in result.out) == (layout != "latest")


def test_contact_sheet(tiny_set, tmp_path):
    """Whole-number enlargement: the pixels of sample 0 stand in its cell, and a label below."""
    folder = tiny_set(24)
    sets.inspect(folder, "--sheet", tmp_path / "few.png", "--sheet-samples", 3).ok()
    sets.inspect(folder, "--sheet", tmp_path / "all.png").ok()
    few = numpy.asarray(Image.open(tmp_path / "few.png"))
    full = numpy.asarray(Image.open(tmp_path / "all.png"))
    assert full.shape[1] == few.shape[1] and full.shape[0] > 2 * few.shape[0]
    first = sets.Contents(folder).images[0]
    cell = first.repeat(6, axis=0).repeat(6, axis=1)  # 16 pixels to 96
    assert numpy.array_equal(few[6:102, 6:102], cell)
    label = few[102:116, 6:102]
    assert (label == 0).all(axis=-1).sum() > 10, "no text below the picture"
    beyond = few[6:102, 6 + 3 * 102:]
    assert (beyond == 255).all(), "a fourth picture"


def test_labels_on_the_sheet_differ_by_class(tiny_set, tmp_path):
    folder = tiny_set(24)
    sets.inspect(folder, "--sheet", tmp_path / "s.png").ok()
    sheet = numpy.asarray(Image.open(tmp_path / "s.png"))
    texts = {}
    for sample, label in enumerate(sets.Contents(folder).labels[:8].tolist()):
        left = 6 + sample * 102
        texts.setdefault(label, set()).add(sheet[102:116, left:left + 96].tobytes())
    assert len(texts) > 1
    assert all(len(variants) == 1 for variants in texts.values())
    assert len({t for variants in texts.values() for t in variants}) == len(texts)


def test_more_checksums_than_memory_holds(damaged):
    with h5py.File(damaged / "00001.h5", "r+") as shard:
        del shard["checksums"]
        shard.create_dataset("checksums", shape=(2**36,), chunks=(1024,), dtype="u4")
    sets.said(sets.inspect(damaged, "--verify"), 1, "00001.h5", "checksums", "12 entries")


def test_the_old_sheet_stays_until_the_new_one_is_whole(tiny_set, tmp_path):
    sheet = tmp_path / "s.png"
    sheet.write_text("the old one")
    limit = f"ulimit -f 1; exec {harness.program('inspect_shards')} {tiny_set(24)} --sheet {sheet}"
    sets.said(harness.run(["bash", "-c", limit]), 1, "s.png", "File too large")
    assert sheet.read_text() == "the old one"
    assert [p.name for p in tmp_path.iterdir()] == ["s.png"]
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    sets.said(sets.inspect(tiny_set(24), "--sheet", pipe), 1, "pipe.png", "regular")
    assert pipe.is_fifo()


def test_a_class_name_beyond_ascii_has_a_mark_for_each_character(tmp_path):
    """Of a set with one class, the sheet is the same whether it is called Ünï漢 or ?n??."""
    sheets = []
    for i, name in enumerate(("Ünï漢", "?n??", "?n?")):
        pictures.write_folder(tmp_path / f"in{i}", {name: 3})
        sets.pack(tmp_path / f"in{i}", tmp_path / f"set{i}").ok()
        sets.inspect(tmp_path / f"set{i}", "--sheet", tmp_path / f"{i}.png").ok()
        sheets.append(numpy.asarray(Image.open(tmp_path / f"{i}.png"))[102:116].tolist())
    assert sheets[0] == sheets[1] and sheets[1] != sheets[2]


def test_wrong_use(tiny_set, tmp_path):
    folder = tiny_set(24)
    assert "--verify" in sets.inspect("--help").ok().out
    sets.said(sets.inspect(tmp_path / "nowhere"), 2, "nowhere")
    sets.said(sets.inspect(folder, "--verfy"), 2, "did you mean --verify?")
    sets.said(sets.inspect(folder, "more"), 2, "more")
    sets.said(sets.inspect(folder, "--sheet", tmp_path / "s.png", "--sheet-samples", 0), 2, "0")
    sets.said(sets.inspect(folder, "--sheet", tmp_path / "no" / "s.png"), 1, "s.png")
    sets.said(sets.inspect(folder, "--sheet", folder / "set.json"), 2, "set.json", ".png")
    sets.inspect(folder, "--verify").ok()
