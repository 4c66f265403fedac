"""Says who signs results, and makes a local certificate for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from facefusion.cli.command import Context
from facefusion.core.wording import printable
from facefusion.provenance.signing.settings import SigningSettings

if TYPE_CHECKING:
    from facefusion.provenance.signing.credential import Credential

INIT, SHOW = "init", "show"
ACTIONS = (INIT, SHOW)

MADE = "Made a local certificate. Keep its key to yourself."
THERE = (
    "There is a local certificate already. To have another, move its folder away, and keep what is in it but the key: "
    "whoever trusts it needs its anchor."
)
OTHERS = "It is not used: --signing-certificate names another."


def execute(context: Context) -> int:
    """Make a local certificate, or tell who signs; what there is to tell goes to the output stream, a line each."""
    settings = context.state.snapshot.get(SigningSettings)
    return _init(context, settings) if context.words == (INIT,) else _show(context, settings)


def _init(context: Context, settings: SigningSettings) -> int:
    from facefusion.provenance.signing.credential import local_credential, local_identity  # noqa: PLC0415 - slow

    is_there = local_identity(settings) is not None
    credential = local_credential(settings)
    context.terminal.line(THERE if is_there else MADE)
    if settings.signing_certificate is not None:
        context.terminal.line(OTHERS)
    context.write(_lines(credential, settings))
    return 0


def _show(context: Context, settings: SigningSettings) -> int:
    from facefusion.provenance.signing.credential import local_identity  # noqa: PLC0415 - slow

    if settings.signing_certificate is None and local_identity(settings) is None:
        context.terminal.line(
            f"There is no local certificate in {settings.identities} yet. The first run makes one, or: "
            f"facefusion.py trust {INIT}"
        )
        return 0
    from facefusion.provenance.signing.sealer import open_sealer  # noqa: PLC0415 - brings in 30 MB

    context.write(_lines(open_sealer(settings, context.events).credential, settings))
    return 0


def _lines(credential: Credential, settings: SigningSettings) -> str:
    certificate = credential.certificate
    rows = {
        "signed by": credential.signer,
        "name": certificate.name,
        "certificate": certificate.path,
        "fingerprint": f"SHA-256 {certificate.fingerprint}",
        "valid until": f"{certificate.ends:%Y-%m-%d}",
        "algorithm": certificate.algorithm.value,
        "time stamp": settings.time_stamp_authority or "none",
    }
    if credential.anchor is not None:
        rows["anchor"] = credential.anchor
    width = max(map(len, rows)) + 2
    return "".join(f"{printable(f'{name:{width}}{value}')}\n" for name, value in rows.items())
