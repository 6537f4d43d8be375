"""A failure on one rank ends the job: soon, non-zero, with that rank's own message once."""

import os
import resource
import signal
import time

import harness
import pytest
import runs


@pytest.fixture(scope="module")
def seconds():
    """The time in which a failed job of three ranks must be over: 10 s, and more only on a machine
    that is so busy that starting the program takes seconds."""
    start = harness.mpirun(3, [harness.program("lockstep"), "--version"]).ok().seconds
    return max(10, 6 * start)


def wait_for(condition, process):
    deadline = time.monotonic() + 40
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def options(train_set, **fault):
    values = {"data.train": train_set, "model.name": "cifar_cnn", "run.dtype": "float64",
              "train.epochs": 2}
    values.update({f"fault.{key}": value for key, value in fault.items()})
    return values


@pytest.mark.parametrize("point, step", [
    ("config", 0), ("open", 0), ("step", 3), ("checkpoint", 1), ("exit", 0)])
def test_a_throw_on_rank_1_ends_the_job(point, step, tiny_set, tmp_path, seconds):
    run = runs.launch(tmp_path, 3, options(tiny_set(60), point=point, step=step, rank=1),
                      timeout=30)
    run.result.failed()
    message = f"injected failure at {point} on rank 1"
    assert run.result.text.count(message) == 1, run.result.explain()
    assert run.result.seconds < seconds


def test_a_throw_in_evaluate(tiny_set, tmp_path, seconds, lockstep):
    run = runs.train(tmp_path, 0, options(tiny_set(60)))
    result = lockstep(3, "evaluate", checkpoint=run.folder / "checkpoints" / "best",
                      data__test=tiny_set(60), fault__point="evaluate", fault__rank=1).failed()
    assert result.text.count("injected failure at evaluate on rank 1") == 1
    assert result.seconds < seconds


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("action", ["exit", "kill"])
def test_a_rank_that_vanishes_ends_the_job(action, rank, tiny_set, tmp_path, seconds):
    run = runs.launch(tmp_path, 3, options(tiny_set(60), point="step", step=5, rank=rank,
                                           action=action), timeout=30)
    run.result.failed()
    assert run.result.seconds < seconds
    # The checkpoint of the first epoch stays whole.
    assert "latest" in run.checkpoints
    assert not [name for name in run.checkpoints if name.startswith(".")]


def test_a_rank_that_hangs_is_named_by_the_operation_that_waits(tiny_set, tmp_path, seconds):
    run = runs.launch(tmp_path, 3, {**options(tiny_set(60), point="step", step=2, rank=1,
                                              action="sleep"), "comm.timeout": 2}, timeout=30)
    run.result.failed()
    assert run.result.seconds < seconds
    assert "all-reduce" in run.result.text.lower() and "within 2 s" in run.result.text
    assert "comm.timeout" in run.result.text


@pytest.mark.parametrize("ranks, rank", [(0, 0), (3, 2)])
def test_a_nan_stops_all_ranks_and_keeps_the_last_checkpoint(ranks, rank, tiny_set, tmp_path,
                                                             seconds, lockstep):
    values = options(tiny_set(60), point="step", step=5, rank=rank, action="nan")
    run = runs.launch(tmp_path, ranks, values, timeout=30)
    run.result.failed(1)
    assert run.result.text.count("not finite") == 1, run.result.explain()
    assert "update 6" in run.result.text
    assert run.result.seconds < seconds
    assert len(run.metrics) == 1
    assert len([name for name in run.checkpoints if name.startswith("epoch-")]) == 1
    lockstep(0, "evaluate", checkpoint=run.folder / "checkpoints" / "latest",
             data__test=tiny_set(60)).ok()


def test_weights_spoiled_by_the_last_update_of_an_epoch_are_not_saved(tiny_set, tmp_path, lockstep):
    """No loss of an update follows that would show it: one update an epoch, at a mad rate."""
    values = {**options(tiny_set(60)), "train.batch_size": 60, "run.dtype": "float32",
              "train.epochs": 30, "optim.lr": 1e6, "schedule.name": "constant"}
    run = runs.launch(tmp_path, 2, values)
    run.result.failed(1)
    assert run.result.text.count("is not finite") == 1, run.result.explain()
    assert "not finite" in run.log, "train.log does not say why the run ended"
    if run.checkpoints:
        lockstep(0, "evaluate", checkpoint=run.folder / "checkpoints" / "latest",
                 data__test=tiny_set(60)).ok()


def test_a_rank_that_hangs_at_the_end_is_told(tiny_set, tmp_path, seconds):
    run = runs.launch(tmp_path, 2, {**options(tiny_set(60), point="exit", rank=1, action="sleep"),
                                    "comm.timeout": 2}, timeout=30)
    run.result.failed()
    assert "within 2 s" in run.result.text, run.result.explain()
    assert run.result.seconds < seconds


def test_a_shard_that_is_cut_during_the_run_is_told_once(tiny_set, copy_set, tmp_path, seconds):
    folder = copy_set(tiny_set(60))

    def during(process):
        wait_for(lambda: (tmp_path / "runs" / "run" / "metrics.csv").exists(), process)
        os.truncate(folder / "00000.h5", 4000)

    run = runs.launch(tmp_path, 2, {**options(folder), "train.epochs": 500}, during=during,
                      timeout=60)
    run.result.failed(1)
    assert run.result.text.count("lockstep: error:") == 1, run.result.explain()
    assert "00000.h5" in run.result.text


def test_a_lack_of_memory_is_told_without_a_backtrace(tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {**options(tiny_set(60)), "model.name": "simple_cnn",
                                    "model.width": 65536})
    run.result.failed(1)
    assert "memory ran out" in run.result.text, run.result.explain()
    assert "frame #" not in run.result.text


def test_a_killed_job_leaves_whole_checkpoints(tiny_set, tmp_path, lockstep):
    """The whole job gets SIGKILL in its third epoch."""

    metrics = tmp_path / "runs" / "run" / "metrics.csv"

    def during(process):
        wait_for(lambda: metrics.exists() and len(metrics.read_text().splitlines()) >= 3, process)
        os.kill(process.pid, signal.SIGKILL)

    run = runs.launch(tmp_path, 0, {**options(tiny_set(60)), "train.epochs": 500}, during=during)
    assert run.result.code == -signal.SIGKILL
    lockstep(0, "evaluate", checkpoint=run.folder / "checkpoints" / "latest",
             data__test=tiny_set(60)).ok()
    lockstep(0, "evaluate", checkpoint=run.folder / "checkpoints" / "best",
             data__test=tiny_set(60)).ok()


def test_a_disk_that_fills_up_keeps_what_was_saved(tiny_set, tmp_path, lockstep):
    """A limit on the size of files, set within the second epoch, stands for the full disk."""
    values = {**options(tiny_set(60), point="step", step=6, action="sleep", seconds=2),
              **runs.QUICK, "model.name": "cifar_cnn", "run.root": tmp_path, "run.name": "run"}
    folder = tmp_path / "run" / "checkpoints"

    def during(process):
        wait_for(lambda: (folder / "latest").exists(), process)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (8000, resource.RLIM_INFINITY))

    result = harness.run([harness.program("lockstep"), "train", *harness.option_args(values)],
                         during=during).failed(1)
    assert "safetensors" in result.text and "File too large" in result.text, result.explain()
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["best", "epoch-0001_update-00000004", "latest"], "half a checkpoint stays"
    lockstep(0, "evaluate", checkpoint=folder / "latest", data__test=tiny_set(60)).ok()


def test_ranks_with_different_options_are_refused(tiny_set, tmp_path):
    program = harness.program("lockstep")
    first, other = [[program, "train", *harness.option_args(
        {**runs.QUICK, **options(tiny_set(60)), "run.root": tmp_path, "optim.lr": lr})]
        for lr in (0.1, 0.2)]
    result = harness.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", 1, *first, ":",
                          "-np", 1, *other]).failed()
    assert result.text.count("the configuration") == 1, result.explain()
    assert not list(tmp_path.iterdir())
