"""What a person with few photos does: begin with weights that torchvision wrote, freeze a part, train
the rest on pictures of 224 pixels."""

import json

import numpy
import pytest
import runs
import torch
from messages import USAGE, said_once
from safetensors.numpy import load_file
from safetensors.torch import save_file

torchvision = pytest.importorskip("torchvision")

OPTIONS = {"model.name": "resnet18", "model.width": 64, "model.stem": "imagenet",
           "train.batch_size": 4, "train.epochs": 2, "optim.lr": 0.01,
           "model.freeze": "conv1,bn1,layer1,layer2"}


@pytest.fixture(scope="module", params=["pth", "safetensors"])
def weights(request, tmp_path_factory):
    """A file as one makes it from torchvision's model with 1000 classes, and what is in it."""
    torch.manual_seed(3)
    network = torchvision.models.resnet18(weights=None)
    for name, buffer in network.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(std=0.1)
    file = tmp_path_factory.mktemp("weights") / f"resnet18.{request.param}"
    if request.param == "pth":
        torch.save(network.state_dict(), file)
    else:
        save_file({k: v.contiguous() for k, v in network.state_dict().items()}, file)
    return file, {k: v.numpy() for k, v in network.state_dict().items()}


def test_fine_tuning_on_few_photos(weights, tiny_set, tmp_path):
    file, source = weights
    run = runs.train(tmp_path, 2, {**OPTIONS, "model.weights": file,
                                   "data.train": tiny_set(20, size=224), "data.holdout": 0.2},
                     record=20)
    assert "begin anew for the number of classes: fc.weight, fc.bias" in run.log
    initial, final = run.weights("initial"), run.weights()
    for name, tensor in source.items():
        if not name.startswith("fc."):
            assert numpy.array_equal(initial[name], tensor), name
    frozen = tuple(OPTIONS["model.freeze"].split(","))
    for name in initial:
        # Buffers of a frozen BatchNorm too.
        same = numpy.array_equal(initial[name], final[name])
        assert same == name.startswith(frozen), name
    assert initial["fc.weight"].shape == (3, 512)
    assert float(run.metrics[-1]["train_loss"]) < float(run.metrics[0]["train_loss"])
    network = torchvision.models.resnet18(num_classes=3)
    folder = run.folder / "checkpoints"
    best = folder / json.loads((folder / "best").read_text())["checkpoint"]
    state = {k: torch.from_numpy(v) for k, v in load_file(best / "model.safetensors").items()}
    network.load_state_dict(state, strict=True)


def test_weights_of_another_model(weights, tiny_set, tmp_path):
    options = {**OPTIONS, "model.weights": weights[0], "data.train": tiny_set(12, size=32)}
    narrow = runs.launch(tmp_path, 2, {**options, "model.width": 32})
    said_once(narrow.result, USAGE, "model.weights does not fit the model", "conv1.weight")
    other = runs.launch(tmp_path, 2, {**options, "model.name": "resnet34"})
    said_once(other.result, USAGE, "missing in the file", "layer1.2.conv1.weight",
              "model.weights_strict=false")
    assert not (tmp_path / "runs" / "run").exists()
