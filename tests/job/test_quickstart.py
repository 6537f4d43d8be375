"""scripts/quickstart.sh with the programs that are built and pictures of its own: what it does with
wrong options and with signals. (That the whole of it works is a stage of scripts/test.sh.)"""

import os
import pathlib
import shutil
import signal
import subprocess

import harness
import pictures
import pytest
import sets


@pytest.fixture
def clone(tmp_path):
    """The script in a small clone, in which nothing has to be set up or built."""
    folder = tmp_path / "clone"
    (folder / "scripts").mkdir(parents=True)
    for name in ("quickstart.sh", "lib.sh"):
        shutil.copy(harness.SOURCE / "scripts" / name, folder / "scripts")
    (folder / "configs").symlink_to(harness.SOURCE / "configs")
    for name in ("scripts/setup.sh", "tools/cmake"):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\nexit 0\n")
        file.chmod(0o755)
    (folder / "build" / "release").mkdir(parents=True)
    (folder / "build" / "release" / "bin").symlink_to(harness.BIN)
    for part in ("train", "test"):
        pictures.write_folder(folder / "pictures" / part, {"ant": 40, "bee": 40})
    (folder / "samples").mkdir()
    archive = folder / "samples" / "cifar10-sample.tar.zst"
    subprocess.run(["tar", "--zstd", "-cf", archive, "-C", folder / "pictures", "train", "test"],
                   check=True)
    return folder


def quickstart(clone, *options, during=None):
    env = {"PATH": f"{clone / 'tools'}:{os.environ['PATH']}", "LOCKSTEP_CACHE": clone / "cache",
           "QUICKSTART_MIN_ACCURACY": "0"}
    return harness.run([clone / "scripts" / "quickstart.sh", *options], env=env, cwd=clone,
                       timeout=120, during=during)


def at_work(folder):
    """Names of the processes that work in a folder."""
    names = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").readlink() == folder:
                names.append((process / "comm").read_text().strip())
        except OSError:
            continue  # it has ended
    return names


def test_it_trains_and_evaluates_with_options(clone):
    result = quickstart(clone, "--", "--train.epochs", 1).ok()
    assert "Quickstart done: " in result.out and "(80 of 80)" in result.out


def test_a_wrong_option_is_refused_before_anything_is_packed(clone):
    result = quickstart(clone, "--train.epoch", 3).failed(1)
    assert "did you mean train.epochs?" in result.err and "options given are refused" in result.err
    assert "Step 2" in result.out and "Step 3" not in result.out
    assert not (clone / "build" / "quickstart").exists()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_script_ends_the_training_at_once(clone, sign):
    def during(process):
        sets.wait_for(lambda: list(clone.glob("runs/*/metrics.csv")), 60)
        before.extend(at_work(clone))
        process.send_signal(sign)
        process.wait(timeout=15)
        sets.wait_for(lambda: not at_work(clone), 5)

    before = []
    result = quickstart(clone, "--train.epochs", 100000, during=during).failed(1)
    assert f"Quickstart was stopped by {sign.name}" in result.err
    assert "lockstep" in before and "mpirun" in before
