"""A run that was interrupted and goes on ends as the one that was not: the same bits in weights,
optimizer, buffers, best model, counters and metrics.csv."""

import json
import os
import random
import shutil
import signal
import time

import harness
import pytest
import runs
from messages import FAILED, USAGE, said_once

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
RANDOM_KILLS = 20


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


def stop_then_go_on(root, np, options, updates):
    first = runs.launch(root, np, {**options, "train.stop_after_updates": updates})
    first.result.failed(STOPPED)
    assert f"saved after {updates} updates" in first.log
    assert not (first.folder / "lease.json").exists()
    return runs.train(root, np, options)


@pytest.mark.parametrize("np", [0, 2])
@pytest.mark.parametrize("updates", [20, 18], ids=["after 5 epochs", "inside the 5th epoch"])
def test_stopped_and_resumed(np, updates, data, whole, tmp_path):
    run = stop_then_go_on(tmp_path, np, {**OPTIONS, **data}, updates)
    assert_equal(run, whole(np))
    assert "loss of the probe pictures" in run.log and ": equal" in run.log
    assert run.log.count("test set, with the best model") == 1


def test_with_adamw_accumulation_and_early_stopping(data, whole, tmp_path):
    options = {"optim.name": "adamw", "optim.lr": 0.01, "train.accumulation": 2,
               "train.early_stopping": 8, "train.clip_norm": 1.0}
    run = stop_then_go_on(tmp_path, 2, {**OPTIONS, **data, **options}, 13)
    a, b = outcome(run), outcome(whole(2, **options))
    assert a == b


@pytest.mark.parametrize("options", [
    {"optim.name": "adam", "optim.lr": 0.01, "schedule.name": "onecycle"},
    {"optim.name": "rmsprop", "optim.lr": 0.001, "schedule.name": "multistep",
     "schedule.milestones": "3,6.5"},
    {"schedule.name": "plateau", "schedule.patience": 0, "schedule.threshold": 0.5,
     "train.best_by": "loss"},
    {"model.freeze": "features.0", "optim.lr_scale": "classifier=2"},
], ids=["adam, one cycle", "rmsprop, multistep", "plateau", "frozen, scaled"])
def test_every_kind_of_state(options, data, whole, tmp_path):
    # A cycle is a warm-up itself.
    base = {key: value for key, value in OPTIONS.items() if key != "schedule.warmup_epochs"}
    uninterrupted = runs.train(tmp_path / "whole", 0, {**base, **data, **options})
    run = stop_then_go_on(tmp_path, 0, {**base, **data, **options}, 18)
    assert_equal(run, uninterrupted)


def test_the_weights_it_began_with_are_not_needed_again(data, tmp_path):
    from safetensors.numpy import save_file

    begun = runs.train(tmp_path / "first", 0, {**OPTIONS, **data, "train.epochs": 1}, record=1)
    save_file(begun.weights("final"), tmp_path / "w.safetensors")
    options = {**OPTIONS, **data, "model.weights": tmp_path / "w.safetensors", "train.epochs": 2}
    runs.launch(tmp_path, 2, {**options, "train.stop_after_updates": 3}).result.failed(STOPPED)
    (tmp_path / "w.safetensors").unlink()
    assert "goes on from" in runs.train(tmp_path, 2, options).log


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


def test_a_model_that_answers_with_no_numbers_can_be_looked_at(data, tmp_path):
    """Huge weights are finite, what evaluation makes of them is not."""
    run = runs.launch(tmp_path, 0, {**OPTIONS, **data, "optim.lr": 1e6, "optim.momentum": 0,
                                    "schedule.warmup_epochs": 0, "train.label_smoothing": 0,
                                    "train.stop_after_updates": 3, "train.clip_norm": 0})
    for folder in sorted((run.folder / "checkpoints").glob("epoch-*")):
        state = json.loads((folder / "state.json").read_text())
        assert state["probe_loss"] is None or state["probe_loss"] > 1e3
        harness.mpirun(0, [harness.program("lockstep"), "info", folder]).ok()


def test_in_slices_of_time(data, whole, tmp_path):
    """The same command again and again, each time for seven updates."""
    codes = []
    for _ in range(10):
        run = runs.launch(tmp_path, 0, {**OPTIONS, **data, "train.stop_after_updates": 7})
        codes.append(run.result.code)
        if run.result.code == 0:
            break
    assert codes == [STOPPED] * 5 + [0]
    assert_equal(run, whole(0))


def test_no_validation_set(data, whole, tmp_path):
    options = {"data.holdout": 0}
    run = stop_then_go_on(tmp_path, 0, {**OPTIONS, **data, **options}, 21)
    assert_equal(run, whole(0, **options))


@pytest.mark.parametrize("signal_number", [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_stops(signal_number, data, whole, tmp_path):
    def during(process):
        deadline = time.monotonic() + 40
        metrics = tmp_path / "runs" / "run" / "metrics.csv"
        while time.monotonic() < deadline:
            if metrics.exists() and metrics.read_text().count("\n") > 2:
                break
            time.sleep(0.005)
        process.send_signal(signal_number)

    first = runs.launch(tmp_path, 0, {**OPTIONS, **data}, during=during)
    first.result.failed(STOPPED)
    assert "stopped on request" in first.log
    assert_equal(runs.train(tmp_path, 0, {**OPTIONS, **data}), whole(0))


def test_the_grace_signal_to_mpirun(data, whole, tmp_path):
    """mpirun passes SIGUSR1 on to its ranks, and their exit code back."""
    def during(process):
        deadline = time.monotonic() + 40
        metrics = tmp_path / "runs" / "run" / "metrics.csv"
        while time.monotonic() < deadline:
            if metrics.exists() and metrics.read_text().count("\n") > 1:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGUSR1)

    first = runs.launch(tmp_path, 2, {**OPTIONS, **data}, during=during)
    first.result.failed(STOPPED)
    assert first.log.count("stopped on request") == 1
    assert_equal(runs.train(tmp_path, 2, {**OPTIONS, **data}), whole(2))


def kill_after(seconds):
    def during(process):
        time.sleep(seconds)
        process.kill()

    return during


interrupted = []


@pytest.mark.parametrize("number", range(RANDOM_KILLS))
def test_killed_at_a_random_moment(number, data, whole, tmp_path):
    """Every fourth time with mpirun on two ranks; saving inside epochs too."""
    np = 2 if number % 4 == 0 else 0
    options = {**OPTIONS, **data, "checkpoint.every_updates": 3}
    reference = whole(np, **{"checkpoint.every_updates": 3})
    moment = random.Random(number).uniform(0.2, 1.0) * reference.result.seconds
    killed = runs.launch(tmp_path, np, options, during=kill_after(moment))
    interrupted.append(killed.result.code != 0)
    assert_equal(runs.train(tmp_path, np, options), reference)


def test_the_kills_came_in_time():
    assert len(interrupted) == RANDOM_KILLS and sum(interrupted) > RANDOM_KILLS // 2


def test_a_damaged_checkpoint_is_passed_over(data, whole, tmp_path):
    options = {**OPTIONS, **data}
    first = runs.launch(tmp_path, 0, {**options, "train.stop_after_updates": 20})
    first.result.failed(STOPPED)
    newest = checkpoint_of(first)
    content = bytearray((newest / "model.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (newest / "model.safetensors").write_bytes(content)
    run = runs.train(tmp_path, 0, options)
    assert f"{newest.name} cannot be used" in run.log and "goes on from" in run.log
    assert "4 epochs and 16 updates are done" in run.log
    assert_equal(run, whole(0))


def test_when_all_are_damaged_nothing_begins_again(data, tmp_path):
    options = {**OPTIONS, **data}
    first = runs.launch(tmp_path, 0, {**options, "train.stop_after_updates": 9})
    saved = [p for p in (first.folder / "checkpoints").iterdir() if p.is_dir()]
    for folder in saved:
        (folder / "state.json").write_text("{}")
    metrics = (first.folder / "metrics.csv").read_bytes()
    result = runs.launch(tmp_path, 2, options).result
    said_once(result, FAILED, "no checkpoint of this run can be used")
    assert (first.folder / "metrics.csv").read_bytes() == metrics
    assert all(folder.exists() for folder in saved)


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


def test_on_another_number_of_ranks(data, tmp_path):
    """In float64 the rest of the run agrees to rounding."""
    options = {**OPTIONS, **data, "run.dtype": "float64"}
    whole = runs.train(tmp_path, 0, options, name="whole")
    first = runs.launch(tmp_path, 0, {**options, "train.stop_after_updates": 18})
    first.result.failed(STOPPED)
    run = runs.train(tmp_path, 3, options)
    assert "equal to rounding, not bit for bit" in run.log
    for a, b in zip(run.metrics, whole.metrics, strict=True):
        assert a["val_samples"] == b["val_samples"]
        assert float(a["train_loss"]) == pytest.approx(float(b["train_loss"]), abs=1e-9)
        assert float(a["val_loss"]) == pytest.approx(float(b["val_loss"]), abs=1e-9)


def test_a_finished_run_has_nothing_left_to_do(data, whole, tmp_path):
    options = {**OPTIONS, **data}
    shutil.copytree(whole(0).folder, tmp_path / "runs" / "run")
    run = runs.train(tmp_path, 0, options)
    assert_equal(run, whole(0))
    assert run.log.count("test set, with the best model") == 2
    assert "epoch 11" not in run.log
    # A larger number of epochs goes on from there.
    longer = runs.train(tmp_path, 0, {**options, "train.epochs": 12})
    assert [row["epoch"] for row in longer.metrics] == [str(i) for i in range(1, 13)]


def test_an_epoch_that_max_updates_cut_short_is_finished_later(data, whole, tmp_path):
    options = {**OPTIONS, **data, "schedule.name": "constant"}
    cut = runs.train(tmp_path, 0, {**options, "train.max_updates": 18})
    assert [row["updates"] for row in cut.metrics] == ["4", "8", "12", "16", "18"]
    again = runs.train(tmp_path, 0, {**options, "train.max_updates": 18})
    assert again.metrics == cut.metrics
    run = runs.train(tmp_path, 0, options)
    reference = whole(0, **{"schedule.name": "constant"})
    keys = [key for key in reference.metrics[0] if key != "best"]
    for a, b in zip(run.metrics, reference.metrics, strict=True):
        assert {k: a[k] for k in keys} == {k: b[k] for k in keys}


def test_from_a_checkpoint_into_a_new_run(stopped):
    root, options = stopped(9)
    best = root / "runs" / "run" / "checkpoints" / "best"
    run = runs.train(root, 0, {**options, "run.resume": best, "train.epochs": 4}, name="second")
    first = json.loads((checkpoint_of(runs.Run(root / "runs" / "run", None, None), "best") /
                        "state.json").read_text())["epoch"]
    assert "the best is chosen anew" in run.log
    assert [row["epoch"] for row in run.metrics] == [str(i) for i in range(first + 1, 5)]
    assert checkpoint_of(run, "best").exists()


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


def test_two_that_go_on_at_once(stopped, whole):
    """One of them trains, the other one is refused, or comes when the first is done."""
    root, options = stopped(9)
    args = [harness.program("lockstep"), "train", *harness.option_args(
        {**runs.QUICK, "run.root": root / "runs", "run.name": "run", **options})]
    results = []

    def during(_process):
        results.append(harness.run(args, cwd=root))

    results.append(harness.run(args, cwd=root, during=during))
    assert sorted(r.code for r in results) in ([0, 0], [0, USAGE]), [r.explain() for r in results]
    assert_equal(runs.Run(root / "runs" / "run", results[0], root), whole(0))
