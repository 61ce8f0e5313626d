"""How much of a submission is taken in: rates, quotas, pressure, in this order; of a batch quotas first.

`intake.py` looks at each draft for itself; here all that are left are looked at together, since what they cost is
counted. Each check is a function that answers which drafts it refuses, by their place. Without `partial` one refusal
refuses all; with it, those for which there is no room are left out, the last first, and the rest is taken.

Concurrency is no matter of intake: a task that may not run yet waits, and `why` says for what.
"""

from collections.abc import Callable
from typing import Final

from taskyard.core import usage
from taskyard.core.commands import Draft, SubmitTasks
from taskyard.core.effects import Refused
from taskyard.core.plans import Allowance, allowance_of
from taskyard.core.pressure import CRITICAL, level_of_hub, level_of_user, retry_after_ms, signal_for
from taskyard.core.priority import assign, ceiling_of, higher_of, lower_of
from taskyard.core.rates import Verdict, ask, bucket_name, charge
from taskyard.core.state import State, Turn, User
from taskyard.core.task import Task
from taskyard.vocabulary import ENDED, HUB_RATE, Level, Profile, Refusal, SourceType

PROACTIVE, LOW = SourceType.PROACTIVE, Level.LOW
Refusals = dict[int, Refused]
Drafts = dict[int, Draft]
"""By their place in the submission."""


class Offer:
    """What of a submission is left to be taken in."""

    __slots__ = ("allowance", "command", "drafts", "parent_of", "state", "turn", "user")

    def __init__(
        self, turn: Turn, command: SubmitTasks, drafts: Drafts, parent_of: Callable[[Draft], Task | None]
    ) -> None:
        self.turn = turn
        self.state: State = turn.state
        self.command = command
        self.user: User = turn.state.users[command.user_id]
        self.allowance: Allowance = allowance_of(turn.state, self.user)
        self.drafts = drafts
        self.parent_of = parent_of
        """The task that a draft would be a sub-task of."""

    def by_source(self) -> dict[SourceType, Drafts]:
        groups: dict[SourceType, Drafts] = {}
        for index, draft in self.drafts.items():
            groups.setdefault(draft.kind.source, {})[index] = draft
        return groups


AdmissionCheck = Callable[[Offer], Refusals]


def source_rate_allows(offer: Offer) -> Refusals:
    if offer.allowance.is_unlimited:
        return {}
    refused: Refusals = {}
    for source, drafts in offer.by_source().items():
        rate = offer.state.settings.limits.rate.get(source)
        if rate is not None:
            name = bucket_name(offer.user.id, source)
            verdict = ask(offer.turn, name, rate, len(drafts), partial=offer.command.partial)
            refused |= _beyond_rate(offer, drafts, verdict, f"You submit more as {source} than you may")
    return refused


def hub_rate_allows(offer: Offer) -> Refusals:
    """The hub's own, for those of limited means; on one's own machine it is off for everybody."""
    rate = offer.state.settings.limits.rate.get(HUB_RATE)
    if offer.state.settings.profile is Profile.LOCAL or rate is None:
        return {}
    verdict = ask(offer.turn, HUB_RATE, rate, len(offer.drafts), partial=offer.command.partial)
    return _beyond_rate(offer, offer.drafts, verdict, "All users together submit more than this hub takes")


def hours_are_left(offer: Offer) -> Refusals:
    objection = usage.objection(offer.turn, offer.user)
    return {} if objection is None else dict.fromkeys(offer.drafts, objection)


def pending_has_room(offer: Offer) -> Refusals:
    """What no daemon holds counts: what waits for its time or for another task is kept for its user all the same."""
    limit, pending, more = offer.allowance.pending, offer.user.pending, len(offer.drafts)
    if limit is None or pending + more <= limit:
        return {}
    said, ways = ("this", "or cancel some") if more == 1 else ("these", "cancel some, or submit fewer")
    line = f"You have {pending} of at most {limit} pending tasks, and {said} would be {more} more"
    detail = f"{line}; wait for some to start, {ways}."
    refused = Refused(Refusal.TOO_MANY_PENDING, detail)
    return dict.fromkeys(_after(offer.drafts, max(0, limit - pending)), refused)


def pressure_allows(offer: Offer) -> Refusals:
    """At critical, proactive work waits with whoever sends it, and low work is not taken. What waits already stays."""
    state, user, now = offer.state, offer.user, offer.turn.now
    if offer.allowance.is_unlimited or CRITICAL not in (level_of_user(state, user), level_of_hub(state)):
        return {}
    refused: Refusals = {}
    signal, again_ms = signal_for(state, user, now), retry_after_ms(state, user, now)
    line = f"{signal.depth} tasks wait, which is too many"
    for index, draft in offer.drafts.items():
        if draft.kind.source is PROACTIVE:
            code, detail = Refusal.RATE_LIMITED, f"{line}: proactive work is paused."
        elif _level_of(offer, draft) is LOW:
            code, detail = Refusal.BACKPRESSURE, f"{line}: tasks of priority low are not taken."
        else:
            continue
        refused[index] = Refused(code, detail, retry_after_ms=again_ms, pressure=signal)
    return refused


RATES: Final = (source_rate_allows, hub_rate_allows)
QUOTAS: Final = (hours_are_left, pending_has_room)
OF_ONE: Final[tuple[AdmissionCheck, ...]] = (*RATES, *QUOTAS, pressure_allows)
# One that is too large is not taken however slowly it comes.
OF_A_BATCH: Final[tuple[AdmissionCheck, ...]] = (*QUOTAS, *RATES, pressure_allows)


def refusals_of(offer: Offer) -> Refusals:
    """What is not taken in, and why. Nothing is charged yet: others may still be refused because of these."""
    refused: Refusals = {}
    for check in OF_ONE if len(offer.drafts) == 1 else OF_A_BATCH:
        found = check(offer)
        refused |= found
        offer.drafts = {index: draft for index, draft in offer.drafts.items() if index not in found}
        if not offer.drafts or (found and not offer.command.partial):
            break
    return refused


def charge_for(turn: Turn, user: User, counts: dict[SourceType, int]) -> None:
    """These came in, and nothing else is paid for: neither what was refused nor what was there already."""
    settings, rates = turn.state.settings, turn.state.settings.limits.rate
    if not allowance_of(turn.state, user).is_unlimited:
        for source, count in counts.items():
            if source in rates:
                charge(turn, bucket_name(user.id, source), rates[source], count)
    if settings.profile is not Profile.LOCAL and HUB_RATE in rates:
        charge(turn, HUB_RATE, rates[HUB_RATE], sum(counts.values()))


def _beyond_rate(offer: Offer, drafts: Drafts, verdict: Verdict, what: str) -> Refusals:
    if verdict.takes == len(drafts):
        return {}
    signal = signal_for(offer.state, offer.user, offer.turn.now)
    detail = f"{what}; come again in {verdict.wait_ms / 1000:g} s."
    refused = Refused(Refusal.RATE_LIMITED, detail, retry_after_ms=verdict.wait_ms, pressure=signal)
    return dict.fromkeys(_after(drafts, verdict.takes), refused)


def _after(drafts: Drafts, taken: int) -> list[int]:
    return list(drafts)[taken:]


def _level_of(offer: Offer, draft: Draft) -> Level:
    """The level it would begin with: its own, or its parent's if that is higher."""
    numbers = offer.state.settings.priorities
    ceiling = ceiling_of(draft, offer.command.ceiling, numbers, offer.allowance.max_priority)
    level, _ = assign(draft, offer.user, ceiling=ceiling, now_ms=offer.turn.now.wall, numbers=numbers)
    parent = offer.parent_of(draft)
    return level if parent is None or parent.status in ENDED else lower_of(higher_of(level, parent.level), ceiling)
