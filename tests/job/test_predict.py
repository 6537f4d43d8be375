"""Predictions: for shards, files and folders, in every format, on any number of ranks."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import time

import harness
import pictures
import pytest
import runs
from messages import FAILED, USAGE, said_once

SIZE = 16


@pytest.fixture(scope="module")
def best(tiny_set, tmp_path_factory):
    run = runs.train(tmp_path_factory.mktemp("trained"), 0, {
        "model.name": "cifar_cnn", "model.width": 4, "train.epochs": 1, "optim.lr": 0.01,
        "data.train": tiny_set(150)})
    return run.folder / "checkpoints" / "best"


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A folder of class folders, of another size than the training pictures."""
    root = tmp_path_factory.mktemp("photos")
    pictures.write_folder(root, pictures.spread(30, 3), (24, 36), ".png", 5)
    return root


def predict(np, best, *inputs, **options):
    return harness.mpirun(np, [harness.program("lockstep"), "predict", *inputs,
                               *harness.option_args({"checkpoint": best, "run.threads": 1,
                                                     **options})])


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("np", [0, 2, 3, 4])
def test_rescored_it_gives_what_evaluate_counts(np, best, tiny_set, lockstep):
    data = tiny_set(77, seed=9)
    found = rows(predict(np, best, data, top=5, format="csv").ok().out)
    assert len(found) == 77
    first = sum(row["class_1"] == row["label"] for row in found)
    among = sum(any(row[f"class_{i}"] == row["label"] for i in (1, 2, 3)) for row in found)
    text = lockstep(0, "evaluate", checkpoint=best, data__test=data).ok().out
    counts = re.search(r"top-1 [\d.]+ % \((\d+) of 77\)  top-5 [\d.]+ % \((\d+) of 77\)", text)
    assert (first, among) == (int(counts[1]), int(counts[2])) and first < 77


def test_every_number_of_ranks_writes_the_same(best, photos):
    texts = [predict(np, best, photos, format="csv").ok().out for np in (0, 3)]
    a, b = (rows(text) for text in texts)
    assert [row["path"] for row in a] == [row["path"] for row in b]
    for one, other in zip(a, b):
        assert one["class_1"] == other["class_1"]
        assert float(one["probability_1"]) == pytest.approx(float(other["probability_1"]), abs=1e-6)


def test_files_are_prepared_as_pack_images_does(best, photos, tmp_path):
    """The same pictures, packed and as files."""
    for fit in ("crop", "pad", "stretch"):
        packed = tmp_path / fit
        harness.run([harness.program("pack_images"), photos, packed, "--size", SIZE, "--fit",
                     fit]).ok()
        of_set = rows(predict(0, best, packed, format="csv").ok().out)
        of_files = rows(predict(0, best, photos, format="csv", fit=fit).ok().out)
        by_path = {row["path"]: row for row in of_set}
        assert len(of_files) == len(by_path) == 30
        for row in of_files:
            twin = by_path[row["path"].removeprefix(f"{photos}/")]
            assert row["class_1"] == twin["class_1"]
            assert float(row["probability_1"]) == pytest.approx(float(twin["probability_1"]),
                                                                abs=1e-5)
            assert row["label"] == "" and twin["label"] in row["path"]


def test_the_checkpoint_knows_how_its_pictures_were_packed(photos, tmp_path):
    """Padded with a colour: without --fit predict does the same, with --fit what it is told."""
    packed = tmp_path / "padded"
    harness.run([harness.program("pack_images"), photos, packed, "--size", SIZE, "--fit", "pad",
                 "--background", "200,10,90"]).ok()
    run = runs.train(tmp_path, 0, {"data.train": packed})
    best = run.folder / "checkpoints" / "best"
    by_path = {row["path"]: row for row in rows(predict(0, best, packed, format="csv").ok().out)}
    of_files = rows(predict(0, best, photos, format="csv").ok().out)
    for row in of_files:
        twin = by_path[row["path"].removeprefix(f"{photos}/")]
        assert float(row["probability_1"]) == pytest.approx(float(twin["probability_1"]), abs=1e-5)
    assert of_files != rows(predict(0, best, photos, format="csv", fit="stretch").ok().out)
    info = harness.mpirun(0, [harness.program("lockstep"), "info", best]).ok()
    assert "fit pad" in info.out


def test_ranks_that_see_other_inputs_end_at_once(best, photos, tiny_set, tmp_path):
    program = harness.program("lockstep")
    args = ["predict", "in", *harness.option_args({"checkpoint": best, "run.threads": 1})]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    shutil.copytree(tiny_set(24), tmp_path / "a" / "in")
    shutil.copytree(photos, tmp_path / "b" / "in")
    for first, second in (("a", "b"), ("b", "a")):
        result = harness.run(["mpirun", "--oversubscribe", "--bind-to", "none",
                              "-np", 1, "--wdir", tmp_path / first, program, *args, ":",
                              "-np", 1, "--wdir", tmp_path / second, program, *args])
        assert result.code != 0 and not result.timed_out and result.seconds < 30
        assert result.text.count("error:") == 1, result.explain()


def test_samples_at_once_change_no_answer(best, photos):
    one, other = (rows(predict(2, best, photos, format="csv", **more).ok().out)
                  for more in ({}, {"train.eval_batch_size": 7}))
    for a, b in zip(one, other, strict=True):
        assert (a["path"], a["class_1"]) == (b["path"], b["class_1"])
        assert float(a["probability_1"]) == pytest.approx(float(b["probability_1"]), abs=1e-6)


def test_probabilities(best, photos):
    for row in rows(predict(0, best, photos, format="csv", top=99).ok().out):
        values = [float(row[f"probability_{i}"]) for i in (1, 2, 3)]
        assert "class_4" not in row
        assert values == sorted(values, reverse=True) and sum(values) == pytest.approx(1)


def test_json_and_table_say_the_same(best, photos, tmp_path):
    file = tmp_path / "p.json"
    predict(2, best, photos, format="json", output=file, top=2).ok()
    listed = json.loads(file.read_text())
    assert [p.name for p in tmp_path.iterdir()] == ["p.json"]
    table = predict(0, best, photos, top=2).ok().out.splitlines()
    assert len(listed) == len(table) == 30
    for entry, line in zip(listed, table):
        assert entry["label"] is None and len(entry["top"]) == 2
        assert line.startswith(entry["path"] + "  " + entry["top"][0]["class"] + " ")
        assert f"{100 * entry['top'][0]['probability']:.2f} %" in line


def test_one_picture_and_a_name_with_a_comma(best, photos, tmp_path):
    picture = sorted(photos.rglob("*.png"))[0]
    odd = tmp_path / 'a, "b".png'
    shutil.copy(picture, odd)
    found = rows(predict(0, best, odd, picture, format="csv", top=1).ok().out)
    assert [row["path"] for row in found] == [str(odd), str(picture)]
    assert found[0]["probability_1"] == found[1]["probability_1"]


def test_pictures_that_cannot_be_read_are_named_and_the_others_done(best, photos, tmp_path):
    folder = tmp_path / "some"
    shutil.copytree(photos, folder)
    broken = sorted(folder.rglob("*.png"))[3]
    broken.write_bytes(broken.read_bytes()[:60])
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "notes.txt").write_text("no picture")
    result = predict(2, best, folder, format="csv").failed(FAILED)
    assert len(rows(result.out)) == 29
    assert result.err.count(str(broken)) == 1 and result.err.count("empty.jpg") == 1
    assert "2 of 31 pictures have no prediction" in result.err
    assert result.text.count("error:") == 1


@pytest.mark.parametrize("inputs, options, words", [
    ([], {}, ["no picture is given"]),
    (["nowhere"], {}, ["there is no 'nowhere'"]),
    (["."], {}, ["there is no picture in '.'"]),
    (["."], {"top": 0}, ["--top cannot be 0"]),
    (["."], {"format": "xml"}, ["there is no format 'xml'"]),
    (["."], {"fit": "squeeze"}, ["there is no --fit squeeze"]),
    (["."], {"train.epochs": 3}, ["--train.epochs has no effect on predict"]),
])
def test_wrong_use(inputs, options, words, best, tmp_path):
    args = [harness.program("lockstep"), "predict", *inputs,
            *harness.option_args({"checkpoint": best, **options})]
    said_once(harness.mpirun(2, args, cwd=tmp_path), USAGE, *words)


def test_a_set_of_another_size(best, tiny_set):
    said_once(predict(2, best, tiny_set(12, size=24)), USAGE, "24 x 24", "16 x 16")


def test_an_output_that_cannot_be_written(best, photos, tmp_path):
    result = predict(2, best, photos, output=tmp_path / "no" / "p.csv", format="csv")
    said_once(result, FAILED, "cannot be written")


def test_an_output_that_would_replace_what_it_works_with_is_refused(best, photos, tiny_set,
                                                                    copy_set, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    picture = sorted(folder.rglob("*.png"))[0]
    damaged = copy_set(tiny_set(24))
    checkpoints = tmp_path / "checkpoints"
    shutil.copytree(best.parent, checkpoints)
    model = next(checkpoints.glob("epoch-*")) / "model.safetensors"
    link = tmp_path / "link.csv"
    link.symlink_to(picture)
    for inputs, output, word in [
            ([picture], picture, "one of the pictures"), ([folder], picture, "one of the pictures"),
            ([folder], link, "one of the pictures"),
            ([damaged], next(damaged.glob("*.h5")), "a set of shards"),
            ([damaged], damaged / "set.json", "a set of shards"),
            ([picture], checkpoints / "best", "a checkpoint"),
            ([picture], model, "a checkpoint")]:
        before = output.read_bytes()
        said_once(predict(2, checkpoints / "best", *inputs, output=output, format="csv"), USAGE,
                  word, "--output")
        assert output.read_bytes() == before
    assert not [p for p in tmp_path.rglob("*.tmp*")]


def test_outputs_of_every_kind(best, photos, tmp_path):
    """A link is followed, a pipe is written to, an older file goes when there is something new."""
    real, link, pipe = tmp_path / "real.csv", tmp_path / "link.csv", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    (tmp_path / "real.csv.tmp").write_text("mine")
    expected = predict(0, best, photos, format="csv").ok().out
    predict(0, best, photos, output=link, format="csv").ok()
    assert link.is_symlink() and real.read_text() == expected
    assert (tmp_path / "real.csv.tmp").read_text() == "mine"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    predict(2, best, photos, output=pipe, format="csv").ok()
    assert reader.communicate(timeout=60)[0] == expected
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    predict(0, best, broken, output=real, format="csv").failed(FAILED)
    assert real.read_text() == expected, "nothing new to put there"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "broken.png", "link.csv", "pipe", "real.csv", "real.csv.tmp"]


def test_a_kill_leaves_the_output_as_it_was(best, tiny_set, tmp_path):
    output = tmp_path / "p.csv"
    output.write_text("old")
    killed = harness.run([harness.program("lockstep"), "predict", tiny_set(200), *harness.option_args(
        {"checkpoint": best, "output": output, "format": "csv", "train.eval_batch_size": 1})],
        during=lambda process: (time.sleep(0.9), process.kill()))
    assert killed.code in (0, -9)
    assert [p.name for p in tmp_path.iterdir()] == ["p.csv"]
    assert killed.code == 0 or output.read_text() == "old"


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_are_told_by_the_code(closed, best, photos):
    command = " ".join([harness.program("lockstep"), "predict", "--checkpoint", str(best),
                        str(photos), closed])
    assert harness.run(["sh", "-c", command]).code == FAILED


def test_info(best):
    text = harness.run([harness.program("lockstep"), "info", best]).ok().out
    for words in ("cifar_cnn", "1 epoch", "sgd", "16 x 16", "validation top-1", "classes      3:"):
        assert words in text, text
    said_once(harness.run([harness.program("lockstep"), "info"]), USAGE, "no checkpoint is given")
    said_once(harness.run([harness.program("lockstep"), "info", "a", "b"]), USAGE,
              "is given twice")
