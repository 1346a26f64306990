"""RDS's behavior for its clients on AWS: PostgreSQL behind TLS, with a certificate from our own CA.

`make setup`'s PostgreSQL is built without TLS, so a proxy does the handshake, according to the protocol (PostgreSQL's
manual, "SSL Session Encryption"); behind it is the real server.
"""

import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from local.setup.ports import HOST

DAY = datetime.timedelta(days=1)
SSL_REQUEST = bytes.fromhex("0000000804d2162f")


class Authority:
    """Signs servers' certificates; `root` is its own, as PEM."""

    def __init__(self, name: str) -> None:
        self._name = _named(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.root = self._sign(self._name, self._key.public_key(), x509.BasicConstraints(ca=True, path_length=0))

    def server(self, host: str, folder: Path) -> ssl.SSLContext:
        """Create a certificate for that host name; return what a server needs to show it."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(_named(host), key.public_key(), x509.SubjectAlternativeName([x509.DNSName(host)]))
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = folder / f"{host}.pem"
        path.write_text(certificate + private.decode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, extension: x509.ExtensionType) -> str:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(extension, critical=False)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@contextlib.contextmanager
def encrypted(port: int, context: ssl.SSLContext) -> Iterator[int]:
    """Serve the PostgreSQL at `port` behind TLS only, at the port that this yields."""
    listener = socket.create_server((HOST, 0))
    thread = threading.Thread(target=_serve, args=(listener, port, context), daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        # Closing alone wouldn't wake the thread.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _serve(listener: socket.socket, port: int, context: ssl.SSLContext) -> None:
    while True:
        try:
            client, _address = listener.accept()
        except OSError:
            return
        threading.Thread(target=_session, args=(client, port, context), daemon=True).start()


def _session(client: socket.socket, port: int, context: ssl.SSLContext) -> None:
    """Shake hands and forward both directions; drop a client that doesn't want TLS, or rejects ours."""
    with contextlib.suppress(OSError), client:
        if client.recv(len(SSL_REQUEST)) != SSL_REQUEST:
            return
        client.sendall(b"S")
        with context.wrap_socket(client, server_side=True) as inside, socket.create_connection((HOST, port)) as server:
            back = threading.Thread(target=_pass_on, args=(server, inside), daemon=True)
            back.start()
            _pass_on(inside, server)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
