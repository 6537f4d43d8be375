"""Replays a recorded run in float64 PyTorch, knowing nothing of the program but its documentation:
shards through h5py, weights through the safetensors package, everything else computed here.

    python replay.py RECORD_DIR        prints the largest differences; exit code 1 beyond 1e-9
"""

import json
import math
import pathlib
import sys

import h5py
import networks
import numpy
import philox
import torch
from safetensors.torch import load_file
from torch import nn

TOLERANCE = 1e-9


def read_set(folder):
    """Pictures uint8 [N, H, W, 3] and labels int64 [N], shards in the order of their names."""
    images, labels = [], []
    for file in sorted(pathlib.Path(folder).glob("*.h5")):
        with h5py.File(file, "r") as shard:
            images.append(shard["images"][...])
            labels.append(shard["labels"][...])
    return numpy.concatenate(images), numpy.concatenate(labels).astype(numpy.int64)


def parse_config(text):
    """`[section] key = value` lines as {"section.key": "value"}."""
    values, section = {}, ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            values[f"{section}.{key.strip()}"] = value.strip()
    return values


def pad(picture, padding, mode):
    """[3, H, W] with `padding` pixels more on every side."""
    if mode == "reflect":
        return nn.functional.pad(picture[None].double(), (padding,) * 4, mode="reflect")[0]
    return nn.functional.pad(picture.double(), (padding,) * 4)


def picture_tensor(image, dy, dx, flip, padding, mode, mean, std):
    """uint8 [H, W, 3] -> float64 [3, H, W]: pad, crop, flip, normalise."""
    height, width = image.shape[:2]
    x = pad(torch.from_numpy(image).permute(2, 0, 1), padding, mode)
    x = x[:, dy:dy + height, dx:dx + width]
    if flip:
        x = x.flip(2)
    return (x / 255 - mean[:, None, None]) / std[:, None, None]


class Replay:
    def __init__(self, record):
        record = pathlib.Path(record)
        self.meta = json.loads((record / "meta.json").read_text())
        self.updates = [json.loads(line) for line in (record / "updates.jsonl").open()]
        self.config = parse_config(self.meta["config"])
        self.initial = load_file(record / "initial.safetensors")
        self.final = load_file(record / "final.safetensors")
        self.gradients = load_file(record / "gradients.safetensors")
        self.images, self.labels = read_set(self.meta["train_set"])
        self.mean = torch.tensor(self.meta["mean"], dtype=torch.float64)
        self.std = torch.tensor(self.meta["std"], dtype=torch.float64)
        self.network = networks.build(self.config, self.meta["classes"], *self.images.shape[1:3])
        self.network.double().train()
        self.network.load_state_dict(self.initial, strict=True)
        for name, parameter in self.network.named_parameters():
            parameter.requires_grad_(name not in self.meta["frozen"])
        # A BatchNorm that is frozen whole uses its running statistics.
        for module in self.network.modules():
            if isinstance(module, nn.BatchNorm2d) and not any(
                    p.requires_grad for p in module.parameters()):
                module.eval()
        self.trained = [(n, p) for n, p in self.network.named_parameters() if p.requires_grad]
        self.optimizer = self._optimizer()
        self.differences = {}

    def number(self, key):
        return float(self.config[key])

    def flag(self, key):
        return self.config[key] == "true"

    def _scale(self, name):
        """The factor of a parameter's learning rate: that of the longest beginning of its name."""
        items = [item.split("=") for item in self.config["optim.lr_scale"].split(",") if item]
        scales = {prefix.strip(): float(scale) for prefix, scale in items}
        found = [prefix for prefix in scales if name.startswith(prefix)]
        return scales[max(found, key=len)] if found else 1.0

    def _optimizer(self):
        decay = self.number("optim.weight_decay")
        everywhere = self.flag("optim.decay_norm_and_bias")
        groups = [{"params": [p], "scale": self._scale(name),
                   "weight_decay": decay if everywhere or p.dim() > 1 else 0.0}
                  for name, p in self.trained]
        if self.config["optim.name"] == "sgd":
            return torch.optim.SGD(groups, lr=0.1, momentum=self.number("optim.momentum"),
                                   nesterov=self.flag("optim.nesterov"))
        if self.config["optim.name"] == "rmsprop":
            return torch.optim.RMSprop(
                groups, lr=0.1, alpha=self.number("optim.alpha"), eps=self.number("optim.eps"),
                momentum=self.number("optim.momentum"))
        betas = (self.number("optim.beta1"), self.number("optim.beta2"))
        kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[self.config["optim.name"]]
        return kind(groups, lr=0.1, betas=betas, eps=self.number("optim.eps"))

    def note(self, what, difference):
        difference = float(difference)
        if math.isnan(difference):
            difference = math.inf
        self.differences[what] = max(self.differences.get(what, 0.0), difference)

    def _pass(self, update, micro):
        """Forward and backward of one micro-batch over all ranks; returns its summed loss."""
        ids = micro["ids"]
        padding = int(self.config["augment.crop_padding"])
        x = torch.stack([
            picture_tensor(self.images[i], dy, dx, flip, padding, self.config["augment.crop_mode"],
                           self.mean, self.std)
            for i, dy, dx, flip in zip(ids, micro["dy"], micro["dx"], micro["flip"], strict=True)])
        for module in self.network.modules():
            if isinstance(module, networks.Keyed):
                module.moment = (self.meta["seed"], update["update"], ids)
        loss = nn.functional.cross_entropy(
            self.network(x), torch.from_numpy(self.labels[ids]), reduction="sum",
            label_smoothing=self.number("train.label_smoothing"))
        (loss / update["samples"]).backward()
        return loss.item()

    def step(self, update):
        self.optimizer.zero_grad()
        total = sum(self._pass(update, micro) for micro in update["micro"])
        for _, parameter in self.trained:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        if update["update"] == 0:
            self._compare("gradient", {n: p.grad for n, p in self.trained}, self.gradients)
        norm = math.sqrt(sum((p.grad**2).sum().item() for _, p in self.trained))
        clip = self.number("train.clip_norm")
        if clip > 0 and norm > clip:
            for _, parameter in self.trained:
                parameter.grad.mul_(clip / norm)
        for group in self.optimizer.param_groups:
            group["lr"] = update["lr"] * group["scale"]
        self.optimizer.step()
        self.note("loss", abs(total / update["samples"] - update["loss"]))
        self.note("grad_norm", abs(norm - update["grad_norm"]) / max(norm, 1))

    def _compare(self, what, mine, theirs):
        if set(mine) != set(theirs):
            raise AssertionError(f"{what}: names differ: {sorted(set(mine) ^ set(theirs))}")
        for name, value in mine.items():
            if value.shape != theirs[name].shape:
                raise AssertionError(f"{what} {name}: {value.shape} is not {theirs[name].shape}")
            self.note(what, (value.double() - theirs[name].double()).abs().max())

    def run(self):
        """Replays all updates; returns {quantity: largest absolute difference}."""
        for update in self.updates:
            self.step(update)
        self._compare("weights", self.network.state_dict(), self.final)
        return self.differences

    def learning_rate(self, update):
        """The documented schedule, from the config alone; data.holdout is 0."""
        per_epoch = -(-len(self.labels) // int(self.config["train.batch_size"]))
        total = int(self.config["train.epochs"]) * per_epoch
        warmup = round(self.number("schedule.warmup_epochs") * per_epoch)
        peak, low = self.number("optim.lr"), self.number("schedule.min_lr")
        start = self.number("schedule.warmup_start")
        if update < warmup:
            return peak * (start + (1 - start) * update / warmup)
        t = (update - warmup) / (total - warmup)
        name = self.config["schedule.name"]
        return {"constant": peak, "linear": peak + (low - peak) * t,
                "cosine": low + (peak - low) * (1 + math.cos(math.pi * t)) / 2}[name]

    def check_plan(self):
        """The recorded plan against the documented formulas: cuts, transforms, counts."""
        padding = int(self.config["augment.crop_padding"])
        flip, size = self.flag("augment.flip"), self.meta["ranks"]
        accumulation = int(self.config["train.accumulation"])
        for number, update in enumerate(self.updates):
            assert update["update"] == number
            assert math.isclose(update["lr"], self.learning_rate(number), rel_tol=1e-12)
            b = update["samples"]
            cuts = [m * b // accumulation for m in range(accumulation + 1)]
            micros = [(lo, hi) for lo, hi in zip(cuts, cuts[1:]) if hi > lo]
            assert [len(m["ids"]) for m in update["micro"]] == [hi - lo for lo, hi in micros]
            for micro in update["micro"]:
                n = len(micro["ids"])
                parts = [(r + 1) * n // size - r * n // size for r in range(size)]
                assert micro["per_rank"] == parts, (micro["per_rank"], parts)
                drawn = philox.draw_transforms(self.meta["seed"], update["epoch"], micro["ids"],
                                               padding, flip)
                assert [micro["dy"], micro["dx"], [int(f) for f in micro["flip"]]] == drawn
            ids = [i for m in update["micro"] for i in m["ids"]]
            assert len(set(ids)) == len(ids) == b


def main():
    torch.set_num_threads(1)
    replay = Replay(sys.argv[1])
    replay.check_plan()
    differences = replay.run()
    for what, difference in sorted(differences.items()):
        print(f"{what:12} {difference:.3g}")
    return 0 if max(differences.values()) <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
