"""`python -m tests.simulation.crowd_soak --seeds A..B`: many crowds, with a summary."""

import argparse
import sys
import time

from tests.simulation.__main__ import seeds_of
from tests.simulation.crowd import live


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.crowd_soak", description=__doc__)
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("400"), help="A..B, or how many")
    parser.add_argument("--budget-s", type=float, default=3600.0)
    options = parser.parse_args()
    until = time.monotonic() + options.budget_s  # noqa: TID251 - real seconds; nothing simulated sees them
    crowds = steps = starts = 0
    failed: list[int] = []
    for seed in options.seeds:
        if time.monotonic() > until:  # noqa: TID251 - as above
            print(f"the budget of {options.budget_s:g} s is used up")
            break
        crowds += 1
        try:
            crowd = live(seed)
        except AssertionError as error:
            failed.append(seed)
            print(f"seed {seed}: {error}", flush=True)
        else:
            steps, starts = steps + crowd.steps, starts + crowd.grants
    print(f"{crowds} crowds, {steps:,} steps, {starts:,} starts judged, {len(failed)} violations {failed or ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
