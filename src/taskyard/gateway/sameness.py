"""What makes two submissions the same work.

A task is known by its content. A name inside a batch says nothing by itself: it stands for the work it names, and
through it for what that waits for in turn. So a name goes into the digest as the digest of that work, and a ref as the
id of its task.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from taskyard.core.lookups import is_ref
from taskyard.wire.submission import BatchItem, Submission, faults_of

_canonical: Final = msgspec.json.Encoder(order="deterministic")
NO_NAMES: Final[Mapping[str, str]] = {}


def digest_of(submission: Submission, user_id: str, meanings: Mapping[str, str] = NO_NAMES) -> str:
    """SHA-256 over user, type and content, whatever the spacing and the order of keys."""
    content = [
        user_id,
        submission.type,
        input_of(submission),
        plain(submission.context),
        plain(submission.payload),
        list(dict.fromkeys(meanings.get(name, name) for name in submission.depends_on)),
    ]
    return hashlib.sha256(_canonical.encode(content)).hexdigest()


def refs_in(submissions: Sequence[Submission]) -> tuple[str, ...]:
    """The refs they depend on. In a batch a name goes before a ref that looks the same."""
    names = {item.name for item in submissions if isinstance(item, BatchItem)}
    refs = (name for item in submissions for name in item.depends_on if is_ref(name) and name not in names)
    return tuple(dict.fromkeys(refs))


def meanings_of(batch: Sequence[BatchItem], user_id: str, ids: Mapping[str, str] = NO_NAMES) -> dict[str, str]:
    """Each name of a batch as the digest of what it names, those it depends on first. A circle keeps its names.

    `ids` are those behind the refs that it depends on.
    """
    named = {item.name: item for item in batch if item.name is not None and not faults_of(item)}
    meanings = dict(ids)
    begun: set[str] = set()
    for root in named:
        stack = [root]
        while stack:
            name = stack[-1]
            ahead = [n for n in named[name].depends_on if n in named and n not in begun] if name not in begun else []
            begun.add(name)
            stack += ahead
            if not ahead:
                meanings.setdefault(name, digest_of(named[name], user_id, meanings))
                stack.pop()
    return meanings


def input_of(submission: Submission) -> str:
    given = submission.description if submission.input is UNSET else submission.input
    assert isinstance(given, str), "faults_of was asked first"
    return given


def plain(raw: Raw | UnsetType) -> object:
    """Absent, null and empty are the same."""
    return (None if raw is UNSET else msgspec.json.decode(raw)) or {}
