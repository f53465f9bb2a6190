"""HTTPS: TLS 1.2 or newer, HTTP/1.1, one thread for each connection.

The service behind it never sees a socket; how an answer goes over the wire is its ``Delivery``.
"""

from __future__ import annotations

import http.server
import pathlib
import select
import socket
import ssl
import threading
import time
from typing import Any, Callable

from .answer import Answer, Request
from .faults import Delivery, Faults
from .refusal import Refusal
from .service import refuse
from .traffic import Traffic

IDLE_SECONDS = 60
_DRAIN_BYTES = 16 * 1024 * 1024
_ACCEPT_PAUSE = 0.05


class Server:
    """Listens on one port for as long as the object lives, also across ``offline`` and ``online``."""

    def __init__(self, address: tuple[str, int], certificate: pathlib.Path, key: pathlib.Path, max_body: int,
                 serve: Callable[[Request], Answer], faults: Faults, traffic: Traffic, emit: Callable[[dict[str, Any]], None]):
        self.max_body = max_body
        self.faults = faults
        self.traffic = traffic
        self.serve = serve
        self.holds = Holds(emit)
        self._lock = threading.Lock()
        self._connections: set[ssl.SSLSocket] = set()
        self._listener: socket.socket | None = None
        self._context = _context(certificate, key)
        # A second socket that never listens keeps the port while the server is offline: dialling it is refused, and nobody else gets it.
        self._reserved = _bound(address)
        self.address: tuple[str, int] = self._reserved.getsockname()[:2]

    def online(self) -> None:
        """Accept connections. Nothing happens when it does already."""
        with self._lock:
            if self._listener is not None:
                return
            self._listener = _bound(self.address)
            self._listener.listen(64)
            threading.Thread(target=self._accept, args=(self._listener,), name="accept", daemon=True).start()

    def offline(self) -> None:
        """Refuse connections and close those that are open."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.hang_up()

    def close(self) -> None:
        """Go offline for good."""
        self.offline()
        self._reserved.close()

    def use_certificate(self, certificate: pathlib.Path, key: pathlib.Path) -> None:
        """Another certificate, from the next handshake on; connections made with the old one are closed."""
        context = _context(certificate, key)
        with self._lock:
            self._context = context
        self.hang_up()

    def hang_up(self) -> None:
        """Close every connection; a held answer is dropped."""
        self.holds.drop_all()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _shut(connection)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                raw, peer = listener.accept()
            except OSError:
                if self._listener is not listener:
                    return
                time.sleep(_ACCEPT_PAUSE)  # out of descriptors, most likely: wait until connections have ended
                continue
            try:
                connection = self._wrap(raw, listener)
            except OSError:
                raw.close()  # the peer has gone already
                continue
            threading.Thread(target=self._converse, args=(connection, peer), name="connection", daemon=True).start()

    def _wrap(self, raw: socket.socket, listener: socket.socket) -> ssl.SSLSocket:
        """TLS with the present certificate. The handshake waits: a peer that does not make it must not hold up the others."""
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.settimeout(IDLE_SECONDS)
        with self._lock:
            connection = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
            self._connections.add(connection)
            accepted = self._listener is listener
        if not accepted:
            _shut(connection)  # offline came in between
        return connection

    def _converse(self, connection: ssl.SSLSocket, peer: Any) -> None:
        try:
            connection.do_handshake()
            _Exchange(connection, peer, self)
        except OSError:
            pass  # the peer hung up, refused our certificate or was too slow: nothing was promised to it
        finally:
            with self._lock:
                self._connections.discard(connection)
            _shut(connection)
            connection.close()


class Holds:
    """Answers that wait, each under the key of its request, for a word from the control socket."""

    def __init__(self, emit: Callable[[dict[str, Any]], None]):
        self._emit = emit
        self._changed = threading.Condition()
        self._waiting: dict[str, bool | None] = {}

    def wait(self, key: str) -> bool:
        """Emit the event, then wait; True when the answer may go."""
        with self._changed:
            self._waiting[key] = None
        self._emit({"event": "stored-held", "key": key})
        with self._changed:
            self._changed.wait_for(lambda: self._waiting[key] is not None)
            return bool(self._waiting.pop(key))

    def decide(self, key: str, release: bool) -> bool:
        """False when no answer waits under this key."""
        with self._changed:
            if key not in self._waiting:
                return False
            self._waiting[key] = release
            self._changed.notify_all()
            return True

    def drop_all(self) -> None:
        """No answer waits any more."""
        with self._changed:
            self._waiting = {key: False if decision is None else decision for key, decision in self._waiting.items()}
            self._changed.notify_all()


class _Exchange(http.server.BaseHTTPRequestHandler):
    """The requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server_version = "raw-windows-reference"
    sys_version = ""
    default_request_version = "HTTP/1.0"  # even an unreadable request line gets a status line back
    server: Server


    def handle_expect_100(self) -> bool:
        """Refuse a body that is too big before it is sent (RFC 9110, 10.1.1)."""
        return self._refusal_of_length() is not None or super().handle_expect_100()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are in ``traffic``; stdout belongs to the events."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server itself finds wrong, in the form of all our refusals."""
        self.close_connection = True
        self._send(refuse(Refusal(int(code), "http", "request", message or "not HTTP/1.1")))

    def handle_request(self) -> None:
        refusal = self._refusal_of_length()
        if refusal is not None:
            self._refuse_unread(refusal)
            return
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        request = self._request(body)
        entry = self.server.traffic.arrived(request)
        delivery = self.server.faults.deliver(request, self.server.serve)
        self._deliver(entry, delivery)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_request

    def _request(self, body: bytes) -> Request:
        headers: dict[str, list[str]] = {}
        for name, line in self.headers.items():
            headers.setdefault(name.lower(), []).append(line.strip())
        return Request(self.command, self.path, headers, body)

    def _refusal_of_length(self) -> Refusal | None:
        if self.headers.get("Transfer-Encoding"):
            return Refusal(411, "length-missing", "header Transfer-Encoding", "send the body with Content-Length, not in chunks")
        lengths = self.headers.get_all("Content-Length") or []
        if not lengths and self.command == "POST":
            return Refusal(411, "length-missing", "header Content-Length", "this header is required")
        if len(set(lengths)) > 1 or not all(length.isascii() and length.isdigit() for length in lengths):
            return Refusal(400, "header-malformed", "header Content-Length", "one number of bytes is expected")
        if lengths and int(lengths[0]) > self.server.max_body:
            return Refusal(413, "too-large", "header Content-Length", f"the body may have {self.server.max_body} bytes, not {lengths[0]}")
        return None

    def _refuse_unread(self, refusal: Refusal) -> None:
        """Answer without reading the body, then take in some of it: a reset would destroy the answer on its way."""
        entry = self.server.traffic.arrived(self._request(b""))
        self.close_connection = True
        self.server.traffic.answered(entry, refusal.status, None)
        self._send(refuse(refusal))
        left = _DRAIN_BYTES
        while left > 0 and (chunk := self.rfile.read1(min(left, 65536))):
            left -= len(chunk)

    def _deliver(self, entry: dict[str, Any], delivery: Delivery) -> None:
        if delivery.stall:
            select.select([self.connection], [], [])
        if delivery.delay:
            # The wait ends early when the peer hangs up.
            select.select([self.connection], [], [], delivery.delay)
        released = delivery.hold is None or self.server.holds.wait(delivery.hold)
        answer = delivery.answer
        if answer is None or delivery.stall or not released:
            self.server.traffic.answered(entry, None, delivery.fault)
            self.close_connection = True
            return
        self.server.traffic.answered(entry, answer.status, delivery.fault)
        if delivery.truncate:
            self.close_connection = True
            self._send(answer, only=len(answer.body) // 2)
        elif delivery.drip is not None:
            self._send(answer, drip=delivery.drip)
        else:
            self._send(answer)

    def _send(self, answer: Answer, only: int | None = None, drip: float | None = None) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if answer.content_type:
            self.send_header("Content-Type", answer.content_type)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        if drip is None:
            # One write, so that headers and content leave together.
            self._headers_buffer.append(b"\r\n" + (b"" if self.command == "HEAD" else answer.body[:only]))
            self.flush_headers()
            return
        self.end_headers()
        for index in range(len(answer.body)):
            select.select([self.connection], [], [], drip)
            self.wfile.write(answer.body[index:index + 1])


def _context(certificate: pathlib.Path, key: pathlib.Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _bound(address: tuple[str, int]) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(address)
    return bound


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # not connected any more
