"""What a change of an option can do, as functions that assert it on two runs. Used by
option_table.py."""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Callable

import numpy
import runs


@dataclass
class Option:
    """`see(before, after)` asserts on two runs: with `base`, and with `base` and `change`."""

    change: dict
    see: Callable
    base: dict = field(default_factory=dict)
    np: int = 0
    verb: str = "train"


def losses(before, after):
    """The recorded losses differ, and both are numbers."""
    assert before.losses != after.losses
    assert numpy.isfinite(before.losses + after.losses).all()


def only_later_losses(before, after):
    """The first loss is the same (weights and pictures are), later ones are not."""
    assert before.losses[0] == after.losses[0]
    assert before.losses[-1] != after.losses[-1]


def learning_rates(expected):
    def see(before, after):
        rates = [u["lr"] for u in after.updates]
        numpy.testing.assert_allclose(rates, expected, rtol=1e-12, atol=1e-15)
        assert [u["lr"] for u in before.updates] != rates

    return see


def one_cycle(lr, total, pct_start=0.3, div=25, final=1e4):
    """PyTorch's OneCycleLR with cosines, two phases."""
    low, peak, last = lr / div, pct_start * total - 1, total - 1

    def anneal(start, end, t):
        return end + (start - end) / 2 * (1 + math.cos(math.pi * t))

    return [anneal(low, lr, u / peak) if u <= peak
            else anneal(lr, low / final, (u - peak) / (last - peak)) for u in range(total)]


def pictures_first_update(before, after):
    """Other pictures reach the network: the first loss differs though the weights are the same."""
    assert runs.largest_difference(before.weights("initial"), after.weights("initial")) == 0
    assert before.losses[0] != after.losses[0]


def rows(before_count, after_count):
    def see(before, after):
        assert (len(before.metrics), len(after.metrics)) == (before_count, after_count)

    return see


def val_samples(before_count, after_count):
    def see(before, after):
        for run, count in ((before, before_count), (after, after_count)):
            assert f" of {count}" in run.log, run.log

    return see


def updates(before_count, after_count):
    def see(before, after):
        assert (len(before.updates), len(after.updates)) == (before_count, after_count)

    return see


def initial_weights(before, after):
    a, b = before.weights("initial"), after.weights("initial")
    assert set(a) == set(b)
    assert any(not numpy.array_equal(a[k], b[k]) for k in a)


def shapes(name, before_shape, after_shape):
    def see(before, after):
        found = [run.weights("initial")[name].shape for run in (before, after)]
        assert found == [before_shape, after_shape]

    return see


def ids_of(run):
    return [i for update in run.updates for micro in update["micro"] for i in micro["ids"]]


def seeds(before, after):
    assert ids_of(before) != ids_of(after)
    initial_weights(before, after)


def holdout_seed(before, after):
    assert set(ids_of(before)) != set(ids_of(after))
    assert len(ids_of(before)) == len(ids_of(after))


def folder(before, after):
    assert before.folder != after.folder
    assert before.folder.is_dir() and after.folder.is_dir()


def dtypes(before, after):
    for run, dtype in ((before, numpy.float32), (after, numpy.float64)):
        assert run.weights("initial")["conv1.weight"].dtype == dtype


def device(before, after):
    """A machine with a GPU says so; elsewhere asking for one is an error."""
    assert re.search(r"\bcpu\b", before.log)
    if after.result.code == 0:
        assert "cuda" in after.log.lower() or "nvidia" in after.log.lower()
    else:
        assert after.result.code == 2 and "run.device" in after.result.text, after.result.explain()


def log_text(before_has, after_has):
    """What only the first, and what only the second log says (regular expressions or None)."""

    def see(before, after):
        for run, has, has_not in ((before, before_has, after_has), (after, after_has, before_has)):
            run.result.ok()
            assert has is None or re.search(has, run.log), run.log
            assert has_not is None or not re.search(has_not, run.log), run.log

    return see


def progress_lines(before, after):
    """Lines of progress, which stand on the console alone, are more than before."""
    console = [len(run.result.out.splitlines()) for run in (before, after)]
    assert console[1] >= console[0] + 3, after.result.out


def memory(before, after):
    peaks = [int(re.search(r"maxrss (\d+)", run.result.out)[1]) for run in (before, after)]
    assert peaks[1] > peaks[0] + 40_000, peaks  # KiB


def observed_more(quantity, by):
    def see(before, after):
        before.result.ok()
        after.result.ok()
        assert after.seen[quantity] >= before.seen[quantity] + by, (before.seen, after.seen)

    return see


def frozen(before, after):
    initial, final = after.weights("initial"), after.weights()
    for name in initial:
        assert numpy.array_equal(initial[name], final[name]) == name.startswith("conv1."), name
    assert not numpy.array_equal(before.weights("initial")["conv1.weight"],
                                 before.weights()["conv1.weight"])


def running_mean(before, after):
    """Running mean after one update: momentum times the batch's mean."""
    a, b = [run.weights()["features.1.running_mean"] for run in (before, after)]
    assert float(numpy.abs(a).max()) > 0
    numpy.testing.assert_allclose(b, a * 5, rtol=1e-5, atol=1e-7)


def best_epoch(before, after):
    """Each run's pointer names the epoch that its own metrics call best."""
    found = []
    for run, key, sign in ((before, "val_top1", -1), (after, "val_loss", 1)):
        scores = [sign * float(row[key]) for row in run.metrics]
        best = json.loads((run.folder / "checkpoints" / "best").read_text())
        found.append(scores.index(min(scores)))
        assert run.checkpoint_epoch(best) == found[-1] + 1
    assert found[0] != found[1], "the two scores agree on the best epoch: the test shows nothing"


def checkpoint_epochs(before_epochs, after_epochs):
    def see(before, after):
        assert before.saved_epochs == before_epochs
        assert after.saved_epochs == after_epochs

    return see


def fine_tuned(before, after):
    """The file has one tensor of the network: refused, or taken and the others drawn."""
    before.result.failed(2)
    assert "missing in the file" in before.result.text, before.result.explain()
    after.result.ok()
    assert not numpy.any(after.weights("initial")["conv1.weight"])
    assert numpy.any(after.weights("initial")["conv2.weight"])


def stopped_after(updates):
    def see(before, after):
        before.result.ok()
        after.result.failed(85)
        assert f"saved after {updates} updates" in after.log
        assert after.saved_updates[-1] == updates

    return see


def saved_updates(before_updates, after_updates):
    def see(before, after):
        assert before.saved_updates == before_updates
        assert after.saved_updates == after_updates

    return see


def fails_with(words, code=None, before_ok=True):
    def see(before, after):
        if before_ok:
            before.result.ok()
        after.result.failed(code)
        assert words in after.result.text, after.result.explain()

    return see


def rounding(before, after):
    """The same numbers but for the last bits: kernels of another layout add in another order."""
    assert runs.largest_difference(before.weights("initial"), after.weights("initial")) == 0
    assert 0 < runs.largest_difference(before.weights(), after.weights()) < 1e-4


def buckets(before, after):
    found = [int(re.search(r"(\d+) gradient bucket", run.log)[1]) for run in (before, after)]
    assert found[1] > found[0], found


def micro_batches(before, after):
    assert [len(run.updates[0]["micro"]) for run in (before, after)] == [1, 3]


def batch_sizes(before, after):
    assert [run.updates[0]["samples"] for run in (before, after)] == [16, 10]


def clipped(before, after):
    assert after.updates[0]["grad_norm"] == before.updates[0]["grad_norm"] > 1e-3
    only_later_losses(before, after)


def drop_last(before, after):
    """54 training samples in batches of 16: the last has 6, or is dropped."""
    assert [u["samples"] for u in before.updates[:4]] == [16, 16, 16, 6]
    assert [u["samples"] for u in after.updates[:4]] == [16, 16, 16, 16]
    assert after.metrics[0]["updates"] == "3"


def record_folder(before, after):
    assert not before.record.exists() and (after.record / "meta.json").exists()


def model_names(before, after):
    assert "features.1.weight" not in before.weights("initial")
    assert "features.1.weight" in after.weights("initial")


def decay_of_biases(before, after):
    """Only biases shrink more than before: one update, the same gradients."""
    a, b = before.weights(), after.weights()
    for name in a:
        assert numpy.array_equal(a[name], b[name]) == (a[name].ndim > 1), name


def scaled_steps(before, after):
    """One update moves the weights of conv1 half as far, its bias not at all, the others as
    before."""
    start, a, b = before.weights("initial"), before.weights(), after.weights()
    for name in start:
        factor = {"conv1.weight": 0.5, "conv1.bias": 0}.get(name, 1)
        moved = a[name] - start[name]
        assert numpy.any(moved)
        numpy.testing.assert_allclose(b[name] - start[name], factor * moved, rtol=1e-3, atol=1e-7)
        assert factor == 0.5 or numpy.array_equal(b[name], a[name] if factor else start[name]), name


def unused(before, after):
    assert "unused" not in before.weights() and after.weights()["unused"].shape == (3,)
