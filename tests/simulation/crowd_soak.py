"""`python -m tests.simulation.crowd_soak --seeds A..B`: a crowd, a rough one and one that is left, of each seed."""

import argparse
import sys
import time

from tests.simulation.__main__ import seeds_of
from tests.simulation.crowd import Crowd, live
from tests.simulation.leaving_crowd import LeavingCrowd
from tests.simulation.rough_crowd import RoughCrowd


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.crowd_soak", description=__doc__)
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("400"), help="A..B, or how many")
    parser.add_argument("--budget-s", type=float, default=3600.0)
    options = parser.parse_args()
    until = time.monotonic() + options.budget_s  # noqa: TID251 - real seconds; nothing simulated sees them
    crowds = steps = starts = told = alone = 0
    failed: list[str] = []
    for seed in options.seeds:
        if time.monotonic() > until:  # noqa: TID251 - as above
            print(f"the budget of {options.budget_s:g} s is used up")
            break
        for kind in (Crowd, RoughCrowd, LeavingCrowd):
            crowds += 1
            try:
                crowd = live(seed, kind=kind)
            except AssertionError as error:
                failed.append(f"{kind.__name__} {seed}")
                print(f"{kind.__name__} {seed}: {error}", flush=True)
            else:
                steps, starts = steps + crowd.steps, starts + crowd.grants
                told, alone = told + crowd.told, alone + crowd.alone
    print(
        f"{crowds} crowds, {steps:,} steps, {starts:,} starts judged, {alone:,} of them of suspects, "
        f"{told:,} low tasks told to go, {len(failed)} violations{f': {failed}' if failed else ''}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
