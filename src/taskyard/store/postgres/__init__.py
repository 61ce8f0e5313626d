"""PostgreSQL by `psycopg`: many hubs on one database, of which one leads and writes."""

from taskyard.store.postgres.engine import PostgresStore
from taskyard.store.postgres.lead import Candidate
from taskyard.store.postgres.lease import HubSeen, Lease
from taskyard.store.postgres.upgrade import migrate

__all__ = ["Candidate", "HubSeen", "Lease", "PostgresStore", "migrate"]
