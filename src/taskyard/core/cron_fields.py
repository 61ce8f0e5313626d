"""What may stand in a cron expression, in all the ways in which people write it, and what to write instead of the rest.

Everything is rewritten into the five fields that `cronsim` reads: nicknames (`@daily`), `?`, whole names (`friday`),
`friL` and `5#L`, and ranges that pass the end (`22-2`, `fri-mon`). The one form that it has no word for, the weekday
nearest to a day (`15W`), is matched here (`Times`). `cron.py` says what these times are on the clock of a place.
"""

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Final

from cronsim import CronSim, CronSimError
from msgspec import Struct

EXPRESSION_CHARS_MAX: Final = 255
NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
NAME_CHARS_MIN: Final = 3
"""`sep`, `sept` and `september` are one month; fewer letters could be two."""
SATURDAY: Final = 5
# As Python counts weekdays, from Monday as 0.


class Field(Struct, frozen=True):
    name: str
    possible: str
    first: int
    last: int
    """The last of one round: after Saturday comes Sunday, as 0."""
    names: tuple[str, ...] = ()
    named_from: int = 0


FIELDS: Final = (
    Field("minute", "0-59", 0, 59),
    Field("hour", "0-23", 0, 23),
    Field(
        "day",
        "1-31, L for the last of the month, LW for its last weekday, 15W for the weekday nearest to the 15th",
        1,
        31,
    ),
    Field("month", "1-12, jan-dec", 1, 12, MONTHS, 1),
    Field(
        "weekday",
        "0-7 with Sunday as both, sun-sat, 1#2 for the second Monday, 1L or 1#L for the last",
        0,
        6,
        WEEKDAYS,
    ),
)
DAY, WEEKDAY = FIELDS[2], FIELDS[4]


class Times(CronSim):
    """The times of a rewritten expression, on a calendar without time zones."""

    def __init__(self, expression: str, after: datetime, *, reverse: bool = False) -> None:
        self.nearest: frozenset[int] = frozenset()
        """Days of the month whose nearest weekday is meant."""
        minute, hour, days, month, weekday = expression.split()
        terms = days.split(",")
        nearest = [term for term in terms if _is_nearest(term)]
        if not nearest:
            super().__init__(expression, after, reverse)
            return
        # The first is a day of every month; it is taken out again, and stands for days that are found here.
        others = ",".join(term for term in terms if term not in nearest)
        super().__init__(f"{minute} {hour} {others or '1'} {month} {weekday}", after, reverse)
        if not others:
            self.days = set()
        self.nearest = frozenset(int(term[:-1]) for term in nearest)

    def match_dom(self, d: date) -> bool:
        if super().match_dom(d):
            return True
        return d.weekday() < SATURDAY and any(nearest_weekday(d.year, d.month, day) == d.day for day in self.nearest)


def _is_nearest(term: str) -> bool:
    return term[-1:] == "w" and term[:-1].isdecimal() and DAY.first <= int(term[:-1]) <= DAY.last


def nearest_weekday(year: int, month: int, day: int) -> int:
    """The day of the weekday nearest to a day, within its month; a month that has no such day ends with its last."""
    last = monthrange(year, month)[1]
    day = min(day, last)
    beyond = date(year, month, day).weekday() - SATURDAY
    if beyond < 0:
        return day
    if beyond == 0:
        return day - 1 if day > 1 else day + 2
    return day + 1 if day < last else day - 2


def rewritten(expression: str) -> str:
    """The same times in five plain fields. What cannot be read stays as it is, and is refused by who reads it."""
    text = expression.strip().lower()
    parts = NICKNAMES.get(text, text).split()
    if len(parts) != len(FIELDS):
        return text
    return " ".join(_field(part, field) for part, field in zip(parts, FIELDS, strict=True))


def _field(part: str, field: Field) -> str:
    return ",".join(_term(term, field) for term in part.split(","))


def _term(term: str, field: Field) -> str:
    if term == "?" and field in (DAY, WEEKDAY):
        return "*"
    span, slash, step = term.partition("/")
    first, dash, last = span.partition("-")
    if dash:
        return _range(_number(first, field), _number(last, field), slash, step, field)
    if field is WEEKDAY:
        span = _last_weekday(span)
    return f"{_number(span, field)}{slash}{step}"


def _last_weekday(term: str) -> str:
    """`friL`, `5#L` and `L5` are the last Friday of a month: `5L`."""
    day, mark, which = term.partition("#")
    if mark and which == "l":
        return f"{_number(day, WEEKDAY)}l"
    if len(term) > 1 and term[-1] == "l" and _number(term[:-1], WEEKDAY).isdecimal():
        return f"{_number(term[:-1], WEEKDAY)}l"
    if len(term) > 1 and term[0] == "l" and term[1:].isdecimal():
        return f"{term[1:]}l"
    return f"{_number(day, WEEKDAY)}{mark}{which}"


def _number(word: str, field: Field) -> str:
    """A name as its number."""
    if len(word) < NAME_CHARS_MIN or not word.isalpha():
        return word
    found = [number for number, name in enumerate(field.names, field.named_from) if name.startswith(word)]
    return str(found[0]) if len(found) == 1 else word


def _range(first: str, last: str, slash: str, step: str, field: Field) -> str:
    """One that passes the end of its field goes on from the beginning: its values, one by one."""
    if not (first.isdecimal() and last.isdecimal()) or (slash and not step.isdecimal()):
        return f"{first}-{last}{slash}{step}"
    begin, end, each = int(first), int(last), int(step or 1)
    if field is WEEKDAY and begin > end and begin > field.last:
        begin = 0
    if begin <= end or not each or not (begin <= field.last and field.first <= end):
        return f"{begin}-{last}{slash}{step}"
    values = [*range(begin, field.last + 1), *range(field.first, end + 1)]
    return ",".join(map(str, values[::each]))


# What is refused, and what to write instead.


def _expression_hint(text: str) -> str | None:
    if text.startswith("@every"):
        return "An interval is no cron expression: write it as `every`, for example `5m`."
    if text == "@reboot":
        return "A schedule goes by the calendar, not by a machine's start: submit the task from what starts there."
    if text.startswith("@"):
        return f"There is no `{text}`: possible are {', '.join(NICKNAMES)}, or five fields, as in `0 9 * * 1-5`."
    return None


HINTS: Final[tuple[tuple[Callable[[str, Field], bool], str], ...]] = (
    (lambda part, _: part == "?", "`?` is only for a day and a weekday; write `*`"),
    (lambda part, _: part.startswith("h"), "write a number in place of `H`"),
    (lambda part, field: field.name == "hour" and part == "24", "write 0 for midnight"),
    (lambda part, field: field is WEEKDAY and part == "l", "write `sat` for Saturday, or the weekday too, as in `5L`"),
    (lambda part, field: field is DAY and part.startswith("l-"), "write `L` for the last day, or a day such as 28"),
    (lambda part, _: "/0" in part, "a step is at least 1"),
)


def fault_of(expression: str) -> str | None:
    """What is wrong with an expression, as a sentence that says what to write."""
    if len(expression) > EXPRESSION_CHARS_MAX:
        return f"The expression is too long: at most {EXPRESSION_CHARS_MAX} characters are possible."
    text = rewritten(expression)
    hint = _expression_hint(text)
    if hint is not None:
        return hint
    parts = text.split()
    if len(parts) != len(FIELDS):
        return _count_fault(expression, len(parts))
    written = NICKNAMES.get(expression.strip().lower(), expression).split()
    for place, (part, field) in enumerate(zip(parts, FIELDS, strict=True)):
        if not _comes("* " * place + part + " *" * (len(FIELDS) - place - 1)):
            return _field_fault(written[place], field)
    return None if _comes(text) else "There is no such day in any year."


def _count_fault(expression: str, count: int) -> str:
    names = ", ".join(field.name for field in FIELDS)
    more = " Leave out the seconds and the year." if count > len(FIELDS) else ""
    nickname = "" if more else " Or write a nickname, such as `@daily`."
    return (
        f"A cron expression has five fields ({names}), as in `0 9 * * 1-5`; `{expression}` has {count}.{more}{nickname}"
    )


def _field_fault(part: str, field: Field) -> str:
    hint = next((said for fits, said in HINTS if fits(part.lower(), field)), None)
    if hint is not None:
        return f"`{part}` is no {field.name}: {hint}."
    return (
        f"`{part}` is no {field.name}: possible are {field.possible}; also *, lists (1,15), "
        "ranges (1-5) and steps (*/15)."
    )


def _comes(expression: str) -> bool:
    """Whether it can be read, and comes at all."""
    try:
        return next(Times(expression, datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)), None) is not None
    except (CronSimError, ValueError):
        return False
