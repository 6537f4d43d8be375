"""Fixtures of the tests that run the real programs. See harness.py for what they return."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402
import pictures  # noqa: E402


@pytest.fixture(scope="session")
def mpirun():
    return harness.mpirun


@pytest.fixture(scope="session")
def lockstep():
    return harness.lockstep


@pytest.fixture(scope="session")
def tiny_set(tmp_path_factory):
    """tiny_set(samples, size=16, classes=3, seed=0, suffix=".png", pack=[]) packs a set of
    generated pictures once per session and returns its folder. Treat it as read-only: copy_set to
    change."""
    root = tmp_path_factory.mktemp("sets")
    made = {}

    def make(samples, size=16, classes=3, seed=0, suffix=".png", pack=()):
        shape = tuple(sorted(samples.items())) if isinstance(samples, dict) else samples
        key = (shape, size, classes, seed, suffix, tuple(pack))
        if key not in made:
            source = root / f"pictures{len(made)}"
            counts = samples if isinstance(samples, dict) else pictures.spread(samples, classes)
            pictures.write_folder(source, counts, size, suffix, seed)
            target = root / f"set{len(made)}"
            harness.run([harness.program("pack_images"), source, target, *pack], timeout=120).ok()
            shutil.rmtree(source)
            made[key] = target
        return made[key]

    return make


@pytest.fixture
def copy_set(tmp_path):
    """copy_set(folder) -> a copy that the test may damage."""

    def copy(folder, name="damaged"):
        target = tmp_path / name
        shutil.copytree(folder, target)
        return target

    return copy


@pytest.fixture
def small_disk(tmp_path):
    """small_disk(mb) mounts a file system of so many MB and returns its folder; skips where it cannot."""
    mounted = []

    def mount(mb):
        folder = tmp_path / "disk"
        folder.mkdir()
        if os.geteuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={mb}m", "none", folder], capture_output=True,
                check=False).returncode != 0:
            pytest.skip("mounting a small file system needs root")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="session")
def sample_sets(tmp_path_factory):
    """The CIFAR-10 sample of the repository, packed: {"train": folder, "test": folder}."""
    archive = harness.SOURCE / "samples" / "cifar10-sample.tar.zst"
    if not archive.exists():
        pytest.skip(f"{archive.relative_to(harness.SOURCE)} is not here")
    root = tmp_path_factory.mktemp("sample")
    harness.run(["tar", "--zstd", "-xf", archive, "-C", root], timeout=120).ok()
    train = next(p for p in sorted(root.rglob("train")) if p.is_dir())
    sets = {}
    for part in ("train", "test"):
        sets[part] = root / f"shards-{part}"
        more = [] if part == "train" else ["--classes-from", sets["train"]]
        harness.run([harness.program("pack_images"), train.parent / part, sets[part], *more],
                    timeout=300).ok()
    return sets


def pytest_collection_modifyitems(items):
    """Without the programs nothing here can run: say so once instead of failing everywhere."""
    if not pathlib.Path(harness.program("lockstep")).exists() and not pathlib.Path(
            harness.program("pack_images")).exists():
        raise pytest.UsageError(
            f"no programs in {harness.BIN} - build first, or set LOCKSTEP_BIN_DIR")
