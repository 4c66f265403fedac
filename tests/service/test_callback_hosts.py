"""Whom jobs may have called at their end."""

from __future__ import annotations

import ipaddress

import pytest

from facefusion.core.errors import OptionError
from facefusion.service.callback_hosts import CallbackHosts, Callee, is_of_the_platform, is_public
from facefusion.service.problems import FieldsError

LISTED = (
    "example.org",
    "Other.example:8443",
    "http://plain.example",
    "private:hooks.lan",
    "private:http://[fd00::1]:80",
)


@pytest.fixture
def hosts() -> CallbackHosts:
    return CallbackHosts(LISTED)


@pytest.mark.parametrize(
    ("url", "callee", "authority"),
    [
        ("https://example.org/a?b=c", Callee("https", "example.org", 443, "/a?b=c", False), "example.org"),
        ("HTTPS://EXAMPLE.org:443", Callee("https", "example.org", 443, "/", False), "example.org"),
        ("https://other.example:8443/x", Callee("https", "other.example", 8443, "/x", False), "other.example:8443"),
        ("http://plain.example/?q", Callee("http", "plain.example", 80, "/?q", False), "plain.example"),
        ("https://hooks.lan/", Callee("https", "hooks.lan", 443, "/", True), "hooks.lan"),
        ("http://[FD00:0::0:1]/", Callee("http", "fd00::1", 80, "/", True), "[fd00::1]"),
        ("http://[FD00::1]/", Callee("http", "fd00::1", 80, "/", True), "[fd00::1]"),
    ],
)
def test_a_host_that_is_listed_may_be_called(hosts: CallbackHosts, url: str, callee: Callee, authority: str) -> None:
    assert hosts.callee(url) == callee
    assert callee.authority == authority
    assert hosts.check(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://example.org:8443/",
        "https://other.example/",
        "https://sub.example.org/",
        "https://example.org.evil.example/",
        "https://example.org@evil.example/",
        "https://evil.example#@example.org/",
        "https://example.org\\@evil.example/",
        "https://user:word@example.org/",
        "https://example.org./",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[:::]/",
        "http://[fd00::1%25eth0]/",
        "http://[::ffff:fd00:1]/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "//example.org/",
        "example.org",
        "",
        "https://",
        "https://example.org:99999/",
        "https://example.org:/x:y@/",
        "https://exämple.org/",
        "https://example.org/a b",
        "https://example.org/\r\nHost: evil",
        "https://[example.org/",
        "https://example.org/" + "x" * 2000,
    ],
)
def test_nobody_else_is(hosts: CallbackHosts, url: str) -> None:
    try:
        callee = hosts.callee(url)
    except FieldsError as error:
        assert [fault.field for fault in error.faults] == ["callback.url"]
    else:
        assert (callee.host, callee.port) == ("example.org", 443), "it is what it looks like"


def test_where_none_is_listed_nobody_is_called() -> None:
    hosts = CallbackHosts(())
    assert not hosts.are_any
    with pytest.raises(FieldsError, match="this service calls nobody back: its operator allows no hosts"):
        hosts.check("https://example.org/")


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.example.org",
        "example.org/",
        "ftp://example.org",
        "example.org:0",
        "a b",
        "example.org:70000",
        "user@example.org",
        "a..b",
        "[:::]",
        "[1:2]",
        "[fe80::1%eth0]",
    ],
)
def test_what_names_no_host_is_refused(entry: str) -> None:
    with pytest.raises(OptionError, match="names no host"):
        CallbackHosts([entry])


@pytest.mark.parametrize(
    "text", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_addresses_of_the_open_network(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fd00::1", "fec0::1",
        "ff02::1", "ff0e::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a00:1",
        "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "::127.0.0.1", "::8.8.8.8", "::ffff:0:7f00:1", "64:ff9b:1::7f00:1", "192.0.0.192", "192.88.99.1",
        "168.63.129.16", "::ffff:168.63.129.16", "3fff::1", "4000::1", "5f00::1",
    ],
)  # fmt: skip
def test_addresses_of_private_networks_and_of_this_machine(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("169.254.169.254", True), ("169.254.170.2", True), ("::ffff:169.254.169.254", True), ("fe80::1", True),
        ("64:ff9b::a9fe:a9fe", True), ("fd00:ec2::254", True), ("fd20:ce::254", True), ("168.63.129.16", True),
        ("100.100.100.200", True), ("192.0.0.192", True), ("::169.254.169.254", True), ("::ffff:0:a9fe:a9fe", True),
        ("64:ff9b:1::a9fe:a9fe", True), ("::1", False), ("64:ff9b:1::a00:1", False),
        ("127.0.0.1", False), ("10.1.2.3", False), ("100.64.0.1", False), ("fd00::1", False), ("8.8.8.8", False),
    ],
)  # fmt: skip
def test_where_clouds_tell_their_machines_secrets(text: str, is_one: bool) -> None:
    assert is_of_the_platform(ipaddress.ip_address(text)) is is_one
