"""A run goes on after a signal, after a kill at any moment, and past a damaged checkpoint, with the
same bits as the one that nothing happened to."""

import random
import signal
import time

import harness
import pytest
import runs
from messages import FAILED, USAGE, said_once
from resumed import (OPTIONS, STOPPED, assert_equal, checkpoint_of, data, stopped,  # noqa: F401
                     whole)

RANDOM_KILLS = 20


def signal_after(epochs, number, run_root):
    """Sends it when so many epochs have their row."""
    def during(process):
        deadline = time.monotonic() + 40
        metrics = run_root / "runs" / "run" / "metrics.csv"
        while time.monotonic() < deadline:
            if metrics.exists() and metrics.read_text().count("\n") > epochs:
                break
            time.sleep(0.005)
        process.send_signal(number)

    return during


@pytest.mark.parametrize("np, number", [(0, signal.SIGUSR1), (0, signal.SIGTERM),
                                        (0, signal.SIGINT), (2, signal.SIGUSR1)])
def test_a_signal_saves_and_stops(np, number, data, whole, tmp_path):
    """mpirun passes SIGUSR1, the grace signal, on to its ranks, and their exit code back."""
    first = runs.launch(tmp_path, np, {**OPTIONS, **data},
                        during=signal_after(2 if np == 0 else 1, number, tmp_path))
    first.result.failed(STOPPED)
    assert first.log.count("stopped on request") == 1
    assert_equal(runs.train(tmp_path, np, {**OPTIONS, **data}), whole(np))


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
    assert "4 whole epochs, 16 updates in all" in run.log
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
