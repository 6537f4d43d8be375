"""Runs the project's programs for tests: with mpirun or alone, with a deadline that leaves nothing
behind. Imported by tests/job and tests/peers."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("LOCKSTEP_BIN_DIR", SOURCE / "build" / "release" / "bin"))

# Variables of a launcher or of another job would change what is under test.
_FOREIGN = ("OMPI_", "PMIX_", "PMI_", "SLURM_", "OMP_", "MKL_", "LC_", "LANG", "LOCKSTEP_")


@dataclass
class Result:
    """What a program did. `text` is both streams, stdout first."""

    args: list
    code: int
    out: str
    err: str
    seconds: float
    timed_out: bool

    @property
    def text(self):
        return self.out + self.err

    def ok(self):
        """Itself, when the program ended well; fails the test with its output otherwise."""
        assert self.code == 0 and not self.timed_out, self.explain()
        return self

    def failed(self, code=None):
        """Itself, when the program ended in time with a failure (`code`, when given)."""
        assert not self.timed_out and self.code != 0, self.explain()
        assert code is None or self.code == code, self.explain()
        return self

    def explain(self):
        tail = "\n".join(self.text.splitlines()[-60:])
        state = "timed out" if self.timed_out else f"exit code {self.code}"
        return f"{state} after {self.seconds:.1f} s: {' '.join(map(str, self.args))}\n{tail}"


def program(name):
    return str(BIN / name)


def clean_environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
    env.update(
        OMP_NUM_THREADS="1",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        LC_ALL="C.UTF-8",
    )
    for key, value in (extra or {}).items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = str(value)
    return env


def _kill_all(process):
    """Kills what is left of a command: mpirun gives each rank a process group of its own, and the
    daemon that a program without mpirun starts takes a session of its own."""
    parents, sessions = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = pathlib.Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(entry)], sessions[int(entry)] = int(fields[1]), int(fields[3])
    doomed = {pid for pid, session in sessions.items() if session == process.pid}
    doomed |= {process.pid} if process.returncode is None else set()
    while True:
        more = {pid for pid, parent in parents.items() if parent in doomed} - doomed
        if not more:
            break
        doomed |= more
    for pid in doomed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(args, env=None, timeout=60, cwd=None, during=None, stdin=subprocess.DEVNULL):
    """Runs a command and returns its Result. At `timeout` seconds everything it started is killed.
    `during(process)` is called once the command runs (to send signals, say)."""
    args = [str(a) for a in args]
    # Files, not pipes: whoever else holds the end of a pipe would keep us waiting. A folder of its
    # own for MPI's sockets: jobs that end clear a common one under those that start.
    with (tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
          tempfile.TemporaryDirectory(prefix="ls", ignore_cleanup_errors=True) as sockets):
        # And no munge: where its daemon is dead but its socket is left, every mpirun waits for 2 s.
        variables = {"OMPI_MCA_orte_tmpdir_base": sockets, "PMIX_MCA_psec": "native", **(env or {})}
        begin = time.monotonic()
        process = subprocess.Popen(args, env=clean_environment(variables), cwd=cwd, stdin=stdin,
                                   stdout=out, stderr=err, start_new_session=True)
        timed_out = False
        try:
            if during is not None:
                during(process)
            process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            seconds = time.monotonic() - begin
            _kill_all(process)
            process.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Result(args, process.returncode, *texts, seconds, timed_out)


def mpirun(np, args, env=None, timeout=60, cwd=None, during=None):
    """Runs `args` on `np` ranks; np = 0 starts the program alone, without mpirun."""
    if np == 0:
        return run(args, env, timeout, cwd, during)
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle",
                "1", "-np", np]
    for key in env or {}:
        if (env or {})[key] is not None:
            launcher += ["-x", key]
    return run(launcher + list(args), env, timeout, cwd, during)


def option_args(options):
    """{"data.train": "x", "augment.flip": True} as command line; None leaves a key out, a list
    repeats it. In keyword arguments write data__train for data.train."""
    args = []
    for key, value in options.items():
        name = "--" + key.replace("__", ".")
        for item in value if isinstance(value, list) else [value]:
            if item is None:
                continue
            if isinstance(item, bool):
                item = "true" if item else "false"
            elif isinstance(item, float):
                item = repr(item)
            args += [name, str(item)]
    return args


def lockstep(np, verb, options=None, env=None, timeout=60, cwd=None, during=None, **more):
    """`lockstep VERB --key value ...` on np ranks (0: without mpirun)."""
    args = [program("lockstep"), verb] + option_args({**(options or {}), **more})
    return mpirun(np, args, env=env, timeout=timeout, cwd=cwd, during=during)
