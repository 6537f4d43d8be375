"""Every wrong command line and config file has its message, and what is right is taken as it was
meant."""

import re

import harness
import pytest
from messages import USAGE, said_once


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
    (["evaluate", "--print-config"], ["checkpoint"]),
    (["evaluate", "--optim.lr", "9"], ["--optim.lr has no effect on evaluate", "train"]),
    (["evaluate", "--train.batch_size=3"], ["--train.batch_size has no effect on evaluate"]),
    (["evaluate", "--data.train", "nowhere"], ["--data.train has no effect on evaluate"]),
    (["evaluate", "--model.name", "resnet18"], ["--model.name has no effect on evaluate"]),
    (["train", "--checkpoint", "a"], ["--checkpoint does not belong to train", "evaluate"]),
    (["train", "--run.name", "a b"], ["run.name", "space"]),
    (["train", "--comm.timeout", "1e8"], ["comm.timeout", "above 0 to 1e+07"]),
    (["train", "--comm.bucket_mb", "1e300"], ["comm.bucket_mb", "above 0 to 1e+06"]),
    (["train", "--fault.seconds", "1e300"], ["fault.seconds"]),
]


@pytest.mark.parametrize("args, words", COMMAND_LINE,
                         ids=[" ".join(args) or "none" for args, _ in COMMAND_LINE])
def test_command_line(args, words, tmp_path):
    said_once(command(*args, cwd=tmp_path), USAGE, *words)
    assert not list(tmp_path.iterdir()), "a refused command leaves something behind"


# One wrong key, one missing file, one missing value: what they say does not depend on ranks, that it
# is said once does.
@pytest.mark.parametrize("index", [2, 19, 21])
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
    for args, verbs in ((["--help"], ["train", "evaluate", "predict", "info"]),
                        (["train", "--help"], ["train"])):
        text = command(*args).ok().out
        for verb in ("train", "evaluate", "predict", "info"):
            assert (f"lockstep {verb} " in text) == (verb in verbs)
        assert ("--checkpoint PATH" in text) == (len(verbs) > 1)
        for word in ("batch_size", "crop_padding", "Exit codes", "85"):
            assert word.lower() in text.lower()
        assert "fault.point" not in text and "record.dir" not in text


def test_version():
    text = command("--version").ok().out
    for library in ("LibTorch", "MPI", "HDF5", "jpeg", "libpng", "zlib", "xxHash", "spdlog",
                    "Boost", "nlohmann-json"):
        assert re.search(rf"{library}\S*( MPI)? v?\d+\.\d+", text), text
