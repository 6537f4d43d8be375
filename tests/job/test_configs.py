"""Every file below configs/ is taken as it stands, and every model has a layer of its own."""

import harness
import pytest

CONFIGS = harness.SOURCE / "configs"
FILES = sorted(path.relative_to(CONFIGS).as_posix() for path in CONFIGS.rglob("*.cfg"))


def model_of(shown):
    """The value of model.name in the text of --print-config."""
    section = shown.split("[model]\n")[1]
    line = next(line for line in section.splitlines() if line.startswith("name = "))
    return line.split("=")[1].split("#")[0].strip()


@pytest.mark.parametrize("file", FILES)
def test_a_config_is_taken(file):
    result = harness.run([harness.program("lockstep"), "train", "--config", CONFIGS / file,
                          "--print-config"], cwd=harness.SOURCE).ok()
    assert "has no effect" not in result.text
    if file.startswith("model/"):
        assert file.startswith(f"model/{model_of(result.out)}")


def test_every_model_has_a_layer():
    text = harness.run([harness.program("lockstep"), "train", "--help"]).ok().out
    listed = text.split("--model.name")[1].split("[cifar_cnn;")[1].split("]")[0]
    models = [word for word in listed.replace("|", " ").split() if word != "simple_cnn"]
    assert len(models) > 5
    for model in models:
        assert any(file.startswith(f"model/{model}") for file in FILES), model
