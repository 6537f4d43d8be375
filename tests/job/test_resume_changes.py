"""What may change before a run goes on, what is warned of, and what is refused."""

import json
import os

import pytest
import runs
from messages import FAILED, USAGE, said_once
from resumed import OPTIONS, STOPPED, checkpoint_of, data, stopped  # noqa: F401


@pytest.mark.parametrize("updates, change, word", [
    (8, {"model.width": 8}, "model.width 4 -> 8"),
    (8, {"optim.name": "adamw"}, "optim.name sgd -> adamw"),
    (8, {"data.holdout": 0.2}, "data.holdout 0.1 -> 0.2"),
    (8, {"run.dtype": "float64"}, "run.dtype float32 -> float64"),
    (8, {"augment.mean": "0.5,0.5,0.5"}, "augment.mean"),
    (8, {"data.train": "other"}, "data.train is another set"),
    (9, {"run.seed": 5}, "run.seed 1 -> 5"),
    (9, {"train.batch_size": 10}, "train.batch_size 16 -> 10"),
])
def test_changes_that_do_not_fit_are_refused(updates, change, word, stopped, tiny_set):
    root, options = stopped(updates)
    if change.get("data.train") == "other":
        change = {"data.train": tiny_set(60, seed=5)}
    folder = root / "runs" / "run"
    before = {p.name: p.read_bytes() for p in folder.iterdir()
              if p.is_file() and p.name != "train.log"}
    result = runs.launch(root, 2, {**options, **change}).result
    said_once(result, USAGE, word, "cannot go on from")
    assert {p.name: p.read_bytes() for p in folder.iterdir()
            if p.is_file() and p.name != "train.log"} == before
    assert word in (folder / "train.log").read_text(), "the reason is not in the log of the run"


@pytest.mark.parametrize("updates, change, said, level", [
    (8, {"optim.lr": 0.01}, "optim.lr 0.05 -> 0.01", "warn"),
    (8, {"run.seed": 5}, "run.seed 1 -> 5", "warn"),
    (8, {"augment.flip": False}, "augment.flip true -> false", "warn"),
    (9, {"train.epochs": 3}, "train.epochs 10 -> 3", "info"),
    (9, {"checkpoint.keep_last": 1}, "checkpoint.keep_last 3 -> 1", "info"),
])
def test_other_changes_are_said(updates, change, said, level, stopped):
    root, options = stopped(updates)
    run = runs.train(root, 0, {**options, "train.epochs": 4, **change})
    lines = [line for line in run.log.splitlines() if said in line]
    assert len(lines) == 1 and f" {level}" in lines[0], run.log
    assert [row["epoch"] for row in run.metrics] == [
        str(i) for i in range(1, 1 + int(change.get("train.epochs", 4)))]


def test_an_end_inside_an_epoch_is_refused(data, tmp_path):
    """That epoch would have neither validation nor a row; more updates, or the whole, are well."""
    options = {**OPTIONS, **data}
    runs.launch(tmp_path, 0, {**options, "train.stop_after_updates": 10}).result.failed(STOPPED)
    for most in (8, 10):
        result = runs.launch(tmp_path, 2, {**options, "train.max_updates": most}).result
        said_once(result, USAGE, "inside an epoch that was not validated", "10 updates are done")
    cut = runs.train(tmp_path, 0, {**options, "train.max_updates": 11})
    assert [row["epoch"] for row in cut.metrics] == ["1", "2", "3"]
    again = runs.train(tmp_path, 0, {**options, "train.max_updates": 11})
    assert [row["epoch"] for row in again.metrics] == ["1", "2", "3"]


def test_another_split_is_refused_another_validation_set_begins_the_best_anew(
        data, tiny_set, tmp_path):
    options = {**OPTIONS, **data, "train.epochs": 3}
    runs.launch(tmp_path, 0, {**options, "train.stop_after_updates": 5}).result.failed(STOPPED)
    val = {"data.val": tiny_set(24, seed=9)}
    said_once(runs.launch(tmp_path, 2, {**options, **val}).result, USAGE,
              "split otherwise")
    own = {**options, **val, "run.name": "own"}
    runs.launch(tmp_path, 0, {**own, "train.stop_after_updates": 5}).result.failed(STOPPED)
    run = runs.train(tmp_path, 2, {**own, "data.val": tiny_set(30, seed=8)})
    assert run.log.count("the best model is chosen anew") == 1


def test_a_larger_batch_trains_all_epochs_that_are_left(stopped):
    """Five of eight updates each are done; with twice the batch six more of half as many follow."""
    root, options = stopped(20)
    run = runs.train(root, 0, {**options, "train.batch_size": 32})
    assert "train.batch_size 16 -> 32" in run.log
    assert [row["epoch"] for row in run.metrics] == [str(i) for i in range(1, 11)]
    assert run.metrics[-1]["updates"] == str(20 + 5 * 2)


def test_a_rate_that_jumps_is_told(stopped):
    """A cosine over ten epochs, cut to six: it falls faster from where it is."""
    root, options = stopped(20)
    shorter = runs.train(root, 0, {**options, "train.epochs": 6})
    jump = "the learning rate goes on at"
    assert shorter.log.count(jump) == 1
    runs.train(root, 0, {**options, "train.epochs": 6})
    assert shorter.log.count(jump) == 1, "nothing changed this time"
    longer = runs.train(root, 0, {**options, "train.epochs": 7})
    assert longer.log.count(jump) == 2


def test_momentum_may_come_and_go(stopped):
    root, options = stopped(8)
    options = {**options, "train.epochs": 4}
    runs.train(root, 0, {**options, "optim.momentum": 0, "optim.nesterov": False})
    run = runs.train(root, 0, {**options, "train.epochs": 5})
    assert "optim.momentum 0 -> 0.9" in run.log
    assert [row["epoch"] for row in run.metrics] == ["1", "2", "3", "4", "5"]


def test_a_finished_run_keeps_the_best_it_has(data, tiny_set, tmp_path):
    """Another validation set would ask for another best, and nothing is left to train it with."""
    options = {**OPTIONS, **data, "train.epochs": 2, "data.val": tiny_set(24, seed=9)}
    run = runs.train(tmp_path, 0, options)
    result = runs.launch(tmp_path, 2, {**options, "data.val": tiny_set(30, seed=8)}).result
    said_once(result, USAGE, "nothing left to train")
    assert checkpoint_of(run, "best").exists()
    elsewhere = {**options, "run.resume": run.folder / "checkpoints" / "latest"}
    result = runs.launch(tmp_path, 0, elsewhere, name="other").result
    said_once(result, USAGE, "nothing left to train")
    assert not (tmp_path / "runs" / "other").exists()


def test_the_best_of_before_stays_until_there_is_a_new_one(data, tiny_set, tmp_path):
    options = {**OPTIONS, **data, "checkpoint.keep_last": 1, "checkpoint.every_updates": 2,
               "train.epochs": 3, "data.val": tiny_set(24, seed=9)}
    runs.launch(tmp_path, 0, {**options, "train.stop_after_updates": 6}).result.failed(STOPPED)
    changed = {**options, "data.val": tiny_set(30, seed=8)}
    run = runs.launch(tmp_path, 0, {**changed, "train.stop_after_updates": 1})
    run.result.failed(STOPPED)
    assert (checkpoint_of(run, "best") / "model.safetensors").exists()
    assert runs.train(tmp_path, 0, changed).log.count("the best model is chosen anew") == 1


def test_a_damaged_best_is_noticed_when_the_run_goes_on(data, tmp_path):
    options = {**OPTIONS, **data, "train.epochs": 3}
    run = runs.train(tmp_path, 0, options)
    best = checkpoint_of(run, "best") / "model.safetensors"
    if best.parent == checkpoint_of(run):  # the newest must stay whole
        run = runs.train(tmp_path, 0, {**options, "train.epochs": 4, "optim.lr": 0})
    best.write_bytes(best.read_bytes()[:-10])
    epochs = int(run.metrics[-1]["epoch"])
    result = runs.launch(tmp_path, 2, {**options, "train.epochs": epochs}).result
    said_once(result, USAGE, "nothing left to train", "damaged")
    longer = runs.train(tmp_path, 0, {**options, "train.epochs": epochs + 1})
    assert longer.log.count("is damaged or not in this run's folder") == 1
    assert f"epoch {epochs + 1}): " in longer.log, "the test set, with the new best"


def test_another_model_than_was_saved_is_noticed_before_anything_changes(data, stopped, tmp_path):
    """The weights of another run under a manifest that fits them."""
    root, options = stopped(8)
    other = runs.train(tmp_path, 0, {**OPTIONS, **data, "run.seed": 9, "optim.lr": 0.2,
                                     "train.epochs": 4})
    run = runs.Run(root / "runs" / "run", None, None)
    mine, theirs = checkpoint_of(run), checkpoint_of(other)
    name = "model.safetensors"
    (mine / name).write_bytes((theirs / name).read_bytes())
    manifest, donor = (json.loads((f / "MANIFEST.json").read_text()) for f in (mine, theirs))
    manifest["files"][name] = donor["files"][name]
    (mine / "MANIFEST.json").write_text(json.dumps(manifest))
    kept = {p: (run.folder / p).read_bytes() for p in ("config.cfg", "metrics.csv")}
    result = runs.launch(root, 2, {**options, "optim.lr": 0.01}).result
    said_once(result, FAILED, "the model is not the one that was saved")
    assert kept == {p: (run.folder / p).read_bytes() for p in kept}
    for _ in range(2):  # a new run of it leaves its name free
        result = runs.launch(root, 0, {**options, "run.resume": mine}, name="second").result
        said_once(result, FAILED, "the model is not the one that was saved")
        assert not (root / "runs" / "second").exists()


def test_auto_needs_a_name_and_none_refuses(stopped, data, tmp_path):
    result = runs.launch(tmp_path, 2, {**OPTIONS, **data, "run.name": ""}).result
    said_once(result, USAGE, "run.resume = auto needs run.name")
    root, options = stopped(8)
    result = runs.launch(root, 2, {**options, "run.resume": "none"}).result
    said_once(result, USAGE, "exists", "run.resume=auto")
    result = runs.launch(root, 2, {**options, "run.resume": root / "no", "run.name": "new"}).result
    said_once(result, USAGE, "there is no checkpoint")
    assert not (root / "runs" / "new").exists()


def test_a_run_that_is_at_work_is_left_alone(stopped):
    root, options = stopped(8)
    lease = {"host": os.uname().nodename, "pid": os.getpid(), "job": "", "heartbeat": 0}
    (root / "runs" / "run" / "lease.json").write_text(json.dumps(lease))
    before = sorted(p.name for p in (root / "runs" / "run" / "checkpoints").iterdir())
    result = runs.launch(root, 2, options).result
    said_once(result, USAGE, "is in use", str(os.getpid()))
    assert sorted(p.name for p in (root / "runs" / "run" / "checkpoints").iterdir()) == before
