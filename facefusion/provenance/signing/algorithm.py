"""How a key signs: it follows from the key, so nobody has to choose."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm

LEAST_RSA_BITS = 2048


class Algorithm(Enum):
    """Signature algorithms of the C2PA specification (section 13.2), by the names of its library."""

    ES256 = "es256"
    """ECDSA on P-256 with SHA-256."""
    ES384 = "es384"
    """ECDSA on P-384 with SHA-384."""
    ES512 = "es512"
    """ECDSA on P-521 with SHA-512."""
    PS256 = "ps256"
    """RSASSA-PSS with SHA-256, for the mask too, and a salt of 32 bytes."""
    ED25519 = "ed25519"
    """Ed25519."""


_CURVES: dict[str, tuple[Algorithm, HashAlgorithm]] = {
    "secp256r1": (Algorithm.ES256, SHA256()),
    "secp384r1": (Algorithm.ES384, SHA384()),
    "secp521r1": (Algorithm.ES512, SHA512()),
}
_PSS = padding.PSS(padding.MGF1(SHA256()), SHA256.digest_size)


def algorithm_of(key: PublicKeyTypes) -> Algorithm | None:
    """How the key's other half signs; none where C2PA knows no way."""
    match key:
        case ec.EllipticCurvePublicKey() if key.curve.name in _CURVES:
            return _CURVES[key.curve.name][0]
        case rsa.RSAPublicKey() if key.key_size >= LEAST_RSA_BITS:
            return Algorithm.PS256
        case ed25519.Ed25519PublicKey():
            return Algorithm.ED25519
        case _:
            return None


def sign(key: PrivateKeyTypes, data: bytes) -> bytes:
    """A signature, for elliptic curves as DER.

    Raises:
        TypeError: :func:`algorithm_of` knows no way for such a key.
    """
    match key:
        case ec.EllipticCurvePrivateKey():
            return key.sign(data, ec.ECDSA(_CURVES[key.curve.name][1]))
        case rsa.RSAPrivateKey():
            return key.sign(data, _PSS, SHA256())
        case ed25519.Ed25519PrivateKey():
            return key.sign(data)
        case _:
            raise TypeError(f"C2PA knows no signatures of {type(key).__name__}")


def fits(key: PublicKeyTypes, signature: bytes, data: bytes) -> bool:
    """Whether a signature is one of the data. An elliptic curve's may be DER, or both numbers one after the other."""
    match key:
        case ec.EllipticCurvePublicKey():
            hashed = ec.ECDSA(_CURVES[key.curve.name][1])
            forms = (signature, _as_der(signature, key.curve.key_size))
            return any(_verifies(partial(key.verify, form, data, hashed)) for form in forms)
        case rsa.RSAPublicKey():
            return _verifies(partial(key.verify, signature, data, _PSS, SHA256()))
        case ed25519.Ed25519PublicKey():
            return _verifies(partial(key.verify, signature, data))
        case _:
            return False


def _as_der(signature: bytes, bits: int) -> bytes:
    """The DER form of two numbers of that many bits; the same bytes where they are no two such numbers."""
    half = (bits + 7) // 8
    if len(signature) != 2 * half:
        return signature
    return encode_dss_signature(int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big"))


def _verifies(verify: Callable[[], None]) -> bool:
    try:
        verify()
    except InvalidSignature:
        return False
    return True
