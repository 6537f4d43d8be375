"""Small training runs for tests and what they leave behind."""

import csv
import json
import pathlib
from dataclasses import dataclass

import harness

# A run of about a second: small network, one thread, plain log.
QUICK = {
    "model.name": "simple_cnn",
    "model.width": 4,
    "train.epochs": 2,
    "train.batch_size": 16,
    "optim.lr": 0.05,
    "run.threads": 1,
    "run.progress": "off",
    "run.device": "cpu",
}


@dataclass
class Run:
    """A finished run: its folder, what the program printed, its record when one was asked for."""

    folder: pathlib.Path
    result: harness.Result
    record: pathlib.Path

    @property
    def metrics(self):
        with (self.folder / "metrics.csv").open() as file:
            return list(csv.DictReader(file))

    @property
    def log(self):
        return (self.folder / "train.log").read_text()

    @property
    def updates(self):
        with (self.record / "updates.jsonl").open() as file:
            return [json.loads(line) for line in file]

    @property
    def losses(self):
        return [update["loss"] for update in self.updates]

    @property
    def checkpoints(self):
        """Names of what lies in checkpoints/, sorted."""
        return sorted(p.name for p in (self.folder / "checkpoints").iterdir())

    def weights(self, which="final"):
        from safetensors.numpy import load_file

        return load_file(self.record / f"{which}.safetensors")


def launch(root, np, options, name="run", env=None, timeout=60, record=0, cwd=None, during=None):
    """`lockstep train` with QUICK under `options`, as a Run, whatever its outcome; `record` > 0
    records that many updates."""
    root = pathlib.Path(root)
    values = {**QUICK, "run.root": root / "runs", "run.name": name}
    if record:
        values.update({"record.dir": root / f"record-{name}", "record.updates": record})
    values.update(options)
    result = harness.lockstep(np, "train", values, env=env, timeout=timeout, cwd=cwd,
                              during=during)
    return Run(pathlib.Path(values["run.root"] or "runs") / str(values["run.name"]), result,
               pathlib.Path(values.get("record.dir") or root / "no-record"))


def train(*args, **kwargs):
    """A run that must end well."""
    run = launch(*args, **kwargs)
    run.result.ok()
    return run


def largest_difference(a, b):
    """Largest absolute difference over two {name: array}; the names must agree."""
    import numpy

    assert set(a) == set(b), sorted(set(a) ^ set(b))
    return max(float(numpy.max(numpy.abs(numpy.subtract(a[k], b[k], dtype=numpy.float64)),
                               initial=0.0)) for k in a)
