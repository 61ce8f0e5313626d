"""Bringing a database to this version's schema, as `taskyard migrate` does: somebody decided it, and hears of it."""

from typing import Final

from psycopg.errors import InsufficientPrivilege

from taskyard.store.port import StoreRefused, StoreUnavailable
from taskyard.store.postgres.checks import check_without_schema
from taskyard.store.postgres.migrate import Migrated, run_migrations
from taskyard.store.postgres.reach import address_of, connect_or_refuse

MIGRATE_S: Final = 600.0


def migrate(url: str) -> Migrated:
    """`StoreRefused` says why not; nothing is changed then, or a whole number of migrations was made."""
    with connect_or_refuse(url, purpose="migration", timeout_s=MIGRATE_S) as session:
        try:
            check_without_schema(session)
            migrated = run_migrations(session)
            # Also what an earlier run made and could not confirm.
            session.confirm()
            return migrated
        except StoreUnavailable as error:
            raise StoreRefused(
                f"Whether the schema of {address_of(url)} is as it should be is not certain: {error}. Run this again."
            ) from error
        except InsufficientPrivilege as error:
            raise StoreRefused(
                f"{address_of(url)} does not let this user make the schema: {error.diag.message_primary}. Name in the "
                "URL the user who owns the database, or grant this one CREATE on it."
            ) from error
