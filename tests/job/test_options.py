"""Every option changes something that can be seen (option_table.py says what), and no option is
without such a test."""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import harness
import numpy
import option_table
import pytest
import runs
from safetensors.numpy import save_file

_WORKERS = 2


class Observed(runs.Run):
    """A run with what was observed while it ran."""

    seen: dict

    def checkpoint_epoch(self, pointer):
        """The epoch, from 1, of the checkpoint that a pointer file's content names."""
        name = pointer["checkpoint"]
        return json.loads((self.folder / "checkpoints" / name / "state.json").read_text())["epoch"]

    def _saved(self, what):
        folders = [p for p in (self.folder / "checkpoints").iterdir() if p.is_dir()]
        return sorted(json.loads((p / "state.json").read_text())[what] for p in folders)

    @property
    def saved_epochs(self):
        return self._saved("epoch")

    @property
    def saved_updates(self):
        return self._saved("update")


def watch(process, seen, stop):
    """Notes the most threads and bytes read that a lone process had, until `stop`."""
    while not stop.wait(0.02):
        try:
            threads = len(os.listdir(f"/proc/{process.pid}/task"))
            with open(f"/proc/{process.pid}/io") as io:
                read = int(io.readline().split()[1])
        except (OSError, IndexError, ValueError):
            return
        seen["threads"] = max(seen.get("threads", 0), threads)
        # Only the reads before the fault point's pause count: later values are not of interest.
        seen.setdefault("reads", []).append((time.monotonic(), read))


def paused_reads(samples):
    """Bytes read by the time the process stood still for longest (the pause of the fault point)."""
    longest, value = 0.0, 0
    begin = 0
    for i in range(1, len(samples)):
        if samples[i][1] != samples[begin][1]:
            begin = i
        if samples[i][0] - samples[begin][0] > longest:
            longest, value = samples[i][0] - samples[begin][0], samples[begin][1]
    return value


@pytest.fixture(scope="module")
def places(tiny_set, tmp_path_factory):
    """Turns "set:NAME" and "tmp:NAME" of the table into folders."""
    root = tmp_path_factory.mktemp("options")
    sets = {"a": tiny_set(60), "b": tiny_set(45, seed=3), "wide": tiny_set(600, size=32)}

    def place(value, number):
        if isinstance(value, str) and value.startswith("set:"):
            return sets[value[4:]]
        if isinstance(value, str) and value.startswith("tmp:"):
            return root / f"{number}-{value[4:]}"
        if value == "weights:fewer":
            save_file({"conv1.weight": numpy.zeros((4, 3, 3, 3), numpy.float32)},
                      root / "fewer.safetensors")
            return root / "fewer.safetensors"
        return value

    return root, place


@pytest.fixture(scope="module")
def trained(places):
    """A checkpoint of the largest pictures, for the options of evaluate."""
    root, place = places
    run = runs.train(root / "trained", 0, {
        "model.name": "cifar_cnn", "model.width": 16, "data.train": place("set:wide", 0),
        "train.max_updates": 1})
    return run.folder / "checkpoints" / "latest"


class Runner:
    """Runs each distinct set of options once, in a small pool."""

    def __init__(self, places, trained):
        self.root, self.place = places
        self.trained = trained
        self.pool = ThreadPoolExecutor(_WORKERS)
        self.futures = {}

    def submit(self, option, change):
        options = {"data.train": "set:a", **option.base, **change}
        key = json.dumps([option.np, option.verb, options], sort_keys=True)
        if key not in self.futures:
            number = len(self.futures)
            values = {k: self.place(v, number) for k, v in options.items()}
            target = self._train if option.verb == "train" else self._evaluate
            self.futures[key] = self.pool.submit(target, option, number, values)
        return self.futures[key]

    def _train(self, option, number, values):
        seen, stop = {}, threading.Event()
        root = self.root / f"run{number}"

        def during(process):
            threading.Thread(target=watch, args=(process, seen, stop), daemon=True).start()

        run = runs.launch(root, option.np, values, record=100, during=during, timeout=60)
        stop.set()
        seen["seconds"] = run.result.seconds
        seen["bytes read"] = paused_reads(seen.pop("reads", []))
        observed = Observed(run.folder, run.result, run.record)
        observed.seen = seen
        return observed

    def _evaluate(self, option, number, values):
        values = {k: v for k, v in values.items() if k != "data.train"}
        measure = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); "
                   "print('maxrss', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); "
                   "sys.exit(code)")
        command = [harness.program("lockstep"), "evaluate", "--checkpoint", self.trained,
                   *harness.option_args({"run.threads": 1, **values})]
        result = harness.run([sys.executable, "-c", measure, *command]).ok()
        return Observed(self.root, result, self.root)


@pytest.fixture(scope="module")
def runner(places, trained, request):
    made = Runner(places, trained)
    for item in request.session.items:
        if getattr(item, "originalname", "") == "test_option_changes_something":
            option = option_table.OPTIONS[item.callspec.params["key"]]
            made.submit(option, {})
            made.submit(option, option.change)
    yield made
    made.pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("key", sorted(option_table.OPTIONS))
def test_option_changes_something(key, runner):
    option = option_table.OPTIONS[key]
    assert set(option.change) == {key}, "a test of an option changes that option alone"
    option.see(runner.submit(option, {}).result(), runner.submit(option, option.change).result())


def test_every_option_has_a_test():
    listed = harness.run([harness.program("lockstep"), "train", "--list-options"]).ok().out.split()
    assert len(listed) > 40
    assert sorted(listed) == sorted(option_table.OPTIONS)
