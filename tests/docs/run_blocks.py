#!/usr/bin/env python3
"""Runs the ```sh blocks of documents, as a reader would: each document's blocks in order, in one
shell, in a fresh copy of the clone with the programs as they are built.

    tests/docs/run_blocks.py README.md docs/guide.md

Long commands and sbatch stand in ```text blocks. Lines that set up, build or test the project are
left out and named: the caller has done that. With LOCKSTEP_DOCS_QUICKSTART=1 quickstart.sh is run.
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
LEFT_OUT = re.compile(r"^\s*(bash\s+)?(\./)?(scripts/(setup|test|lint|lint_full)\.sh|cmake|ctest|git clone"
                      r"|cd lockstep)\b")
QUICKSTART = re.compile(r"^\s*(bash\s+)?(\./)?scripts/quickstart\.sh\b")
PRELUDE = """set -euo pipefail
mpirun() { command mpirun --oversubscribe --mca mpi_yield_when_idle 1 "$@"; }
"""


def shell_script(document):
    """The document's blocks as one script, and the lines that were left out."""
    blocks = BLOCK.findall(document.read_text(encoding="utf-8"))
    script, left_out = PRELUDE, []
    for number, block in enumerate(blocks, 1):
        script += f"echo '   block {number} of {len(blocks)}'\n"
        for line in block.splitlines():
            skip_quickstart = QUICKSTART.match(line) and not os.environ.get("LOCKSTEP_DOCS_QUICKSTART")
            if LEFT_OUT.match(line) or skip_quickstart:
                left_out.append(line.strip())
            else:
                script += line + "\n"
    return script, left_out, len(blocks)


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


def run_document(document, seconds):
    script, left_out, blocks = shell_script(document)
    name = document.relative_to(ROOT)
    if not blocks:
        print(f"   {name} has no sh block: nothing was tested")
        return False
    print(f"   {name}: {blocks} blocks" + "".join(f"\n   left out: {line}" for line in left_out),
          flush=True)
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
            return False
    print(f"   {name}: passed")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="+", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=300, help="limit for one document")
    args = parser.parse_args()
    results = [run_document(document.resolve(), args.seconds) for document in args.documents]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
