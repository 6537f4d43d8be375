"""A run from end to end: what its folder holds, and that others can use it."""

import json
import re

import harness
import pytest
import runs

OPTIONS = {"model.name": "cifar_cnn", "model.width": 4, "train.epochs": 4, "augment.flip": True,
           "augment.crop_padding": 2, "schedule.warmup_epochs": 1}


@pytest.fixture(scope="module")
def finished(tiny_set, tmp_path_factory):
    """A run of two ranks with training, validation and test pictures."""
    return runs.train(tmp_path_factory.mktemp("finished"), 2,
                      {**OPTIONS, "data.train": tiny_set(150), "data.test": tiny_set(77, seed=9)})


def scores(text):
    """[(loss, top-1 hits, top-5 hits, samples)] of every scored set in a text."""
    found = re.findall(r"loss ([\d.]+)  top-1 [\d.]+ % \((\d+) of (\d+)\)  top-5 [\d.]+ % "
                       r"\((\d+) of (\d+)\)", text)
    for _, _, samples, _, again in found:
        assert samples == again
    return [(float(loss), int(one), int(five), int(n)) for loss, one, n, five, _ in found]


def test_the_run_folder(finished):
    names = {p.name for p in finished.folder.iterdir()}
    assert names >= {"config.cfg", "train.log", "metrics.csv", "timings.csv", "checkpoints",
                     "confusion.csv", "per_class.csv"}
    assert "lease.json" not in names, "the lease outlives the run"
    saved = [name for name in finished.checkpoints if name.startswith("epoch-")]
    assert set(finished.checkpoints) - set(saved) == {"best", "latest"}
    for name in saved:
        assert {p.name for p in (finished.folder / "checkpoints" / name).iterdir()} == {
            "model.safetensors", "optimizer.safetensors", "state.json", "config.cfg",
            "MANIFEST.json"}


def test_the_log_says_what_matters(finished):
    for words in ("135 training, 15 validation, 77 test samples of 3 classes", "16x16",
                  "36 updates of 16 samples (9 per epoch) on 2 ranks", "parameters",
                  "epoch 4/4", "of 15", "(best)", "images/s", "waited for data", "gradient norm",
                  "top-5", str(finished.folder)):
        assert words in finished.log, words
    assert "memory per rank" in finished.log
    for line in finished.log.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\d [\d:.]+ (info|warning)  ", line), line
    assert finished.log.strip() in finished.result.out.replace("\r", ""), "console and file differ"


def test_metrics(finished):
    rows = finished.metrics
    assert [row["epoch"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["updates"] for row in rows] == ["9", "18", "27", "36"]
    assert all(row["val_samples"] == "15" for row in rows)
    assert float(rows[-1]["train_loss"]) < float(rows[0]["train_loss"])
    best = [int(row["epoch"]) for row in rows if row["best"] == "1"][-1]
    tops = [float(row["val_top1"]) for row in rows]
    assert tops.index(max(tops)) + 1 == best
    timings = (finished.folder / "timings.csv").read_text().splitlines()
    assert len(timings) == 5 and "images_per_second" in timings[0]


def test_learning(finished):
    assert float(finished.metrics[-1]["val_top1"]) > 0.6


def test_equal_runs_have_equal_metrics(finished, tiny_set, tmp_path):
    again = runs.train(tmp_path, 2, {**OPTIONS, "data.train": tiny_set(150)})
    files = [run.folder / "metrics.csv" for run in (again, finished)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_the_effective_config_runs_again_as_it_is(finished, tmp_path):
    text = (finished.folder / "config.cfg").read_text()
    result = harness.mpirun(2, [harness.program("lockstep"), "train", "--config",
                                finished.folder / "config.cfg", "--run.root", tmp_path]).ok()
    again = runs.Run(tmp_path / "run", result, tmp_path)
    assert again.metrics == finished.metrics
    assert (again.folder / "config.cfg").read_text() == text.replace(
        str(finished.folder.parent), str(tmp_path))


def test_the_test_set_is_scored_once_with_the_best_model(finished, tiny_set, lockstep):
    log = finished.log
    assert log.count("test set") == 1
    assert log.index("test set") > log.index("epoch 4/4")
    own = scores(log)
    assert len(own) == 1 and own[0][3] == 77
    best = lockstep(3, "evaluate", checkpoint=finished.folder / "checkpoints" / "best",
                    data__test=tiny_set(77, seed=9)).ok()
    assert scores(best.out) == own
    state = json.loads((pointed(finished, "best") / "state.json").read_text())
    assert f"best model (epoch {state['epoch']})" in log


def pointed(run, pointer):
    folder = run.folder / "checkpoints"
    return folder / json.loads((folder / pointer).read_text())["checkpoint"]


def test_evaluate_takes_model_and_preprocessing_from_the_checkpoint(tiny_set, tmp_path, lockstep):
    run = runs.train(tmp_path, 0, {
        **OPTIONS, "data.train": tiny_set(150), "data.test": tiny_set(77, seed=9),
        "augment.mean": "0.9,0.1,0.5", "augment.std": "0.1,0.7,0.3"})
    result = lockstep(0, "evaluate", checkpoint=run.folder / "checkpoints" / "best",
                      data__test=tiny_set(77, seed=9)).ok()
    assert scores(result.out) == scores(run.log)


@pytest.fixture(scope="module")
def elsewhere(tiny_set, tmp_path_factory):
    """A run whose machine, data and training options are good for no other place."""
    return runs.train(tmp_path_factory.mktemp("elsewhere"), 0, {
        **OPTIONS, "train.epochs": 1, "run.threads": 7, "run.log_level": "debug",
        "data.threads": 3, "comm.timeout": 77, "optim.lr": 0.03, "run.dtype": "float64",
        "data.train": tiny_set(60), "data.test": tiny_set(24), "fault.unused_parameter": True,
        "fault.point": "evaluate"})


def test_evaluate_takes_no_machine_no_data_and_no_fault_from_the_checkpoint(elsewhere, tiny_set,
                                                                            lockstep):
    best = elsewhere.folder / "checkpoints" / "best"
    result = lockstep(0, "evaluate", checkpoint=best, data__test=tiny_set(77, seed=9),
                      run__threads=1).ok()
    assert re.search(r"\b1 thread\b", result.out) and " debug " not in result.out
    assert [n for *_, n in scores(result.out)] == [77]
    refused = lockstep(0, "evaluate", checkpoint=best).failed(2)
    assert "data.test is not set" in refused.text


def shown_values(text):
    """{"section.key": (value, origin)} of --print-config."""
    values, section = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif "=" in line:
            key, rest = line.split("=", 1)
            value, origin = rest.split("# ", 1)
            values[f"{section}.{key.strip()}"] = (value.strip(), origin.strip())
    return values


@pytest.mark.parametrize("ranks", [0, 3])
def test_print_config_of_evaluate_shows_what_the_checkpoint_brings(ranks, elsewhere, tmp_path):
    recipe = tmp_path / "recipe.cfg"
    recipe.write_text("[run]\nthreads = 2\n[model]\nname = resnet18\n[optim]\nlr = 9\n")
    out = harness.mpirun(ranks, [
        harness.program("lockstep"), "evaluate", "--checkpoint",
        elsewhere.folder / "checkpoints" / "best", "--config", recipe, "--data.test", "there",
        "--print-config"]).ok().out
    values = shown_values(out)
    assert values["model.name"] == ("cifar_cnn", "checkpoint")
    assert values["model.width"] == ("4", "checkpoint")
    assert values["run.dtype"] == ("float64", "checkpoint")
    # The training left these to its set: shown is what the model computes with.
    state = json.loads((elsewhere.folder / "checkpoints" / "latest").read_text())
    state = json.loads(
        (elsewhere.folder / "checkpoints" / state["checkpoint"] / "state.json").read_text())
    for key in ("mean", "std"):
        value, origin = values[f"augment.{key}"]
        assert [float(x) for x in value.split(",")] == state[key] and origin == "checkpoint"
    assert values["run.threads"] == ("2", f"{recipe}:2")
    assert values["comm.timeout"] == ("600", "default")
    assert values["data.test"] == ("there", "command line")
    assert "optim.lr" not in values and "data.train" not in values
    assert out.count("[model]") == 1, "every rank says so"


def test_a_recipe_whose_keys_lose_their_effect_is_a_warning(tiny_set, tmp_path):
    """nesterov = true of an sgd recipe, under --optim.name adamw; what is saved runs again."""
    recipe = tmp_path / "sgd.cfg"
    recipe.write_text("[optim]\nname = sgd\nnesterov = true\n[schedule]\nmin_lr = 0.001\n")
    changes = {"data.train": tiny_set(60), "config": recipe, "optim.name": "adamw",
               "schedule.name": "constant", "train.epochs": 1}
    run = runs.train(tmp_path, 2, changes)
    assert run.log.count("has no effect with optim.name = adamw") == 1
    assert run.result.text.count(f"{recipe}:3: optim.nesterov = true has no effect") == 1
    line = next(line for line in run.log.splitlines() if "optim.nesterov" in line)
    assert " warning " in line and "schedule.min_lr = 0.001 has no effect" in line
    again = harness.run([harness.program("lockstep"), "train", "--config",
                         run.folder / "config.cfg", "--run.name", "again"]).ok()
    assert "has no effect" not in again.text


def test_early_stopping_and_what_is_kept(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {
        "data.train": tiny_set(60), "train.epochs": 30, "train.early_stopping": 3,
        "checkpoint.keep_last": 2, "checkpoint.keep_every": 4})
    done = len(run.metrics)
    assert done < 30 and "stopped early" in run.log
    best = [int(row["epoch"]) for row in run.metrics if row["best"] == "1"][-1]
    assert done == best + 3
    kept = {json.loads((run.folder / "checkpoints" / name / "state.json").read_text())["epoch"]
            for name in run.checkpoints if name.startswith("epoch-")}
    assert kept == {best, done, done - 1} | {e for e in range(1, done + 1) if e % 4 == 0}
    assert json.loads((pointed(run, "best") / "state.json").read_text())["epoch"] == best
    assert json.loads((pointed(run, "latest") / "state.json").read_text())["epoch"] == done


def test_max_updates(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(60), "train.max_updates": 6,
                                   "train.epochs": 9})
    assert [row["updates"] for row in run.metrics] == ["4", "6"]
    assert "done: 6 updates" in run.log


def test_without_validation_the_last_model_is_the_best(tiny_set, tmp_path):
    run = runs.train(tmp_path, 3, {"data.train": tiny_set(60), "data.holdout": 0})
    assert "no validation set" in run.log
    assert run.result.text.count("no validation set") == 1, "every rank says so"
    assert run.metrics[0]["val_loss"] == "" and "60 training, 0 validation" in run.log
    assert pointed(run, "best") == pointed(run, "latest")


def test_a_default_name_says_what_ran(tiny_set, tmp_path):
    runs.train(tmp_path, 0, {"data.train": tiny_set(24), "run.name": None, "train.epochs": 1})
    runs.train(tmp_path, 3, {"data.train": tiny_set(24), "run.name": None, "train.epochs": 1})
    names = [p.name for p in (tmp_path / "runs").iterdir()]
    assert len(names) == 2
    for name in names:
        assert re.fullmatch(r"\d{8}-\d{6}_simple_cnn_lr0\.05_b16(_2)?", name), name


def test_paths_count_from_the_working_directory(tiny_set, tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "here").symlink_to(tiny_set(24))
    (tmp_path / "configs" / "base.cfg").write_text("[train]\nepochs = 1\nbatch_size = 8\n")
    (tmp_path / "configs" / "run.cfg").write_text(
        "include = base.cfg\n[data]\ntrain = here\n[model]\nname = simple_cnn\n[run]\nname = a\n")
    args = [harness.program("lockstep"), "train", "--config", "configs/run.cfg",
            "--train.batch_size", 9]
    harness.run(args, cwd=tmp_path).ok()
    assert (tmp_path / "runs" / "a" / "metrics.csv").exists()
    shown = harness.run([*args, "--print-config"], cwd=tmp_path).ok().out

    def line(key):
        return next(x for x in shown.splitlines() if x.split("=")[0].strip().endswith(key))

    assert "configs/base.cfg:2" in line("epochs")
    assert "command line" in line("batch_size")
    assert "default" in line("momentum")


def test_a_set_that_is_not_contiguous_is_read_slower_and_equal(tiny_set, copy_set, tmp_path):
    import h5py

    folder = copy_set(tiny_set(60), "chunked")
    with h5py.File(folder / "00000.h5", "r+") as shard:
        images = shard["images"][...]
        del shard["images"]
        shard.create_dataset("images", data=images, chunks=(7, *images.shape[1:]),
                             compression="gzip")
    plain = runs.train(tmp_path, 0, {"data.train": tiny_set(60)}, name="plain")
    slow = runs.train(tmp_path, 0, {"data.train": folder}, name="slow")
    assert slow.metrics == plain.metrics
    assert "not contiguous" in slow.log and "not contiguous" not in plain.log


def test_plain_progress_lines(tiny_set, tmp_path):
    run = runs.train(tmp_path, 2, {"data.train": tiny_set(60), "run.progress": "auto",
                                   "run.progress_interval": 1e-6})
    lines = [line for line in run.result.out.splitlines() if "images/s" in line and "loss" in line
             and "validation" not in line]
    assert len(lines) >= 6
    assert "\r" not in run.result.out and "\x1b" not in run.result.out
