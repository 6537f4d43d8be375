"""For every option of the program: a change of it and what that change must do. Used by
test_options.py."""

from option_effects import (
    Option, batch_sizes, best_epoch, buckets, checkpoint_epochs, clipped, decay_of_biases,
    device, drop_last, dtypes, fails_with, fine_tuned, folder, frozen, holdout_seed,
    initial_weights, learning_rates, log_text, losses, memory, micro_batches, model_names,
    observed_more, one_cycle, only_later_losses, pictures_first_update, progress_lines,
    record_folder, rounding, rows, running_mean, saved_updates, seeds, shapes, stopped_after,
    unused, updates, val_samples)

ADAMW = {"optim.name": "adamw", "optim.lr": 0.01}
RMSPROP = {"optim.name": "rmsprop", "optim.lr": 0.001, "optim.momentum": 0}
CIFAR = {"model.name": "cifar_cnn"}
FIVE = {"train.epochs": 5, "train.max_updates": 0}
CONSTANT = {"schedule.name": "constant", "optim.lr": 0.08}
ONE_CYCLE = {"schedule.name": "onecycle", "optim.lr": 0.08}
# Under a threshold of 10 no epoch has a better loss than the first.
PLATEAU = {"schedule.name": "plateau", "optim.lr": 0.02, "train.best_by": "loss", "train.epochs": 4}
FALLING = [0.02] * 8 + [0.002] * 4 + [0.0002] * 4
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
    "run.deterministic": Option({"run.deterministic": True},
                                log_text(None, r"run\.deterministic: |, deterministic"),
                                {"run.device": "auto"}),
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
    "model.weights": Option({"model.weights": "tmp:no.safetensors"},
                            fails_with("no.safetensors", 1)),
    "model.weights_strict": Option({"model.weights_strict": False}, fine_tuned,
                                   {"model.weights": "weights:fewer"}),
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
    "train.grad_norm_low": Option({"train.grad_norm_low": 1e6},
                                  log_text(None, r"gradient norm of update 1 .*grad_norm_low"),
                                  {"train.grad_norm_high": 0}),
    "train.grad_norm_high": Option({"train.grad_norm_high": 1e-4},
                                   log_text(None, r"gradient norm of update 1 .*grad_norm_high")),
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
    "optim.alpha": Option({"optim.alpha": 0.5}, only_later_losses, RMSPROP),
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
    "schedule.milestones": Option(
        {"schedule.milestones": "0.5, 1.25"},
        learning_rates([0.08] * 2 + [0.008] * 3 + [0.0008] * 3),
        {"schedule.name": "multistep", "optim.lr": 0.08, "schedule.milestones": 1}),
    "schedule.pct_start": Option({"schedule.pct_start": 0.5},
                                 learning_rates(one_cycle(0.08, 8, pct_start=0.5)), ONE_CYCLE),
    "schedule.div_factor": Option({"schedule.div_factor": 10},
                                  learning_rates(one_cycle(0.08, 8, div=10)), ONE_CYCLE),
    "schedule.final_div_factor": Option({"schedule.final_div_factor": 100},
                                        learning_rates(one_cycle(0.08, 8, final=100)), ONE_CYCLE),
    "schedule.patience": Option({"schedule.patience": 0}, learning_rates(FALLING),
                                {**PLATEAU, "schedule.threshold": 10}),
    "schedule.threshold": Option({"schedule.threshold": 10}, learning_rates(FALLING),
                                 {**PLATEAU, "schedule.patience": 0}),
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
