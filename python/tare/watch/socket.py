"""HTTP on a Unix socket: GET /metrics, GET /healthz, POST /snapshot. Requests, connections and times are bounded."""

from __future__ import annotations

import json
import os
import selectors
import socket
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tare.errors import IO, TareError

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_HEAD = 8192
_MOST_CONNECTIONS = 16
_TIMEOUT_S = 5.0
_LONGEST_PATH = 107  # sockaddr_un
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 429: "Too Many Requests",
            431: "Request Header Fields Too Large", 503: "Service Unavailable"}  # fmt: skip


class Answer(NamedTuple):
    status: int
    body: str
    kind: str = "text/plain; charset=utf-8"


class _Connection:
    def __init__(self, peer: socket.socket, until_s: float) -> None:
        self.peer = peer
        self.until_s = until_s
        self.received = b""
        self.sending = b""


class Server:
    """One thread: all sockets are non-blocking and belong to the watcher's selector."""

    def __init__(
        self, path: str, handle: Callable[[str, str, dict[str, str]], Answer], selector: selectors.BaseSelector
    ) -> None:
        """`handle`: method, path and query of a request."""
        self._path = path
        self._handle = handle
        self._selector = selector
        self._connections: dict[int, _Connection] = {}
        self._listener = _listening(path)
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        for each in list(self._connections.values()):
            self._drop(each)
        self._selector.unregister(self._listener)
        self._listener.close()
        with suppress(OSError):
            os.unlink(self._path)

    def drop_late(self, now_s: float) -> None:
        for each in [each for each in self._connections.values() if now_s >= each.until_s]:
            self._drop(each)

    def next_timeout_s(self) -> float | None:
        return min((each.until_s for each in self._connections.values()), default=None)

    def _accept(self, _events: int, now_s: float) -> None:
        try:
            peer, _ = self._listener.accept()
        except OSError:
            return
        if len(self._connections) >= _MOST_CONNECTIONS:
            peer.close()
            return
        peer.setblocking(False)
        connection = _Connection(peer, now_s + _TIMEOUT_S)
        self._connections[peer.fileno()] = connection
        self._selector.register(peer, selectors.EVENT_READ, lambda events, _now_s: self._serve(connection, events))

    def _serve(self, connection: _Connection, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                self._receive(connection)
            if connection.sending:
                connection.sending = connection.sending[connection.peer.send(connection.sending) :]
                if not connection.sending:
                    self._drop(connection)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)

    def _receive(self, connection: _Connection) -> None:
        data = connection.peer.recv(_MOST_HEAD)
        connection.received += data
        head, end, _ = connection.received.partition(b"\r\n\r\n")
        if end:
            answer = self._answer(head)
        elif len(connection.received) > _MOST_HEAD:
            answer = Answer(431, "the request is too long\n")
        elif not data:
            self._drop(connection)
            return
        else:
            return
        body = answer.body.encode("utf-8", "replace")
        connection.sending = (
            f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\nContent-Type: {answer.kind}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        ).encode() + body
        self._selector.modify(
            connection.peer,
            selectors.EVENT_WRITE,
            lambda events, _now_s: self._serve(connection, events),
        )

    def _answer(self, head: bytes) -> Answer:
        try:
            method, target, version = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
            parts = urlsplit(target)
            query = {name: values[-1] for name, values in parse_qs(parts.query, max_num_fields=8).items()}
        except ValueError:
            return Answer(400, "no HTTP request\n")
        if not version.startswith("HTTP/1."):
            return Answer(400, "no HTTP request\n")
        return self._handle(method, parts.path, query)

    def _drop(self, connection: _Connection) -> None:
        self._connections.pop(connection.peer.fileno(), None)
        self._selector.unregister(connection.peer)
        connection.peer.close()


def _listening(path: str) -> socket.socket:
    """A stale socket of a killed watcher is replaced; any other file stays."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise TareError(IO, f"{path}: a socket's path has at most {_LONGEST_PATH} bytes: give --socket a shorter one")
    try:
        status = os.lstat(path)
    except OSError:
        pass
    else:
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid not in (os.geteuid(), 0):
            raise TareError(
                IO, f"{path} exists and isn't a socket of this user: delete it, or give --socket another path"
            )
        if _is_served(path):
            raise TareError(IO, f"{path} belongs to another watcher: give --socket another path")
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    mask = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen(_MOST_CONNECTIONS)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise TareError(IO, f"{path}: {error.strerror}") from None
    finally:
        os.umask(mask)
    return listener


def _is_served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


def as_json(value: object) -> Answer:
    return Answer(200, json.dumps(value) + "\n", "application/json")
