import base64
import json
import time
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from facefusion.core.errors import SetupError
from facefusion.service.auth import Principal, Scope
from facefusion.service.environment import Secrets
from facefusion.service.errors import ServiceUnavailableError, UnauthorisedError
from facefusion.service.settings import ServiceSettings
from facefusion.service.signed_tokens import (
    KEYS_SECONDS,
    MOST_BYTES,
    PATIENCE_SECONDS,
    PublishedKeys,
    build_gate,
    check_address,
)
from tests.service.fakes import Clock

pytestmark = pytest.mark.service

KEY = "k" * 32
TOKEN = "t" * 20
ISSUER = "https://login.example.org/realm"
KEYS = "https://login.example.org/keys"


def signed(key=KEY, algorithm="HS256", header=None, **claims):
    claims = {"sub": "ann", "exp": time.time() + 60, "scope": "read submit", **claims}
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm, headers=header)


@pytest.fixture(scope="module")
def rsa_key():
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def ec_key():
    return ec.generate_private_key(ec.SECP256R1())


def public(key, key_id, algorithm):
    table = json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key()))
    return {**table, "kid": key_id, "alg": algorithm, "use": "sig"}


class Issuer:
    """An issuer that is asked for its documents."""

    def __init__(self, keys):
        self.documents: dict[str, Any] = {
            f"{ISSUER}/.well-known/openid-configuration": {"issuer": ISSUER, "jwks_uri": KEYS},
            KEYS: {"keys": keys},
        }
        self.asked = []

    def __call__(self, address):
        self.asked.append(address)
        document = self.documents[address]
        if isinstance(document, Exception):
            raise document
        return document if isinstance(document, bytes) else json.dumps(document).encode()


@pytest.fixture
def issuer(rsa_key, ec_key):
    return Issuer([public(rsa_key, "one", "RS256"), public(ec_key, "two", "ES256")])


def gate_of(issuer=None, secrets=None, **settings):
    return build_gate(replace(ServiceSettings(), **settings), secrets or Secrets(TOKEN, KEY), issuer)


@pytest.fixture
def gate(issuer):
    return gate_of(issuer, jwt_issuer=ISSUER, jwt_audience="facefusion")


def refused(gate, token):
    with pytest.raises(UnauthorisedError) as error:
        gate.principal(token)
    return str(error.value)


def test_the_operators_key_signs_tokens_of_users():
    assert gate_of().principal(signed()) == Principal("user:ann", frozenset({Scope.READ, Scope.SUBMIT}))
    assert gate_of().principal(TOKEN).subject == "operator"


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"scope": "admin openid"}, {Scope.ADMIN}),
        ({"scope": None, "scp": ["read", 7]}, {Scope.READ}),
        ({"scope": None, "scopes": ["submit"]}, {Scope.SUBMIT}),
        ({"scope": None}, set()),
        ({"scope": 7}, set()),
        ({"scope": "READ reads"}, set()),
    ],
)
def test_scopes_are_read_as_issuers_write_them(claims, scopes):
    assert gate_of().principal(signed(**claims)).scopes == scopes


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: signed(exp=time.time() - 3600), "the token has expired. Get a new one."),
        (lambda: signed(key="x" * 32), "Signature verification failed"),
        (lambda: signed(exp=None), 'missing the "exp" claim'),
        (lambda: signed(sub=None), 'missing the "sub" claim'),
        (lambda: signed(nbf=time.time() + 3600), "not yet valid"),
        (lambda: signed(sub=""), "the token's subject is empty, too long or not readable"),
        (lambda: signed(sub="a" * 201), "the token's subject is empty, too long or not readable"),
        (lambda: signed(sub="a\nb"), "the token's subject is empty, too long or not readable"),
        (lambda: jwt.encode({"sub": "ann", "exp": time.time() + 60}, "", "none"), "the token is not valid."),
        (lambda: signed(key="k" * 64, algorithm="HS512"), "the token is not valid."),
        (lambda: "a.b.c", "the token is not valid."),
        (lambda: "....", "the token is not valid."),
    ],
)
def test_tokens_that_do_not_hold(make, fault):
    assert fault in refused(gate_of(), make())


def test_a_token_can_be_made_out_to_the_service():
    gate = gate_of(jwt_audience="facefusion")
    assert gate.principal(signed(aud="facefusion")).subject == "user:ann"
    assert "Audience" in refused(gate, signed(aud="other"))
    assert 'missing the "aud" claim' in refused(gate, signed())


def test_an_issuers_keys_are_found_and_its_tokens_hold(gate, issuer, rsa_key, ec_key):
    about = {"iss": ISSUER, "aud": "facefusion"}
    one = gate.principal(signed(rsa_key, "RS256", {"kid": "one"}, **about))
    two = gate.principal(signed(ec_key, "ES256", {"kid": "two"}, **about))
    assert one == two == Principal("oidc:ann", frozenset({Scope.READ, Scope.SUBMIT}))
    assert issuer.asked == [f"{ISSUER}/.well-known/openid-configuration", KEYS]


@pytest.mark.parametrize(
    ("claims", "fault"),
    [
        ({"aud": "facefusion"}, 'missing the "iss" claim'),
        ({"aud": "facefusion", "iss": "https://other.example.org"}, "Invalid issuer"),
        ({"iss": ISSUER}, 'missing the "aud" claim'),
        ({"iss": ISSUER, "aud": "other"}, "Audience"),
        ({"iss": ISSUER, "aud": "facefusion", "exp": 1}, "the token has expired"),
    ],
)
def test_tokens_of_the_issuer_that_are_not_for_us(gate, rsa_key, claims, fault):
    assert fault in refused(gate, signed(rsa_key, "RS256", {"kid": "one"}, **claims))


def test_a_public_key_is_no_shared_secret(gate, issuer, rsa_key):
    """The classic confusion: a token signed with the published key as if that were a secret of HS256."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    pem = rsa_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    import hashlib
    import hmac

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    body = (
        part({"alg": "HS256", "kid": "one"})
        + b"."
        + part({"sub": "ann", "scope": "admin", "exp": time.time() + 60, "iss": ISSUER, "aud": "facefusion"})
    )
    signature = base64.urlsafe_b64encode(hmac.new(pem, body, hashlib.sha256).digest()).rstrip(b"=")
    assert "Signature verification failed" in refused(gate, (body + b"." + signature).decode())
    only_issuer = gate_of(issuer, Secrets(), jwt_issuer=ISSUER, jwt_audience="facefusion")
    assert refused(only_issuer, (body + b"." + signature).decode()).startswith("the token is not valid.")


def test_another_key_of_the_same_id_does_not_hold(gate):
    other = rsa.generate_private_key(65537, 2048)
    token = signed(other, "RS256", {"kid": "one"}, iss=ISSUER, aud="facefusion")
    assert "Signature verification failed" in refused(gate, token)


def test_a_key_that_is_not_published_does_not_hold(gate, rsa_key):
    token = signed(rsa_key, "RS256", {"kid": "three"}, iss=ISSUER, aud="facefusion")
    assert refused(gate, token).startswith("the token is signed with a key that its issuer does not publish")


def test_keys_are_asked_for_anew_after_a_while_and_for_ids_that_are_not_known_no_more_often(issuer):
    clock = Clock(1000.0)
    keys = PublishedKeys(ISSUER, KEYS, issuer, clock)
    assert keys.key("one") is not None
    assert keys.key("three") is None
    assert keys.key("four") is None
    assert len(issuer.asked) == 1
    clock.now += PATIENCE_SECONDS
    for name in ("three", "four", "five"):
        assert keys.key(name) is None
    assert len(issuer.asked) == 2
    issuer.documents[KEYS] = {"keys": issuer.documents[KEYS]["keys"][1:]}
    clock.now += KEYS_SECONDS
    assert keys.key("one") is None  # withdrawn
    assert keys.key(None) is not None  # the only one
    assert len(issuer.asked) == 3


@pytest.mark.parametrize(
    "document",
    [OSError("no route"), b"no json", b"[]", {}, {"keys": []}, {"keys": "x"}, {"keys": [{"kty": "none"}]}],
)
def test_keys_that_cannot_be_had_are_no_fault_of_the_token(issuer, document):
    issuer.documents[KEYS] = document
    clock = Clock(1000.0)
    keys = PublishedKeys(ISSUER, KEYS, issuer, clock)
    for _ in range(3):
        with pytest.raises(ServiceUnavailableError, match=f"the keys of the issuer {ISSUER} cannot be had"):
            keys.key("one")
    assert len(issuer.asked) == 1
    clock.now += PATIENCE_SECONDS
    with pytest.raises(ServiceUnavailableError):
        keys.key("one")
    assert len(issuer.asked) == 2


def test_a_configuration_of_another_issuer_is_not_believed(issuer):
    issuer.documents[f"{ISSUER}/.well-known/openid-configuration"]["issuer"] = "https://other.example.org"
    with pytest.raises(ServiceUnavailableError, match="its configuration is of the issuer"):
        PublishedKeys(ISSUER, None, issuer).key("one")


@pytest.mark.parametrize("address", ["http://login.example.org", "file:///etc/passwd", "ftp://h", "//h"])
def test_addresses_that_are_not_safe(address):
    with pytest.raises(ValueError, match="must begin with https://"):
        check_address(address)


def test_an_issuer_needs_an_audience_and_a_safe_address():
    with pytest.raises(SetupError, match="without --jwt-audience"):
        gate_of(jwt_issuer=ISSUER)
    with pytest.raises(SetupError, match=r"--jwt-issuer: http://login.example.org must begin with https://"):
        gate_of(jwt_issuer="http://login.example.org", jwt_audience="x")
    with pytest.raises(SetupError, match=r"--jwt-keys-url: http://k.example.org must begin with https://"):
        gate_of(jwt_issuer=ISSUER, jwt_audience="x", jwt_keys_url="http://k.example.org")
    gate_of(jwt_issuer="http://localhost:8080/realm", jwt_audience="x")


def test_without_secrets_the_gate_is_open():
    assert gate_of(secrets=Secrets()).is_open


def test_documents_are_fetched_within_limits():
    import http.server
    import threading

    from facefusion.service.signed_tokens import fetch_document

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/away":
                self.send_response(302)
                self.send_header("Location", "/small")
            else:
                self.send_response(200)
            self.end_headers()
            if self.path != "/away":
                self.wfile.write(b"{}" if self.path == "/small" else bytes(MOST_BYTES + 1))

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    try:
        assert fetch_document(f"{base}/small") == b"{}"
        with pytest.raises(ValueError, match="holds more than"):
            fetch_document(f"{base}/large")
        with pytest.raises(OSError, match="302"):
            fetch_document(f"{base}/away")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
