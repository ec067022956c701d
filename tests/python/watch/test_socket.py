"""The Unix socket: requests, their bounds, and stale or foreign files in its place."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from machine import HandClock, Machine
from tare.errors import TareError
from tare.watch.loop import Loop, pause_s
from tare.watch.socket import Answer, Server


@contextmanager
def serving(path: Path) -> Iterator[HandClock]:
    """A server in a thread, with a clock of the test's."""
    selector, clock, done = selectors.DefaultSelector(), HandClock(), threading.Event()
    server = Server(str(path), lambda method, target, query: Answer(200, f"{method} {target} {query}\n"), selector)

    def serve() -> None:
        while not done.is_set():
            for key, events in selector.select(0.01):
                key.data(events, clock.now_s)
            server.drop_late(clock.now_s)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield clock
    finally:
        done.set()
        thread.join()
        server.close()


def connected(path: Path) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(30)
    peer.connect(str(path))
    return peer


def answer(path: Path, request: bytes) -> str:
    with connected(path) as peer:
        peer.sendall(request)
        return rest(peer)


def rest(peer: socket.socket) -> str:
    received = b""
    while data := peer.recv(65536):
        received += data
    return received.decode()


def test_a_request_and_its_answer(tmp_path: Path) -> None:
    with serving(tmp_path / "s"):
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
        text = answer(tmp_path / "s", b"POST /snapshot?pid=7&x=%20 HTTP/1.1\r\nHost: a\r\n\r\n")
        head, body = text.split("\r\n\r\n")
        assert head.startswith("HTTP/1.1 200 OK\r\n")
        assert f"Content-Length: {len(body)}" in head
        assert body == "POST /snapshot {'pid': '7', 'x': ' '}\n"
    assert not (tmp_path / "s").exists()


def test_a_request_in_pieces(tmp_path: Path) -> None:
    with serving(tmp_path / "s"), connected(tmp_path / "s") as peer:
        for byte in b"GET /metrics HTTP/1.0\r\n\r\n":
            peer.send(bytes([byte]))
        assert "200 OK" in rest(peer)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400),
        (b"GET / SPDY/3\r\n\r\n", 400),
        (b"GET //[ HTTP/1.1\r\n\r\n", 400),
        (b"GET /?" + b"a=1&" * 100 + b" HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"a" * 9000, 431),
    ],
)
def test_bad_requests(tmp_path: Path, request_: bytes, status: int) -> None:
    with serving(tmp_path / "s"):
        assert answer(tmp_path / "s", request_).startswith(f"HTTP/1.1 {status} ")
        assert "200 OK" in answer(tmp_path / "s", b"GET / HTTP/1.1\r\n\r\n")


def test_a_slow_peer_is_dropped(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as clock, connected(tmp_path / "s") as peer:
        peer.send(b"GET / HT")
        time.sleep(0.2)
        clock.now_s += 6.0
        assert peer.recv(100) == b""


def test_connections_are_bounded(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as clock:
        idle = [connected(tmp_path / "s") for _ in range(16)]
        with connected(tmp_path / "s") as refused:
            assert refused.recv(100) == b""
        clock.now_s += 6.0
        for peer in idle:
            assert peer.recv(100) == b""
            peer.close()
        assert "200 OK" in answer(tmp_path / "s", b"GET / HTTP/1.1\r\n\r\n")


def test_a_stale_socket_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    selector = selectors.DefaultSelector()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "s"))
    with serving(tmp_path / "s"), pytest.raises(TareError, match="belongs to another watcher"):
        Server(str(tmp_path / "s"), lambda *_: Answer(200, ""), selector)
    (tmp_path / "f").write_text("x")
    with pytest.raises(TareError, match="isn't a socket of this user"):
        Server(str(tmp_path / "f"), lambda *_: Answer(200, ""), selector)
    (tmp_path / "l").symlink_to(tmp_path / "missing")
    with pytest.raises(TareError, match="isn't a socket of this user"):
        Server(str(tmp_path / "l"), lambda *_: Answer(200, ""), selector)
    with pytest.raises(TareError, match="at most 107 bytes"):
        Server(str(tmp_path / ("x" * 200)), lambda *_: Answer(200, ""), selector)


def test_the_watchers_answers(machine: Machine) -> None:
    machine.start(7)
    machine.write(7)
    watcher = machine.watcher()
    watcher.round()
    loop = Loop(watcher, 5.0, "", machine.clock)
    assert loop.handle("GET", "/healthz", {}) == (200, "ok\n", "text/plain; charset=utf-8")
    metrics = loop.handle("GET", "/metrics", {})
    assert metrics.kind.startswith("application/openmetrics-text; version=1.0.0")
    assert 'tare_heap_live_bytes{pid="7"' in metrics.body
    taken = loop.handle("POST", "/snapshot", {"pid": "7"})
    assert taken.status == 200 and ".http." in taken.body
    assert loop.handle("POST", "/snapshot", {}).status == 429
    machine.clock.now_s += 1.0
    assert loop.handle("POST", "/snapshot", {"pid": "8"}).status == 503
    assert loop.handle("POST", "/snapshot", {"pid": "x"}).status == 400
    assert loop.handle("GET", "/snapshot", {}).status == 405
    assert loop.handle("GET", "/", {}).status == 404
    assert machine.reasons() == ["timer", "http"]


def test_a_long_round_lengthens_the_pause() -> None:
    assert pause_s(5.0, 0.001) == 5.0
    assert pause_s(5.0, 1.0) == 50.0  # 2 % of a CPU
    assert pause_s(5.0, 9.0) == 60.0
    assert pause_s(300.0, 9.0) == 300.0


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    with serving(tmp_path / "s"):
        answer(tmp_path / "s", b"GET / HTTP/1.1\r\n\r\n")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(50):
            answer(tmp_path / "s", b"GET / HTTP/1.1\r\n\r\n")
        time.sleep(0.1)
        assert len(os.listdir("/proc/self/fd")) <= before
