"""Options of the service. Secrets are none of them: those come from the environment, see :mod:`.environment`.

The names avoid ``port`` and the like: Kubernetes sets ``FACEFUSION_PORT=tcp://...`` in every pod beside a Service of
the name ``facefusion``, which would be taken for the option.
"""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import Form, Scope, option, settings_group

SERVER_COMMANDS = ("run", "serve")
"""Commands that answer requests; ``run`` does where it has no target."""
FLEET_COMMANDS = (*SERVER_COMMANDS, "worker", "submit")
"""Commands of the machines that share a queue and storage."""

WATCHED_COMMANDS = (*SERVER_COMMANDS, "worker")
"""Commands whose processes tell metrics."""

GIGABYTE = 1_000_000_000
"""Bytes."""

ANY_HOST = "auto"


@settings_group(section="service", commands=SERVER_COMMANDS)
class ServiceSettings:
    """How the API answers, and what it keeps for how long."""

    listen_host: str = option(
        "127.0.0.1",
        "address to listen on; others than this machine's own need a token. 'auto' is every address where API_TOKEN "
        "or another way to know users is set, and 127.0.0.1 where none is",
        scope=Scope.RUN,
        metavar="ADDRESS",
        own=True,
    )
    listen_port: int = option(
        7860, "port to listen on; 0 for any that is free", minimum=0, maximum=65535, scope=Scope.RUN, own=True
    )
    trusted_proxies: tuple[str, ...] = option(
        (),
        "addresses or networks of proxies that are believed who they speak for, such as 10.0.0.0/8",
        scope=Scope.RUN,
        metavar="ADDRESS",
        own=True,
    )
    storage_path: Path = option(
        Path(".service"),
        "folder of uploads and results, which all machines of a fleet share; with storage_url, of this machine's own "
        "files on their way there",
        scope=Scope.RUN,
        commands=FLEET_COMMANDS,
        metavar="FOLDER",
        own=True,
    )
    storage_url: str | None = option(
        None,
        "bucket of an S3-compatible storage for uploads and results, in place of a folder that all machines share. Its "
        "keys and its server are named by the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL)",
        form=Form(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[\w.-]+)*/?", "s3://BUCKET/PREFIX"),
        scope=Scope.RUN,
        commands=FLEET_COMMANDS,
        metavar="URL",
        own=True,
    )
    audit_path: Path | None = option(
        None,
        "file to add a line of JSON to for each thing that is done with somebody's files; audit.jsonl in the storage "
        "folder where empty",
        scope=Scope.RUN,
        metavar="FILE",
        own=True,
    )
    redis_url: str | None = option(
        None,
        "where the fleet's queue is; the environment variable REDIS_URL wins, and alone may hold a password. Without "
        "both, jobs wait in this process and are run by it",
        form=Form(r"(?:rediss?|unix)://[^@\s]+", "redis://HOST:PORT/NUMBER, without a password"),
        scope=Scope.RUN,
        commands=FLEET_COMMANDS,
        metavar="URL",
        own=True,
    )
    upload_limit: float = option(4.0, "gigabytes that one upload may have", minimum=0.001, scope=Scope.RUN, own=True)
    subject_quota: float = option(
        20.0, "gigabytes of uploads and results that are kept for one user", minimum=0.001, scope=Scope.RUN, own=True
    )
    minimum_free_space: float = option(
        2.0, "gigabytes of the storage below which nothing more is taken", minimum=0.0, scope=Scope.RUN, own=True
    )
    retention_hours: float = option(
        24.0,
        "hours after which uploads and results are erased",
        minimum=0.01,
        maximum=24.0 * 366,
        scope=Scope.RUN,
        commands=FLEET_COMMANDS,
        own=True,
    )
    waiting_jobs_limit: int = option(
        1000,
        "jobs that may wait; more are turned away for the moment",
        minimum=1,
        scope=Scope.RUN,
        commands=(*SERVER_COMMANDS, "submit"),
        own=True,
    )
    requests_per_minute: int = option(
        600, "requests that one user may make in a minute; 0 for any number", minimum=0, scope=Scope.RUN, own=True
    )
    callback_hosts: tuple[str, ...] = option(
        (),
        "hosts that jobs may have called at their end, such as example.org or example.org:8443; nobody where empty. "
        "http://example.org is called in the clear, private:hooks.lan may have an address of a private network. Needs "
        "API_CALLBACK_SECRET",
        scope=Scope.RUN,
        metavar="HOST",
        own=True,
    )
    jwt_issuer: str | None = option(
        None,
        "address of the OAuth2 or OpenID Connect issuer whose tokens are accepted",
        form=Form(r"https?://\S+", "https://HOST"),
        scope=Scope.RUN,
        metavar="URL",
        own=True,
    )
    jwt_audience: str | None = option(
        None, "who tokens must be made out to; needed with an issuer", scope=Scope.RUN, metavar="NAME", own=True
    )
    jwt_keys_url: str | None = option(
        None,
        "where the issuer's keys are (JWKS); as its OpenID configuration says where empty",
        form=Form(r"https?://\S+", "https://HOST/PATH"),
        scope=Scope.RUN,
        metavar="URL",
        own=True,
    )
    client_options: tuple[str, ...] = option(
        (),
        "settings that are the operator's unless named here, and that clients may then choose, such as "
        "content_analyser_model",
        scope=Scope.RUN,
        metavar="NAME",
        own=True,
    )


@settings_group(section="service", commands=WATCHED_COMMANDS)
class MonitoringSettings:
    """Where Prometheus finds what a process counts."""

    metrics_address: str | None = option(
        None,
        "address and port to tell metrics on, such as 0.0.0.0:7861; whoever gets there needs no token. Nowhere where "
        "empty; the API tells them under /metrics in any case",
        form=Form(r"(?:[\w.-]+|\[[0-9A-Fa-f:]+\]):\d{1,5}", "ADDRESS:PORT"),
        scope=Scope.RUN,
        metavar="ADDRESS:PORT",
        own=True,
    )
