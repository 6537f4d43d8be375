"""What every refusal has in common: one message, whatever the number of ranks, and its exit code."""

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
