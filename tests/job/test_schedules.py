"""Schedules in whole runs: what a plateau remembers, and what gives way to a cycle. The rates
themselves: option_table.py and tests/unit/optim."""

import json
import math

import harness
import numpy
import runs


def saved_schedules(run):
    """{epoch: what its checkpoint remembers of the schedule}."""
    states = [json.loads((run.folder / "checkpoints" / name / "state.json").read_text())
              for name in run.checkpoints if name.startswith("epoch-")]
    return {state["epoch"]: state["schedule"] for state in states}


def test_a_plateau_is_told_and_saved(tiny_set, tmp_path):
    """No top-1 is better by 1 than another: every epoch after the first lowers the rate."""
    run = runs.train(tmp_path, 3, {
        "data.train": tiny_set(60), "schedule.name": "plateau", "schedule.patience": 0,
        "schedule.threshold": 1, "schedule.min_lr": 0.001, "train.epochs": 4}, record=100)
    rates = [update["lr"] for update in run.updates]
    numpy.testing.assert_allclose(rates, [0.05] * 8 + [0.005] * 4 + [0.001] * 4, rtol=1e-12)
    first = float(run.metrics[0]["val_top1"])
    states = saved_schedules(run)
    for epoch in (2, 3, 4):  # the first may be gone
        assert states[epoch] == {"reductions": epoch - 1, "bad_epochs": 0, "best": first}
    assert run.result.text.count("validation gets no better") == 2, "the rate was at its lowest"


def test_patience_is_counted_over_epochs(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {
        "data.train": tiny_set(60), "schedule.name": "plateau", "schedule.patience": 1,
        "schedule.threshold": 1, "train.epochs": 3, "checkpoint.keep_last": 9})
    assert [(s["reductions"], s["bad_epochs"]) for _, s in sorted(saved_schedules(run).items())] == [
        (0, 0), (0, 1), (1, 0)]


def test_other_schedules_remember_nothing(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(60)})
    assert list(saved_schedules(run).values()) == 2 * [
        {"reductions": 0, "bad_epochs": 0, "best": None}]


def test_the_warm_up_of_a_recipe_gives_way_to_a_cycle(tiny_set, tmp_path):
    recipe = tmp_path / "recipe.cfg"
    recipe.write_text("[schedule]\nname = linear\nwarmup_epochs = 1\nwarmup_start = 0.1\n")
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(60), "config": recipe,
                                   "schedule.name": "onecycle"}, record=100)
    assert math.isclose(run.updates[0]["lr"], 0.05 / 25, rel_tol=1e-12)
    assert f"{recipe}:3: schedule.warmup_epochs = 1 has no effect" in run.log
    again = harness.run([harness.program("lockstep"), "train", "--config",
                         run.folder / "config.cfg", "--run.name", "again"]).ok()
    assert "has no effect" not in again.text
