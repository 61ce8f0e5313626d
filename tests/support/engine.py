"""A proactive engine as a process: `python -m tests.support.engine --spool DIR --journal FILE --life N --tasks N`.

It gives its submitter so many tasks, `LIFE-NUMBER`, and writes each down once `submit` has returned; then it stays
until all of them are sent. The hub and the key are in the environment. It is made to be killed.
"""

import argparse
import os
import time
from pathlib import Path

from taskyard.sdk.proactive import ProactiveSubmitter

BATCH = 5
WINDOW_S = 0.05
LOOK_S = 0.02


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spool", type=Path, required=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--life", type=int, required=True)
    parser.add_argument("--tasks", type=int, required=True)
    given = parser.parse_args()
    journal = os.open(given.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    engine = ProactiveSubmitter(spool=given.spool, window_s=WINDOW_S, batch_max=BATCH)
    for number in range(given.tasks):
        name = f"{given.life}-{number}"
        engine.submit(name, type="noop")
        os.write(journal, f"{name}\n".encode())
    while engine.pending:
        time.sleep(LOOK_S)
    engine.close()


if __name__ == "__main__":
    main()
