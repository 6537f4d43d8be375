"""The PyTorch twin of resnet18 against torchvision's own: same names, same numbers."""

import networks
import pytest
import torch


def test_resnet18_is_torchvisions():
    torchvision = pytest.importorskip("torchvision")
    theirs = torchvision.models.resnet18(num_classes=7).double().eval()
    mine = networks.ResNet18(7, "imagenet", 0, 0.1).double().eval()
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict(), strict=True)
    x = torch.randn(2, 3, 64, 64, dtype=torch.float64)
    assert torch.equal(mine(x), theirs(x))


def test_cifar_cnn_has_the_stated_shape():
    network = networks.CifarCnn(10, 32, 32, 0, 0.0, 0.1)
    shapes = [tuple(p.shape) for p in network.parameters() if p.dim() > 1]
    assert shapes == [(32, 3, 3, 3), (32, 32, 3, 3), (64, 32, 3, 3), (64, 64, 3, 3), (512, 4096),
                      (10, 512)]
    assert not any(n.startswith("features") and n.endswith("bias") and f"{n[:-4]}running_mean"
                   not in network.state_dict() for n in network.state_dict())
