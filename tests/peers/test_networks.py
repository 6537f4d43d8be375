"""The PyTorch twins of torchvision's models against torchvision's own: same names, same numbers."""

import networks
import pytest
import torch
import vit


def same(mine, theirs, x):
    """The same names, and with the same weights the same logits."""
    mine, theirs = mine.double().eval(), theirs.double().eval()
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict(), strict=True)
    with torch.no_grad():
        expected = theirs(x)
        assert expected.abs().max() > 0
        assert (mine(x) - expected).abs().max() <= 1e-12 * expected.abs().max()


@pytest.mark.parametrize("name", networks.RESNETS)
def test_resnets_are_torchvisions(name):
    torchvision = pytest.importorskip("torchvision")
    same(networks.ResNet(*networks.RESNETS[name], 7, "imagenet", 0, 0.1),
         getattr(torchvision.models, name)(num_classes=7),
         torch.randn(2, 3, 64, 64, dtype=torch.float64))


def test_vit_is_torchvisions():
    torchvision = pytest.importorskip("torchvision")
    theirs = torchvision.models.vision_transformer.VisionTransformer(
        image_size=16, patch_size=4, num_layers=12, num_heads=3, hidden_dim=24, mlp_dim=96,
        num_classes=7)
    torch.nn.init.normal_(theirs.heads.head.weight)  # zero otherwise
    same(vit.VisionTransformer(7, 16, 16, 24, 0.0), theirs,
         torch.randn(2, 3, 16, 16, dtype=torch.float64))


@pytest.mark.parametrize("network, parameters", [
    (lambda: networks.CifarResNet(3, 10, 0, 0.1), 269722),
    (lambda: networks.CifarResNet(9, 10, 0, 0.1), 853018),
    (lambda: networks.WideResNet(10, 0, 0.0, 0.1), 36479194),
    (lambda: vit.VisionTransformer(1000, 224, 224, 0, 0.0), 5717416),
], ids=["resnet20", "resnet56", "wide_resnet28_10", "vit_tiny"])
def test_sizes_of_the_others(network, parameters):
    assert sum(p.numel() for p in network().parameters()) == parameters


def test_cifar_cnn_has_the_stated_shape():
    network = networks.CifarCnn(10, 32, 32, 0, 0.0, 0.1)
    shapes = [tuple(p.shape) for p in network.parameters() if p.dim() > 1]
    assert shapes == [(32, 3, 3, 3), (32, 32, 3, 3), (64, 32, 3, 3), (64, 64, 3, 3), (512, 4096),
                      (10, 512)]
    assert not any(n.startswith("features") and n.endswith("bias") and f"{n[:-4]}running_mean"
                   not in network.state_dict() for n in network.state_dict())
