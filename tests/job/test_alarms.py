"""What a run says of gradients that are out of range and of its memory."""

import csv
import re

import pytest
import runs


@pytest.mark.parametrize("ranks", [0, 3])
def test_gradients_out_of_range_are_told_once_per_epoch_and_counted(ranks, tiny_set, tmp_path):
    run = runs.train(tmp_path, ranks, {"data.train": tiny_set(60), "train.grad_norm_high": 1e-4})
    assert run.result.text.count("(above train.grad_norm_high = 0.0001: ") == 2
    lines = [line for line in run.log.splitlines() if "train.grad_norm_high" in line]
    assert "update 1 is" in lines[0] and "update 5 is" in lines[1]
    assert all(" warning " in line and "train.clip_norm" in line for line in lines)
    assert run.log.count("(too small in 0, too large in 4 updates)") == 2


def test_small_gradients(tiny_set, tmp_path):
    """Two of four updates lie below a bound that is the third norm of the same run."""
    norms = [update["grad_norm"] for update in runs.train(
        tmp_path, 0, {"data.train": tiny_set(60), "train.epochs": 1}, name="a", record=9).updates]
    bound = sorted(norms)[2]
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(60), "train.epochs": 1,
                                   "train.grad_norm_low": bound}, name="b")
    first = next(i for i, norm in enumerate(norms) if norm < bound)
    assert run.log.count("train.grad_norm_low = ") == 1
    assert f"the gradient norm of update {first + 1} is " in run.log
    assert "(too small in 2, too large in 0 updates)" in run.log


def test_gradients_in_range_are_not_mentioned(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(60)})
    assert "too small" not in run.log and "train.grad_norm" not in run.result.text


def test_bounds_that_leave_nothing_are_refused(tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(60), "train.grad_norm_low": 200})
    assert "is not below train.grad_norm_high = 100" in run.result.failed(2).text


@pytest.mark.parametrize("ranks", [0, 2])
def test_memory_of_every_epoch(ranks, tiny_set, tmp_path):
    run = runs.train(tmp_path, ranks, {"data.train": tiny_set(60)})
    with (run.folder / "timings.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    memory = [(float(row["rss_mib"]), float(row["peak_mib"])) for row in rows]
    assert all(20 < now <= peak < 20_000 for now, peak in memory), memory
    assert memory[0][1] <= memory[1][1]
    told = [int(mib) for mib in re.findall(r"memory (\d+) MiB", run.log)]
    assert told == [pytest.approx(now, abs=0.51) for now, _ in memory]
    assert "keeps rising" not in run.log
