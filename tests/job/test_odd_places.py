"""What the system can do to a program: paths too long to be looked at, readers that leave, limits on
files, ranks that are not there."""

import os
import subprocess

import harness
import pictures
import pytest
import runs
from messages import FAILED, USAGE, said_once

PACK = harness.program("pack_images")


def test_a_folder_that_cannot_be_looked_at_is_an_error(tmp_path):
    """Its pictures would be lost without a word: here the path is too long for the system."""
    source = tmp_path / "in"
    pictures.write_folder(source, [3, 3])
    picture = next((source / "c0").iterdir()).read_bytes()
    back = os.getcwd()
    os.chdir(source / "c1")
    try:
        for _ in range(45):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
        with open("lost.png", "wb") as file:
            file.write(picture)
    finally:
        os.chdir(back)
    result = harness.run([PACK, source, tmp_path / "out"])
    said_once(result, USAGE, "cannot look at", "File name too long")
    assert not (tmp_path / "out").exists()


def test_a_limit_on_file_sizes_is_an_error_and_no_crash(tmp_path):
    source = tmp_path / "in"
    pictures.write_folder(source, [60, 60], size=32)
    limited = ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", PACK, source, tmp_path / "out"]
    result = harness.run(limited)
    said_once(result, FAILED, "File too large")
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_a_reader_that_leaves_ends_no_packing(tmp_path):
    source = tmp_path / "in"
    pictures.write_folder(source, [20, 20])
    with subprocess.Popen([PACK, source, tmp_path / "out"], stderr=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=harness.clean_environment()) as process:
        process.stdout.close()
        process.stderr.close()
        assert process.wait(timeout=60) == FAILED, "what it found could not be printed"
    assert (tmp_path / "out" / "set.json").exists()


def start(command, env=None):
    return harness.run(["mpirun", "--oversubscribe", "--bind-to", "none", *command],
                       env={"LOCKSTEP_START_TIMEOUT": "4", **(env or {})}, timeout=40)


@pytest.mark.parametrize("other", [["/bin/true"], ["/bin/sleep", "30"]])
def test_a_rank_that_is_another_program_hangs_nobody(other, tiny_set, tmp_path):
    train = [harness.program("lockstep"), "train", *harness.option_args(
        {**runs.QUICK, "data.train": tiny_set(24), "run.root": tmp_path, "run.name": "r"})]
    result = start(["-np", 1, *train, ":", "-np", 1, *other]).failed()
    assert "MPI_Init did not finish within 4 s" in result.text, result.explain()
    assert result.seconds < 25


def test_ranks_that_are_asked_for_different_checkpoints(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(24)})
    command = [harness.program("lockstep"), "evaluate", "--data.test", tiny_set(24)]
    result = start(["-np", 1, *command, "--checkpoint", run.folder / "checkpoints" / "best", ":",
                    "-np", 1, *command, "--checkpoint", "/nowhere"])
    said_once(result, FAILED, "rank 1 differs from rank 0 in what it is asked to do")
