"""Signed tokens of other systems: the algorithm and the key are ours to choose, never the token's."""

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from taskyard.gateway.bearer import JwtSettings, TokenReader
from taskyard.vocabulary import Scope

NOW = 1_800_000_000
CLAIMS = {"sub": "ann", "exp": NOW + 60}
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
KEYS = {"RS256": RSA_KEY, "ES256": EC_KEY}


def key_set(*, rsa_kid: str = "r1", ec_kid: str = "e1") -> dict[str, object]:
    rsa_entry = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY.public_key()))
    ec_entry = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(EC_KEY.public_key()))
    return {"keys": [{**rsa_entry, "kid": rsa_kid}, {**ec_entry, "kid": ec_kid}]}


def a_reader(algorithm: str) -> TokenReader:
    return TokenReader(JwtSettings(algorithm=algorithm, jwks=key_set()))  # type: ignore[arg-type]


def signed(algorithm: str, *, kid: str, **claims: object) -> str:
    return jwt.encode({**CLAIMS, **claims}, KEYS[algorithm], algorithm=algorithm, headers={"kid": kid})


@pytest.mark.parametrize(("algorithm", "kid"), [("RS256", "r1"), ("ES256", "e1")])
def test_a_token_signed_by_a_key_of_the_set_names_its_user(algorithm: str, kid: str) -> None:
    bearer = a_reader(algorithm).read(signed(algorithm, kid=kid, scope="tasks daemon admin"), now_s=NOW)
    assert bearer is not None
    assert bearer.subject == "ann"
    assert bearer.scopes == {Scope.TASKS, Scope.DAEMON}  # admin only where the settings list it


@pytest.mark.parametrize(("algorithm", "other", "kid"), [("RS256", "ES256", "e1"), ("ES256", "RS256", "r1")])
def test_another_algorithm_than_the_configured_one_opens_nothing(algorithm: str, other: str, kid: str) -> None:
    assert a_reader(algorithm).read(signed(other, kid=kid), now_s=NOW) is None


def test_a_key_that_is_not_in_the_set_opens_nothing() -> None:
    for kid in ("r2", "", "../../etc/passwd", "r1' OR 1=1"):
        assert a_reader("RS256").read(signed("RS256", kid=kid), now_s=NOW) is None
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = jwt.encode(CLAIMS, stranger, algorithm="RS256", headers={"kid": "r1"})
    assert a_reader("RS256").read(forged, now_s=NOW) is None


def test_a_public_key_used_as_a_shared_secret_opens_nothing() -> None:
    public = RSA_KEY.public_key()
    for secret in (
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH),
        json.dumps(key_set()).encode(),
    ):
        assert a_reader("RS256").read(hs256(secret, kid="r1"), now_s=NOW) is None


def hs256(secret: bytes, *, kid: str) -> str:
    """By hand: the library itself refuses to sign with a public key."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    head = part(json.dumps({"alg": "HS256", "typ": "JWT", "kid": kid}).encode())
    body = part(json.dumps(CLAIMS).encode())
    return f"{head}.{body}.{part(hmac.digest(secret, f'{head}.{body}'.encode(), hashlib.sha256))}"


def test_an_unsigned_token_opens_nothing() -> None:
    unsigned = jwt.encode(CLAIMS, None, algorithm="none", headers={"kid": "r1"})
    assert a_reader("RS256").read(unsigned, now_s=NOW) is None


@pytest.mark.parametrize(
    "claims",
    [{"exp": NOW - 31}, {"nbf": NOW + 31}, {"sub": None}, {"sub": 7}, {"exp": "soon"}, {"exp": True}],
)
def test_times_and_names_are_judged_by_the_hubs_own_clock(claims: dict[str, object]) -> None:
    assert a_reader("RS256").read(signed("RS256", kid="r1", **claims), now_s=NOW) is None


def test_settings_that_could_recognise_nobody_are_refused() -> None:
    for settings in (
        JwtSettings(algorithm="HS256", secret="short"),
        JwtSettings(algorithm="RS256"),
        JwtSettings(algorithm="ES256", jwks={"keys": []}),
    ):
        with pytest.raises(ValueError, match=r"auth\.jwt"):
            TokenReader(settings)
