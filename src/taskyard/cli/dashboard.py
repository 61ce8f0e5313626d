"""`taskyard dashboard`: a new link that signs a browser in."""

from taskyard.cli import output
from taskyard.cli.options import Yard, expanded


@expanded
def dashboard(yard: Yard) -> None:
    """Print a link that opens the dashboard. It signs one browser in, once, with what your key may do."""
    from taskyard.cli.times import relative
    from taskyard.sdk.clock import now

    made = yard.client.sign_in_link()
    link = f"{yard.client.hub}{made.path}"
    if yard.json:
        output.say_json({"link": link, "expires_at": made.expires_at})
    else:
        output.say(link)
        output.note(
            f"It works once, and ends {relative(made.expires_at, now())}. Whoever opens it is signed in as you."
        )
