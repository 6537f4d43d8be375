"""Killed before any of the system calls of a save, a program finds a whole checkpoint again."""

import json

import harness
import runs

SHIM = harness.program("libkill_point.so")
SAVE = harness.program("save_program")
END_TO_END = 5


def shim(folder, **more):
    return {"LD_PRELOAD": SHIM, "LOCKSTEP_KILL_PATH": folder, **more}


def calls_of(log):
    return log.read_text().splitlines()


def test_at_every_call_of_a_program_that_saves(tmp_path):
    log = tmp_path / "log"
    whole = tmp_path / "checkpoints-whole"
    harness.run([SAVE, "save", whole], env=shim(whole, LOCKSTEP_KILL_LOG=log)).ok()
    calls = calls_of(log)
    kinds = {line.split()[0] for line in calls}
    assert kinds >= {"write", "fsync", "rename", "mkdir"} and kinds & {"unlinkat", "remove"}, kinds
    assert len(calls) > 60, calls
    found = []
    for number in range(1, len(calls) + 1):
        folder = tmp_path / f"checkpoints-{number}"
        killed = harness.run([SAVE, "save", folder], env=shim(folder, LOCKSTEP_KILL_AT=number))
        assert killed.code == -9, f"before {calls[number - 1]}: {killed.explain()}"
        checked = harness.run([SAVE, "check", folder])
        assert checked.code == 0, f"before {calls[number - 1]}: {checked.explain()}"
        found.append(int(checked.out))
    assert found == sorted(found), list(zip(found, calls))
    assert set(found) == {0, 1, 2, 3}


def test_at_points_of_a_real_run(tiny_set, tmp_path):
    options = {"data.train": tiny_set(60), "run.resume": "auto", "checkpoint.keep_last": 1,
               "train.epochs": 4}
    log = tmp_path / "log"
    whole = runs.train(tmp_path / "whole", 2, options, env=shim("/checkpoints", LOCKSTEP_KILL_LOG=log))
    calls = calls_of(log)
    for part in range(END_TO_END):
        # Within the middle half of all calls, so that there is a checkpoint and more to train.
        number = len(calls) // 4 + part * len(calls) // (2 * END_TO_END) + 1
        root = tmp_path / f"killed{part}"
        killed = runs.launch(root, 2, options, env=shim("/checkpoints", LOCKSTEP_KILL_AT=number))
        killed.result.failed()
        run = runs.train(root, 2, options)
        assert "goes on from" in run.log, calls[number - 1]
        for name in ("metrics.csv",):
            assert (run.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name
        for pointer in ("latest", "best"):
            files = []
            for each in (run, whole):
                folder = each.folder / "checkpoints"
                name = json.loads((folder / pointer).read_text())["checkpoint"]
                files.append((folder / name / "model.safetensors").read_bytes())
            assert files[0] == files[1], (pointer, calls[number - 1])
