"""Tokens that say themselves who bears them and what they allow: JSON Web Tokens (RFC 7519).

Two kinds are told apart by their algorithm, so that a key of one can never serve the other: HS256 with the operator's
secret, and signatures with the keys that an OAuth2 or OpenID Connect issuer publishes (RFC 7517).
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt

from facefusion.core.errors import SetupError
from facefusion.service.auth import FixedToken, Gate, Principal, Scope, Verifier, is_loopback
from facefusion.service.environment import Secrets
from facefusion.service.errors import ServiceUnavailableError, UnauthorisedError
from facefusion.service.settings import ServiceSettings

SHARED = ("HS256",)
PUBLISHED = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Algorithms that are accepted with an issuer's keys; ``none`` and those with a shared secret are not among them."""

CLOCK_SECONDS = 30
"""By which clocks of issuer and service may differ."""
KEYS_SECONDS = 600
"""After which an issuer's keys are asked for again, so that one that was withdrawn does not hold for longer."""
PATIENCE_SECONDS = 30
"""Between two requests for keys that are not known: whoever invents ids of keys has the issuer asked no more often."""
MOST_BYTES = 1 << 20
FETCH_SECONDS = 5.0
LONGEST_SUBJECT = 200

SHARED_PREFIX, ISSUER_PREFIX = "user:", "oidc:"
"""Before subjects, so that those of an issuer are never taken for the operator's."""

Fetch = Callable[[str], bytes]
Claims = Mapping[str, Any]


class SharedKeyTokens:
    """Tokens that the operator signs for single users."""

    def __init__(self, key: str, audience: str | None) -> None:
        self._key = key
        self._audience = audience

    def verify(self, token: str) -> Principal | None:
        """As :meth:`facefusion.service.auth.Verifier.verify`."""
        if _algorithm(token) not in SHARED:
            return None
        return _principal(_claims(token, self._key, SHARED, self._audience, None), SHARED_PREFIX)


class Keys(Protocol):
    """Keys of an issuer."""

    def key(self, key_id: str | None) -> jwt.PyJWK | None:
        """The key of that id; where the token names none, the only one there is."""


class IssuerTokens:
    """Tokens of an issuer outside."""

    def __init__(self, issuer: str, audience: str, keys: Keys) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys = keys

    def verify(self, token: str) -> Principal | None:
        """As :meth:`facefusion.service.auth.Verifier.verify`."""
        if _algorithm(token) not in PUBLISHED:
            return None
        key = self._keys.key(jwt.get_unverified_header(token).get("kid"))
        if key is None:
            raise UnauthorisedError("the token is signed with a key that its issuer does not publish", "Get a new one.")
        return _principal(_claims(token, key, PUBLISHED, self._audience, self._issuer), ISSUER_PREFIX)


class PublishedKeys:
    """The keys that an issuer publishes, kept for a while.

    Args:
        issuer: whose.
        address: of the keys; as the issuer's OpenID configuration says where none.
        fetch: gets what lies under an address.
        clock: seconds that only grow.
    """

    def __init__(
        self, issuer: str, address: str | None, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._address = address
        self._fetch = fetch or fetch_document
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched: float | None = None
        self._asked: float | None = None

    def key(self, key_id: str | None) -> jwt.PyJWK | None:
        """A key by its id.

        Raises:
            ServiceUnavailableError: the keys cannot be had.
        """
        with self._lock:
            if self._is_stale(key_id):
                self._refresh()
            return self._find(key_id)

    def _is_stale(self, key_id: str | None) -> bool:
        if self._is_older_than(self._fetched, KEYS_SECONDS):
            return True
        return self._find(key_id) is None and self._is_older_than(self._asked, PATIENCE_SECONDS)

    def _find(self, key_id: str | None) -> jwt.PyJWK | None:
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _is_older_than(self, moment: float | None, seconds: float) -> bool:
        return moment is None or self._clock() - moment >= seconds

    def _refresh(self) -> None:
        if self._fetched is None and not self._is_older_than(self._asked, PATIENCE_SECONDS):
            raise self._unavailable("it was asked a moment ago")
        self._asked = self._clock()
        try:
            address = self._address or self._discover()
            published = jwt.PyJWKSet.from_dict(self._document(address))
        except (OSError, ValueError, TypeError, KeyError, jwt.PyJWTError) as error:
            raise self._unavailable(str(error)) from error
        self._keys = {key.key_id: key for key in published.keys if key.public_key_use in (None, "sig")}
        self._fetched = self._clock()

    def _discover(self) -> str:
        """OpenID Connect Discovery 1.0, section 4: the configuration names its issuer, which must be the one meant."""
        table = self._document(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if table.get("issuer") != self._issuer:
            raise ValueError(f"its configuration is of the issuer {table.get('issuer')!r}")
        return str(table["jwks_uri"])

    def _document(self, address: str) -> dict[str, Any]:
        check_address(address)
        table = json.loads(self._fetch(address))
        if not isinstance(table, dict):
            raise ValueError(f"{address} holds no object")
        return table

    def _unavailable(self, reason: str) -> ServiceUnavailableError:
        return ServiceUnavailableError(
            f"the keys of the issuer {self._issuer} cannot be had ({reason})",
            "Try again in a minute; the operator checks --jwt-issuer and --jwt-keys-url.",
        )


def fetch_document(address: str) -> bytes:
    """What lies under an address of the operator's.

    Raises:
        OSError: it cannot be had.
        ValueError: it is too large.
    """
    # The address is the operator's and was checked; redirects are not followed, since they could lead anywhere.
    opener = urllib.request.build_opener(_NoRedirects)
    with opener.open(address, timeout=FETCH_SECONDS) as answer:
        data: bytes = answer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{address} holds more than {MOST_BYTES} bytes")
    return data


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def check_address(address: str) -> None:
    """Make sure that nobody on the way can put keys of their own in.

    Raises:
        ValueError: they could.
    """
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return
    raise ValueError(f"{address} must begin with https://")


def build_gate(settings: ServiceSettings, secrets: Secrets, fetch: Fetch | None = None) -> Gate:
    """The gate that the settings ask for.

    Raises:
        SetupError: an issuer is named without an audience, or under an address that is not safe.
    """
    verifiers: list[Verifier] = []
    if secrets.token is not None:
        verifiers.append(FixedToken(secrets.token))
    if secrets.jwt_key is not None:
        verifiers.append(SharedKeyTokens(secrets.jwt_key, settings.jwt_audience))
    if settings.jwt_issuer is not None:
        verifiers.append(_issuer_tokens(settings, settings.jwt_issuer, fetch))
    return Gate(verifiers)


def _issuer_tokens(settings: ServiceSettings, issuer: str, fetch: Fetch | None) -> IssuerTokens:
    if settings.jwt_audience is None:
        raise SetupError(
            f"--jwt-issuer {issuer} without --jwt-audience would accept tokens that are made out to other programs",
            "Set the audience that the issuer writes into tokens for this service.",
        )
    for option, address in (("--jwt-issuer", issuer), ("--jwt-keys-url", settings.jwt_keys_url or issuer)):
        try:
            check_address(address)
        except ValueError as error:
            raise SetupError(f"{option}: {error}", "Keys that come in the clear can be replaced on the way.") from error
    return IssuerTokens(issuer, settings.jwt_audience, PublishedKeys(issuer, settings.jwt_keys_url, fetch))


def _algorithm(token: str) -> str | None:
    try:
        algorithm = jwt.get_unverified_header(token).get("alg")
    except jwt.PyJWTError:
        return None
    return algorithm if isinstance(algorithm, str) else None


def _claims(
    token: str, key: str | jwt.PyJWK, algorithms: tuple[str, ...], audience: str | None, issuer: str | None
) -> Claims:
    try:
        claims: Claims = jwt.decode(
            token,
            key,
            algorithms=list(algorithms),
            audience=audience,
            issuer=issuer,
            leeway=CLOCK_SECONDS,
            options={"require": ["exp", "sub"], "verify_aud": audience is not None},
        )
    except jwt.ExpiredSignatureError as error:
        raise UnauthorisedError("the token has expired", "Get a new one.") from error
    except jwt.PyJWTError as error:
        raise UnauthorisedError(f"the token is not valid ({error})", "Get a new one.") from error
    return claims


def _principal(claims: Claims, prefix: str) -> Principal:
    subject = str(claims["sub"])
    if not subject or len(subject) > LONGEST_SUBJECT or not subject.isprintable():
        raise UnauthorisedError("the token's subject is empty, too long or not readable", "Get a new one.")
    return Principal(prefix + subject, _scopes(claims))


def _scopes(claims: Claims) -> frozenset[Scope]:
    """RFC 8693, 4.2 has ``scope`` as words in one text; others write ``scp`` or ``scopes``, and lists."""
    known = {scope.value: scope for scope in Scope}
    found: set[Scope] = set()
    for name in ("scope", "scp", "scopes"):
        value = claims.get(name, ())
        words = value.split() if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
        found |= {known[word] for word in words if isinstance(word, str) and word in known}
    return frozenset(found)
