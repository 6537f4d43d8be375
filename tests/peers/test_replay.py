"""Recorded runs of the program against their independent replay in PyTorch (replay.py): the same
weights, buffers, losses and first gradients within 1e-9, on any number of ranks."""

import itertools

import pytest
import replay
import runs
import torch

BATCH = 37
UPDATES = 20

MODELS = {
    "cifar_cnn": {"model.name": "cifar_cnn", "model.width": 4, "model.dropout": 0.3},
    "resnet18": {"model.name": "resnet18", "model.width": 4},
}
PARAMETERS = {
    "frozen": {"model.freeze": {"cifar_cnn": "features.3,features.1.bias",
                                "resnet18": "layer2.0,bn1"},
               "optim.lr_scale": {"cifar_cnn": "features=0.5, features.4=2, classifier.3.bias=0",
                                  "resnet18": "layer1=0.1, layer1.0.bn=0, fc=3"}},
    "unused": {"fault.unused_parameter": True},
}
# The last batch of an epoch: one sample for each rank, or fewer samples than ranks.
LAST = {"one_per_rank": lambda ranks: ranks, "fewer": lambda ranks: max(ranks - 1, 1)}
SGD = {"optim.name": "sgd", "optim.nesterov": True, "optim.lr": 0.05, "schedule.name": "cosine",
       "schedule.warmup_epochs": 1, "schedule.warmup_start": 0.1}
ADAMW = {"optim.name": "adamw", "optim.lr": 0.002, "optim.weight_decay": 0.05,
         "optim.decay_norm_and_bias": True, "schedule.name": "linear"}

FULL = list(itertools.product(MODELS, (1, 3), LAST, PARAMETERS))
# Every pair of values of two columns occurs in these rows.
PAIRS = [
    ("cifar_cnn", 1, "one_per_rank", "frozen"),
    ("cifar_cnn", 3, "fewer", "unused"),
    ("resnet18", 1, "fewer", "unused"),
    ("resnet18", 3, "one_per_rank", "unused"),
    ("resnet18", 3, "fewer", "frozen"),
    ("cifar_cnn", 3, "one_per_rank", "frozen"),
]
CASES = [(ranks, *row) for ranks, rows in ((1, FULL), (3, FULL), (2, PAIRS), (4, PAIRS))
         for row in rows]


def test_pairs_cover_every_pair():
    for a, b in itertools.combinations(range(4), 2):
        assert {(r[a], r[b]) for r in PAIRS} == {(r[a], r[b]) for r in FULL}


@pytest.mark.parametrize("ranks, model, accumulation, last, parameters", CASES)
def test_replay(ranks, model, accumulation, last, parameters, tiny_set, tmp_path):
    torch.set_num_threads(1)
    samples = 3 * BATCH + LAST[last](ranks)
    index = CASES.index((ranks, model, accumulation, last, parameters))
    options = {
        **MODELS[model],
        **(SGD if index % 2 == 0 else ADAMW),
        "data.train": tiny_set(samples, size=16, classes=3, pack=["--shards", "2"]),
        "data.holdout": 0,
        "augment.crop_padding": 2,
        "augment.crop_mode": "reflect" if index % 3 else "zero",
        "augment.flip": True,
        "train.batch_size": BATCH,
        "train.accumulation": accumulation,
        "train.label_smoothing": 0.1,
        "train.clip_norm": 0.8,
        "train.epochs": 5,
        "run.dtype": "float64",
        "run.seed": 100 + index,
    }
    for key, value in PARAMETERS[parameters].items():
        options[key] = value[model] if isinstance(value, dict) else value
    run = runs.train(tmp_path, ranks, options, record=UPDATES)

    again = replay.Replay(run.record)
    assert again.meta["ranks"] == ranks
    assert len(again.updates) == UPDATES
    assert bool(again.meta["frozen"]) == (parameters == "frozen")
    assert again.updates[3]["samples"] == LAST[last](ranks)
    assert any(u["grad_norm"] > 0.8 for u in again.updates), "clipping was never on"
    again.check_plan()
    differences = again.run()
    assert set(differences) == {"gradient", "weights", "loss", "grad_norm"}
    assert max(differences.values()) <= 1e-9, differences


OTHERS = {
    "adam": {"optim.name": "adam", "optim.lr": 0.002, "optim.weight_decay": 0.05,
             "optim.eps": 1e-4},
    "rmsprop": {"optim.name": "rmsprop", "optim.lr": 0.0005, "optim.weight_decay": 0.05,
                "optim.momentum": 0.5, "optim.eps": 1e-3},
}


@pytest.mark.parametrize("ranks, optimizer", [(1, "rmsprop"), (3, "adam")])
def test_other_optimizers(ranks, optimizer, tiny_set, tmp_path):
    """Without BatchNorm, and with a large eps: gradients of rounding alone would be divided by their
    own size."""
    torch.set_num_threads(1)
    run = runs.train(tmp_path, ranks, {
        **OTHERS[optimizer], "model.name": "simple_cnn", "data.train": tiny_set(3 * BATCH),
        "data.holdout": 0, "augment.flip": True, "train.batch_size": BATCH, "train.epochs": 5,
        "run.dtype": "float64"}, record=12)
    again = replay.Replay(run.record)
    again.check_plan()
    differences = again.run()
    assert max(differences.values()) <= 1e-9, differences


@pytest.mark.parametrize("change", ["flip", "lr", "ids", "seed"])
def test_the_replay_notices(change, tampered_record):
    """One changed entry of a record is seen: the comparison above can fail."""
    again = replay.Replay(tampered_record)
    update = again.updates[1]
    if change == "flip":
        update["micro"][0]["flip"][0] ^= 1
    elif change == "lr":
        update["lr"] *= 1 + 1e-6
    elif change == "ids":
        ids = update["micro"][0]["ids"]
        other = next(i for i in range(len(ids)) if again.labels[ids[i]] != again.labels[ids[0]])
        ids[0], ids[other] = ids[other], ids[0]
    else:
        again.meta["seed"] += 1  # other dropout masks
    assert max(again.run().values()) > 1e-9


@pytest.fixture(scope="module")
def tampered_record(tiny_set, tmp_path_factory):
    return runs.train(tmp_path_factory.mktemp("tampered"), 2, {
        **MODELS["cifar_cnn"], **SGD, "data.train": tiny_set(60), "data.holdout": 0,
        "augment.crop_padding": 2, "augment.flip": True, "run.dtype": "float64",
        "train.epochs": 1}, record=4).record
