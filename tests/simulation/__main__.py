"""`python -m tests.simulation --seed N`: live one life again. `--soak`: many, with a summary."""

import argparse
import sys
import time

from tests.simulation.life import STEPS, live


def seeds_of(text: str) -> range:
    """`A..B`, both included, or a count from 1."""
    first, dots, last = text.partition("..")
    return range(int(first), int(last) + 1) if dots else range(1, int(first) + 1)


def soak(seeds: range, steps: int, budget_s: float) -> int:
    began = time.monotonic()  # noqa: TID251 - the budget is in real seconds; nothing simulated sees them
    lives = total = completions = hits = 0
    failed: list[int] = []
    print(f"{'seed':>7} {'steps':>8} {'virtual s':>10} {'tasks':>6} {'done':>6} {'faults':>7} {'hits':>6}  digest")
    for seed in seeds:
        report = live(seed, steps)
        lives, total = lives + 1, total + report.steps
        completions, hits = completions + report.completions, hits + report.hits
        told = f"{report.seed:>7} {report.steps:>8} {report.virtual_ms // 1000:>10} {report.tasks:>6}"
        print(f"{told} {report.completions:>6} {report.faults:>7} {report.hits:>6}  {report.digest}", flush=True)
        if report.error is not None:
            failed.append(seed)
            print(report.error, flush=True)
        spent_s = time.monotonic() - began  # noqa: TID251 - as above
        if spent_s > budget_s:
            print(f"the budget of {budget_s:g} s is used up")
            break
    print(
        f"{lives} lives, {total:,} steps ({total / spent_s:,.0f}/s), {completions:,} tasks completed, "
        f"{hits:,} faults met work in flight, {len(failed)} violations{f': seeds {failed}' if failed else ''}"
    )
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of the first half; the second ends by itself")
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("300"), help="A..B, or how many")
    parser.add_argument("--budget-s", type=float, default=3600.0)
    options = parser.parse_args()
    if options.soak:
        return soak(options.seeds, options.steps, options.budget_s)
    report = live(options.seed, options.steps)
    print(
        report.error
        or f"seed {report.seed}: {report.steps:,} steps, {report.completions} tasks completed, no violation"
    )
    print(f"digest {report.digest}")
    return 0 if report.error is None else 1


if __name__ == "__main__":
    sys.exit(main())
