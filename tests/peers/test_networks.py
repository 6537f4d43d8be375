"""The PyTorch twin of resnet18 against torchvision's own: same names, same numbers."""

import networks
import pytest
import torch


def test_resnet18_is_torchvisions():
    torchvision = pytest.importorskip("torchvision")
    theirs = torchvision.models.resnet18(num_classes=7).double().eval()
    mine = networks.ResNet18(7, "imagenet", 0, 0.0, 0.1).double().eval()
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict(), strict=True)
    x = torch.randn(2, 3, 64, 64, dtype=torch.float64)
    assert torch.equal(mine(x), theirs(x))


def test_cifar_cnn_has_the_stated_shape():
    shapes = {n: tuple(p.shape) for n, p in networks.CifarCnn(10, 32, 32, 0, 0.0, 0.1).named_parameters()}
    assert shapes["fc1.weight"] == (512, 4096)
    assert [s[0] for n, s in shapes.items() if len(s) == 4] == [32, 32, 64, 64]
    assert not any(n.startswith("conv") and n.endswith("bias") for n in shapes)
