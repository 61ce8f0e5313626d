"""`python -m tests.support.shifted HOURS PYTHON -m MODULE …`: a program on a machine whose calendar is wrong.

In this very process, so that whoever signals it signals the program. Only the calendar is off: how long something takes
is the same on every machine.
"""

import runpy
import sys
import time

HOUR_NS = 3_600_000_000_000


def shift(hours: int) -> None:
    true_ns = time.time_ns
    time.time_ns = lambda: true_ns() + hours * HOUR_NS
    time.time = lambda: time.time_ns() / 1e9


def main() -> None:
    _, hours, _, flag, module, *arguments = sys.argv
    assert flag == "-m", "a module is run"
    shift(int(hours))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
