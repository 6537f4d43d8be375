"""The project's networks in PyTorch, with nn.BatchNorm2d, so that its weights load strictly. Where
the project's dropout stands, `Keyed` applies a mask recomputed from the documented keys."""

import torch
import vit
from keyed import Keyed
from torch import nn


class SimpleCnn(nn.Module):
    def __init__(self, classes, height, width_pixels, width, dropout):
        super().__init__()
        width = width or 32
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.dropout1 = Keyed(dropout, 0)
        self.fc1 = nn.Linear(2 * width * (height // 4) * (width_pixels // 4), 4 * width)
        self.dropout2 = Keyed(dropout, 1)
        self.fc2 = nn.Linear(4 * width, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(self.dropout1(x.flatten(1))))
        return self.fc2(self.dropout2(x))


class CifarCnn(nn.Module):
    def __init__(self, classes, height, width_pixels, width, dropout, momentum):
        super().__init__()
        width = width or 32
        layers, inputs = [], 3
        for outputs in (width, width, "pool", 2 * width, 2 * width, "pool"):
            if outputs == "pool":
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                       nn.BatchNorm2d(outputs, momentum=momentum), nn.ReLU()]
            inputs = outputs
        self.features = nn.Sequential(*layers)
        flat = inputs * (height // 4) * (width_pixels // 4)
        self.classifier = nn.Sequential(nn.Linear(flat, 16 * width), nn.ReLU(), Keyed(dropout, 0),
                                        nn.Linear(16 * width, classes))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, outputs, stride, momentum):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs, momentum=momentum)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs, momentum=momentum)
        self.downsample = projection(inputs, outputs, stride, momentum)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, channels, stride, momentum):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels, momentum=momentum)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels, momentum=momentum)
        self.conv3 = nn.Conv2d(channels, 4 * channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * channels, momentum=momentum)
        self.downsample = projection(inputs, 4 * channels, stride, momentum)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


def projection(inputs, outputs, stride, momentum):
    """The shortcut of a block that changes the shape, else None."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                         nn.BatchNorm2d(outputs, momentum=momentum))


class ResNet(nn.Module):
    """torchvision's, of any width and with either stem."""

    def __init__(self, block, blocks, classes, stem, width, momentum):
        super().__init__()
        width = width or 64
        cifar = stem == "cifar"
        self.conv1 = nn.Conv2d(3, width, 3 if cifar else 7, 1 if cifar else 2, 1 if cifar else 3,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(width, momentum=momentum)
        self.pool = nn.Identity() if cifar else nn.MaxPool2d(3, 2, 1)
        inputs = width
        for stage, count in enumerate(blocks):
            channels, layers = width << stage, []
            for number in range(count):
                stride = 2 if stage > 0 and number == 0 else 1
                layers.append(block(inputs, channels, stride, momentum))
                inputs = channels * block.expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
        return self.fc(x.mean(dim=(2, 3)))


RESNETS = {"resnet18": (BasicBlock, (2, 2, 2, 2)), "resnet34": (BasicBlock, (3, 4, 6, 3)),
           "resnet50": (Bottleneck, (3, 4, 6, 3))}


class CifarBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, momentum):
        super().__init__()
        self.stride, self.missing = stride, outputs - inputs
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs, momentum=momentum)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs, momentum=momentum)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        shortcut = x[:, :, ::self.stride, ::self.stride]
        zeros = torch.zeros_like(shortcut[:, :1])
        before = [zeros] * (self.missing // 2)
        after = [zeros] * (self.missing - self.missing // 2)
        return torch.relu(y + torch.cat([*before, shortcut, *after], dim=1))


class CifarResNet(nn.Module):
    """He et al. 2016, section 4.2, with shortcuts that have no parameters."""

    def __init__(self, blocks, classes, width, momentum):
        super().__init__()
        inputs = width = width or 16
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width, momentum=momentum)
        for stage in range(3):
            layers = []
            for number in range(blocks):
                stride = 2 if stage > 0 and number == 0 else 1
                layers.append(CifarBlock(inputs, width << stage, stride, momentum))
                inputs = width << stage
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean(dim=(2, 3)))


class WideBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, momentum, dropout, layer):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs, momentum=momentum)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs, momentum=momentum)
        self.dropout = Keyed(dropout, layer)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        active = torch.relu(self.bn1(x))
        y = self.conv2(self.dropout(torch.relu(self.bn2(self.conv1(active)))))
        return y + (x if self.shortcut is None else self.shortcut(active))


class WideResNet(nn.Module):
    """Zagoruyko, Komodakis 2016: 28 layers, factor 10."""

    def __init__(self, classes, width, dropout, momentum):
        super().__init__()
        inputs = width = width or 16
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        for stage in range(3):
            layers = []
            for number in range(4):
                stride = 2 if stage > 0 and number == 0 else 1
                outputs = 10 * width << stage
                layers.append(WideBlock(inputs, outputs, stride, momentum, dropout,
                                        4 * stage + number))
                inputs = outputs
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.bn1 = nn.BatchNorm2d(inputs, momentum=momentum)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return self.fc(torch.relu(self.bn1(x)).mean(dim=(2, 3)))


def build(config, classes, height, width_pixels):
    """The network of a parsed config (a dict of "section.key" -> text)."""
    name = config["model.name"]
    width, dropout = int(config["model.width"]), float(config["model.dropout"])
    momentum = float(config["model.bn_momentum"])
    if name == "simple_cnn":
        network = SimpleCnn(classes, height, width_pixels, width, dropout)
    elif name == "cifar_cnn":
        network = CifarCnn(classes, height, width_pixels, width, dropout, momentum)
    elif name in RESNETS:
        network = ResNet(*RESNETS[name], classes, config["model.stem"], width, momentum)
    elif name in ("resnet20", "resnet56"):
        network = CifarResNet((int(name[-2:]) - 2) // 6, classes, width, momentum)
    elif name == "wide_resnet28_10":
        network = WideResNet(classes, width, dropout, momentum)
    elif name == "vit_tiny":
        network = vit.VisionTransformer(classes, height, width_pixels, width, dropout)
    else:
        raise ValueError(f"no PyTorch twin of model {name}")
    if config.get("fault.unused_parameter", "false") == "true":
        network.register_parameter("unused", nn.Parameter(torch.zeros(3)))
    return network
