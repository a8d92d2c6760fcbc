"""What may cross the wall, against a worker's end that lies, stalls and hangs up."""

from __future__ import annotations

import ast
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kgrade.harness import worker
from kgrade.harness.channel import PACKET_BYTES, Broken, Cancelled, Channel, Memory, TooLate

Peer = Callable[[socket.socket, dict[str, Any]], None]


@pytest.fixture
def channel() -> Iterator[Channel]:
    made = Channel()
    yield made
    made.close()


def ask(channel: Channel, peer: Peer, within_s: float = 5.0, **keywords: Any) -> dict[str, Any]:
    """Ask with `peer` at the other end, in a thread of its own."""
    other = channel.other.dup()
    channel.opened()

    def serve() -> None:
        with other:
            peer(other, json.loads(other.recv(PACKET_BYTES)))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        return channel.ask("call", within_s=within_s, **keywords)
    finally:
        thread.join(timeout=10)


def answering(**changes: Any) -> Peer:
    def peer(line: socket.socket, request: dict[str, Any]) -> None:
        line.sendall(json.dumps({"nonce": request["nonce"], "number": request["number"], **changes}).encode())

    return peer


def test_an_honest_answer_arrives(channel: Channel) -> None:
    assert ask(channel, answering(seconds=1.5))["seconds"] == 1.5


@pytest.mark.parametrize(
    ("peer", "reason"),
    [
        (answering(nonce="0" * 32), "does not carry this run's nonce"),
        (answering(nonce="\u00e9\ud800"), "does not carry this run's nonce"),
        (answering(nonce=None), "does not carry this run's nonce"),
        (answering(number=7), "numbered 7, not 1"),
        (lambda line, request: line.sendall(b"passed"), "is not JSON"),
        (lambda line, request: line.sendall(b"[" * 60000), "is not JSON"),
        (lambda line, request: line.sendall(b'["passed"]'), "is not an object"),
        (lambda line, request: line.sendall(b'{"nonce": "' + b"x" * PACKET_BYTES), "is not JSON"),
        (lambda line, request: None, "ended before it answered"),
    ],
)
def test_a_forged_or_missing_answer_is_refused(channel: Channel, peer: Peer, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        ask(channel, peer)


def test_silence_ends_at_the_limit_and_cancelling_at_once(channel: Channel) -> None:
    release = threading.Event()

    def silent(line: socket.socket, request: dict[str, Any]) -> None:
        release.wait(10)

    releaser = threading.Timer(1.0, release.set)
    releaser.start()
    begin = time.monotonic()
    with pytest.raises(TooLate, match=r"no answer to `call` within 0.2 s"):
        ask(channel, silent, within_s=0.2)
    assert time.monotonic() - begin < 5

    second = Channel()
    release.clear()
    threading.Timer(1.0, release.set).start()
    with pytest.raises(Cancelled):
        ask(second, silent, within_s=60, cancelled=lambda: True)
    second.close()


def test_inputs_cannot_be_written_and_outputs_cannot_grow() -> None:
    given = Memory.holding([b"abc", memoryview(b"defg")])
    assert given.read(0, 7) == b"abcdefg"
    with pytest.raises(PermissionError):
        os.pwrite(given.descriptor, b"x", 0)
    room = Memory.empty(4)
    os.pwrite(room.descriptor, b"wxyz", 0)
    assert room.read(1, 3) == b"xyz"
    with pytest.raises(PermissionError):
        os.ftruncate(room.descriptor, 8)
    with pytest.raises(PermissionError):
        os.ftruncate(room.descriptor, 1)
    with pytest.raises(Broken, match="claims bytes 2 to 6 of 4"):
        room.read(2, 4)
    given.close()
    room.close()


def test_memory_travels_with_its_request(channel: Channel) -> None:
    given = Memory.holding([b"payload"])
    other = channel.other.dup()

    def peer() -> None:
        packet, descriptors, _, _ = socket.recv_fds(other, PACKET_BYTES, 2)
        request = json.loads(packet)
        said = os.pread(descriptors[0], 7, 0).decode()
        other.sendall(json.dumps({"nonce": request["nonce"], "number": request["number"], "said": said}).encode())
        os.close(descriptors[0])

    thread = threading.Thread(target=peer)
    thread.start()
    assert channel.ask("call", within_s=5, memory=[given])["said"] == "payload"
    thread.join()
    other.close()
    given.close()


def test_the_worker_keeps_to_python_3_9_and_imports_nothing_else_of_kgrade() -> None:
    files = sorted(Path(worker.__file__).parent.rglob("*.py"))
    assert len(files) > 8
    for file in files:
        tree = ast.parse(file.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert not (node.module or "").startswith("kgrade"), file
            if isinstance(node, ast.ImportFrom) and node.level > 1:
                inside = file.parent != Path(worker.__file__).parent
                assert inside, f"{file} reaches above the worker"
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("kgrade") for alias in node.names), file
