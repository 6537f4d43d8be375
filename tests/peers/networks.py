"""The project's networks in PyTorch, with nn.BatchNorm2d, so that its weights load strictly. Where
the project's dropout stands, `Keyed` applies a mask recomputed from the documented keys."""

import philox
import torch
from torch import nn


class Keyed(nn.Module):
    """Dropout from keys. `moment` = (seed, update, ids) is set before a training pass."""

    def __init__(self, probability, layer):
        super().__init__()
        self.probability, self.layer, self.moment = probability, layer, None

    def forward(self, x):
        if not self.training or self.probability == 0:
            return x
        seed, update, ids = self.moment
        keep = philox.dropout_keep(seed, update, self.layer, ids, x[0].numel(), self.probability)
        mask = torch.from_numpy(keep).reshape(x.shape).to(x.dtype)
        return x * mask / (1 - self.probability)


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
    def __init__(self, inputs, outputs, stride, momentum):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs, momentum=momentum)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs, momentum=momentum)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                            nn.BatchNorm2d(outputs, momentum=momentum))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, classes, stem, width, momentum):
        super().__init__()
        width = width or 64
        cifar = stem == "cifar"
        self.conv1 = nn.Conv2d(3, width, 3 if cifar else 7, 1 if cifar else 2, 1 if cifar else 3,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(width, momentum=momentum)
        self.pool = nn.Identity() if cifar else nn.MaxPool2d(3, 2, 1)
        inputs = width
        for stage in range(4):
            outputs, stride = width << stage, 1 if stage == 0 else 2
            setattr(self, f"layer{stage + 1}", nn.Sequential(
                BasicBlock(inputs, outputs, stride, momentum),
                BasicBlock(outputs, outputs, 1, momentum)))
            inputs = outputs
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
        return self.fc(x.mean(dim=(2, 3)))


def build(config, classes, height, width_pixels):
    """The network of a parsed config (a dict of "section.key" -> text)."""
    name = config["model.name"]
    width, dropout = int(config["model.width"]), float(config["model.dropout"])
    momentum = float(config["model.bn_momentum"])
    if name == "simple_cnn":
        network = SimpleCnn(classes, height, width_pixels, width, dropout)
    elif name == "cifar_cnn":
        network = CifarCnn(classes, height, width_pixels, width, dropout, momentum)
    elif name == "resnet18":
        network = ResNet18(classes, config["model.stem"], width, momentum)
    else:
        raise ValueError(f"no PyTorch twin of model {name}")
    if config.get("fault.unused_parameter", "false") == "true":
        network.register_parameter("unused", nn.Parameter(torch.zeros(3)))
    return network
