"""A set has one open file per shard: limits on open files are raised where they can be, and named
where they cannot."""

import harness
import pictures
import pytest
import sets

SHARDS = 300


@pytest.fixture(scope="module")
def many_shards(tmp_path_factory):
    root = tmp_path_factory.mktemp("many")
    pictures.write_folder(root / "in", pictures.spread(SHARDS, 3), size=8)
    sets.pack(root / "in", root / "set", "--shards", SHARDS).ok()
    return root / "set"


def limited(soft, hard, *command):
    """The command, started by a shell with these limits on open files."""
    return ["bash", "-c", f'ulimit -S -n {soft} && ulimit -H -n {hard} && exec "$@"', "bash", *command]


@pytest.mark.parametrize("verify", [(), ("--verify",)])
def test_a_low_soft_limit_is_raised(many_shards, verify):
    result = harness.run(limited(64, 1000, harness.program("inspect_shards"), many_shards, *verify))
    assert f"in {SHARDS} shards" in result.ok().out


def test_a_low_hard_limit_is_named(many_shards):
    for soft, hard in ((64, SHARDS), (SHARDS, SHARDS)):
        result = harness.run(limited(soft, hard, harness.program("inspect_shards"), many_shards))
        sets.said(result, 1, many_shards, f"{SHARDS} shards", f"{hard} open files", "ulimit -n",
                  "pack_images --shards")


def test_just_enough_is_enough(many_shards):
    """Three standard streams, the shards, and one more for a moment."""
    program = harness.program("inspect_shards")
    harness.run(limited(64, SHARDS + 4, program, many_shards, "--verify")).ok()
    harness.run(limited(64, SHARDS + 3, program, many_shards)).failed(1)


def train(np, limits, folder, tmp_path):
    options = {"data.train": folder, "model.name": "simple_cnn", "train.max_updates": 1,
               "train.batch_size": 8, "data.holdout": 0.1, "run.root": tmp_path / "runs",
               "run.name": "r"}
    command = [harness.program("lockstep"), "train", *harness.option_args(options)]
    return harness.mpirun(np, limited(*limits, *command), timeout=120)


def test_ranks_raise_the_limit_too(many_shards, tmp_path):
    train(2, (200, 2000), many_shards, tmp_path).ok()


def test_of_several_ranks_one_names_the_limit(many_shards, tmp_path):
    result = train(3, (250, 250), many_shards, tmp_path).failed(1)
    assert result.text.count(f"each of its {SHARDS} shards") == 1, result.explain()
    assert "250 open files" in result.text and "ulimit -n" in result.text
