"""Whom the service calls when a job is at its end: hosts that the operator allows, and nobody else.

A service that calls what a client names is a way into the network that it stands in. So each host is listed by the
operator, an address of a private network counts only where the list says so of that very host, and what was checked is
what is connected to: a name that leads elsewhere a moment later changes nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from facefusion.core.errors import OptionError
from facefusion.service.problems import FieldFault, FieldsError

FIELD = "callback.url"
LONGEST_URL = 2000
"""Characters."""
PORTS = {"https": 443, "http": 80}

ENTRY = re.compile(
    r"(?P<private>private:)?(?:(?P<scheme>https?)://)?"
    r"(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
)
"""Of the operator's list."""
GRAPHIC = re.compile(r"[\x21-\x7e]+")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses that stand for one of IPv4 (RFC 6052)."""
GIVEN_OUT = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that is given out to networks (IANA). Outside of it are forms that lead to IPv4 in networks that know
them: ``::a.b.c.d``, ``::ffff:0:a.b.c.d``, and ``64:ff9b:1::/48``, which is a private network's own NAT64."""
LEADING = (
    ipaddress.ip_network("::/96"),
    ipaddress.ip_network("::ffff:0:0:0/96"),
    ipaddress.ip_network("64:ff9b:1::/48"),
)
"""The networks of those forms; the last 32 bits are the address of IPv4."""
SPECIAL = (
    ipaddress.ip_network("192.0.0.0/24"),
    ipaddress.ip_network("192.88.99.0/24"),
    ipaddress.ip_network("3fff::/20"),
)
"""What the library's own table takes for global, or does depending on its version: addresses of protocols (RFC 6890),
relays of 6to4 (RFC 7526), documentation (RFC 9637)."""
PLATFORMS = (
    ipaddress.ip_network("168.63.129.16/32"),
    ipaddress.ip_network("100.100.100.200/32"),
    ipaddress.ip_network("192.0.0.192/32"),
    ipaddress.ip_network("fd00:ec2::/32"),
    ipaddress.ip_network("fd20:ce::254/128"),
)
"""Where clouds tell their machines what is theirs, beside 169.254.0.0/16 and fe80::/10: Azure, Alibaba Cloud, Oracle
Cloud, AWS and Google Cloud over IPv6; as their manuals say."""


@dataclass(frozen=True, slots=True)
class Callee:
    """Who is called."""

    scheme: str
    host: str
    """A name, or an address without brackets."""
    port: int
    path: str
    """With what is asked for; begins with ``/``."""
    may_be_private: bool
    """Whether the host may have an address that is not public."""

    @property
    def authority(self) -> str:
        """As the header Host has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


class CallbackHosts:
    """The operator's list.

    Args:
        entries: ``example.org``, ``example.org:8443``; ``http://example.org`` where it may be called in the clear;
            ``private:hooks.lan`` where its address may be one of a private network.

    Raises:
        OptionError: one cannot be understood.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._allowed: dict[tuple[str, str, int], bool] = {}
        for entry in entries:
            match = ENTRY.fullmatch(entry.lower())
            port = int(match["port"]) if match and match["port"] else None
            host = None if match is None else _host(match["host"])
            if match is None or host is None or (port is not None and not 0 < port < 1 << 16):
                raise OptionError(
                    f"--callback-hosts {entry} names no host",
                    "Write example.org, example.org:8443, http://example.org or private:hooks.lan.",
                )
            scheme = match["scheme"] or "https"
            key = (scheme, host, port or PORTS[scheme])
            self._allowed[key] = self._allowed.get(key, False) or match["private"] is not None

    @property
    def are_any(self) -> bool:
        """Whether anybody may be called at all."""
        return bool(self._allowed)

    def check(self, url: str) -> str:
        """Make sure that an address may be called; gives it as it is kept.

        Raises:
            FieldsError: it may not.
        """
        self.callee(url)
        return url

    def callee(self, url: str) -> Callee:
        """Who an address leads to.

        Raises:
            FieldsError: it is none, or leads to somebody who may not be called.
        """
        if not self._allowed:
            raise _refused("this service calls nobody back: its operator allows no hosts. Leave callback out.")
        if len(url) > LONGEST_URL or not GRAPHIC.fullmatch(url) or "\\" in url or "#" in url:
            raise _refused(f"this is no address of {LONGEST_URL} characters at most without spaces and fragment.")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise _refused("this is no address.") from error
        scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
        if scheme not in PORTS or not host or "@" in parts.netloc:
            raise _refused("this is no address that begins with https:// and a host, without a user.")
        if ":" in host:
            host = _host(f"[{host}]") or host
        key = (scheme, host, PORTS[scheme] if port is None else port)
        if key not in self._allowed:
            raise _refused("the operator does not allow to call this host, in this way, on this port.")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return Callee(*key, path, self._allowed[key])


def is_public(address: Address) -> bool:
    """Whether an address is one of the open network: none of a private one, of this machine, or of many at once.

    Addresses that stand for another one are judged by that: IPv4 in IPv6 (mapped, 6to4, Teredo, NAT64).
    """
    address = _meant(address)
    if isinstance(address, ipaddress.IPv6Address) and address not in GIVEN_OUT:
        return False
    is_special = address.is_multicast or any(address in network for network in (*SPECIAL, *PLATFORMS))
    return address.is_global and not is_special


def is_of_the_platform(address: Address) -> bool:
    """Whether a machine asks there for what its cloud tells it alone, secrets too; no host that may be called is there.

    Addresses that stand for another one are judged by that, also those that do so in some networks only.
    """
    address = _meant(address)
    if any(address in network for network in LEADING):
        address = _last(address)
    return address.is_link_local or any(address in network for network in PLATFORMS)


def _meant(address: Address) -> Address:
    """The one of IPv4 that an address of IPv6 stands for, else itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address in NAT64:
        return _last(address)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None) or address


def _last(address: Address) -> ipaddress.IPv4Address:
    """The last 32 bits of an address."""
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _host(text: str) -> str | None:
    """A name, or an address without brackets in its shortest form; none where it is neither."""
    if not text.startswith("["):
        return None if ".." in text else text
    try:
        return str(ipaddress.IPv6Address(text.strip("[]")))
    except ValueError:
        return None


def _refused(detail: str) -> FieldsError:
    return FieldsError([FieldFault(FIELD, detail)])
