"""Secrets of the service, which come from the environment alone: no ini file, command line or report holds them.

Each may lie in a file in place of the variable, as containers hand them in: ``API_TOKEN_FILE`` names the file whose
content is ``API_TOKEN``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from facefusion.core.errors import SetupError

SHORTEST_TOKEN = 16
"""Characters. A token that a program made has 32 or more."""
SHORTEST_KEY = 32
"""Bytes of a key for HS256, which RFC 7518, 3.2 wants as long as the hash."""

TOKEN, KEY, REDIS, CALLBACK = "API_TOKEN", "API_JWT_SECRET", "REDIS_URL", "API_CALLBACK_SECRET"
VARIABLES = (TOKEN, KEY, REDIS, CALLBACK)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What only the operator and the service know. Its text says nothing of them."""

    token: str | None = field(default=None, repr=False)
    """Bearer of it may do everything."""
    jwt_key: str | None = field(default=None, repr=False)
    """Signs tokens of single users (HS256)."""
    redis_url: str | None = field(default=None, repr=False)
    callback_secret: str | None = field(default=None, repr=False)
    """Signs calls to those who asked for them."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Secrets:
        """Read them.

        Raises:
            SetupError: one cannot be read, or is so short that it can be guessed.
        """
        token, key, redis, callback = (secret_of(environment, name) for name in VARIABLES)
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise _too_short(TOKEN, SHORTEST_TOKEN)
        if key is not None and len(key.encode()) < SHORTEST_KEY:
            raise _too_short(KEY, SHORTEST_KEY)
        if callback is not None and len(callback.encode()) < SHORTEST_KEY:
            raise _too_short(CALLBACK, SHORTEST_KEY)
        return cls(token, key, redis, callback)


def secret_of(environment: Mapping[str, str], name: str) -> str | None:
    """What a variable holds, or the file that it names with ``_FILE`` behind; none where both are empty.

    Raises:
        SetupError: the file cannot be read.
    """
    variable = f"{name}_FILE"
    if path := environment.get(variable, "").strip():
        try:
            return Path(path).read_text("utf-8").strip() or None
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(
                f"{variable}: {path} cannot be read ({getattr(error, 'strerror', None) or 'it is no text'})",
                f"Name a file that holds what {name} would, or set {name}.",
            ) from error
    return environment.get(name, "").strip() or None


def _too_short(name: str, least: int) -> SetupError:
    return SetupError(
        f"{name} is shorter than {least} characters, which can be guessed",
        "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
    )
