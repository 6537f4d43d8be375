#!/usr/bin/env python3
"""Compares two records of the first updates of a run (record.dir, docs/testing.md), made on
different devices or numbers of ranks: the same weights to begin with, the same samples in each
update, gradients of update 0 and losses of the first updates that differ by rounding alone.

    tests/gpu/compare_records.py REFERENCE OTHER [--gradients 1e-3] [--losses 1e-3] [--updates 5]

Prints the figures; exit code 1 and what is wrong when they are beyond the bounds.
"""

import argparse
import json
import math
import pathlib
import sys

import numpy
from safetensors.numpy import load_file


class Mismatch(Exception):
    """Why the records are not of the same training."""


def require(holds, message):
    if not holds:
        raise Mismatch(message)


def tensors_of(record, name):
    """{name: float64 array} of a file of the record."""
    file = record / f"{name}.safetensors"
    require(file.is_file(), f"{file} is missing")
    return {key: value.astype(numpy.float64) for key, value in load_file(file).items()}


def updates_of(record, count):
    """The first `count` updates of a record."""
    file = record / "updates.jsonl"
    require(file.is_file(), f"{file} is missing")
    updates = [json.loads(line) for line in file.read_text().splitlines()[:count]]
    require(len(updates) == count, f"{file} has {len(updates)} updates of the {count} wanted")
    return updates


def same_names(a, b, what):
    require(set(a) == set(b), f"{what} of one record alone: {sorted(set(a) ^ set(b))}")
    require(a, f"there are no {what}")


def compare_start(reference, other):
    """The weights before update 0: equal, or the comparison would say nothing."""
    a, b = (tensors_of(record, "initial") for record in (reference, other))
    same_names(a, b, "initial weights")
    for name in a:
        require(numpy.array_equal(a[name], b[name]), f"the initial weights differ in {name}")


def gradient_errors(reference, other):
    """[(relative L2 error, norm, name)] of the gradients of update 0, worst first. A tensor that is
    tiny beside the whole gradient (zero but for rounding) is measured by a millionth of the whole."""
    a, b = (tensors_of(record, "gradients") for record in (reference, other))
    same_names(a, b, "gradients")
    whole = math.sqrt(sum(float(numpy.sum(g * g)) for g in a.values()))
    require(whole > 0, "all gradients are zero")
    errors = []
    for name, expected in a.items():
        require(expected.shape == b[name].shape, f"the gradients of {name} differ in shape")
        norm = float(numpy.linalg.norm(expected.ravel()))
        error = float(numpy.linalg.norm((b[name] - expected).ravel()))
        errors.append((error / max(norm, 1e-6 * whole), norm, name))
    return sorted(errors, key=lambda item: (-item[0] if item[0] == item[0] else -math.inf, item[2]))


def compare_gradients(reference, other, bound):
    errors = gradient_errors(reference, other)
    print(f"   gradients of update 0: {len(errors)} tensors, relative L2 error (bound {bound:g})")
    for error, norm, name in errors[:5]:
        print(f"     {error:9.2e}  norm {norm:9.2e}  {name}")
    worst, _, name = errors[0]
    # Written so that a NaN fails.
    require(worst < bound, f"the gradient of {name} is off by {worst:.2e}, more than {bound:g}")


def samples_of(update):
    """Ids and augmentation of each micro-batch."""
    return [[micro[key] for key in ("ids", "dy", "dx", "flip")] for micro in update["micro"]]


def compare_updates(reference, other, count, bound):
    print(f"   losses of the first {count} updates, relative error (bound {bound:g})")
    wrong = []
    for a, b in zip(updates_of(reference, count), updates_of(other, count), strict=True):
        number = a["update"]
        require(samples_of(a) == samples_of(b), f"update {number} has other samples")
        require(a["lr"] == b["lr"], f"update {number} has another learning rate")
        error = abs(b["loss"] - a["loss"]) / abs(a["loss"])
        print(f"     update {number}: {a['loss']:.9f} and {b['loss']:.9f}, {error:9.2e}"
              f"   gradient norm {a['grad_norm']:.6f} and {b['grad_norm']:.6f}")
        if not error < bound:
            wrong.append(f"update {number} by {error:.2e}")
    require(not wrong, f"the losses differ by more than {bound:g}: {', '.join(wrong)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=pathlib.Path)
    parser.add_argument("other", type=pathlib.Path)
    parser.add_argument("--gradients", type=float, default=1e-3, help="bound of the gradients")
    parser.add_argument("--losses", type=float, default=1e-3, help="bound of the losses")
    parser.add_argument("--updates", type=int, default=5, help="updates to compare")
    args = parser.parse_args()
    print(f"   {args.reference.name} and {args.other.name}")
    try:
        compare_start(args.reference, args.other)
        compare_gradients(args.reference, args.other, args.gradients)
        compare_updates(args.reference, args.other, args.updates, args.losses)
    except Mismatch as mismatch:
        sys.exit(f"   {args.reference.name} and {args.other.name} differ: {mismatch}")


if __name__ == "__main__":
    main()
