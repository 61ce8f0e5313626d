"""Ids grow, whatever the clocks do."""

import uuid

from taskyard.hub.ids import Mint, mint_secret

FUTURE = "7fffffff-ffff-7ffe-bfff-ffffffffffff"


def test_ids_are_uuids_of_version_seven() -> None:
    found = uuid.UUID(Mint().id())
    assert (found.version, found.variant) == (7, uuid.RFC_4122)


def test_ids_grow_strictly_also_within_one_millisecond() -> None:
    mint = Mint()
    ids = [mint.id() for _ in range(20_000)]
    assert ids == sorted(set(ids))


def test_ids_grow_on_from_the_newest_in_the_store_when_the_wall_clock_stepped_back() -> None:
    """As after a restart with a clock that was ahead before."""
    mint = Mint()
    mint.pass_by(FUTURE)
    ids = [FUTURE, *(mint.id() for _ in range(5_000))]
    assert ids == sorted(set(ids))
    assert uuid.UUID(ids[-1]).version == 7


def test_an_older_id_changes_nothing() -> None:
    mint = Mint()
    first = mint.id()
    mint.pass_by("00000000-0000-7000-8000-000000000000")
    assert mint.id() > first


def test_what_is_no_id_of_ours_is_passed_by() -> None:
    mint = Mint()
    first = mint.id()
    for odd in (None, "", "T-001", "not an id of anything at all"):
        mint.pass_by(odd)
    assert mint.id() > first


def test_secrets_are_long_and_never_the_same() -> None:
    secrets = {mint_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(secret) for secret in secrets} == {43}
