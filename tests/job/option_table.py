"""For every option of the program: a change of it and what that change must do. Used by
test_options.py."""

import json
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


def unused(before, after):
    assert "unused" not in before.weights() and after.weights()["unused"].shape == (3,)


ADAMW = {"optim.name": "adamw", "optim.lr": 0.01}
CIFAR = {"model.name": "cifar_cnn"}
FIVE = {"train.epochs": 5, "train.max_updates": 0}
CONSTANT = {"schedule.name": "constant", "optim.lr": 0.08}
ONE = {"train.max_updates": 1}
DEBUG = {"run.log_level": "debug"}
THROW = {"fault.point": "step", "fault.step": 2}
HOLD = {"fault.point": "step", "fault.action": "sleep", "fault.step": 2, "fault.seconds": 1.5,
        "data.train": "set:wide", "train.batch_size": 32}

# Every run records its updates; 54 of the 60 pictures train: 4 updates an epoch, 2 epochs.
OPTIONS = {
    "run.name": Option({"run.name": "other"}, folder),
    "run.root": Option({"run.root": "tmp:elsewhere"}, folder),
    "run.resume": Option({"run.resume": "tmp:none-here"},
                         fails_with("there is no checkpoint", 2)),
    "run.seed": Option({"run.seed": 2}, seeds),
    "run.device": Option({"run.device": "cuda"}, device),
    "run.dtype": Option({"run.dtype": "float64"}, dtypes),
    "run.threads": Option({"run.threads": 2}, log_text(r"\b1 thread\b", r"\b2 threads\b")),
    "run.log_level": Option({"run.log_level": "debug"}, log_text(None, r" debug ")),
    "run.progress": Option({"run.progress": "plain"}, progress_lines,
                           {"run.progress_interval": 1e-6}),
    "run.progress_interval": Option({"run.progress_interval": 1e-6}, progress_lines,
                                    {"run.progress": "plain", "run.progress_interval": 1000}),
    "data.train": Option({"data.train": "set:b"}, losses),
    "data.val": Option({"data.val": "set:b"}, val_samples(6, 45)),
    "data.test": Option({"data.test": "set:b"}, log_text(None, r"test set.*\(\d+ of 45\)")),
    "data.holdout": Option({"data.holdout": 0.3}, val_samples(6, 18)),
    "data.holdout_seed": Option({"data.holdout_seed": 7}, holdout_seed),
    "data.drop_last": Option({"data.drop_last": True}, drop_last),
    "data.threads": Option({"data.threads": 5}, observed_more("threads", 4), HOLD),
    "data.prefetch": Option({"data.prefetch": 6}, observed_more("bytes read", 3 * 32 * 3072),
                            {**HOLD, "data.prefetch": 1}),
    "augment.crop_padding": Option({"augment.crop_padding": 4}, pictures_first_update),
    "augment.crop_mode": Option({"augment.crop_mode": "reflect"}, pictures_first_update,
                                {"augment.crop_padding": 4}),
    "augment.flip": Option({"augment.flip": True}, pictures_first_update),
    "augment.mean": Option({"augment.mean": "0.1,0.5,0.4"}, pictures_first_update),
    "augment.std": Option({"augment.std": "0.1,0.5,0.4"}, pictures_first_update),
    "model.name": Option({"model.name": "cifar_cnn"}, model_names),
    "model.stem": Option({"model.stem": "imagenet"},
                         shapes("conv1.weight", (4, 3, 3, 3), (4, 3, 7, 7)),
                         {"model.name": "resnet18", "data.train": "set:wide", **ONE}),
    "model.width": Option({"model.width": 6},
                          shapes("conv1.weight", (4, 3, 3, 3), (6, 3, 3, 3))),
    "model.dropout": Option({"model.dropout": 0.5}, pictures_first_update),
    "model.init": Option({"model.init": "xavier"}, initial_weights),
    "model.bn_momentum": Option({"model.bn_momentum": 0.5}, running_mean, {**CIFAR, **ONE}),
    "model.freeze": Option({"model.freeze": "conv1"}, frozen),
    "model.memory_format": Option({"model.memory_format": "contiguous"},
                                  rounding, {**CIFAR, "model.width": 16}),
    "train.epochs": Option({"train.epochs": 3}, rows(2, 3)),
    "train.max_updates": Option({"train.max_updates": 5}, updates(8, 5)),
    "train.stop_after_updates": Option({"train.stop_after_updates": 5}, stopped_after(5)),
    "train.batch_size": Option({"train.batch_size": 10}, batch_sizes),
    "train.accumulation": Option({"train.accumulation": 3}, micro_batches),
    "train.label_smoothing": Option({"train.label_smoothing": 0.1}, pictures_first_update),
    "train.clip_norm": Option({"train.clip_norm": 1e-3}, clipped),
    "train.best_by": Option({"train.best_by": "loss"}, best_epoch,
                            {"train.epochs": 8, "checkpoint.keep_last": 9}),
    "train.early_stopping": Option({"train.early_stopping": 1},
                                   log_text(None, "stopped early"), {"train.epochs": 9}),
    "train.eval_batch_size": Option({"train.eval_batch_size": 600}, memory,
                                    {"train.eval_batch_size": 1, "data.test": "set:wide"},
                                    verb="evaluate"),
    "optim.name": Option({"optim.name": "adamw"}, only_later_losses),
    "optim.lr": Option({"optim.lr": 0.01}, only_later_losses),
    "optim.momentum": Option({"optim.momentum": 0.5}, only_later_losses),
    "optim.nesterov": Option({"optim.nesterov": True}, only_later_losses),
    "optim.weight_decay": Option({"optim.weight_decay": 0.1}, only_later_losses),
    "optim.decay_norm_and_bias": Option({"optim.decay_norm_and_bias": True}, decay_of_biases,
                                        {**ONE, "optim.weight_decay": 0.5}),
    "optim.beta1": Option({"optim.beta1": 0.5}, only_later_losses, ADAMW),
    "optim.beta2": Option({"optim.beta2": 0.5}, only_later_losses, ADAMW),
    "optim.eps": Option({"optim.eps": 1.0}, only_later_losses, ADAMW),
    "schedule.name": Option({"schedule.name": "linear"},
                            learning_rates([0.08 * (1 - u / 8) for u in range(8)]), CONSTANT),
    "schedule.warmup_epochs": Option({"schedule.warmup_epochs": 1},
                                     learning_rates([0, 0.02, 0.04, 0.06] + [0.08] * 4),
                                     CONSTANT),
    "schedule.warmup_start": Option(
        {"schedule.warmup_start": 0.5}, learning_rates([0.04, 0.05, 0.06, 0.07] + [0.08] * 4),
        {**CONSTANT, "schedule.warmup_epochs": 1}),
    "schedule.step_epochs": Option({"schedule.step_epochs": 0.5},
                                   learning_rates([0.08 * 0.1 ** (u // 2) for u in range(8)]),
                                   {"schedule.name": "step", "optim.lr": 0.08}),
    "schedule.gamma": Option(
        {"schedule.gamma": 0.5}, learning_rates([0.08] * 4 + [0.04] * 4),
        {"schedule.name": "step", "optim.lr": 0.08, "schedule.step_epochs": 1}),
    "schedule.min_lr": Option(
        {"schedule.min_lr": 0.04}, learning_rates([0.08 - 0.04 * u / 8 for u in range(8)]),
        {"schedule.name": "linear", "optim.lr": 0.08}),
    # The best epoch is kept besides: without validation that is the last.
    "checkpoint.keep_last": Option({"checkpoint.keep_last": 2},
                                   checkpoint_epochs([3, 4, 5], [4, 5]),
                                   {**FIVE, "data.holdout": 0}),
    "checkpoint.keep_every": Option(
        {"checkpoint.keep_every": 2}, checkpoint_epochs([5], [2, 4, 5]),
        {**FIVE, "data.holdout": 0, "checkpoint.keep_last": 1}),
    "checkpoint.every_updates": Option({"checkpoint.every_updates": 3}, saved_updates(
        [4, 8], [3, 4, 6, 8]), {"checkpoint.keep_last": 9}),
    "comm.bucket_mb": Option({"comm.bucket_mb": 0.001}, buckets,
                             {**DEBUG, "comm.first_bucket_mb": 1e-5}),
    "comm.first_bucket_mb": Option({"comm.first_bucket_mb": 1e-5}, buckets, DEBUG),
    "comm.timeout": Option(
        {"comm.timeout": 1}, fails_with("did not finish within 1 s"),
        {"fault.point": "step", "fault.rank": 1, "fault.action": "sleep", "fault.step": 2,
         "fault.seconds": 4}, np=2),
    "record.dir": Option({"record.dir": "tmp:recorded"}, record_folder, {"record.dir": None}),
    "record.updates": Option({"record.updates": 3}, updates(8, 3)),
    "fault.point": Option({"fault.point": "open"}, fails_with("injected")),
    "fault.rank": Option({"fault.rank": 0}, fails_with("injected"), {**THROW, "fault.rank": 1}),
    "fault.action": Option({"fault.action": "exit"}, fails_with("", 3, before_ok=False), THROW),
    "fault.step": Option({"fault.step": 5}, fails_with("injected"), {**THROW, "fault.step": 99}),
    "fault.seconds": Option(
        {"fault.seconds": 3}, observed_more("seconds", 1.5),
        {**THROW, "fault.action": "sleep", "fault.seconds": 0.1}),
    "fault.unused_parameter": Option({"fault.unused_parameter": True}, unused),
}
