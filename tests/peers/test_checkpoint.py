"""Checkpoints in PyTorch: the safetensors package reads them, the twin network takes them strictly
and comes to the same counts as `lockstep evaluate`."""

import json
import re

import networks
import pytest
import replay
import runs
import torch
from safetensors.torch import load_file

MODELS = [
    {"model.name": "simple_cnn"},
    {"model.name": "cifar_cnn", "model.dropout": 0.2},
    {"model.name": "resnet18", "model.width": 8},
    {"model.name": "resnet18", "model.stem": "imagenet", "model.width": 8},
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: "-".join(map(str, m.values())))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_evaluation_in_pytorch(model, dtype, tiny_set, tmp_path, lockstep):
    torch.set_num_threads(1)
    test_set = tiny_set(101, size=32, classes=10, seed=4)
    run = runs.train(tmp_path, 2, {**model, "data.train": tiny_set(150, size=32, classes=10),
                                   "train.epochs": 1, "run.dtype": dtype})
    result = lockstep(2, "evaluate", checkpoint=run.folder / "checkpoints" / "best",
                      data__test=test_set).ok()
    loss, one, n, five = re.search(r"loss ([\d.]+)  top-1 \S+ % \((\d+) of (\d+)\)  top-5 \S+ % "
                                   r"\((\d+) of", result.out).groups()

    folder = run.folder / "checkpoints"
    folder = folder / json.loads((folder / "best").read_text())["checkpoint"]
    weights = load_file(folder / "model.safetensors")
    config = replay.parse_config((folder / "config.cfg").read_text())
    state = json.loads((folder / "state.json").read_text())
    wanted = torch.float64 if dtype == "float64" else torch.float32
    assert all(w.dtype in (wanted, torch.int64) for w in weights.values())

    images, labels = replay.read_set(test_set)
    network = networks.build(config, len(state["classes"]), *images.shape[1:3])
    network.load_state_dict(weights, strict=True)
    network.double().eval()
    x = torch.from_numpy(images).permute(0, 3, 1, 2).double() / 255
    mean, std = [torch.tensor(state[key], dtype=torch.float64)[:, None, None]
                 for key in ("mean", "std")]
    with torch.no_grad():
        logits = network((x - mean) / std)
    target = torch.from_numpy(labels)
    top = logits.topk(5).indices
    assert int(n) == len(labels) == 101
    assert int(one) == int((top[:, 0] == target).sum())
    assert int(five) == int((top == target[:, None]).any(1).sum())
    assert abs(float(loss) - torch.nn.functional.cross_entropy(logits, target).item()) < 2e-4


def test_weights_are_torchvisions(tiny_set, tmp_path):
    torchvision = pytest.importorskip("torchvision")
    run = runs.train(tmp_path, 0, {"model.name": "resnet18", "model.stem": "imagenet",
                                   "model.width": 0, "data.train": tiny_set(24, size=32),
                                   "train.max_updates": 1})
    folder = run.folder / "checkpoints"
    folder = folder / json.loads((folder / "best").read_text())["checkpoint"]
    network = torchvision.models.resnet18(num_classes=3)
    network.load_state_dict(load_file(folder / "model.safetensors"), strict=True)
