"""Every run that cannot start is refused before it leaves anything behind."""

import time

import pytest
import runs
from messages import FAILED, USAGE, said_once


@pytest.mark.parametrize("variables", [
    dict(SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=2, SLURM_STEP_ID=0),
    dict(OMPI_COMM_WORLD_SIZE=4),
    dict(PMI_SIZE=4),
])
def test_a_launcher_that_promises_more_ranks(variables, tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24)}, env=variables)
    said_once(run.result, USAGE, "4 tasks", "pmix")
    assert not run.folder.exists()


def test_a_batch_shell_is_no_launcher(tiny_set, tmp_path):
    shell = dict(SLURM_JOB_ID=7, SLURM_NTASKS=4, SLURM_PROCID=0, SLURM_STEP_ID="batch",
                          SLURM_STEP_NUM_TASKS=4)
    runs.train(tmp_path, 0, {"data.train": tiny_set(24)}, env=shell)


@pytest.mark.parametrize("ranks", [0, 3])
def test_an_existing_run_is_refused(ranks, tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(24)})
    before = run.log
    said_once(runs.launch(tmp_path, ranks, {"data.train": tiny_set(24)}).result, USAGE, "exists",
              "run.name")
    assert run.log == before


def test_a_run_in_use_is_refused(tiny_set, tmp_path):
    second = []

    def during(process):
        deadline = time.monotonic() + 40
        while not (tmp_path / "runs" / "run" / "lease.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        second.append(runs.launch(tmp_path, 0, {"data.train": tiny_set(24)}))
        assert process.poll() is None, "the first run was over"
        process.kill()

    # However long the second takes to start, the first sleeps longer.
    runs.launch(tmp_path, 0, {"data.train": tiny_set(24), "fault.point": "step", "fault.step": 1,
                              "fault.action": "sleep"}, during=during)
    said_once(second[0].result, USAGE, "in use", "process")


@pytest.mark.parametrize("ranks", [0, 3])
def test_a_run_root_that_cannot_be_written(ranks, tiny_set, tmp_path):
    (tmp_path / "file").write_text("no folder")
    run = runs.launch(tmp_path, ranks, {"data.train": tiny_set(24),
                                        "run.root": tmp_path / "file" / "runs"})
    said_once(run.result, FAILED, str(tmp_path / "file"), "run.root")


REFUSED = {
    "name": ({"run.name": "a/b"}, ["run.name"]),
    "freeze_unknown": ({"model.freeze": "cnov1"}, ["cnov1", "conv1"]),
    "freeze_all": ({"model.freeze": "conv,fc"}, ["model.freeze"]),
    "scale_unknown": ({"optim.lr_scale": "fc2=2, cnov1=0.1"}, ["optim.lr_scale", "cnov1", "conv1"]),
    "scale_frozen": ({"optim.lr_scale": "conv1=2", "model.freeze": "conv1"},
                     ["optim.lr_scale", "conv1", "frozen"]),
    "scale_number": ({"optim.lr_scale": "conv1=-1"}, ["optim.lr_scale", "-1", "from 0"]),
    "stem": ({"model.stem": "imagenet"}, ["model.stem", "simple_cnn"]),
    "bn_momentum": ({"model.bn_momentum": 0.5}, ["model.bn_momentum", "simple_cnn"]),
    "dropout": ({"model.name": "resnet18", "model.dropout": 0.5}, ["model.dropout", "resnet18"]),
    "no_stem": ({"model.name": "resnet20", "model.stem": "imagenet"}, ["model.stem", "resnet20"]),
    "heads": ({"model.name": "vit_tiny"}, ["model.width=4", "multiple of 3"]),
    "min_lr": ({"schedule.min_lr": 3}, ["schedule.min_lr"]),
    "no_update": ({"data.drop_last": True, "train.batch_size": 100},
                  ["data.drop_last", "train.batch_size"]),
    "reflect": ({"augment.crop_mode": "reflect", "augment.crop_padding": 16},
                ["augment.crop_padding", "16 pixels"]),
    "nesterov": ({"optim.nesterov": True, "optim.momentum": 0}, ["nesterov", "momentum"]),
    "adamw_momentum": ({"optim.name": "adamw", "optim.momentum": 0.5},
                       ["optim.momentum has no effect with optim.name = adamw", "sgd"]),
    "constant_gamma": ({"schedule.name": "constant", "schedule.gamma": 0.5},
                       ["schedule.gamma has no effect", "choose schedule.name = step"]),
    "onecycle_warmup": ({"schedule.name": "onecycle", "schedule.warmup_epochs": 1},
                        ["schedule.warmup_epochs has no effect with schedule.name = onecycle"]),
    "no_milestones": ({"schedule.name": "multistep"}, ["schedule.milestones is empty"]),
    "milestones": ({"schedule.name": "multistep", "schedule.milestones": "2, 1"},
                   ["schedule.milestones is not ascending"]),
    "plateau": ({"schedule.name": "plateau", "data.holdout": 0},
                ["schedule.name=plateau has nothing to go by", "data.holdout", "data.val"]),
    "crop_mode": ({"augment.crop_mode": "reflect"}, ["augment.crop_mode has no effect"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_cannot_go_together(name, tiny_set, tmp_path):
    change, words = REFUSED[name]
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24), **change})
    said_once(run.result, USAGE, *words)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("ranks", [0, 3])
def test_one_value_per_channel(ranks, tiny_set, tmp_path):
    """The last batch is one picture, of which layer4 has a single pixel left."""
    run = runs.launch(tmp_path, ranks, {
        "data.train": tiny_set(9, size=8), "model.name": "resnet18", "train.batch_size": 8,
        "data.holdout": 0})
    said_once(run.result, USAGE, "one value per channel", "train.batch_size")
    assert not run.folder.exists()


def test_pictures_that_patches_do_not_fill(tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24, size=18), "model.name": "vit_tiny",
                                    "model.width": 6})
    said_once(run.result, USAGE, "18 x 18", "patches of 4 x 4", "--size")
    assert not run.folder.exists()


def test_pictures_too_small_for_the_model(tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24, size=16), "model.name": "resnet18",
                                    "model.stem": "imagenet"})
    said_once(run.result, USAGE, "16 x 16", "--size")
