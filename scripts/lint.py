"""Runs clang-tidy on the project's sources and remembers what passed, by contents.

Called by scripts/lint.sh. A file with LibTorch's headers takes about a minute, so an ordinary run
checks the files of the last commit, then others while time is left, and names the rest.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
INCLUDE_DIRS = [ROOT / "include", ROOT / "src", ROOT / "tests", ROOT / "data_tools", ROOT]


def project_includes(path, seen):
    """All files of the project that `path` includes, directly or not, into `seen`."""
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for folder in [path.parent, *INCLUDE_DIRS]:
            header = (folder / name).resolve()
            if header.is_file():
                if header not in seen:
                    seen.add(header)
                    project_includes(header, seen)
                break


def digest(path, settings):
    seen = {path}
    project_includes(path, seen)
    result = hashlib.sha256(settings)
    for file in sorted(seen):
        result.update(str(file.relative_to(ROOT)).encode())
        result.update(hashlib.sha256(file.read_bytes()).digest())
    return result.hexdigest()


def compile_flags(entry):
    """Defines and include folders of one compile command, without the clone's own path."""
    words = re.findall(r"(?:-D\S+|-isystem \S+|-I\S+|-std=\S+)", entry["command"])
    return " ".join(words).replace(str(ROOT), ".")


def changed_files():
    """Files of the last commit."""
    command = ["git", "-C", str(ROOT), "diff-tree", "--root", "--no-commit-id", "--name-only", "-r",
               "-m", "--first-parent", "HEAD"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    return {ROOT / name for name in names if name}


def check(path, build):
    start = time.monotonic()
    run = subprocess.run(["clang-tidy", "--quiet", "-p", str(build), str(path)],
                         capture_output=True, text=True)
    return run.returncode == 0, run.stdout + run.stderr, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--full", action="store_true", help="check every file")
    parser.add_argument("--seconds", type=float, default=240, help="no new file is begun after this")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="these files alone")
    args = parser.parse_args()

    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    settings = version + b"".join((ROOT / name).read_bytes()
                                  for name in [".clang-tidy", "tests/.clang-tidy"])
    entries = {}
    for entry in json.loads((args.build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(args.build.resolve()):
            entries[path] = entry
    if args.files:
        entries = {path.resolve(): entries[path.resolve()] for path in args.files}

    changed = changed_files()
    open_files = []
    passed = 0
    for path, entry in sorted(entries.items()):
        flags = compile_flags(entry)
        stamp = args.cache / digest(path, settings + flags.encode())
        if stamp.exists():
            passed += 1
        else:
            open_files.append((path not in changed, "/torch/" in flags, path, stamp))
    open_files.sort()
    print(f"   {passed} of {len(entries)} files passed before with the same contents", flush=True)

    args.cache.mkdir(parents=True, exist_ok=True)
    deadline = float("inf") if args.full or args.files else time.monotonic() + args.seconds
    failed, rest = [], []

    def run(path, stamp):
        if time.monotonic() > deadline:
            rest.append(path)
            return
        ok, output, seconds = check(path, args.build)
        name = path.relative_to(ROOT)
        if ok:
            stamp.touch()
            print(f"   passed {name} ({seconds:.0f} s)", flush=True)
        else:
            failed.append(name)
            print(f"   FAILED {name} ({seconds:.0f} s)\n{output}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda item: run(item[2], item[3]), open_files))
    if rest:
        print(f"   not checked, no time left ({len(rest)}; scripts/lint_full.sh checks them): "
              + " ".join(str(path.relative_to(ROOT)) for path in sorted(rest)))
    if failed:
        print(f"   clang-tidy objects to {len(failed)} files")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
