"""What pack_images leaves behind: a whole set or nothing, whatever happens on the way."""

import os
import pty
import shutil
import signal
import subprocess

import harness
import pictures
import pytest
import sets


@pytest.fixture
def source(tmp_path):
    return pictures.write_folder(tmp_path / "in", {"ant": 8, "bee": 6})


@pytest.fixture(scope="module")
def slow_source(tmp_path_factory):
    """A folder that takes seconds: one large picture, many times by links."""
    root = tmp_path_factory.mktemp("slow")
    pictures.write_folder(root / "big", {"ant": 1}, size=1200)
    (root / "slow" / "ant").mkdir(parents=True)
    for index in range(200):
        (root / "slow" / "ant" / f"{index}.png").symlink_to(root / "big" / "ant" / "00000.png")
    return root / "slow"


def test_an_existing_set_is_refused_and_replaced_on_demand(source, tmp_path):
    sets.pack(source, tmp_path / "set").ok()
    before = sets.file_bytes(tmp_path / "set")
    sets.said(sets.pack(source, tmp_path / "set"), 2, "exists", "--overwrite")
    assert sets.file_bytes(tmp_path / "set") == before
    sets.pack(source, tmp_path / "set", "--overwrite", "--shards", 3).ok()
    assert len(sets.file_bytes(tmp_path / "set")) == 4
    assert sets.leftovers(tmp_path) == []
    sets.inspect(tmp_path / "set", "--verify").ok()


def test_a_failed_overwrite_keeps_the_old_set(source, tmp_path):
    sets.pack(source, tmp_path / "set").ok()
    before = sets.file_bytes(tmp_path / "set")
    (source / "ant" / "bad.jpg").write_text("no picture")
    sets.said(sets.pack(source, tmp_path / "set", "--overwrite"), 1, "bad.jpg")
    assert sets.file_bytes(tmp_path / "set") == before
    assert sets.leftovers(tmp_path) == []


def test_what_is_no_set_is_never_overwritten(source, tmp_path):
    shutil.copytree(source, tmp_path / "photos")
    sets.pack(source, tmp_path / "photos" / "train").ok()
    before = sets.file_bytes(tmp_path / "photos")
    sets.said(sets.pack(source, tmp_path / "photos", "--overwrite"), 2, "photos")
    (tmp_path / "file").write_text("mine")
    sets.said(sets.pack(source, tmp_path / "file", "--overwrite"), 2, "file")
    assert sets.file_bytes(tmp_path / "photos") == before
    assert (tmp_path / "file").read_text() == "mine"


def meanwhile(tmp_path, act):
    """For `during`: once packing has begun, does something."""
    def during(_process):
        sets.wait_for(lambda: sets.leftovers(tmp_path))
        act()
    return during


@pytest.mark.parametrize("options", [(), ("--overwrite",)])
def test_a_folder_that_appears_while_packing_stays(slow_source, tmp_path, options):
    def appear():
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "results.csv").write_text("mine")

    result = sets.pack(slow_source, tmp_path / "set", *options, during=meanwhile(tmp_path, appear))
    sets.said(result, 1, tmp_path / "set", "it exists by now")
    assert sets.file_bytes(tmp_path / "set") == {"results.csv": b"mine"}
    assert sets.leftovers(tmp_path) == []


def test_what_comes_into_the_old_set_while_packing_stays(slow_source, source, tmp_path):
    sets.pack(source, tmp_path / "set").ok()
    before = sets.file_bytes(tmp_path / "set")
    result = sets.pack(
        slow_source, tmp_path / "set", "--overwrite",
        during=meanwhile(tmp_path, lambda: (tmp_path / "set/results.csv").write_text("mine")))
    sets.said(result, 2, tmp_path / "set", "something else than sets of shards")
    assert sets.file_bytes(tmp_path / "set") == {**before, "results.csv": b"mine"}
    assert sets.leftovers(tmp_path) == []


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(slow_source, tmp_path, sign):
    def during(process):
        sets.wait_for(lambda: sets.leftovers(tmp_path))
        process.send_signal(sign)

    result = sets.pack(slow_source, tmp_path / "set", during=during)
    sets.said(result, 1, "stopped")
    assert result.seconds < 10
    assert not (tmp_path / "set").exists() and sets.leftovers(tmp_path) == []


def test_the_remains_of_a_killed_run_go_with_the_next(slow_source, source, tmp_path):
    def during(process):
        sets.wait_for(lambda: sets.leftovers(tmp_path))
        process.kill()

    sets.pack(slow_source, tmp_path / "set", during=during).failed()
    remains = sets.leftovers(tmp_path)
    assert len(remains) == 1 and not (tmp_path / "set").exists()
    result = sets.pack(source, tmp_path / "set").ok()
    assert f"removed {tmp_path / remains[0]}" in result.err
    assert sets.leftovers(tmp_path) == []
    sets.inspect(tmp_path / "set", "--verify").ok()


def test_two_runs_at_once_do_not_meet(source, tmp_path):
    runs = [subprocess.Popen([harness.program("pack_images"), source, tmp_path / "set"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(4)]
    answers = [(run.communicate(timeout=60), run.returncode) for run in runs]
    assert sum(code == 0 for _, code in answers) == 1, answers
    for (_, err), code in answers:
        assert code == 0 or "exist" in err, err
    sets.inspect(tmp_path / "set", "--verify").ok()
    assert sets.leftovers(tmp_path) == []


@pytest.mark.parametrize("free_kb", [0, 4, 8, 12, 16, 24, 40, 100])
def test_a_full_disk_is_a_plain_error(source, small_disk, free_kb):
    """Wherever the space ends - folder, shard, HDF5's own data, set.json - nothing stays."""
    disk = small_disk(1)
    (disk / "ballast").write_bytes(bytes((1024 - free_kb) * 1024))
    result = sets.pack(source, disk / "set", timeout=30)
    if free_kb >= 100:
        result.ok()
        sets.inspect(disk / "set", "--verify").ok()
        return
    if result.code == 0:
        assert free_kb >= 16, "a set of 14 pictures in so little space"
        sets.inspect(disk / "set", "--verify").ok()
        return
    sets.said(result, 1, str(disk / "set"), "No space left")
    assert [p.name for p in disk.iterdir()] == ["ballast"]


def test_a_full_disk_keeps_the_old_set(source, tmp_path, small_disk):
    disk = small_disk(1)
    sets.pack(source, disk / "set").ok()
    before = sets.file_bytes(disk / "set")
    large = pictures.write_folder(tmp_path / "large", {"ant": 40, "bee": 40}, size=100)
    sets.said(sets.pack(large, disk / "set", "--overwrite"), 1, "No space left")
    assert sets.file_bytes(disk / "set") == before
    assert sets.leftovers(disk) == []


def test_progress_is_redrawn_on_a_terminal(slow_source, tmp_path):
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [harness.program("pack_images"), slow_source, tmp_path / "set", "--threads", "1"],
        stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    seen = b""
    try:
        while b"pictures" not in seen:
            seen += os.read(main, 4096)
        process.terminate()
        process.wait(timeout=30)
    finally:
        process.kill()
        os.close(main)
    assert b"\r" in seen and b"of 200 pictures" in seen and b"s left" in seen
    assert b"\n" not in seen.split(b"pictures")[0]


def test_no_progress_of_a_short_run(source, tmp_path):
    assert sets.pack(source, tmp_path / "set").ok().err == ""
