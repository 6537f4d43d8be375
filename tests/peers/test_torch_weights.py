"""model.weights takes what torch.save wrote, in both of its formats, and runs none of its pickles."""

import collections
import os
import pickle

import numpy
import pytest
import runs
import torch
from messages import FAILED, said_once

CONVERTED = {"half": torch.float16, "bfloat16": torch.bfloat16, "double": torch.float64}
ONE = {"train.max_updates": 1, "model.dropout": 0}


@pytest.fixture(scope="module")
def start(tiny_set, tmp_path_factory):
    """Options of a run, and the weights of another one, by name."""
    options = {**ONE, "data.train": tiny_set(60), "model.name": "cifar_cnn"}
    run = runs.train(tmp_path_factory.mktemp("start"), 1, {**options, "run.seed": 5}, record=1)
    return options, {k: torch.from_numpy(v) for k, v in run.weights().items()}


def network_of(state):
    """A module with these weights under these names."""
    network = torch.nn.Module()
    for name, tensor in state.items():
        *path, last = name.split(".")
        place = network
        for part in path:
            if not hasattr(place, part):
                place.add_module(part, torch.nn.Module())
            place = getattr(place, part)
        if tensor.is_floating_point() and "running" not in last:
            place.register_parameter(last, torch.nn.Parameter(tensor.clone()))
        else:
            place.register_buffer(last, tensor.clone())
    return network


def in_one_storage(state):
    """Every tensor a part of one long storage per type, matrices column by column."""
    made = {}
    for dtype in {t.dtype for t in state.values()}:
        flat = torch.cat([torch.zeros(3, dtype=dtype)] +
                         [t.t().reshape(-1) if t.dim() == 2 else t.reshape(-1)
                          for t in state.values() if t.dtype == dtype])
        begin = 3
        for name, tensor in state.items():
            if tensor.dtype == dtype:
                part = flat[begin:begin + tensor.numel()]
                begin += tensor.numel()
                made[name] = (part.view(tensor.shape[::-1]).t() if tensor.dim() == 2
                              else part.view(tensor.shape))
    assert len({t.untyped_storage().data_ptr() for t in made.values()}) == 2
    assert any(not t.is_contiguous() for t in made.values())
    return {name: made[name] for name in state}


class OldPickler(pickle._Pickler):  # the one in Python has hooks for everything
    """Pickles as PyTorch 0.1 did under Python 2: dicts of pairs, parameters and tensors of those
    days, strings of bytes."""

    def save_str(self, text):
        data = text.encode()
        self.write(b"U" + bytes([len(data)]) + data)
        self.memoize(text)

    dispatch = {**pickle._Pickler.dispatch, str: save_str}

    def reducer_override(self, value):
        if isinstance(value, collections.OrderedDict):
            return collections.OrderedDict, ([[k, v] for k, v in value.items()],)
        if isinstance(value, torch.nn.Parameter):
            return torch.nn.Parameter, (value.data,), (True, False, collections.OrderedDict())
        if isinstance(value, torch.Tensor):
            return torch._utils._rebuild_tensor, (value.storage(), value.storage_offset(),
                                                  tuple(value.size()), value.stride())
        return NotImplemented


class OldModule:
    Pickler = OldPickler

    @staticmethod
    def dump(value, file, protocol):
        OldPickler(file, protocol).dump(value)


def adam_after_a_step(network):
    optimizer = torch.optim.Adam(network.parameters())
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return optimizer.state_dict()


def saved(kind, state, file):
    """Writes the weights in one of many ways; returns those that should be read and what the log
    says of it."""
    network = network_of(state)
    new, old = {}, {"_use_new_zipfile_serialization": False}
    how = old if kind.endswith("legacy") else new
    what = kind.split()[0]
    if what in CONVERTED:
        state = {k: v.to(CONVERTED[what]) if v.is_floating_point() else v for k, v in state.items()}
        torch.save(state, file, **how)
    elif what == "views":
        torch.save(in_one_storage(state), file, **how)
    elif what == "state_dict":
        torch.save(network.state_dict(), file, **how)
    elif what == "parameters":
        torch.save(dict(network.named_parameters()) | dict(network.named_buffers()), file, **how)
    elif what == "module.":
        torch.save(torch.nn.DataParallel(network).state_dict(), file, **how)
        return state, r"names without 'module.'"
    elif what == "checkpoint":
        torch.save({"epoch": 3, "arch": "cnn", "best_acc1": 0.5, "state_dict": network.state_dict(),
                    "optimizer": adam_after_a_step(network)}, file, **how)
        state = network.state_dict()
        return state, "entry 'state_dict' of it"
    elif what.startswith("protocol"):
        torch.save(network.state_dict(), file, pickle_protocol=int(what[8:]), **how)
    else:
        assert kind == "old legacy"
        plain = collections.OrderedDict(network.named_parameters())
        plain.update(network.named_buffers())
        torch.save(plain, file, pickle_module=OldModule, **old)
    return state, ""


KINDS = [f"{what} {how}" for how in ("zip", "legacy")
         for what in ("state_dict", "half", "views", "parameters", "module.", "checkpoint",
                      "protocol5")]
KINDS += ["bfloat16 zip", "double legacy", "protocol4 legacy", "old legacy"]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_read(kind, start, tmp_path):
    options, state = start
    # Contents decide, not the suffix.
    file = tmp_path / ("weights.safetensors" if kind == "half zip" else "poids-é.pth")
    expected, said = saved(kind, state, file)
    run = runs.train(tmp_path, 2 if kind == "views legacy" else 1,
                     {**options, "model.weights": file}, record=1)
    read = run.weights("initial")
    assert set(read) == set(expected)
    for name, tensor in expected.items():
        own = tensor.detach()
        own = own.float() if own.is_floating_point() else own
        assert numpy.array_equal(read[name], own.numpy()), name
    line = next(line for line in run.log.splitlines() if "tensors taken" in line)
    assert f"{len(expected)} tensors taken" in line
    assert (f"({said}): " if said else f"{file}': ") in line


class Command:
    """What a pickle runs when it is loaded."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_with_a_command_runs_nothing(zipped, start, tmp_path):
    options, state = start
    file, marker = tmp_path / "bad.pth", tmp_path / "was-run"
    for bad in ({**state, "x": Command(marker)}, {"state_dict": state, "args": Command(marker)}):
        torch.save(bad, file, _use_new_zipfile_serialization=zipped)
        run = runs.launch(tmp_path, 2, {**options, "model.weights": file})
        said_once(run.result, FAILED, "the name posix.system is not allowed", "bad.pth",
                  "torch.save(model.state_dict(), FILE)")
        assert not marker.exists()
    torch.load(file, weights_only=False)
    assert marker.exists(), "the command would have run"


def whole_module(state, file):
    torch.save(torch.nn.Linear(2, 2), file)
    return "the name torch.nn.modules.linear.Linear is not allowed"


def script(state, file):
    torch.jit.script(torch.nn.Linear(2, 2)).save(file)
    return "is not allowed"


def truncated_zip(state, file):
    torch.save(state, file)
    file.write_bytes(file.read_bytes()[:-1000])
    return "zip"


def truncated_legacy(state, file):
    torch.save(state, file, _use_new_zipfile_serialization=False)
    file.write_bytes(file.read_bytes()[:-10])
    return "it ends early"


def flipped_bit(state, file):
    torch.save(state, file)
    data = bytearray(file.read_bytes())
    data[data.index(state["features.0.weight"].numpy().tobytes()[:64]) + 5] ^= 1
    file.write_bytes(data)
    assert torch.load(file), "PyTorch does not notice"
    return "zip"


def other_numbers(state, file):
    torch.save({"w": torch.zeros(2, dtype=torch.complex64)}, file)
    return "the name torch.ComplexFloatStorage is not allowed"


def no_weights(state, file):
    torch.save({"epoch": 3, "lr": 0.1}, file)
    return "none of the entries of its dict is a dict of tensors"


def plain_pickle(state, file):
    file.write_bytes(pickle.dumps({"epoch": 3}))
    return "neither a file of safetensors nor one of torch.save"


@pytest.mark.parametrize("make", [whole_module, script, truncated_zip, truncated_legacy,
                                  flipped_bit, other_numbers, no_weights, plain_pickle])
def test_what_is_no_state_dict_is_refused(make, start, tmp_path):
    options, state = start
    file = tmp_path / "bad.pth"
    words = make(state, file)
    run = runs.launch(tmp_path, 2, {**options, "model.weights": file})
    said_once(run.result, FAILED, "bad.pth", words)
    assert not (tmp_path / "runs" / "run").exists()
