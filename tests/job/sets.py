"""What the tests of the data tools share: packing, and reading a set with h5py alone."""

import json
import os
import pathlib
import time

import h5py
import harness
import numpy
import pytest

SHARED = pathlib.Path(os.environ.get("LOCKSTEP_SHARED", harness.SOURCE.parent / "shared"))


def cases():
    """The folder of cases beside the clone, or a skip."""
    folder = SHARED / "cases"
    if not folder.exists():
        pytest.skip("../shared/cases is not here")
    return folder


def pack(source, target, *options, **more):
    return harness.run([harness.program("pack_images"), source, target, *options], **more)


def inspect(folder, *options, **more):
    return harness.run([harness.program("inspect_shards"), folder, *options], **more)


def said(result, code, *words):
    """The program ended with `code` and one error line that has all the words."""
    result.failed(code)
    lines = [line for line in result.err.splitlines() if ": error: " in line]
    assert len(lines) == 1, result.explain()
    for word in words:
        assert str(word) in lines[0], f"'{word}' is missing: {lines[0]}"
    assert " (" in lines[0] and ") - " in lines[0], f"not 'problem (why) - what to do': {lines[0]}"
    return lines[0]


class Contents:
    """All of a set in memory, in the order of its samples."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.info = json.loads((folder / "set.json").read_text(encoding="utf-8"))
        images, labels, paths = [], [], []
        for shard in self.info["shards"]:
            with h5py.File(folder / shard["file"], "r") as file:
                images.append(file["images"][...])
                labels.append(file["labels"][...])
                paths += list(file["source_paths"].asstr()[...])
                self.classes = list(file["classes"].asstr()[...])
        self.images = numpy.concatenate(images)
        self.labels = numpy.concatenate(labels)
        self.paths = paths

    def by_path(self):
        return dict(zip(self.paths, self.images))

    def label_of(self):
        return dict(zip(self.paths, self.labels.tolist()))


def file_bytes(folder):
    """name -> bytes of every file of a folder."""
    folder = pathlib.Path(folder)
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def leftovers(folder):
    """Names of unfinished outputs beside their places."""
    return sorted(p.name for p in folder.iterdir() if ".tmp-" in p.name)


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)
