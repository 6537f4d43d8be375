"""Scores class by class: confusion.csv and per_class.csv of `evaluate --report` and of a training
run, held against the counts that are printed."""

import csv
import re

import pytest
import runs
from messages import FAILED, USAGE, said_once

TEST = {"a, b": 20, "c": 31, "owl": 26}
OPTIONS = {"model.name": "cifar_cnn", "model.width": 4, "train.epochs": 2, "augment.flip": True}


@pytest.fixture(scope="module")
def sets(tiny_set):
    return {"data.train": tiny_set({name: 40 for name in TEST}),
            "data.test": tiny_set(TEST, seed=9)}


@pytest.fixture(scope="module")
def finished(sets, tmp_path_factory):
    return runs.train(tmp_path_factory.mktemp("finished"), 2, {**OPTIONS, **sets})


def read(folder):
    """(class names, {true class: counts}, rows of per_class.csv)."""
    with (folder / "confusion.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    with (folder / "per_class.csv").open(newline="") as file:
        scores = list(csv.DictReader(file))
    return header[1:], {row[0]: [int(n) for n in row[1:]] for row in rows}, scores


def top1(text):
    """(top-1 hits, samples) as they were printed of the one set that was scored."""
    (hits, samples), = re.findall(r"top-1 [\d.]+ % \((\d+) of (\d+)\)  top-5", text)
    return int(hits), int(samples)


def check_report(folder, line):
    """The two files agree with each other, with the set and with the line of scores."""
    names, counts, scores = read(folder)
    assert names == list(counts) == [row["class"] for row in scores] == sorted(TEST)
    assert {name: sum(row) for name, row in counts.items()} == TEST
    correct = [counts[name][k] for k, name in enumerate(names)]
    assert (sum(correct), sum(TEST.values())) == top1(line)
    for k, row in enumerate(scores):
        taken = sum(counts[name][k] for name in names)
        samples = TEST[row["class"]]
        assert int(row["samples"]) == samples
        assert float(row["recall"]) == correct[k] / samples
        assert row["precision"] == "" if taken == 0 else (
            float(row["precision"]) == correct[k] / taken)
        assert float(row["f1"]) == 2 * correct[k] / (samples + taken)
    recalls = sum(100 * c / n for c, n in zip(correct, TEST.values())) / 3
    found = re.search(r"macro average over 3 classes: precision [\d.]+ %  recall ([\d.]+) %", line)
    assert abs(float(found[1]) - recalls) < 0.006


def test_a_run_leaves_the_report_of_its_test_set(finished):
    line = next(x for x in finished.log.splitlines() if "test set" in x)
    macro = next(x for x in finished.log.splitlines() if "macro average" in x)
    check_report(finished.folder, line + macro)
    assert f"{finished.folder}/confusion.csv" in finished.log


@pytest.mark.parametrize("ranks", [0, 3])
def test_evaluate_writes_a_report_that_does_not_depend_on_ranks(ranks, finished, sets, tmp_path,
                                                                lockstep):
    folder = tmp_path / "made" / "for it"
    result = lockstep(ranks, "evaluate", checkpoint=finished.folder / "checkpoints" / "best",
                      data__test=sets["data.test"], report=folder).ok()
    check_report(folder, result.out)
    assert {p.name for p in folder.iterdir()} == {"confusion.csv", "per_class.csv"}
    for name in ("confusion.csv", "per_class.csv"):
        assert (folder / name).read_bytes() == (finished.folder / name).read_bytes()


def test_without_it_evaluate_writes_nothing(finished, sets, tmp_path, lockstep):
    result = lockstep(0, "evaluate", checkpoint=finished.folder / "checkpoints" / "best",
                      data__test=sets["data.test"], cwd=tmp_path).ok()
    assert "macro average over 3 classes" in result.out and "confusion.csv" not in result.out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ranks", [0, 3])
@pytest.mark.parametrize("name", ["confusion.csv", "per_class.csv"])
def test_a_report_is_not_overwritten(ranks, name, finished, sets, tmp_path, lockstep):
    (tmp_path / name).write_text("mine")
    result = lockstep(ranks, "evaluate", checkpoint=finished.folder / "checkpoints" / "best",
                      data__test=sets["data.test"], report=tmp_path)
    said_once(result, USAGE, f"{tmp_path}/{name}", "exists", "--report")
    assert (tmp_path / name).read_text() == "mine" and "top-1" not in result.text


def test_a_folder_that_cannot_be_made(finished, sets, tmp_path, lockstep):
    (tmp_path / "file").write_text("no folder")
    result = lockstep(2, "evaluate", checkpoint=finished.folder / "checkpoints" / "best",
                      data__test=sets["data.test"], report=tmp_path / "file" / "below")
    said_once(result, FAILED, str(tmp_path / "file" / "below"), "--report")
    said_once(lockstep(0, "train", report=tmp_path), USAGE, "--report does not belong to train")


def test_a_run_without_a_test_set_has_no_report(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(60), "train.epochs": 1})
    assert not (run.folder / "confusion.csv").exists()
