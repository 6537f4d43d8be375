"""The program that runs the examples of the documents (tests/docs/run_blocks.py) cannot pass without
having run them."""

import re
import sys

import harness
import pytest

SCRIPT = harness.SOURCE / "tests" / "docs" / "run_blocks.py"


@pytest.fixture
def run_blocks(tmp_path):
    """run_blocks(text, *options): runs the blocks of a document with that text."""

    def run(text, *options):
        document = tmp_path / "document.md"
        document.write_text(text)
        return harness.run([sys.executable, SCRIPT, document, *options])

    return run


def block(*lines, kind="sh"):
    return "Text.\n\n```" + kind + "\n" + "".join(line + "\n" for line in lines) + "```\n"


def test_blocks_run_in_one_shell_in_a_clone(run_blocks, tmp_path):
    mark = tmp_path / "mark"
    text = block("kept=README.md", "cd docs", "# a remark") + block(f'ls "../$kept" > {mark}')
    result = run_blocks(text).ok()
    assert "3 lines to run" in result.out and "passed" in result.out
    assert mark.read_text() == "../README.md\n"
    assert str(harness.SOURCE) not in run_blocks(block(f"pwd > {mark}")).ok().out
    assert mark.read_text().strip() != str(harness.SOURCE)


@pytest.mark.parametrize("text", [block("false", "true"), block("true") + block("exit 3"),
                                  block("false | true"), block("echo $nothing_of_this_name")])
def test_a_line_that_fails(text, run_blocks):
    assert "FAILED" in run_blocks(text).failed(1).out


@pytest.mark.parametrize("text", ["No block.\n", block("true", kind="text"), block(),
                                  block("# a remark", "")])
def test_a_document_that_runs_nothing_fails(text, run_blocks):
    assert "nothing was tested" in run_blocks(text).failed(1).out


def test_a_line_is_left_out_only_by_name(run_blocks, tmp_path):
    mark = tmp_path / "mark"
    text = block(f"echo one >> {mark}") + block(f"echo two >> {mark}")
    one = f"echo one >> {mark}"
    result = run_blocks(text, "--elsewhere", one).ok()
    assert f"run elsewhere: {one}" in result.out and mark.read_text() == "two\n"
    result = run_blocks(block(one), "--elsewhere", one).ok()
    assert "0 lines to run" in result.out and "passed" not in result.out
    assert mark.read_text() == "two\n"
    # Only the whole line.
    run_blocks(block(one + " && true"), "--elsewhere", one).failed(1)
    assert mark.read_text() == "two\none\n"


def test_a_named_line_must_be_there(run_blocks):
    result = run_blocks(block("true"), "--elsewhere", "scripts/gone.sh").failed(1)
    assert "no document has the line scripts/gone.sh" in result.out


def test_what_is_run_elsewhere_is_run_there():
    """Each line that scripts/test.sh leaves out of the documents is called in one of its stages, or
    is that script itself."""
    text = (harness.SOURCE / "scripts" / "test.sh").read_text()
    named = re.findall(r"--elsewhere (\S+)", text)
    assert named
    for line in named:
        if line == "scripts/test.sh":
            continue
        caller = re.search(rf"^(\w+)\(\) {{\n(?:(?!^}}).*\n)*?[^#\n]*(?<!elsewhere ){re.escape(line)}",
                           text, re.MULTILINE)
        assert caller, f"{line} is called nowhere"
        assert re.search(rf'^ *stage "[^"]*" {caller.group(1)}$', text, re.MULTILINE)
