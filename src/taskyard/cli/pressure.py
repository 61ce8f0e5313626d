"""`taskyard backpressure`: how long the line is, and what to do about it."""

from taskyard.cli import output
from taskyard.cli.options import Yard, expanded
from taskyard.cli.times import span


@expanded
def backpressure(yard: Yard) -> None:
    """Say how long the line is, and whether to slow down."""
    found = yard.client.backpressure()
    if yard.json:
        output.say_json(found)
        return
    whose = "on this hub" if found.scope == "hub" else "of yours"
    wait_s = found.estimated_wait_time
    output.table(
        ("LEVEL", "WAITING", "WAIT"),
        [(found.level, f"{found.queue_depth} {whose}", f"about {span(wait_s)}" if wait_s else "-")],
    )
    for advice in found.recommendations:
        output.note(advice)
