"""One seed, from birth to the last drained task; and what is left to tell of it."""

from msgspec import Struct

from tests.simulation.faults import Faults
from tests.simulation.history import Violation
from tests.simulation.world import World

STEPS = 5_000
COMPLETIONS_MIN = 15
HITS_MIN = 5
STEPS_JUDGED_MIN = 3_000
"""A shorter life may be over before anything happened to it."""


class Report(Struct):
    seed: int
    steps: int
    virtual_ms: int
    tasks: int
    completions: int
    faults: int
    hits: int
    digest: str
    error: str | None = None


def live(seed: int, steps: int = STEPS, faults: Faults | None = None) -> Report:
    """Live it; the report carries the violation, if there was one."""
    world = World(seed, faults)
    error = None
    try:
        world.begin()
        world.suffer(steps)
        world.heal()
        world.recover()
        prove_progress(world, steps)
    except Exception as failure:  # noqa: BLE001 - an assertion of the core is a finding like any other
        error = tell(world, failure)
    history = world.history
    return Report(
        seed=seed,
        steps=world.clock.steps,
        virtual_ms=world.clock.now,
        tasks=len(history.durable),
        completions=len(history.completions),
        faults=history.faults.total(),
        hits=history.hits,
        digest=world.clock.digest(),
        error=error,
    )


def prove_progress(world: World, steps: int) -> None:
    """A life in which nothing happened proves nothing."""
    history = world.history
    if steps < STEPS_JUDGED_MIN:
        return
    if len(history.completions) < COMPLETIONS_MIN:
        raise Violation(f"only {len(history.completions)} tasks completed: the run proves nothing")
    if history.hits < HITS_MIN:
        raise Violation(f"only {history.hits} faults met work in flight: the run proves nothing")


def tell(world: World, failure: Exception) -> str:
    """Seed, step and the last commands: enough to live it again and to see where to look."""
    where = failure.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = "" if where is None else f"{where.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{where.tb_lineno}"
    lines = [
        f"seed {world.seed}, step {world.clock.steps}, {world.clock.now} ms: "
        f"{type(failure).__name__} at {place}: {failure}",
        *(f"  {step:>7} {now:>9} {str(command)[:240]}" for step, now, command in world.history.commands),
    ]
    return "\n".join(lines)
