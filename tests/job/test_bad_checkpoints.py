"""Every checkpoint that cannot be used is refused by name."""

import json
import shutil

import harness
import pytest
import runs
from messages import FAILED, USAGE, said_once


@pytest.fixture(scope="module")
def finished(tiny_set, tmp_path_factory):
    return runs.train(tmp_path_factory.mktemp("finished"), 0, {"data.train": tiny_set(24)})


def evaluate(path, test_set, np=0):
    return harness.lockstep(np, "evaluate", {"checkpoint": path, "data.test": test_set})


def test_missing_checkpoint(tiny_set, tmp_path):
    for ranks in (0, 3):
        said_once(evaluate(tmp_path / "nothing", tiny_set(24), ranks), USAGE, "nothing")


def test_no_checkpoint(finished, tiny_set, tmp_path):
    said_once(evaluate(finished.folder / "metrics.csv", tiny_set(24)), USAGE, "metrics.csv")
    (tmp_path / "empty").mkdir()
    said_once(evaluate(tmp_path / "empty", tiny_set(24)), None, "MANIFEST.json")


def flip_byte(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut_end(file):
    file.write_bytes(file.read_bytes()[:-1])


def remove(file):
    file.unlink()


# Every file with every damage: tests/unit/train/checkpoint_load_test.cpp.
@pytest.mark.parametrize("file, damage", [
    ("model.safetensors", flip_byte), ("optimizer.safetensors", cut_end), ("state.json", remove),
    ("config.cfg", flip_byte)])
def test_damaged_checkpoint(file, damage, finished, tiny_set, tmp_path):
    copy = tmp_path / "checkpoints"
    shutil.copytree(finished.folder / "checkpoints", copy)
    name = json.loads((copy / "latest").read_text())["checkpoint"]
    damage(copy / name / file)
    said_once(evaluate(copy / "latest", tiny_set(24)), FAILED, file)
    if file == "model.safetensors":
        said_once(evaluate(copy / name, tiny_set(24)), FAILED, file)


def test_damaged_manifest(finished, tiny_set, tmp_path):
    copy = tmp_path / "checkpoints"
    shutil.copytree(finished.folder / "checkpoints", copy)
    name = json.loads((copy / "latest").read_text())["checkpoint"]
    flip_byte(copy / name / "MANIFEST.json")
    said_once(evaluate(copy / "latest", tiny_set(24)), FAILED, "manifest")


def test_evaluate_on_a_set_that_does_not_fit(finished, tiny_set):
    path = finished.folder / "checkpoints" / "best"
    said_once(evaluate(path, tiny_set(24, size=8)), USAGE, "8x8")
    said_once(evaluate(path, tiny_set(24, classes=2)), USAGE, "classes")
    said_once(harness.lockstep(0, "evaluate", {"checkpoint": path}), USAGE, "data.test")


def test_the_folder_of_a_run_is_no_checkpoint_but_names_it(finished, tiny_set):
    for path in (finished.folder, finished.folder / "checkpoints"):
        result = evaluate(path, tiny_set(24))
        said_once(result, USAGE, "is no checkpoint", f"{finished.folder}/checkpoints/best?")
