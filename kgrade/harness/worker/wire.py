"""The worker's end of the line: requests with their shared memory come in, one answer to each goes out."""

from __future__ import annotations

import json
import mmap
import os
import socket
from typing import Any, Dict, List, Optional

PACKET_BYTES = 64 << 10
TEXT_CHARACTERS = 4800  # two such texts fit into a packet even when every character must be escaped


class Request:
    """One request: what to do, its details, and views of the shared memory that came with it."""

    def __init__(self, message: Dict[str, Any], descriptors: List[int]) -> None:
        self.message = message
        self.what = message["do"]
        self.inputs: Optional[mmap.mmap] = None
        self.outputs: Optional[mmap.mmap] = None
        if descriptors:
            self.inputs = mmap.mmap(descriptors[0], 0, prot=mmap.PROT_READ)
        if len(descriptors) > 1:
            self.outputs = mmap.mmap(descriptors[1], 0)
        for descriptor in descriptors:
            os.close(descriptor)


class Line:
    """Receives requests and answers them; the nonce is known to the two ends only."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)

    def receive(self) -> Optional[Request]:
        """Return the next request, or None when the other side has hung up."""
        packet, descriptors, _, _ = socket.recv_fds(self._socket, PACKET_BYTES, 2)
        return Request(json.loads(packet), descriptors) if packet else None

    def answer(self, request: Request, **details: Any) -> None:
        """Send the answer to `request`."""
        message = {"nonce": request.message["nonce"], "number": request.message["number"]}
        message.update(details)
        packet = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        if len(packet) > PACKET_BYTES:
            raise ValueError("an answer of {} bytes does not fit into a packet".format(len(packet)))
        self._socket.sendall(packet)


def shortened(text: str) -> str:
    """Return `text` with its middle left out where it would not fit into an answer."""
    if len(text) <= TEXT_CHARACTERS:
        return text
    half = TEXT_CHARACTERS // 2
    return text[:half] + "\n[...]\n" + text[-half:]
