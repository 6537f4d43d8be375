"""Checkpoints in PyTorch: the safetensors package reads them, the twin network takes them strictly
and comes to the same counts as `lockstep evaluate`, and torchvision's own network to the same loss.
"""

import json
import re
import shutil

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
    # Deeper networks get statistics that soon forget where they began.
    {"model.name": "resnet50", "model.width": 4, "model.bn_momentum": 0.5},
    {"model.name": "resnet20", "model.width": 4, "model.bn_momentum": 0.5},
    {"model.name": "wide_resnet28_10", "model.width": 1, "model.dropout": 0.2,
     "model.bn_momentum": 0.5},
    {"model.name": "vit_tiny", "model.width": 12, "model.dropout": 0.1, "optim.lr": 0.01},
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


# At their full size. Statistics of the one update alone: those of the start would let the
# activations of a deep network grow beyond what float32 resolves.
TORCHVISIONS = {
    **{name: {"model.stem": "imagenet", "model.bn_momentum": 1.0}
       for name in ("resnet18", "resnet34", "resnet50")},
    "vit_tiny": {},
}


def torchvisions(name, classes, size):
    """Its network of that name, and a vision transformer of the sizes that it has no name for."""
    models = pytest.importorskip("torchvision").models
    if name == "vit_tiny":
        return models.vision_transformer.VisionTransformer(
            image_size=size, patch_size=4, num_layers=12, num_heads=3, hidden_dim=192,
            mlp_dim=768, num_classes=classes)
    return getattr(models, name)(num_classes=classes)


@pytest.mark.parametrize("name", TORCHVISIONS)
def test_torchvision_takes_the_weights_and_computes_the_same(name, tiny_set, tmp_path):
    torch.set_num_threads(1)
    network = torchvisions(name, 3, 32)
    val_set = tiny_set(12, size=32, seed=4)
    run = runs.train(tmp_path, 0, {
        **TORCHVISIONS[name], "model.name": name, "model.width": 0, "optim.lr": 0.001,
        "data.train": tiny_set(24, size=32), "data.val": val_set, "train.batch_size": 24,
        "train.max_updates": 1})
    folder = run.folder / "checkpoints"
    folder = folder / json.loads((folder / "best").read_text())["checkpoint"]
    network.load_state_dict(load_file(folder / "model.safetensors"), strict=True)
    network.double().eval()
    state = json.loads((folder / "state.json").read_text())
    metrics = run.metrics[0]
    shutil.rmtree(run.folder)  # up to 200 MB, which pytest would keep

    images, labels = replay.read_set(val_set)
    x = torch.from_numpy(images).permute(0, 3, 1, 2).double() / 255
    mean, std = [torch.tensor(state[key], dtype=torch.float64)[:, None, None]
                 for key in ("mean", "std")]
    with torch.no_grad():
        logits = network((x - mean) / std)
    target = torch.from_numpy(labels)
    assert float(metrics["val_top1"]) == (logits.argmax(1) == target).double().mean().item()
    loss = torch.nn.functional.cross_entropy(logits, target).item()
    assert abs(float(metrics["val_loss"]) - loss) <= 1e-5 * max(1, loss)
