#!/usr/bin/env python3
"""Runs the ```sh blocks of documents, as a reader would: each document's blocks in order, in one
shell, in a fresh copy of the clone with the programs as they are built.

    tests/docs/run_blocks.py README.md docs/guide.md --elsewhere scripts/test.sh

Long commands and sbatch stand in ```text blocks. A line that is run elsewhere (that sets up, builds
or tests the project, say) is left out when --elsewhere names it, and nothing else is. A document of
which no line would be run or is named, and a named line that no document has, are failures.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRELUDE = """set -euo pipefail
mpirun() { command mpirun --oversubscribe --mca mpi_yield_when_idle 1 "$@"; }
"""


def shell_script(document, elsewhere):
    """The document's blocks as one script, the number of its commands, and the lines left out."""
    blocks = BLOCK.findall(document.read_text(encoding="utf-8"))
    script, commands, left_out = PRELUDE, 0, []
    for number, block in enumerate(blocks, 1):
        script += f"echo '   block {number} of {len(blocks)}'\n"
        for line in block.splitlines():
            text = line.strip()
            if text in elsewhere:
                left_out.append(text)
                continue
            script += line + "\n"
            commands += bool(text) and not text.startswith("#")
    return script, commands, left_out


def copy_clone(destination):
    """The files git would hand to a new clone, as they are here now, and the build folder."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                            "--exclude-standard"], capture_output=True, check=True).stdout
    present = b"\0".join(n for n in names.split(b"\0") if n and os.path.exists(os.path.join(os.fsencode(ROOT), n)))
    archive = subprocess.Popen(["tar", "-c", "-C", ROOT, "--null", "-T", "-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-x", "-C", destination], stdin=archive.stdout)
    archive.stdin.write(present)
    archive.stdin.close()
    if unpack.wait() or archive.wait():
        sys.exit("copying the clone failed")
    for name in ["build", ".venv"]:
        if (ROOT / name).exists():
            (destination / name).symlink_to(ROOT / name)


def run_document(document, elsewhere, seconds):
    """Whether all went well, and the lines that were left out."""
    script, commands, left_out = shell_script(document, elsewhere)
    name = document.relative_to(ROOT) if document.is_relative_to(ROOT) else document
    print(f"   {name}: {commands} lines to run"
          + "".join(f"\n   run elsewhere: {line}" for line in left_out), flush=True)
    if not commands:
        if not left_out:
            print(f"   {name}: FAILED (no line in its sh blocks: nothing was tested)")
        return bool(left_out), left_out
    env = dict(os.environ, OMP_NUM_THREADS="1", LC_ALL="C.UTF-8")
    if os.geteuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory(prefix="lockstep-docs-") as folder:
        copy_clone(pathlib.Path(folder))
        shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env=env, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output, _ = shell.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            output = shell.communicate()[0] + f"\nnot done after {seconds} s"
        if shell.returncode != 0:
            print(output, f"   {name}: FAILED (exit code {shell.returncode})", sep="\n")
            return False, left_out
    print(f"   {name}: passed")
    return True, left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="+", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=300, help="limit for one document")
    parser.add_argument("--elsewhere", metavar="LINE", action="append", default=[],
                        help="a line that the caller runs by itself")
    args = parser.parse_args()
    results = [run_document(document.resolve(), args.elsewhere, args.seconds)
               for document in args.documents]
    left_out = {line for _, lines in results for line in lines}
    unused = [line for line in args.elsewhere if line not in left_out]
    if unused:
        print(f"   FAILED: no document has the line {', '.join(unused)}")
    sys.exit(not all(good for good, _ in results) or bool(unused))


if __name__ == "__main__":
    main()
