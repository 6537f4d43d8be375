"""The comparison that scripts/gpu_check.sh rests on (tests/gpu/compare_records.py): equal runs pass,
and whatever a wrong device could do to a record is found."""

import json
import shutil
import sys

import harness
import pytest
import runs
from safetensors.numpy import load_file, save_file

SCRIPT = harness.SOURCE / "tests" / "gpu" / "compare_records.py"
UPDATES = 5


def compare(a, b, *more):
    return harness.run([sys.executable, SCRIPT, a, b, "--updates", UPDATES, *more])


@pytest.fixture(scope="module")
def record(tiny_set, tmp_path_factory):
    """record(name, np=0, **options): the record of a run of five updates."""
    root = tmp_path_factory.mktemp("records")

    def make(name, np=0, **options):
        values = {"data.train": tiny_set(60), "augment.flip": True}
        values.update({key.replace("__", "."): value for key, value in options.items()})
        return runs.train(root, np, values, name=name, record=UPDATES).record

    return make


@pytest.fixture(scope="module")
def reference(record):
    return record("reference")


def test_equal_runs_pass(reference, record):
    result = compare(reference, record("again"), "--gradients", "1e-12", "--losses", "1e-12").ok()
    assert result.out.count("update ") >= UPDATES and "conv1.weight" in result.out


def test_ranks_differ_by_rounding(reference, record):
    other = record("ranks", 2)
    compare(reference, other).ok()
    result = compare(reference, other, "--gradients", "1e-12").failed(1)
    assert "the gradient of" in result.err


@pytest.mark.parametrize("options, word", [
    ({"run__seed": 2}, "initial weights differ"),
    ({"model__name": "cifar_cnn"}, "initial weights of one record alone"),
    ({"augment__flip": False}, "update 0 has other samples"),
    ({"optim__lr": 0.06}, "update 0 has another learning rate"),
    ({"train__label_smoothing": 0.1}, "the gradient of"),
    ({"optim__momentum": 0.5}, "the losses differ"),
    ({"train__max_updates": 3}, "3 updates of the 5"),
], ids=lambda value: "-".join(value) if isinstance(value, dict) else "")
def test_another_run_is_found(options, word, reference, record):
    other = record("-".join(f"{key}-{value}" for key, value in options.items()), **options)
    # The forward pass of update 0 is compared before what comes of it, so each has its own message.
    bounds = ["--gradients", "10"] if word == "update 0 has other samples" else []
    assert word in compare(reference, other, *bounds).failed(1).err


def change_gradient(folder, change):
    """Changes the smallest gradient that is there: it must not hide behind the largest."""
    file = folder / "gradients.safetensors"
    tensors = load_file(file)
    name = min(tensors, key=lambda key: float((tensors[key] ** 2).sum()))
    tensors[name] = change(tensors[name].copy())
    save_file(tensors, file)
    return name


def with_first(value):
    def change(gradient):
        gradient.flat[0] = value
        return gradient

    return change


@pytest.mark.parametrize("change", [
    lambda g: g * 1.002, lambda g: -g, lambda g: g * 0, with_first(float("nan")),
    with_first(float("inf")),
], ids=["two thousandths", "sign", "zero", "nan", "inf"])
def test_a_wrong_gradient_is_found(change, reference, tmp_path):
    copy = shutil.copytree(reference, tmp_path / "copy")
    compare(reference, copy).ok()
    name = change_gradient(copy, change)
    assert f"the gradient of {name}" in compare(reference, copy).failed(1).err


@pytest.mark.parametrize("factor", [1.002, 0.998, float("nan")])
def test_a_wrong_loss_is_found(factor, reference, tmp_path):
    copy = shutil.copytree(reference, tmp_path / "copy")
    lines = [json.loads(line) for line in (copy / "updates.jsonl").read_text().splitlines()]
    lines[-1]["loss"] *= factor
    (copy / "updates.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "update 4" in compare(reference, copy).failed(1).err
    compare(reference, copy, "--updates", 4).ok()


@pytest.mark.parametrize("file", ["initial.safetensors", "gradients.safetensors", "updates.jsonl"])
def test_a_missing_file_is_found(file, reference, tmp_path):
    copy = shutil.copytree(reference, tmp_path / "copy")
    (copy / file).unlink()
    assert file in compare(reference, copy).failed(1).err
