"""Coverage of processes that a test starts: the keeper and its forks are where most of `daemon/process/` runs.

Only for tests that ask for it: what is traced is slower, and most processes of the tests are measured elsewhere.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import coverage

RC = """\
[run]
branch = true
parallel = true
source = {source}
data_file = {data}
patch = _exit, fork
"""


@contextmanager
def measured_children(directory: Path, root: Path) -> Iterator[None]:
    """While this test is measured, so are Python processes that it starts; they leave files for `coverage combine`."""
    if coverage.Coverage.current() is None:
        yield
        return
    directory.mkdir()
    rc = directory / "rc"
    rc.write_text(RC.format(source=root / "src" / "taskyard", data=root / ".coverage"))
    (directory / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n")
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "COVERAGE_PROCESS_START")}
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(directory), before["PYTHONPATH"])))
    os.environ["COVERAGE_PROCESS_START"] = str(rc)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
