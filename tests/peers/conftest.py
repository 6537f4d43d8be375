"""The tests against Python peers use the fixtures of tests/job."""

import importlib.util
import pathlib
import sys

_JOB = pathlib.Path(__file__).resolve().parents[1] / "job"
sys.path.insert(0, str(_JOB))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

_spec = importlib.util.spec_from_file_location("job_conftest", _JOB / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

lockstep = _module.lockstep
mpirun = _module.mpirun
tiny_set = _module.tiny_set
