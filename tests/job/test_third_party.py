"""Third-party headers stay in the layers that own them, whole layers compile without LibTorch, and
internal headers stay in their folder. (The direction of our own includes: test_layers.py.)"""

import os
import pathlib
import re

import pytest

_ROOT = pathlib.Path(os.environ.get("LOCKSTEP_SOURCE_DIR",
                                    pathlib.Path(__file__).parents[2])).resolve()
_TOPS = ("include", "src", "jobs", "data_tools")

# A pattern of headers, and the layers whose .cpp files and internal headers may include them.
_OWNERS = [
    (re.compile(r"^mpi\.h$"), {"comm"}),
    (re.compile(r"^(nccl|cuda\w*)\.h$"), {"comm", "train"}),
    (re.compile(r"^(hdf5|turbojpeg|jpeglib|jerror|png)\.h$|^libexif/"), {"data", "data_tools"}),
    (re.compile(r"^spdlog/"), {"report"}),
    (re.compile(r"^boost/(program_options|version\.hpp)"), {"base", "data_tools"}),
    (re.compile(r"^(nlohmann/json\.hpp|xxhash\.h|zlib\.h)$"),
     {"data", "report", "train", "jobs", "data_tools"}),
    (re.compile(r"^stb/"), {"data_tools"}),
    (re.compile(r"^archive(_entry)?\.h$"), {"train", "data_tools"}),
]
_TORCH = re.compile(r"^(torch|ATen|c10)/")
_SYSTEM = re.compile(r"^([a-z_]+(\.h)?|sys/[a-z_]+\.h)$")

# Files, by stem, that differ from their layer in needing LibTorch; comm's pattern is that of
# cmake/Options.cmake.
_TORCH_IN = {"comm": re.compile(r"gradient|bucket|reducer|tensor|torch|nccl"),
             "data": re.compile(r"^batch_tensor")}
_NO_TORCH_IN = {"optim": re.compile(r"^schedule")}
_TORCH_FREE_LAYERS = {"base", "comm", "data", "report", "data_tools"}


def _layer(path):
    parts = path.parts
    if parts[0] == "include":
        return parts[2]
    return parts[1] if parts[0] == "src" and len(parts) > 2 else "jobs" if parts[0] == "src" else parts[0]


def _without_torch(path):
    layer, stem = _layer(path), path.stem
    if layer in _TORCH_FREE_LAYERS:
        return not (layer in _TORCH_IN and _TORCH_IN[layer].search(stem))
    return layer in _NO_TORCH_IN and bool(_NO_TORCH_IN[layer].search(stem))


def complaints(root, path):
    """One line for each wrong include of the file `path` (relative to `root`)."""
    layer, found = _layer(path), []
    names = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', (root / path).read_text(), re.MULTILINE)
    for name in names:
        if name.startswith("lockstep/"):
            header = pathlib.Path("include") / name
            if _without_torch(path) and not _without_torch(header):
                found.append(f"{path}: {name} needs LibTorch")
            continue
        folders = ((root / path).parent, root / "src", root / "jobs", root / "data_tools")
        inner = next((folder / name for folder in folders if (folder / name).exists()), None)
        if inner is not None:
            owner = _layer(inner.resolve().relative_to(root))
            if owner != layer:
                found.append(f"{path}: {name} is internal to {owner}")
        elif _TORCH.match(name):
            if _without_torch(path):
                found.append(f"{path}: has to compile without LibTorch, but includes {name}")
        else:
            owners = next((owners for pattern, owners in _OWNERS if pattern.match(name)), None)
            if owners is None and not _SYSTEM.match(name):
                found.append(f"{path}: {name} is in no list of third-party headers")
            elif owners is not None and layer not in owners:
                found.append(f"{path}: {name} belongs to {sorted(owners)}")
    return found


def _sources(root):
    return [path.relative_to(root) for top in _TOPS for path in sorted((root / top).rglob("*"))
            if path.suffix in (".hpp", ".cpp", ".cu")]


def test_headers_stay_with_their_owners():
    sources = _sources(_ROOT)
    assert len(sources) > 60, "the sources are not where they were"
    assert [text for path in sources for text in complaints(_ROOT, path)] == []


@pytest.mark.parametrize("path, line, complaint", [
    ("src/base/a.cpp", "#include <torch/types.h>", "without LibTorch"),
    ("src/data/a.cpp", "#include <c10/util/Half.h>", "without LibTorch"),
    ("src/comm/a.cpp", '#include "lockstep/comm/gradient_reducer.hpp"', "needs LibTorch"),
    ("src/optim/schedule.cpp", "#include <ATen/Parallel.h>", "without LibTorch"),
    ("src/optim/a.cpp", "#  include <mpi.h>", "belongs to ['comm']"),
    ("src/model/a.cpp", "#include <spdlog/spdlog.h>", "belongs to ['report']"),
    ("src/data/a.cpp", "#include <opencv2/core.hpp>", "in no list"),
    ("src/train/a.cpp", '#include "../data/inner.hpp"', "internal to data"),
    ("src/train/a.cpp", '#include "data/inner.hpp"', "internal to data"),
])
def test_a_wrong_include_is_found(path, line, complaint, tmp_path):
    (tmp_path / "src/data").mkdir(parents=True)
    (tmp_path / "src/data/inner.hpp").write_text("#pragma once\n")
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(line + "\n")
    found = complaints(tmp_path, pathlib.Path(path))
    assert len(found) == 1 and complaint in found[0], found


def test_public_headers_have_their_source():
    """include/lockstep/F/X.hpp has src/F/X.cpp, or X_part.cpp where that grew long, or all it holds
    is inline or abstract."""
    header_only = {"base/choice", "base/partition", "comm/world", "data/picture_source",
                   "model/network"}
    top = _ROOT / "include/lockstep"
    missing = []
    for header in sorted(top.rglob("*.hpp")):
        name = header.relative_to(top).with_suffix("").as_posix()
        folder = _ROOT / "src" / header.parent.name
        sources = [*folder.glob(f"{header.stem}.cpp"), *folder.glob(f"{header.stem}_*.cpp")]
        if bool(sources) == (name in header_only):
            missing.append(name)
    assert missing == []


def test_public_headers_that_use_torch_include_it():
    """The precompiled header would hide a lack from the compiler."""
    names = re.compile(r"\b(at|c10|torch)::")
    lacking, users = [], 0
    for header in sorted((_ROOT / "include").rglob("*.hpp")):
        code = re.sub(r"//[^\n]*", "", header.read_text())
        if names.search(code):
            users += 1
            if not re.search(r"^#include <(torch|ATen|c10)/", code, re.MULTILINE):
                lacking.append(header.name)
    assert users > 5 and lacking == []
