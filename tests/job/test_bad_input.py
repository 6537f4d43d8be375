"""Every bad input has its message, said once whatever the number of ranks, and its exit code."""

import json
import shutil

import h5py
import harness
import numpy
import pytest
import runs

USAGE = 2
FAILED = 1


def said_once(result, code, *words):
    """The program ended with `code` and one message that has all the words."""
    result.failed(code)
    assert result.text.count("error:") == 1, result.explain()
    line = next(line for line in result.text.splitlines() if "error:" in line)
    for word in words:
        assert word in line, f"'{word}' is missing: {line}"
    assert " (" in line and ") - " in line, f"not 'problem (why) - what to do': {line}"


def command(*args, np=0, env=None, cwd=None):
    return harness.mpirun(np, [harness.program("lockstep"), *args], env=env, cwd=cwd, timeout=30)


COMMAND_LINE = [
    ([], ["verb"]),
    (["tran"], ["tran", "did you mean train"]),
    (["train", "--train.batch_sizes", "3"], ["train.batch_sizes", "did you mean train.batch_size"]),
    (["train", "--optim.batch_size", "3"], ["optim.batch_size", "train.batch_size"]),
    (["train", "--batch_size", "3"], ["batch_size", "train.batch_size"]),
    (["train", "--train.batch_size"], ["train.batch_size", "value"]),
    (["train", "--optim.lr", "1,5"], ["optim.lr", "1,5"]),
    (["train", "--optim.lr", "0x10"], ["optim.lr", "0x10"]),
    (["train", "--optim.lr", "nan"], ["optim.lr", "nan"]),
    (["train", "--train.batch_size", "10k"], ["train.batch_size", "10k"]),
    (["train", "--train.batch_size", "1.5"], ["train.batch_size", "1.5"]),
    (["train", "--train.batch_size", "99999999999999999999"], ["train.batch_size"]),
    (["train", "--augment.flip", "maybe"], ["augment.flip", "maybe", "true"]),
    (["train", "--train.batch_size", "0"], ["train.batch_size", "0", "at least 1"]),
    (["train", "--data.holdout", "1"], ["data.holdout", "0 to below 1"]),
    (["train", "--model.dropout", "-0.1"], ["model.dropout"]),
    (["train", "--model.name", "resnet81"], ["resnet81", "did you mean resnet18"]),
    (["train", "--optim.name", "adamv"], ["adamv", "did you mean adamw"]),
    (["train", "--augment.mean", "0.1,0.2"], ["augment.mean", "three"]),
    (["train", "--config", "nowhere.cfg"], ["nowhere.cfg"]),
    (["train", "stray"], ["stray"]),
    (["train"], ["data.train"]),
    (["evaluate"], ["checkpoint"]),
]


@pytest.mark.parametrize("args, words", COMMAND_LINE,
                         ids=[" ".join(args) or "none" for args, _ in COMMAND_LINE])
def test_command_line(args, words, tmp_path):
    said_once(command(*args, cwd=tmp_path), USAGE, *words)
    assert not list(tmp_path.iterdir()), "a refused command leaves something behind"


@pytest.mark.parametrize("index", [1, 2, 13, 16, 19, 21])
def test_command_line_on_three_ranks(index, tmp_path):
    args, words = COMMAND_LINE[index]
    said_once(command(*args, np=3, cwd=tmp_path), USAGE, *words)


CONFIG_FILES = [
    ("[train]\nepochs = 1\nbatch_sizes = 3\n", ["bad.cfg:3", "did you mean train.batch_size"]),
    ("[optim]\n\nbatch_size = 3\n", ["bad.cfg:3", "train.batch_size"]),
    ("[trian]\nepochs = 3\n", ["bad.cfg:", "train"]),
    ("epochs = 3\n", ["bad.cfg:1", "epochs"]),
    ("[train]\nepochs\n", ["bad.cfg:2"]),
    ("[train]\n# a comment\nepochs = three\n", ["bad.cfg:3", "train.epochs", "three"]),
    ("[optim]\nlr = 0,1\n", ["bad.cfg:2", "optim.lr", "0,1"]),
    ("[optim]\nlr = 0\n", ["bad.cfg:2", "optim.lr", "above 0"]),
    ("[data]\nflip = yes\n", ["bad.cfg:2", "augment.flip"]),
    ("include = missing.cfg\n", ["missing.cfg", "bad.cfg:1"]),
    ("include = bad.cfg\n", ["bad.cfg"]),
    ("[data]\ntrain = ${data.tset}\n", ["bad.cfg:2", "data.tset"]),
    ("[data]\ntrain = ${data.test}\ntest = ${data.train}\n", ["bad.cfg", "data.t"]),
    ("[train\nepochs = 3\n", ["bad.cfg:1"]),
]


@pytest.mark.parametrize("text, words", CONFIG_FILES,
                         ids=[text.replace("\n", "|") for text, _ in CONFIG_FILES])
def test_config_file(text, words, tmp_path):
    (tmp_path / "bad.cfg").write_text(text)
    said_once(command("train", "--config", "bad.cfg", cwd=tmp_path), USAGE, *words)


@pytest.mark.parametrize("ranks", [0, 3])
def test_config_file_on_ranks(ranks, tmp_path):
    (tmp_path / "bad.cfg").write_text(CONFIG_FILES[0][0])
    said_once(command("train", "--config", "bad.cfg", np=ranks, cwd=tmp_path), USAGE, "bad.cfg:3")


GOOD = [("optim.lr", "1e-3", "0.001"), ("optim.momentum", ".5", "0.5"),
        ("augment.flip", "YES", "true"), ("data.drop_last", "off", "false"),
        ("optim.nesterov", "1", "true"), ("run.seed", "7", "7")]


@pytest.mark.parametrize("form", ["file", "two words", "one word"])
@pytest.mark.parametrize("language", ["C", "de_DE.UTF-8"])
def test_good_values_in_any_locale(language, form, tmp_path):
    args = ["--config", "good.cfg"]
    (tmp_path / "good.cfg").write_text("".join(
        f"[{key.split('.')[0]}]\n{key.split('.')[1]} = {text}\n" for key, text, _ in GOOD))
    if form == "two words":
        args = [word for key, text, _ in GOOD for word in (f"--{key}", text)]
    elif form == "one word":
        args = [f"--{key}={text}" for key, text, _ in GOOD]
    shown = command("train", *args, "--print-config", cwd=tmp_path, env={
        "LC_ALL": language, "LC_NUMERIC": language, "LANG": language}).ok().out
    values = printed_values(shown)
    assert [values[key] for key, _, _ in GOOD] == [value for _, _, value in GOOD]


def printed_values(text):
    """{"section.key": value} of --print-config, whose lines end in "# where it comes from"."""
    values, section = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif "=" in line:
            key, value = line.split("=", 1)
            values[f"{section}.{key.strip()}"] = value.split("#")[0].strip()
    return values


def test_help_lists_every_shown_option_and_the_exit_codes():
    for args in (["--help"], ["train", "--help"]):
        text = command(*args).ok().out
        for word in ("train", "evaluate", "batch_size", "crop_padding", "Exit codes", "85"):
            assert word.lower() in text.lower()
        assert "fault.point" not in text and "record.dir" not in text


def test_version():
    assert "LibTorch" in command("--version").ok().out


# ---- sets


def remove_shard(folder):
    (folder / "00000.h5").unlink()


def remove_index(folder):
    (folder / "set.json").unlink()


def cut_index(folder):
    text = (folder / "set.json").read_text()
    (folder / "set.json").write_text(text[:len(text) // 2])


def cut_shard(folder):
    data = (folder / "00000.h5").read_bytes()
    (folder / "00000.h5").write_bytes(data[:len(data) * 2 // 3])


def empty_shard(folder):
    (folder / "00000.h5").write_bytes(b"")


def text_shard(folder):
    (folder / "00000.h5").write_text("no shard at all\n" * 100)


def wrong_total(folder):
    info = json.loads((folder / "set.json").read_text())
    info["samples"] += 1
    (folder / "set.json").write_text(json.dumps(info))


def replace_dataset(name, change):
    def damage(folder):
        with h5py.File(folder / "00000.h5", "r+") as shard:
            data = change(shard[name][...])
            del shard[name]
            shard.create_dataset(name, data=data)

    damage.__name__ = f"replace_{name}"
    return damage


def remove_dataset(name):
    def damage(folder):
        with h5py.File(folder / "00000.h5", "r+") as shard:
            del shard[name]

    return damage


def foreign_id(folder):
    with h5py.File(folder / "00000.h5", "r+") as shard:
        name = next(k for k in shard.attrs if "id" in k)
        shard.attrs[name] = "0" * 32


DAMAGES = {
    "remove_shard": (remove_shard, ["00000.h5"]),
    "remove_index": (remove_index, ["set.json"]),
    "cut_index": (cut_index, ["set.json"]),
    "cut_shard": (cut_shard, ["00000.h5"]),
    "empty_shard": (empty_shard, ["00000.h5"]),
    "text_shard": (text_shard, ["00000.h5"]),
    "wrong_total": (wrong_total, ["set.json"]),
    "label_beyond": (replace_dataset("labels", lambda x: x + 2), ["00000.h5", "label"]),
    "label_negative": (replace_dataset("labels", lambda x: x - 1), ["00000.h5", "label"]),
    "labels_short": (replace_dataset("labels", lambda x: x[:-1]), ["00000.h5", "labels"]),
    "labels_swapped": (replace_dataset("labels", lambda x: x.astype(">i4")),
                       ["00000.h5", "labels"]),
    "float_images": (replace_dataset("images", lambda x: x.astype(numpy.float32)),
                     ["00000.h5", "images"]),
    "flat_images": (replace_dataset("images", lambda x: x.reshape(len(x), -1)),
                    ["00000.h5", "images"]),
    "no_images": (remove_dataset("images"), ["00000.h5", "images"]),
    "no_labels": (remove_dataset("labels"), ["00000.h5", "labels"]),
    "foreign_id": (foreign_id, ["00000.h5", "set"]),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_set(name, tiny_set, copy_set, tmp_path):
    damage, words = DAMAGES[name]
    folder = copy_set(tiny_set(24))
    damage(folder)
    run = runs.launch(tmp_path, 0, {"data.train": folder})
    said_once(run.result, run.result.code, *words)
    assert run.result.code in (FAILED, USAGE)
    assert not run.folder.exists()


@pytest.mark.parametrize("name", ["cut_shard", "remove_index"])
def test_damaged_set_on_three_ranks(name, tiny_set, copy_set, tmp_path):
    damage, words = DAMAGES[name]
    folder = copy_set(tiny_set(24))
    damage(folder)
    said_once(runs.launch(tmp_path, 3, {"data.train": folder}).result, None, *words)


@pytest.mark.parametrize("ranks", [0, 3])
@pytest.mark.parametrize("key", ["data.train", "data.val", "data.test"])
def test_missing_set(key, ranks, tiny_set, tmp_path):
    options = {"data.train": tiny_set(24), key: tmp_path / "nowhere"}
    run = runs.launch(tmp_path, ranks, options)
    said_once(run.result, None, "nowhere")
    assert not run.folder.exists()


def test_sets_that_do_not_fit(tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24), "data.test": tiny_set(24, size=8)})
    said_once(run.result, USAGE, "8x8", "16x16", "--size")
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24),
                                    "data.val": tiny_set(24, classes=2)})
    said_once(run.result, USAGE, "classes", "c2", "--classes-from")


# ---- runs


@pytest.mark.parametrize("variables", [
    dict(SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=2, SLURM_STEP_ID=0),
    dict(OMPI_COMM_WORLD_SIZE=4),
    dict(PMI_SIZE=4),
])
def test_a_launcher_that_promises_more_ranks(variables, tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24)}, env=variables)
    said_once(run.result, USAGE, "4 tasks", "pmix")
    assert not run.folder.exists()


def test_a_batch_shell_is_no_launcher(tiny_set, tmp_path):
    shell = dict(SLURM_JOB_ID=7, SLURM_NTASKS=4, SLURM_PROCID=0, SLURM_STEP_ID="batch",
                          SLURM_STEP_NUM_TASKS=4)
    runs.train(tmp_path, 0, {"data.train": tiny_set(24)}, env=shell)


@pytest.mark.parametrize("ranks", [0, 3])
def test_an_existing_run_is_refused(ranks, tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, {"data.train": tiny_set(24)})
    before = run.log
    said_once(runs.launch(tmp_path, ranks, {"data.train": tiny_set(24)}).result, USAGE, "exists",
              "run.name")
    assert run.log == before


def test_a_run_in_use_is_refused(tiny_set, tmp_path):
    inner = {}

    def during(process):
        import time

        deadline = time.monotonic() + 20
        while not (tmp_path / "runs" / "run" / "lease.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        inner["second"] = runs.launch(tmp_path, 0, {"data.train": tiny_set(24)})

    runs.train(tmp_path, 0, {"data.train": tiny_set(24), "fault.point": "step", "fault.step": 1,
                             "fault.action": "sleep", "fault.seconds": 4}, during=during)
    said_once(inner["second"].result, USAGE, "in use", "process")


@pytest.mark.parametrize("ranks", [0, 3])
def test_a_run_root_that_cannot_be_written(ranks, tiny_set, tmp_path):
    (tmp_path / "file").write_text("no folder")
    run = runs.launch(tmp_path, ranks, {"data.train": tiny_set(24),
                                        "run.root": tmp_path / "file" / "runs"})
    said_once(run.result, FAILED, str(tmp_path / "file"), "run.root")


REFUSED = {
    "name": ({"run.name": "a/b"}, ["run.name"]),
    "freeze_unknown": ({"model.freeze": "cnov1"}, ["cnov1", "conv1"]),
    "freeze_all": ({"model.freeze": "conv,fc"}, ["model.freeze"]),
    "stem": ({"model.stem": "imagenet"}, ["model.stem", "simple_cnn"]),
    "bn_momentum": ({"model.bn_momentum": 0.5}, ["model.bn_momentum", "simple_cnn"]),
    "dropout": ({"model.name": "resnet18", "model.dropout": 0.5}, ["model.dropout", "resnet18"]),
    "min_lr": ({"schedule.min_lr": 3}, ["schedule.min_lr"]),
    "no_update": ({"data.drop_last": True, "train.batch_size": 100},
                  ["data.drop_last", "train.batch_size"]),
    "reflect": ({"augment.crop_mode": "reflect", "augment.crop_padding": 16},
                ["augment.crop_padding", "16 pixels"]),
    "nesterov": ({"optim.nesterov": True, "optim.momentum": 0}, ["nesterov", "momentum"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_cannot_go_together(name, tiny_set, tmp_path):
    change, words = REFUSED[name]
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24), **change})
    said_once(run.result, USAGE, *words)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("ranks", [0, 3])
def test_one_value_per_channel(ranks, tiny_set, tmp_path):
    """The last batch is one picture, of which layer4 has a single pixel left."""
    run = runs.launch(tmp_path, ranks, {
        "data.train": tiny_set(9, size=8), "model.name": "resnet18", "train.batch_size": 8,
        "data.holdout": 0})
    said_once(run.result, FAILED, "one value per channel")


# ---- checkpoints


@pytest.fixture(scope="module")
def finished(tiny_set, tmp_path_factory):
    return runs.train(tmp_path_factory.mktemp("finished"), 0, {"data.train": tiny_set(24)})


def evaluate(path, test_set, np=0):
    return harness.lockstep(np, "evaluate", {"checkpoint": path, "data.test": test_set})


def test_missing_checkpoint(tiny_set, tmp_path):
    for ranks in (0, 3):
        said_once(evaluate(tmp_path / "nothing", tiny_set(24), ranks), USAGE, "nothing")


def test_no_checkpoint(finished, tiny_set):
    said_once(evaluate(finished.folder / "metrics.csv", tiny_set(24)), USAGE, "metrics.csv")
    said_once(evaluate(finished.folder, tiny_set(24)), None, "MANIFEST.json")


def flip_byte(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut_end(file):
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "state.json",
                                  "config.cfg"])
@pytest.mark.parametrize("damage", [flip_byte, cut_end, lambda file: file.unlink()],
                         ids=["flip", "cut", "gone"])
def test_damaged_checkpoint(file, damage, finished, tiny_set, tmp_path):
    copy = tmp_path / "checkpoints"
    shutil.copytree(finished.folder / "checkpoints", copy)
    name = json.loads((copy / "latest").read_text())["checkpoint"]
    damage(copy / name / file)
    said_once(evaluate(copy / "latest", tiny_set(24)), FAILED, file)
    if file == "model.safetensors":
        said_once(evaluate(copy / name, tiny_set(24)), FAILED, file)


def test_damaged_manifest(finished, tiny_set, tmp_path):
    copy = tmp_path / "checkpoints"
    shutil.copytree(finished.folder / "checkpoints", copy)
    name = json.loads((copy / "latest").read_text())["checkpoint"]
    flip_byte(copy / name / "MANIFEST.json")
    said_once(evaluate(copy / "latest", tiny_set(24)), FAILED, "manifest")


def test_pictures_too_small_for_the_model(tiny_set, tmp_path):
    run = runs.launch(tmp_path, 0, {"data.train": tiny_set(24, size=16), "model.name": "resnet18",
                                    "model.stem": "imagenet"})
    said_once(run.result, USAGE, "16 x 16", "--size")


def test_evaluate_on_a_set_that_does_not_fit(finished, tiny_set):
    path = finished.folder / "checkpoints" / "best"
    said_once(evaluate(path, tiny_set(24, size=8)), USAGE, "8x8")
    said_once(evaluate(path, tiny_set(24, classes=2)), USAGE, "classes")
    said_once(harness.lockstep(0, "evaluate", {"checkpoint": path}), USAGE, "data.test")
