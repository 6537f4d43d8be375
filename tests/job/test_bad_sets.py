"""Every set that cannot be used is refused by name, on one rank and on three."""

import json
import os

import h5py
import harness
import numpy
import pytest
import runs
from messages import FAILED, USAGE, said_once


def remove_shard(folder):
    (folder / "00000.h5").unlink()


def remove_index(folder):
    (folder / "set.json").unlink()


def cut_index(folder):
    text = (folder / "set.json").read_text()
    (folder / "set.json").write_text(text[:len(text) // 2])


def cut_shard(folder):
    data = (folder / "00000.h5").read_bytes()
    (folder / "00000.h5").write_bytes(data[:len(data) * 2 // 3])


def empty_shard(folder):
    (folder / "00000.h5").write_bytes(b"")


def text_shard(folder):
    (folder / "00000.h5").write_text("no shard at all\n" * 100)


def change_index(change):
    def damage(folder):
        info = json.loads((folder / "set.json").read_text())
        change(info)
        (folder / "set.json").write_text(json.dumps(info))

    return damage


def fifo(name):
    def damage(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return damage


def replace_dataset(name, change):
    def damage(folder):
        with h5py.File(folder / "00000.h5", "r+") as shard:
            data = change(shard[name][...])
            del shard[name]
            shard.create_dataset(name, data=data)

    damage.__name__ = f"replace_{name}"
    return damage


def remove_dataset(name):
    def damage(folder):
        with h5py.File(folder / "00000.h5", "r+") as shard:
            del shard[name]

    return damage


def huge_classes(folder):
    with h5py.File(folder / "00000.h5", "r+") as shard:
        del shard["classes"]
        shard.create_dataset("classes", shape=(2**36,), chunks=(1024,), dtype="S8")


def foreign_id(folder):
    with h5py.File(folder / "00000.h5", "r+") as shard:
        name = next(k for k in shard.attrs if "id" in k)
        shard.attrs[name] = "0" * 32


DAMAGES = {
    "remove_shard": (remove_shard, ["00000.h5"]),
    "remove_index": (remove_index, ["set.json"]),
    "cut_index": (cut_index, ["set.json"]),
    "cut_shard": (cut_shard, ["00000.h5"]),
    "empty_shard": (empty_shard, ["00000.h5"]),
    "text_shard": (text_shard, ["00000.h5"]),
    "empty_index": (lambda folder: (folder / "set.json").write_text(""), ["set.json"]),
    "wrong_total": (change_index(lambda i: i.update(samples=i["samples"] + 1)), ["set.json"]),
    "huge_total": (change_index(lambda i: i.update(samples=2**62)), ["set.json"]),
    "fraction": (change_index(lambda i: i.update(height=16.7)), ["set.json", "height", "16.7"]),
    "four_means": (change_index(lambda i: i["mean"].append(0.5)), ["set.json", "mean"]),
    "other_mean": (change_index(lambda i: i.update(mean=[0.9] * 3)), ["00000.h5", "mean"]),
    "other_std": (change_index(lambda i: i.update(std=[0.01] * 3)), ["00000.h5", "std"]),
    "fifo_index": (fifo("set.json"), ["set.json", "regular"]),
    "fifo_shard": (fifo("00000.h5"), ["00000.h5", "regular"]),
    "label_beyond": (replace_dataset("labels", lambda x: x + 2), ["00000.h5", "label"]),
    "label_negative": (replace_dataset("labels", lambda x: x - 1), ["00000.h5", "label"]),
    "labels_short": (replace_dataset("labels", lambda x: x[:-1]), ["00000.h5", "labels"]),
    "labels_swapped": (replace_dataset("labels", lambda x: x.astype(">i4")),
                       ["00000.h5", "labels"]),
    "float_images": (replace_dataset("images", lambda x: x.astype(numpy.float32)),
                     ["00000.h5", "images"]),
    "flat_images": (replace_dataset("images", lambda x: x.reshape(len(x), -1)),
                    ["00000.h5", "images"]),
    "huge_classes": (huge_classes, ["00000.h5", "classes"]),
    "no_images": (remove_dataset("images"), ["00000.h5", "images"]),
    "no_labels": (remove_dataset("labels"), ["00000.h5", "labels"]),
    "foreign_id": (foreign_id, ["00000.h5", "set"]),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_set(name, tiny_set, copy_set, tmp_path):
    damage, words = DAMAGES[name]
    folder = copy_set(tiny_set(24))
    damage(folder)
    run = runs.launch(tmp_path, 0, {"data.train": folder})
    said_once(run.result, run.result.code, *words)
    assert run.result.code in (FAILED, USAGE)
    assert not run.folder.exists()


@pytest.mark.parametrize("name", ["cut_shard", "remove_index"])
def test_damaged_set_on_three_ranks(name, tiny_set, copy_set, tmp_path):
    damage, words = DAMAGES[name]
    folder = copy_set(tiny_set(24))
    damage(folder)
    said_once(runs.launch(tmp_path, 3, {"data.train": folder}).result, None, *words)


def labels_of_another_order(folder):
    replace_dataset("labels", lambda x: x[::-1].copy())(folder)


@pytest.mark.parametrize("change", [
    labels_of_another_order, change_index(lambda i: i["shards"][0].update(xxh3_128="0" * 32))])
def test_ranks_that_see_different_sets_are_refused(change, tiny_set, copy_set, tmp_path):
    """Under the same name, with the same id: a copy that was not renewed on one node."""
    program = harness.program("lockstep")
    args = ["train", *harness.option_args({**runs.QUICK, "data.train": "set",
                                           "run.root": tmp_path / "runs"})]
    for rank in ("a", "b"):
        (tmp_path / rank).mkdir()
        copy_set(tiny_set({"c0": 9, "c1": 9})).rename(tmp_path / rank / "set")
    change(tmp_path / "b" / "set")
    result = harness.run(["mpirun", "--oversubscribe", "--bind-to", "none",
                          "-np", 1, "--wdir", tmp_path / "a", program, *args, ":",
                          "-np", 1, "--wdir", tmp_path / "b", program, *args]).failed(1)
    assert result.text.count("rank 1 differs from rank 0 in the set of data.train") == 1


@pytest.mark.parametrize("ranks", [0, 3])
@pytest.mark.parametrize("key", ["data.train", "data.val", "data.test"])
def test_missing_set(key, ranks, tiny_set, tmp_path):
    options = {"data.train": tiny_set(24), key: tmp_path / "nowhere"}
    run = runs.launch(tmp_path, ranks, options)
    said_once(run.result, None, "nowhere")
    assert not run.folder.exists()


def test_sets_that_do_not_fit(tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24), "data.test": tiny_set(24, size=8)})
    said_once(run.result, USAGE, "8x8", "16x16", "--size")
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24),
                                    "data.val": tiny_set(24, classes=2)})
    said_once(run.result, USAGE, "classes", "c2", "--classes-from")


def test_a_set_file_beyond_all_measure_is_refused_unread(tiny_set, copy_set, tmp_path):
    folder = copy_set(tiny_set(24))
    with (folder / "set.json").open("r+b") as file:
        file.truncate(1 << 40)  # sparse
    run = runs.launch(tmp_path, 2, {"data.train": folder}, timeout=30)
    said_once(run.result, USAGE, "is no set of shards", "larger than 256 MiB")


def test_what_a_small_set_makes_of_the_options_is_said(tiny_set, tmp_path):
    options = {"data.train": tiny_set(24), "train.epochs": 1}
    run = runs.train(tmp_path, 0, {**options, "train.batch_size": 4096, "data.holdout": 0.01})
    assert "train.batch_size=4096 is more than the training samples" in run.log
    assert "data.holdout of each class rounds to none" in run.log
    usual = runs.train(tmp_path, 0, options, name="usual")
    assert "warning" not in usual.log, usual.log
