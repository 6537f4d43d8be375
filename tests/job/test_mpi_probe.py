"""Whole training runs under the MPI probe (tests/support/mpi_probe.cpp): what every rank sends, in
which order, whether delays change anything, and whether one wrong number is noticed."""

import os
import pathlib
from dataclasses import dataclass

import harness
import numpy
import pytest
import runs

PROBE = pathlib.Path(os.environ.get("LOCKSTEP_PROBE", harness.program("libmpi_probe.so")))
RANKS = 3
UPDATES = 4

# Buckets of about 64 KB and a first one of about 1 KB: several of them in a small network.
OPTIONS = {
    "model.name": "cifar_cnn",
    "model.width": 8,
    "train.epochs": 1,
    "train.max_updates": UPDATES,
    "train.batch_size": 10,
    "comm.bucket_mb": 0.064,
    "comm.first_bucket_mb": 0.001,
}


@dataclass(frozen=True)
class Call:
    comm: str
    name: str
    count: int
    type: str
    op: str


def calls_of(folder, rank):
    """The collectives of a rank in the order of the program."""
    lines = (folder / f"rank{rank}.tsv").read_text().splitlines()
    parts = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Call(comm, name, int(count), kind, op) for comm, name, count, kind, op in parts]


def launch(root, data, name, ranks=RANKS, options=None, **probe):
    """A run under the probe, as (run, folder of what the probe recorded)."""
    folder = root / f"probe-{name}"
    folder.mkdir()
    env = {"LD_PRELOAD": PROBE, "LOCKSTEP_PROBE_DIR": folder}
    env.update({f"LOCKSTEP_PROBE_{key.upper()}": value for key, value in probe.items()})
    run = runs.launch(root, ranks, {**OPTIONS, "data.train": data, **(options or {})}, name=name,
                      env=env, timeout=120, record=UPDATES)
    return run, folder


@pytest.fixture(scope="module")
def data(tiny_set):
    return tiny_set(60, size=32)


@pytest.fixture(scope="module")
def plain(tmp_path_factory, data):
    """One undisturbed run for all tests that only look."""
    run, folder = launch(tmp_path_factory.mktemp("plain"), data, "plain")
    run.result.ok()
    return run, folder


def trained_elements(run):
    """Elements of all parameters: what the record calls weights, less the buffers of BatchNorm."""
    return sum(value.size for name, value in run.weights().items()
               if not name.rsplit(".", 1)[-1].startswith(("running_", "num_batches")))


def of_updates(folder, comms):
    """The calls on these communicators, cut into equal parts, one for each update."""
    calls = [call for call in calls_of(folder, 0) if call.comm in comms]
    assert calls and len(calls) % UPDATES == 0, [c.comm for c in calls]
    size = len(calls) // UPDATES
    return [calls[k * size:(k + 1) * size] for k in range(UPDATES)]


def test_every_rank_makes_the_same_calls_on_each_communicator(plain):
    _, folder = plain
    sequences = []
    for rank in range(RANKS):
        by_comm = {}
        for call in calls_of(folder, rank):
            by_comm.setdefault(call.comm, []).append(call)
        sequences.append(by_comm)
    assert {"control", "gradients", "batch_norm"} <= set(sequences[0])
    for rank in range(1, RANKS):
        assert set(sequences[rank]) == set(sequences[0])
        for comm, calls in sequences[0].items():
            assert sequences[rank][comm] == calls, f"rank {rank} on {comm}"


def test_gradients_are_reduced_once_per_bucket_and_update(plain):
    run, folder = plain
    updates = of_updates(folder, ["gradients"])
    assert len(updates[0]) >= 3, "too few buckets to show anything"
    for calls in updates:
        assert [c.count for c in calls] == [c.count for c in updates[0]]
        assert {(c.name, c.type, c.op) for c in calls} == {("Iallreduce", "MPI_FLOAT", "MPI_SUM")}
    assert sum(c.count for c in updates[0]) == trained_elements(run)


def test_accumulation_reduces_no_more_often(tmp_path, data, plain):
    run, folder = launch(tmp_path, data, "accumulation", options={"train.accumulation": 2})
    run.result.ok()
    one = of_updates(plain[1], ["gradients"])
    two = of_updates(folder, ["gradients"])
    assert [[c.count for c in calls] for calls in two] == [[c.count for c in calls]
                                                          for calls in one]


def test_the_first_bucket_leaves_before_the_last_gradient_exists(plain):
    run, folder = plain
    layers = sum(name.endswith("running_mean") for name in run.weights())
    assert layers >= 2
    for calls in of_updates(folder, ["gradients", "batch_norm"]):
        comms = [call.comm for call in calls]
        assert comms.count("batch_norm") == 2 * layers, "one all-reduce each way and layer"
        # The last call of SyncBatchNorm in an update is the backward pass of the first layer.
        last_backward = len(comms) - 1 - comms[::-1].index("batch_norm")
        assert comms.index("gradients") < last_backward, comms
        assert comms[-1] == "gradients"


def test_one_bucket_for_all_leaves_last(tmp_path, data):
    run, folder = launch(tmp_path, data, "whole", ranks=2,
                         options={"comm.bucket_mb": 25, "comm.first_bucket_mb": 25})
    run.result.ok()
    for calls in of_updates(folder, ["gradients", "batch_norm"]):
        assert [call.comm == "gradients" for call in calls] == [False] * (len(calls) - 1) + [True]
        assert calls[-1].count == trained_elements(run)


def test_delays_change_no_bit(tmp_path, data, plain):
    run, folder = launch(tmp_path, data, "late", delay_us=4000)
    run.result.ok()
    expected = plain[0].weights()
    got = run.weights()
    assert set(got) == set(expected)
    for name, value in expected.items():
        assert numpy.array_equal(got[name], value), name
    assert run.losses == plain[0].losses
    # Messages on "control" carry the names of folders, which differ.
    comms = ["gradients", "batch_norm"]
    assert of_updates(folder, comms) == of_updates(plain[1], comms)


def test_one_wrong_gradient_on_one_rank_is_noticed_at_the_checkpoint(tmp_path, data):
    run, folder = launch(tmp_path, data, "flipped", ranks=2, flip="1:gradients:0")
    assert "off by one" in (folder / "rank1.tsv").read_text()
    assert "off by one" not in (folder / "rank0.tsv").read_text()
    run.result.failed(code=1)
    message = "rank 1 differs from rank 0 in the model's weights"
    assert run.result.text.count(message) == 1, run.result.explain()
    checkpoints = run.folder / "checkpoints"
    saved = [p.name for p in checkpoints.iterdir()] if checkpoints.exists() else []
    assert not saved, f"ranks that disagree saved {saved}"
