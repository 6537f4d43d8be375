#!/usr/bin/env python3
"""Trains a recipe of configs/ in PyTorch, as one writes it there, for the comparison of accuracies:
the same network, pictures, sizes, optimizer and schedule; its own random numbers and split.

    bench/pytorch_recipe.py --lockstep build/release/bin/lockstep --config configs/cifar_resnet20.cfg \\
        --train shards/train --test shards/test --threads 2

One process. Prints a line per epoch, and at the end one line of JSON. Recipes with dropout, clipping,
accumulation or another optimizer than sgd are refused: their twins are not written here.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "peers"))

import networks  # noqa: E402
import torch  # noqa: E402
from replay import parse_config, read_set  # noqa: E402
from torch import nn  # noqa: E402

FIXED = {"model.dropout": 0, "train.accumulation": 1, "train.clip_norm": 0}
WORDS = {"optim.name": "sgd", "augment.crop_mode": "zero", "run.dtype": "float32"}


def recipe(arguments):
    """Every value of the recipe, as the program itself understands it."""
    text = subprocess.run([arguments.lockstep, "train", "--config", arguments.config,
                           "--data.train", arguments.train, "--print-config"],
                          check=True, capture_output=True, text=True).stdout
    config = {key: value.split(" #")[0].strip() for key, value in parse_config(text).items()}
    for key, wanted in FIXED.items():
        if float(config[key]) != wanted:
            sys.exit(f"{key} = {config[key]} has no twin here (only {wanted})")
    for key, wanted in WORDS.items():
        if config[key] != wanted:
            sys.exit(f"{key} = {config[key]} has no twin here (only {wanted})")
    if config["schedule.name"] not in ("linear", "cosine"):
        sys.exit(f"schedule.name = {config['schedule.name']} has no twin here")
    return config


def split(labels, fraction, seed):
    """Indices for training and validation, per class."""
    generator = torch.Generator().manual_seed(seed)
    train, val = [], []
    for label in range(int(labels.max()) + 1):
        mine = torch.nonzero(labels == label).flatten()
        mine = mine[torch.randperm(len(mine), generator=generator)]
        held = round(fraction * len(mine))
        val.append(mine[:held])
        train.append(mine[held:])
    return torch.cat(train), torch.cat(val)


def augmented(images, padding, flip):
    """uint8 [B, 3, H, W]: a random crop of the padded picture, mirrored half of the time."""
    count, _, height, width = images.shape
    if padding:
        padded = nn.functional.pad(images, (padding,) * 4)
        dy, dx = torch.randint(0, 2 * padding + 1, (2, count))
        images = torch.stack([picture[:, y:y + height, x:x + width]
                              for picture, y, x in zip(padded, dy.tolist(), dx.tolist())])
    if flip:
        mirrored = torch.rand(count) < 0.5
        images = torch.where(mirrored[:, None, None, None], images.flip(3), images)
    return images


@torch.no_grad()
def accuracy(network, images, labels, normalise):
    network.eval()
    right = sum(int((network(normalise(images[i:i + 500])).argmax(1) == labels[i:i + 500]).sum())
                for i in range(0, len(labels), 500))
    return right / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("lockstep", "config", "train", "test"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = recipe(arguments)
    torch.manual_seed(int(config["run.seed"]))

    images, labels = (torch.from_numpy(a) for a in read_set(arguments.train))
    images = images.permute(0, 3, 1, 2)
    test_images, test_labels = (torch.from_numpy(a) for a in read_set(arguments.test))
    test_images = test_images.permute(0, 3, 1, 2)
    mean = images.double().mean(dim=(0, 2, 3)) / 255
    std = images.double().div(255).std(dim=(0, 2, 3), unbiased=False)
    shift, scale = (mean.float()[:, None, None], std.float()[:, None, None])

    def normalise(batch):
        return ((batch.float() / 255 - shift) / scale).contiguous(memory_format=torch.channels_last)

    train, val = split(labels, float(config["data.holdout"]), int(config["data.holdout_seed"]))
    batch, epochs = int(config["train.batch_size"]), int(config["train.epochs"])
    network = networks.build(config, int(labels.max()) + 1, images.shape[2], images.shape[3])
    network = network.to(memory_format=torch.channels_last)
    groups = [{"params": [p for p in network.parameters() if p.dim() > 1],
               "weight_decay": float(config["optim.weight_decay"])},
              {"params": [p for p in network.parameters() if p.dim() <= 1], "weight_decay": 0}]
    peak = float(config["optim.lr"])
    optimizer = torch.optim.SGD(groups, lr=peak, momentum=float(config["optim.momentum"]),
                                nesterov=config["optim.nesterov"] == "true")
    loss_of = nn.CrossEntropyLoss(label_smoothing=float(config["train.label_smoothing"]))

    per_epoch = -(-len(train) // batch)
    warmup = round(float(config["schedule.warmup_epochs"]) * per_epoch)
    after = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, epochs * per_epoch - warmup) \
        if config["schedule.name"] == "linear" else \
        torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * per_epoch - warmup)
    schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [
        torch.optim.lr_scheduler.LinearLR(optimizer, 1e-3, 1, warmup), after], [warmup]) \
        if warmup else after

    begin, best = time.time(), (0.0, 0, 0.0)
    for epoch in range(1, epochs + 1):
        network.train()
        total, started = 0.0, time.time()
        for ids in train[torch.randperm(len(train))].split(batch):
            x = normalise(augmented(images[ids], int(config["augment.crop_padding"]),
                                    config["augment.flip"] == "true"))
            loss = loss_of(network(x), labels[ids])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(ids)
        rate = len(train) / (time.time() - started)
        score = accuracy(network, images[val], labels[val], normalise)
        if score > best[0]:
            best = (score, epoch, accuracy(network, test_images, test_labels, normalise))
        print(f"epoch {epoch}/{epochs}  loss {total / len(train):.4f}  validation {score:.4f}  "
              f"{rate:.0f} images/s", flush=True)
    print(json.dumps({"torch": torch.__version__, "config": arguments.config, "epochs": epochs,
                      "validation": best[0], "best_epoch": best[1], "test_of_best": best[2],
                      "test_of_last": accuracy(network, test_images, test_labels, normalise),
                      "seconds": time.time() - begin}))


if __name__ == "__main__":
    main()
