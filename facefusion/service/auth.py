"""Who asks, and what they may do. Nothing here knows HTTP."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from typing import Protocol

from facefusion.core.errors import SetupError
from facefusion.service.errors import ForbiddenError, UnauthorisedError
from facefusion.service.settings import ANY_HOST

OPERATOR = "operator"
"""Subject of whoever bears ``API_TOKEN``."""
LOCAL = "local"
"""Subject of everybody, where nobody can reach the service but from its own machine."""

EVERY_ADDRESS = "0.0.0.0"
LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class Scope(Enum):
    """What a token allows."""

    SUBMIT = "submit"
    """Upload, queue jobs, cancel and erase."""
    READ = "read"
    """Look at one's own things, and fetch results."""
    ADMIN = "admin"
    """All of it, with everybody's things."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    subject: str
    scopes: frozenset[Scope]

    @property
    def is_admin(self) -> bool:
        """Whether others' things are theirs to see and to erase."""
        return Scope.ADMIN in self.scopes

    def require(self, scope: Scope) -> None:
        """Make sure that they may.

        Raises:
            ForbiddenError: they may not.
        """
        if scope not in self.scopes and not self.is_admin:
            raise ForbiddenError(f"the token lacks the scope {scope.value}", "Ask the operator for one that has it.")

    def owns(self, owner: str) -> bool:
        """Whether something of ``owner`` exists for them."""
        return self.is_admin or owner == self.subject


EVERYTHING = frozenset(Scope)


class Verifier(Protocol):
    """Knows one kind of token."""

    def verify(self, token: str) -> Principal | None:
        """Who bears it; none where it is of another kind.

        Raises:
            UnauthorisedError: it is of this kind and does not hold.
            ServiceUnavailableError: what it takes to tell cannot be had.
        """


class FixedToken:
    """The operator's token, which is compared in a time that tells nothing of it."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def verify(self, token: str) -> Principal | None:
        """Whether it is that token."""
        if not hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token):
            return None
        return Principal(OPERATOR, EVERYTHING)


class Gate:
    """Lets in who has a token that one of the verifiers knows.

    Args:
        verifiers: one for each kind of token; without any, everybody is the machine's own user.
    """

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        self._verifiers = tuple(verifiers)

    @property
    def is_open(self) -> bool:
        """Whether nobody needs a token."""
        return not self._verifiers

    def principal(self, token: str | None) -> Principal:
        """Who asks.

        Raises:
            UnauthorisedError: there is no token, or nobody knows it.
            ServiceUnavailableError: that cannot be told for the moment.
        """
        if self.is_open:
            return Principal(LOCAL, EVERYTHING)
        if not token:
            raise UnauthorisedError(
                "this needs a token", "Send it as a header: 'Authorization: Bearer TOKEN'. The operator has it."
            )
        for verifier in self._verifiers:
            if (found := verifier.verify(token)) is not None:
                return found
        raise UnauthorisedError("the token is not valid", "Check it, or ask the operator for another.")


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own, which no other can reach."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def address_to_bind(host: str, *, is_open: bool) -> str:
    """The address to listen on.

    Args:
        host: as it is set, maybe ``auto``.
        is_open: whether nobody needs a token.

    Raises:
        SetupError: others could reach a service that lets in everybody.
    """
    if host == ANY_HOST:
        return LOOPBACK if is_open else EVERY_ADDRESS
    if is_open and not is_loopback(host):
        raise SetupError(
            f"--listen-host {host}: others could reach the service, and no token is set",
            "Set API_TOKEN (or API_JWT_SECRET, or --jwt-issuer), or listen on 127.0.0.1.",
        )
    return host
