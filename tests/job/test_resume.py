"""A run that was interrupted and goes on ends as the one that was not: the same bits in weights,
optimizer, buffers, best model, counters and metrics.csv."""

import json
import shutil

import harness
import pytest
import runs
from resumed import (OPTIONS, STOPPED, assert_equal, checkpoint_of, data, outcome,  # noqa: F401
                     stop_then_go_on, stopped, whole)


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


@pytest.mark.parametrize("place", ["checkpoints/best", "checkpoints/latest", "folder"])
def test_the_weights_of_another_run(place, data, tiny_set, tmp_path):
    """On other pictures and classes: all weights but those of the head."""
    from safetensors.numpy import load_file

    begun = runs.train(tmp_path / "first", 0, {**OPTIONS, **data, "train.epochs": 1})
    path = checkpoint_of(begun) if place == "folder" else begun.folder / place
    run = runs.train(tmp_path, 2, {**OPTIONS, "data.train": tiny_set(60, classes=4),
                                   "model.weights": path, "train.epochs": 1}, record=1)
    assert f"checkpoint '{checkpoint_of(begun)}'" in run.log
    assert "begin anew for the number of classes" in run.log
    taken, given = run.weights("initial"), load_file(checkpoint_of(begun) / "model.safetensors")
    same = [name for name in taken if (taken[name].shape == given[name].shape
                                       and (taken[name] == given[name]).all())]
    assert len(same) == len(taken) - 2


def test_the_weights_it_began_with_are_not_needed_again(data, tmp_path):
    from safetensors.numpy import save_file

    begun = runs.train(tmp_path / "first", 0, {**OPTIONS, **data, "train.epochs": 1}, record=1)
    save_file(begun.weights("final"), tmp_path / "w.safetensors")
    options = {**OPTIONS, **data, "model.weights": tmp_path / "w.safetensors", "train.epochs": 2}
    runs.launch(tmp_path, 2, {**options, "train.stop_after_updates": 3}).result.failed(STOPPED)
    (tmp_path / "w.safetensors").unlink()
    assert "goes on from" in runs.train(tmp_path, 2, options).log


def test_a_model_that_answers_with_no_numbers_can_be_looked_at(data, tmp_path):
    """Running means are finite, what evaluation makes of them is not; training does not use them."""
    from safetensors.numpy import save_file

    begun = runs.train(tmp_path / "first", 0, {**OPTIONS, **data, "train.epochs": 1}, record=1)
    weights = begun.weights("initial")
    means = [name for name in weights if name.endswith("running_mean")]
    weights[means[0]][:] = -3.3e38
    save_file(weights, tmp_path / "huge.safetensors")
    run = runs.launch(tmp_path, 0, {**OPTIONS, **data, "train.stop_after_updates": 1,
                                    "model.weights": tmp_path / "huge.safetensors"})
    run.result.failed(STOPPED)
    folder = checkpoint_of(run)
    assert json.loads((folder / "state.json").read_text())["probe_loss"] is None
    harness.mpirun(0, [harness.program("lockstep"), "info", folder]).ok()


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
