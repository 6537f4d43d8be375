"""What every tool that writes a folder leaves behind: a whole output or nothing, and an old one until
the new one is whole. (More on pack_images: test_pack_output.py.)"""

import dataclasses
import signal

import archives
import harness
import numpy
import pictures
import pytest
import sets


@dataclasses.dataclass
class Tool:
    """Inputs of a tool, and options that make it write more than 4 MB and take a second or more."""

    name: str
    quick: list
    bad: list
    slow: list
    slow_options: tuple

    def run(self, inputs, out, *options, **more):
        return harness.run([harness.program(self.name), *inputs, out, *options], **more)


def make_images(root):
    quick = pictures.write_folder(root / "quick", {"ant": 8, "bee": 6})
    bad = pictures.write_folder(root / "bad", {"ant": 8, "bee": 6})
    (bad / "ant" / "00003.png").write_text("no picture")
    slow = pictures.write_folder(root / "slow", {"ant": 150, "bee": 150}, size=8)
    return Tool("pack_images", [quick], [bad], [slow], ("--size", 700, "--threads", 1))


def make_cifar(root):
    quick = archives.write_archive(root / "quick.tar.gz", archives.cifar10_binary())
    bad = root / "bad.tar.gz"
    bad.write_bytes(quick.read_bytes()[:-5])
    slow = archives.write_files(root / "slow", archives.cifar10_binary(per_batch=60))
    return Tool("pack_cifar", [quick], [bad], [slow], ("--size", 700, "--threads", 1))


def make_idx(root):
    images = numpy.random.default_rng(0).integers(0, 256, (300, 8, 8))
    labels = [i % 10 for i in range(300)]
    quick = archives.write_idx(root / "quick", images[:20], labels[:20], ".gz")
    bad = archives.write_idx(root / "bad", images[:20], labels[:19])
    slow = archives.write_idx(root / "slow", images, labels)
    return Tool("pack_idx", list(quick), list(bad), list(slow), ("--size", 700, "--threads", 1))


def make_unpack(root):
    pictures.write_folder(root / "small", {"ant": 8, "bee": 6})
    pictures.write_folder(root / "large", {"ant": 60}, size=8)
    sets.pack(root / "small", root / "quick").ok()
    sets.pack(root / "small", root / "bad").ok()
    sets.pack(root / "large", root / "slow", "--size", 700).ok()
    with sets.h5py.File(root / "bad" / "00000.h5", "r+") as file:
        file["checksums"][9] ^= 1
    return Tool("unpack_shards", [root / "quick"], [root / "bad"], [root / "slow"], ())


@pytest.fixture(scope="module", params=[make_images, make_cifar, make_idx, make_unpack],
                ids=["pack_images", "pack_cifar", "pack_idx", "unpack_shards"])
def tool(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("inputs"))


def test_an_old_output_is_refused_and_replaced_on_demand(tool, tmp_path):
    out = tmp_path / "out"
    tool.run(tool.quick, out).ok()
    before = sets.file_bytes(out)
    sets.said(tool.run(tool.quick, out), 2, out, "exists", "--overwrite")
    assert sets.file_bytes(out) == before
    result = tool.run(tool.quick, f"{out}/", "--overwrite").ok()
    was = {"pack_cifar": "sets train, test", "unpack_shards": "pictures"}.get(tool.name, "set")
    assert f"replaced the {was} of {out}\n" in result.out
    assert sets.file_bytes(out) == before, "the same input gives the same bytes"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failed_run_leaves_nothing_and_keeps_the_old_output(tool, tmp_path):
    out = tmp_path / "out"
    failed = tool.run(tool.bad, out)
    sets.said(failed, 1)
    assert "replaced" not in failed.out
    assert list(tmp_path.iterdir()) == []
    tool.run(tool.quick, out).ok()
    before = sets.file_bytes(out)
    sets.said(tool.run(tool.bad, out, "--overwrite"), 1)
    assert sets.file_bytes(out) == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing_and_keeps_the_old_output(tool, sign, tmp_path):
    def during(process):
        sets.wait_for(lambda: sets.leftovers(tmp_path))
        process.send_signal(sign)

    out = tmp_path / "out"
    result = tool.run(tool.slow, out, *tool.slow_options, during=during)
    sets.said(result, 1, "stopped")
    assert result.seconds < 10 and list(tmp_path.iterdir()) == []
    tool.run(tool.quick, out).ok()
    before = sets.file_bytes(out)
    sets.said(tool.run(tool.slow, out, "--overwrite", *tool.slow_options, during=during), 1, "stopped")
    assert sets.file_bytes(out) == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_killed_run_leaves_nothing_that_looks_finished(tool, tmp_path):
    def during(process):
        sets.wait_for(lambda: sets.leftovers(tmp_path))
        process.kill()

    out = tmp_path / "out"
    tool.run(tool.slow, out, *tool.slow_options, during=during).failed()
    (remains,) = sets.leftovers(tmp_path)
    assert not out.exists()
    result = tool.run(tool.quick, out).ok()
    assert f"removed {tmp_path / remains}" in result.err
    before = sets.file_bytes(out)
    tool.run(tool.slow, out, "--overwrite", *tool.slow_options, during=during).failed()
    assert sets.file_bytes(out) == before
    tool.run(tool.quick, out, "--overwrite").ok()
    assert sets.file_bytes(out) == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_full_disk_leaves_nothing_and_keeps_the_old_output(tool, small_disk):
    disk = small_disk(4)
    out = disk / "out"
    sets.said(tool.run(tool.slow, out, *tool.slow_options), 1, out, "No space left")
    assert list(disk.iterdir()) == []
    tool.run(tool.quick, out).ok()
    before = sets.file_bytes(out)
    sets.said(tool.run(tool.slow, out, "--overwrite", *tool.slow_options), 1, "No space left")
    assert sets.file_bytes(out) == before
    assert [p.name for p in disk.iterdir()] == ["out"]
