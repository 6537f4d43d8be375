"""Runs that are stopped and go on: what two equal ones have in common, and fixtures for them."""

import json
import shutil

import pytest
import runs

STOPPED = 85

# 54 of 60 pictures train: 4 updates an epoch, the last of 6 pictures.
OPTIONS = {
    "model.name": "cifar_cnn",
    "model.width": 4,
    "model.dropout": 0.2,
    "train.epochs": 10,
    "train.label_smoothing": 0.1,
    "augment.flip": True,
    "augment.crop_padding": 2,
    "schedule.warmup_epochs": 1,
    "run.resume": "auto",
}


def checkpoint_of(run, pointer="latest"):
    folder = run.folder / "checkpoints"
    return folder / json.loads((folder / pointer).read_text())["checkpoint"]


def outcome(run):
    """All that two equal runs have in common, by name."""
    parts = {"metrics.csv": (run.folder / "metrics.csv").read_bytes()}
    for pointer in ("latest", "best"):
        folder = checkpoint_of(run, pointer)
        for name in ("model.safetensors", "optimizer.safetensors"):
            parts[f"{pointer} {name}"] = (folder / name).read_bytes()
        state = json.loads((folder / "state.json").read_text())
        # The name alone tells that an epoch was trained a second time.
        state["best_checkpoint"] = state["best_checkpoint"].split("_attempt")[0]
        parts[f"{pointer} state"] = state
    return parts


def assert_equal(run, whole):
    a, b = outcome(run), outcome(whole)
    differing = [name for name in b if a[name] != b[name]]
    assert not differing, f"{differing} differ\n{run.result.explain()}"
    timings = (run.folder / "timings.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in timings] == ["epoch"] + [str(i) for i in range(1, 11)]
    assert {p.name for p in run.folder.iterdir()} == {
        "config.cfg", "train.log", "metrics.csv", "timings.csv", "checkpoints", *(
            ("confusion.csv", "per_class.csv") if "test set, with" in run.log else ())}


def stop_then_go_on(root, np, options, updates):
    first = runs.launch(root, np, {**options, "train.stop_after_updates": updates})
    first.result.failed(STOPPED)
    assert f"saved after {updates} updates" in first.log
    assert not (first.folder / "lease.json").exists()
    return runs.train(root, np, options)


@pytest.fixture(scope="module")
def data(tiny_set):
    return {"data.train": tiny_set(60), "data.test": tiny_set(24, seed=9)}


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """whole(np, **options) -> the uninterrupted run."""
    made = {}

    def make(np, **options):
        key = (np, tuple(sorted(options.items())))
        if key not in made:
            root = tmp_path_factory.mktemp("whole")
            made[key] = runs.train(root, np, {**OPTIONS, **data, **options})
        return made[key]

    return make


@pytest.fixture(scope="module")
def stopped(data, tmp_path_factory):
    """stopped(updates) -> (folder for runs, options) of a fresh copy of a stopped run."""
    made = {}

    def make(updates):
        if updates not in made:
            root = tmp_path_factory.mktemp("stopped")
            run = runs.launch(root, 0, {**OPTIONS, **data, "train.stop_after_updates": updates})
            run.result.failed(STOPPED)
            made[updates] = root
        copy = tmp_path_factory.mktemp("copy") / "root"
        shutil.copytree(made[updates], copy)
        return copy, {**OPTIONS, **data}

    return make
