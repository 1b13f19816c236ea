"""Keys of QUIC's Initial packets, version by version: what tshark decrypts has its name here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from captures import client_hello, sized, udp_frame, write_pcap
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from sojourn_ingest import _native

pytestmark = pytest.mark.integration

#: Salts of draft-ietf-quic-tls-23, -29 and -33 (section 5.2 of each), which stayed for the drafts after them; that of
#: -33 is RFC 9001's.
SALT_23, SALT_29, SALT_33 = (
    bytes.fromhex(salt)
    for salt in (
        "c3eef712c72ebb5a11a7d2432bb46365bef9f502",
        "afbfec289993d24c9e9786f19c6111e04390a899",
        "38762cf7f55934b34d179ae6a4c80cadccbb7f0a",
    )
)
VERSIONS = {
    0xFF000017: (SALT_23, "draft-28"),
    0xFF00001C: (SALT_23, "draft-28"),
    0xFF00001D: (SALT_29, "draft-29"),
    0xFF000020: (SALT_29, "draft-29"),
    0xFF000021: (SALT_33, "draft-34"),
    0xFF000022: (SALT_33, "draft-34"),
    0x00000001: (SALT_33, "1"),
}


def expanded(secret: bytes, label: bytes, length: int) -> bytes:
    info = length.to_bytes(2, "big") + sized(1, b"tls13 " + label) + b"\0"
    return HKDFExpand(SHA256(), length, info).derive(secret)


def initial(version: int, salt: bytes, name: bytes) -> bytes:
    """Return a client's first datagram: a ClientHello in one CRYPTO frame, padded, number 0."""
    connection_id = bytes(4) + version.to_bytes(4, "big")
    extract = HMAC(salt, SHA256())
    extract.update(connection_id)
    secret = expanded(extract.finalize(), b"client in", 32)
    key, nonce, mask_key = (
        expanded(secret, b"quic " + what, size) for what, size in ((b"key", 16), (b"iv", 12), (b"hp", 16))
    )
    hello = client_hello(name)[5:]
    frames = (b"\x06\0" + (0x4000 | len(hello)).to_bytes(2, "big") + hello).ljust(1162, b"\0")
    length = (0x4000 | (4 + len(frames) + 16)).to_bytes(2, "big")
    header = b"\xc3" + version.to_bytes(4, "big") + sized(1, connection_id) + b"\0\0" + length
    number = bytes(4)
    sealed = AESGCM(key).encrypt(nonce, frames, header + number)
    mask = Cipher(algorithms.AES(mask_key), modes.ECB()).encryptor().update(sealed[:16])
    first = header[0] ^ (mask[0] & 0x0F)
    return bytes([first]) + header[1:] + bytes(a ^ b for a, b in zip(number, mask[1:], strict=False)) + sealed


def test_what_tshark_decrypts_has_its_name(tmp_path: Path) -> None:
    frames = [
        udp_frame(
            initial(version, salt, f"v{version:x}.example.com".encode()), ("10.0.0.1", 1000 + n), ("10.0.0.2", 443)
        )
        for n, (version, (salt, _)) in enumerate(VERSIONS.items())
    ]
    path = write_pcap(tmp_path / "initials.pcap", frames)
    tool = shutil.which("tshark")
    assert tool, "tshark is missing; make setup-tests installs it"
    command = [
        tool,
        "-r",
        str(path),
        "-d",
        "udp.port==443,quic",
        "-T",
        "fields",
        "-e",
        "tls.handshake.extensions_server_name",
    ]
    wanted = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert wanted == [f"v{version:x}.example.com" for version in VERSIONS]
    decoder = _native.CaptureDecoder(str(path), server_names="full")
    flows = [row for name, batch in decoder if name == "flow" for row in batch.to_pylist()]
    assert [flow["server_name"] for flow in flows] == wanted
    assert [flow["quic_version"] for flow in flows] == [name for _, name in VERSIONS.values()]
