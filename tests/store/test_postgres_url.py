"""The URL of a database as it may be shown: all of it but what is secret."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from taskyard.store.postgres.session import public_url


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://yard:s3%40cret@127.0.0.1:5432/yard", "postgresql://yard@127.0.0.1:5432/yard"),
        ("postgres://yard@h1:1,h2:2/y?password=s3cret", "postgresql://yard@h1:1,h2:2/y"),
        ("postgresql://h1,h2/y?sslmode=require&sslpassword=s3cret", "postgresql://h1,h2/y?sslmode=require"),
        ("postgresql:///y?host=/run/postgresql&port=5433", "postgresql://%2Frun%2Fpostgresql:5433/y"),
        ("postgresql://[::1]:5432/y", "postgresql://[::1]:5432/y"),
        (
            "postgresql://a%20b:s3cret@h/c%2Fd?application_name=e%20f",
            "postgresql://a%20b@h/c%2Fd?application_name=e%20f",
        ),
        ("postgresql://h", "postgresql://h/"),
    ],
)
def test_a_url_is_shown_without_its_secrets_and_leads_to_the_same_place(given: str, shown: str) -> None:
    assert public_url(given) == shown
    secret = {"password", "sslpassword"}
    meant = {name: value for name, value in conninfo_to_dict(given).items() if name not in secret}
    assert conninfo_to_dict(shown) == meant
