"""The direction of includes, as the table of layers has it, third-party headers out of include/,
and no source file over 400 lines."""

import os
import pathlib
import re

import pytest

_ROOT = pathlib.Path(os.environ.get("LOCKSTEP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
_MAY_SEE = {
    "base": set(),
    "comm": {"base"},
    "data": {"base"},
    "model": {"base", "comm"},
    "optim": {"base"},
    "report": {"base"},
    "train": {"base", "comm", "data", "model", "optim", "report"},
    "jobs": {"base", "comm", "data", "model", "optim", "report", "train"},
    "data_tools": {"base", "comm", "data"},
}
_LAYERS = set(_MAY_SEE)
_THIRD_PARTY = re.compile(
    r"(mpi|nccl|hdf5|H5\w*|jpeglib|turbojpeg|png|xxhash|zlib)\.h$|^(spdlog|boost|nlohmann|cuda)"
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
_MAX_LINES = 400


def _layer(path):
    """The layer of a file: the folder below include/lockstep or src, or jobs, or data_tools."""
    parts = path.parts
    if parts[:2] == ("include", "lockstep"):
        return parts[2]
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else "jobs"  # src/main.cpp stands on top
    return parts[0]


def _included_layer(name):
    """The layer that an include names, or None when it names none of this project's."""
    parts = pathlib.PurePosixPath(os.path.normpath(name)).parts
    parts = [p for p in parts if p not in ("..", "lockstep", "src")]
    return parts[0] if len(parts) > 1 and parts[0] in _LAYERS else None


def violations(root):
    """One line for each broken rule below `root`."""
    found = []
    files = [p for top in ("include", "src", "jobs", "data_tools") for p in (root / top).rglob("*")]
    for file in sorted(p for p in files if p.suffix in (".hpp", ".cpp", ".h", ".cu", ".cuh")):
        path, text = file.relative_to(root), file.read_text()
        if len(text.splitlines()) > _MAX_LINES:
            found.append(f"{path}: over {_MAX_LINES} lines")
        layer = _layer(path)
        if layer not in _LAYERS:
            found.append(f"{path}: unknown layer {layer}")
            continue
        for name in _INCLUDE.findall(text):
            other = _included_layer(name)
            if other and other != layer and other not in _MAY_SEE[layer]:
                found.append(f"{path}: {layer} includes {name}")
            if layer == "model" and other == "comm" and not name.endswith("comm/collectives.hpp"):
                found.append(f"{path}: model includes {name}")
            if path.parts[0] == "include" and _THIRD_PARTY.search(name):
                found.append(f"{path}: third-party header {name}")
    return found


def test_the_tree_keeps_the_rules():
    assert (_ROOT / "include/lockstep/base/config.hpp").is_file()
    assert violations(_ROOT) == []


@pytest.mark.parametrize(
    "path, text, problem",
    [
        ("src/base/a.cpp", '#include "lockstep/comm/world.hpp"\n', "base includes"),
        ("src/data/a.cpp", '#include "lockstep/model/models.hpp"\n', "data includes"),
        ("src/data/a.cpp", '#include "../report/lease.hpp"\n', "data includes"),
        ("src/report/a.cpp", '#  include "optim/sgd.hpp"\n', "report includes"),
        ("src/model/a.cpp", '#include "lockstep/comm/world.hpp"\n', "model includes"),
        ("include/lockstep/train/a.hpp", '#include "jobs/job.hpp"\n', "train includes"),
        ("data_tools/a.cpp", '#include "lockstep/train/fit.hpp"\n', "data_tools includes"),
        ("include/lockstep/comm/a.hpp", "#include <mpi.h>\n", "third-party header mpi.h"),
        ("include/lockstep/comm/a.hpp", "#include <nccl.h>\n", "third-party header nccl.h"),
        ("include/lockstep/data/a.hpp", "#include <hdf5.h>\n", "third-party header hdf5.h"),
        ("include/lockstep/data/a.hpp", "#include <png.h>\n", "third-party header png.h"),
        ("include/lockstep/report/a.hpp", "#include <spdlog/spdlog.h>\n", "third-party header"),
        ("include/lockstep/base/a.hpp", "#include <boost/any.hpp>\n", "third-party header"),
        ("include/lockstep/base/a.hpp", "#include <nlohmann/json.hpp>\n", "third-party header"),
        ("src/other/a.cpp", "\n", "unknown layer other"),
        ("jobs/a.cpp", "\n" * 401, "over 400 lines"),
    ],
)
def test_a_broken_rule_is_found(tmp_path, path, text, problem):
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    found = violations(tmp_path)
    assert len(found) == 1 and problem in found[0]


def test_what_is_allowed_is_not_reported(tmp_path):
    for path, text in {
        "src/model/a.cpp": '#include "lockstep/comm/collectives.hpp"\n#include <mpi.h>\n',
        "jobs/a.cpp": '#include "lockstep/train/fit.hpp"\n' + "\n" * 399,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    assert violations(tmp_path) == []
