"""The number of ranks, of loader threads and of micro-batches changes nothing but the time."""

import re

import numpy
import pictures
import pytest
import runs

RANKS = (1, 2, 3, 4)
FLOAT64 = {
    "model.name": "cifar_cnn",
    "model.width": 8,
    "model.dropout": 0.2,
    "augment.crop_padding": 2,
    "augment.flip": True,
    "train.batch_size": 23,
    "train.clip_norm": 2.0,
    "optim.nesterov": True,
    "data.holdout": 0.1,
    "run.dtype": "float64",
}


def first_ids(run):
    """Ids of the samples of every update, in order."""
    return [[i for micro in update["micro"] for i in micro["ids"]] for update in run.updates]


@pytest.fixture(scope="module")
def fifty(tiny_set, tmp_path_factory):
    """Fifty updates in float64 on 1 to 4 ranks: {ranks: Run}."""
    root = tmp_path_factory.mktemp("fifty")
    options = {**FLOAT64, "data.train": tiny_set(257), "train.epochs": 5}
    return {n: runs.train(root, n, options, name=f"n{n}", record=50) for n in RANKS}


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_float64_fifty_losses_and_weights(fifty, ranks):
    one, many = fifty[1], fifty[ranks]
    assert len(one.losses) == 50
    numpy.testing.assert_allclose(many.losses, one.losses, rtol=0, atol=1e-9)
    assert runs.largest_difference(many.weights(), one.weights()) <= 1e-9
    assert runs.largest_difference(one.weights("initial"), one.weights()) > 1e-3, "nothing learned"


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_the_samples_of_every_update_are_the_same(fifty, ranks):
    assert first_ids(fifty[ranks]) == first_ids(fifty[1])
    drawn = [[(m["dy"], m["dx"], m["flip"]) for m in u["micro"]] for u in fifty[ranks].updates]
    assert drawn == [[(m["dy"], m["dx"], m["flip"]) for m in u["micro"]] for u in fifty[1].updates]
    assert [u["lr"] for u in fifty[ranks].updates] == [u["lr"] for u in fifty[1].updates]


def test_every_epoch_takes_every_sample_once_in_a_new_order(fifty):
    epochs = {}
    for update in fifty[1].updates:
        epochs.setdefault(update["epoch"], []).extend(
            i for micro in update["micro"] for i in micro["ids"])
    # 257 pictures, a tenth of every class held out; the record ends within the fifth epoch.
    whole = [epochs[e] for e in range(4)]
    for epoch in whole:
        # 10 % of 85, 86 and 86 per class, halves away from zero, are held out.
        assert len(epoch) == 257 - 9 - 9 - 9
        assert len(set(epoch)) == len(epoch)
        assert sorted(epoch) == sorted(whole[0])
    assert whole[0] != whole[1]


@pytest.mark.parametrize("model", ["simple_cnn", "cifar_cnn", "resnet18"])
def test_float32_first_gradients(model, tiny_set, tmp_path):
    options = {**FLOAT64, "run.dtype": "float32", "model.name": model, "data.train": tiny_set(257),
               "train.batch_size": 64, "train.max_updates": 1}
    if model == "resnet18":
        del options["model.dropout"]  # it has no such layer
    one, *others = [runs.train(tmp_path, n, options, name=f"n{n}", record=1)
                    for n in ((1, 3, 4) if model == "cifar_cnn" else (1, 3))]
    exact = one.weights("gradients")
    scale = max(float(numpy.abs(g).max()) for g in exact.values())
    for other in others:
        assert runs.largest_difference(other.weights("gradients"), exact) <= 1e-5 * scale


def counts(text):
    """What was scored right, of how many: [(top-1, samples), (top-5, samples)]."""
    return [(int(a), int(b)) for a, b in re.findall(r"\((\d+) of (\d+)\)", text)]


@pytest.mark.parametrize("samples, size", [(21, 16), (257, 16), (10000, 8)])
def test_evaluation_counts(samples, size, tiny_set, tmp_path, lockstep):
    model = {"model.name": "cifar_cnn", "model.width": 4}
    run = runs.train(tmp_path, 1, {**model, "data.train": tiny_set(60, size=size, classes=10),
                                   "data.holdout": 0, "train.epochs": 1, "run.dtype": "float64"})
    seen = []
    for ranks in RANKS:
        result = lockstep(ranks, "evaluate", checkpoint=run.folder / "checkpoints" / "latest",
                          data__test=tiny_set(samples, size=size, classes=10, seed=5),
                          run__dtype="float64", run__threads=1, train__eval_batch_size=100).ok()
        seen.append(counts(result.out))
    assert len(seen[0]) == 2 and all(denominator == samples for _, denominator in seen[0])
    assert 0 < seen[0][0][0], seen[0]
    assert seen[1:] == [seen[0]] * 3


def test_three_samples_on_four_ranks(tiny_set, tmp_path, lockstep):
    options = {"model.name": "cifar_cnn", "model.width": 4, "data.train": tiny_set(3),
               "data.test": tiny_set(3), "data.holdout": 0, "run.dtype": "float64"}
    one, four = [runs.train(tmp_path, n, options, name=f"n{n}", record=2) for n in (1, 4)]
    numpy.testing.assert_allclose(four.losses, one.losses, rtol=0, atol=1e-9)
    assert runs.largest_difference(four.weights(), one.weights()) <= 1e-9
    result = lockstep(4, "evaluate", checkpoint=four.folder / "checkpoints" / "latest",
                      data__test=tiny_set(3)).ok()
    assert counts(result.out)[0][1] == 3


@pytest.mark.parametrize("accumulation", [2, 5])
def test_accumulation_equals_the_big_batch_without_batch_norm(accumulation, tiny_set, tmp_path):
    options = {**FLOAT64, "model.name": "simple_cnn", "data.train": tiny_set(257)}
    big = runs.train(tmp_path, 2, options, name="big", record=24)
    parts = runs.train(tmp_path, 2, {**options, "train.accumulation": accumulation}, name="parts",
                       record=24)
    assert max(len(u["micro"]) for u in parts.updates) == accumulation
    numpy.testing.assert_allclose(parts.losses, big.losses, rtol=0, atol=1e-9)
    assert runs.largest_difference(parts.weights(), big.weights()) <= 1e-9


def test_with_batch_norm_accumulation_is_another_batch(tiny_set, tmp_path):
    options = {**FLOAT64, "data.train": tiny_set(257)}
    big = runs.train(tmp_path, 0, options, name="big", record=3)
    parts = runs.train(tmp_path, 0, {**options, "train.accumulation": 2}, name="parts", record=3)
    assert runs.largest_difference(parts.weights(), big.weights()) > 1e-6
    assert "micro-batch" in parts.log and "micro-batch" not in big.log


@pytest.fixture(scope="module")
def base_run(tiny_set, tmp_path_factory):
    """A float32 run on one rank that others are compared with, bit for bit."""
    options = {**FLOAT64, "run.dtype": "float32", "data.train": tiny_set(257)}
    return options, runs.train(tmp_path_factory.mktemp("base"), 0, options, record=20)


@pytest.mark.parametrize("change", [
    {},
    {"data.threads": 8, "data.prefetch": 16},
    {"data.prefetch": 1},
])
def test_same_seed_same_bits(change, base_run, tmp_path):
    options, base = base_run
    other = runs.train(tmp_path, 0, {**options, **change}, record=20)
    assert other.losses == base.losses
    assert runs.largest_difference(other.weights(), base.weights()) == 0
    assert other.metrics == base.metrics


def test_another_seed_other_results(base_run, tmp_path):
    options, base = base_run
    other = runs.train(tmp_path, 0, {**options, "run.seed": 2}, record=20)
    assert first_ids(other) != first_ids(base)
    assert runs.largest_difference(other.weights("initial"), base.weights("initial")) > 1e-3
    assert other.losses != base.losses


def test_generated_pictures_are_spread_evenly():
    assert pictures.spread(10, 3) == [3, 3, 4]
