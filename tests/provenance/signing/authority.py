"""A time-stamp authority on this machine, which openssl makes the answers of."""

from __future__ import annotations

import http.server
import subprocess
import threading
from contextlib import contextmanager

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.provenance.signing.certificates import Root, write_key

CONFIGURATION = """
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


@contextmanager
def listening(answer):
    """A server that answers each request by a function from its body; gives its address and what it was asked."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(b"")

        def do_POST(self):
            self.answer(self.rfile.read(int(self.headers["content-length"])))

        def answer(self, body):
            asked.append((self.command, self.path))
            status, kind, content = answer(body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def nothing(body):
    return 404, "text/plain", b""


@contextmanager
def stamping(folder):
    """An authority that stamps; gives its address, what it was asked, and its root."""
    key, root = ec.generate_private_key(ec.SECP256R1()), Root("Root of time")
    certificate = root.issue(key, purpose=ExtendedKeyUsageOID.TIME_STAMPING, critical=True, name="Time of tests")
    (folder / "time.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    write_key(folder / "time.key", key)
    (folder / "serial").write_text("01")
    (folder / "time.cnf").write_text(CONFIGURATION.format(folder=folder))

    def answer(body):
        (folder / "query").write_bytes(body)
        words = ["openssl", "ts", "-reply", "-queryfile", "query", "-config", "time.cnf", "-inkey", "time.key"]
        subprocess.run([*words, "-signer", "time.pem", "-out", "reply"], cwd=folder, check=True, capture_output=True)
        return 200, "application/timestamp-reply", (folder / "reply").read_bytes()

    with listening(answer) as (address, asked):
        yield address, asked, root
