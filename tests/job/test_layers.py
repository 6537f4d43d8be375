"""The direction of includes, as the table of layers has it; third-party headers out of include/;
RunConfig in base and jobs alone; no file of code over 400 lines, whatever its language."""

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
    r"(mpi|nccl|hdf5|H5\w*|jpeglib|turbojpeg|png|xxhash|zlib|archive\w*)\.h$"
    r"|^(spdlog|boost|nlohmann|cuda)"
)
# Modules take their own options struct: jobs/ alone turns the configuration into them.
_SEE_CONFIG = {"base", "jobs"}
_CONFIG = re.compile(r"^.*\bRunConfig\b.*$", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
_MAX_LINES = 400
_SOURCES = (".hpp", ".cpp", ".h", ".cu", ".cuh")
_CODE = (*_SOURCES, ".py", ".sh", ".cmake")
_CODE_FOLDERS = ("include", "src", "jobs", "data_tools", "tests", "scripts", "slurm", "bench",
                 "cmake", ".ci")


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


def _files(root, folders):
    """The files below these folders, but for what a program left there."""
    found = [p for folder in folders for p in (root / folder).rglob("*") if p.is_file()]
    return sorted(p for p in found if "__pycache__" not in p.parts)


def _is_code(path, text):
    return (path.suffix in _CODE or path.name == "CMakeLists.txt"
            or (not path.suffix and text.startswith(b"#!")))


def too_long(root):
    """One line for each file of code with too many lines."""
    found = []
    for file in _files(root, _CODE_FOLDERS):
        text = file.read_bytes()
        if _is_code(file, text) and len(text.splitlines()) > _MAX_LINES:
            found.append(f"{file.relative_to(root)}: over {_MAX_LINES} lines")
    return found


def violations(root):
    """One line for each broken rule below `root`."""
    found = too_long(root)
    files = _files(root, ("include", "src", "jobs", "data_tools"))
    for file in (p for p in files if p.suffix in _SOURCES):
        path, text = file.relative_to(root), file.read_text()
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
            if layer not in _SEE_CONFIG and name.endswith("base/config.hpp"):
                found.append(f"{path}: {layer} sees the configuration: {name}")
        if layer not in _SEE_CONFIG and (use := _CONFIG.search(_COMMENT.sub("", text))):
            found.append(f"{path}: {layer} sees the configuration: {use.group().strip()}")
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
        ("tests/unit/base/a_test.cpp", "\n" * 401, "over 400 lines"),
        ("tests/job/test_a.py", "\n" * 401, "over 400 lines"),
        ("tests/CMakeLists.txt", "\n" * 401, "over 400 lines"),
        ("scripts/a.sh", "\n" * 401, "over 400 lines"),
        ("scripts/a.py", "\n" * 401, "over 400 lines"),
        ("cmake/A.cmake", "\n" * 401, "over 400 lines"),
        (".ci/run", "#!/bin/sh\n" + "\n" * 400, "over 400 lines"),
        ("data_tools/lib/a.hpp", "\n" * 401, "over 400 lines"),
        ("src/train/a.cpp", '#include "lockstep/base/config.hpp"\n', "sees the configuration"),
        ("include/lockstep/optim/a.hpp", '#include "../base/config.hpp"\n',
         "sees the configuration"),
        ("data_tools/a.cpp", '#include "lockstep/base/config.hpp"\n', "sees the configuration"),
        # By way of another header, or declared forward.
        ("src/train/a.cpp", '#include "lockstep/base/cli.hpp"\nvoid f(const RunConfig& c);\n',
         "sees the configuration: void f(const RunConfig& c);"),
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
        "jobs/b.cpp": '#include "lockstep/base/config.hpp"\nRunConfig config;\n',
        "src/main.cpp": "const RunConfig& config = f();\n",
        "src/base/a.cpp": '#include "lockstep/base/config.hpp"\n',
        "src/train/a.cpp": "// not RunConfig, but its own\n/* RunConfig\nRunConfig */\n",
        "src/train/b.cpp": "#include \"lockstep/base/fault.hpp\"\nint RunConfigs;\n",
        "tests/job/test_a.py": "\n" * 400,
        "tests/job/__pycache__/a.py": "\n" * 401,
        "tests/cases/data.txt": "\n" * 401,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert violations(tmp_path) == []


# Everything random is a pure function of keys (base/seed): there is no other generator.
GENERATOR = re.compile(
    r"std::(mt19937|minstd|ranlux|knuth|default_random_engine|random_device|shuffle)|"
    r"\b(s?rand|[dlm]rand48|random)\(|manual_seed|at::(rand|bernoulli|normal|dropout)|"
    r"torch::(rand|bernoulli|normal|dropout)|\.(uniform|normal|bernoulli|random)_\(")


def test_there_is_no_other_generator():
    found = []
    for folder in ("src", "include", "jobs", "data_tools"):
        for file in sorted((_ROOT / folder).rglob("*.[ch]pp")):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if GENERATOR.search(line.split("//")[0]):
                    found.append(f"{file.relative_to(_ROOT)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", ["std::mt19937 g(3);", "x = rand();", "torch::manual_seed(1);",
                                  "w.normal_(0, 1);", "at::randn({3});"])
def test_another_generator_would_be_found(line):
    assert GENERATOR.search(line)
