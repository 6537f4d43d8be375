"""The examples of docs/extending.md are the code as it stands."""

import re

import harness
import pytest

DOCUMENT = harness.SOURCE / "docs" / "extending.md"
# A block of code and the file that the line before it names.
EXAMPLE = re.compile(r"`([\w/.]+)`[^\n`]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples():
    return EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file, code", examples(), ids=[file for file, _ in examples()])
def test_an_example_is_the_code(file, code):
    text = (harness.SOURCE / file).read_text(encoding="utf-8")
    # A line of dots stands for what is left out.
    for part in re.split(r"^\s*// \.\.\.$\n", code, flags=re.MULTILINE):
        assert part.strip("\n") in text


def test_every_block_is_an_example():
    assert len(examples()) == DOCUMENT.read_text(encoding="utf-8").count("```") // 2 >= 3


def test_files_that_are_named_exist():
    named = re.findall(r"`((?:src|include|tests|configs|docs)/[\w/.]+\.\w+)`",
                       DOCUMENT.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (harness.SOURCE / name).exists()] == []
