import pytest

from facefusion.core.errors import SetupError
from facefusion.service.auth import EVERYTHING, FixedToken, Gate, Principal, Scope, address_to_bind, is_loopback
from facefusion.service.errors import ForbiddenError, UnauthorisedError

TOKEN = "0123456789abcdef"


def test_without_verifiers_everybody_is_the_machines_own_user():
    gate = Gate([])
    assert gate.is_open
    assert gate.principal(None) == Principal("local", EVERYTHING)


def test_the_operators_token_lets_its_bearer_do_everything():
    gate = Gate([FixedToken(TOKEN)])
    assert not gate.is_open
    assert gate.principal(TOKEN) == Principal("operator", EVERYTHING)


@pytest.mark.parametrize("token", [None, ""])
def test_without_a_token_nobody_gets_in(token):
    with pytest.raises(UnauthorisedError, match="this needs a token"):
        Gate([FixedToken(TOKEN)]).principal(token)


@pytest.mark.parametrize("token", [TOKEN[:-1], TOKEN + "f", TOKEN.upper(), "grüße", "\udcff" * 16])
def test_another_token_does_not_hold(token):
    with pytest.raises(UnauthorisedError, match="the token is not valid"):
        Gate([FixedToken(TOKEN)]).principal(token)


def test_tokens_are_compared_in_a_time_that_tells_nothing(monkeypatch):
    compared = []

    def compare(one, other):
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("facefusion.service.auth.hmac.compare_digest", compare)
    Gate([FixedToken(TOKEN)]).principal(TOKEN)
    assert compared == [(TOKEN.encode(), TOKEN.encode())]


def test_a_scope_is_required_and_admin_has_all():
    reader = Principal("ann", frozenset({Scope.READ}))
    reader.require(Scope.READ)
    with pytest.raises(ForbiddenError, match="the token lacks the scope submit"):
        reader.require(Scope.SUBMIT)
    for scope in Scope:
        Principal("root", frozenset({Scope.ADMIN})).require(scope)


def test_things_belong_to_their_owner_and_are_there_for_admins():
    assert Principal("ann", frozenset({Scope.READ})).owns("ann")
    assert not Principal("ann", frozenset({Scope.READ, Scope.SUBMIT})).owns("bob")
    assert Principal("ann", frozenset({Scope.ADMIN})).owns("bob")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "LOCALHOST", "::1"])
def test_an_own_address_is_bound_without_a_token(host):
    assert is_loopback(host)
    assert address_to_bind(host, is_open=True) == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.4", "example.org", "", "127.0.0.1.example.org"])
def test_an_address_that_others_reach_needs_a_token(host):
    assert not is_loopback(host)
    with pytest.raises(SetupError) as refused:
        address_to_bind(host, is_open=True)
    assert str(refused.value) == (
        f"--listen-host {host}: others could reach the service, and no token is set. "
        "Set API_TOKEN (or API_JWT_SECRET, or --jwt-issuer), or listen on 127.0.0.1."
    )
    assert refused.value.exit_code == 2
    assert address_to_bind(host, is_open=False) == host


def test_auto_is_every_address_with_a_token_and_the_own_one_without():
    assert address_to_bind("auto", is_open=False) == "0.0.0.0"
    assert address_to_bind("auto", is_open=True) == "127.0.0.1"
