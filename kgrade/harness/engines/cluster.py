"""The engine that is a Ray cluster: each item on a target is one task of it, its stages in order.

kgrade does not start clusters: it joins the one that runs on this machine, or the one that RAY_ADDRESS names. What is
tried again, and where, is decided here and not by Ray, which knows nothing of submissions.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from kgrade.harness.engines import Collected, EngineError, Undone, attempts, parcels, remote
from kgrade.harness.engines.demands import Demand, demand
from kgrade.harness.progress import OnProgress
from kgrade.harness.run import ItemSource

NOT_INSTALLED = (
    "--engine ray needs Ray, which is not installed beside kgrade; install kgrade with its extra, as"
    " `pip install -e '.[cluster]'` does in a checkout, here and on every node"
)
NO_CLUSTER = (
    "no Ray cluster answers{where}; on one machine run `ray start --head`, on the others"
    " `ray start --address=HEAD:6379`, and start this on one of them"
)
CONNECT_S = 10.0
NODE_LABEL = "ray.io/node-id"
LOOK_S = 5.0  # between two looks at the nodes while an item waits for one
LONELY_S = 60.0  # so long an item waits for a node that could run it after the last such node is gone
SETTLE_S = 5.0  # so long an interrupted task may take to end its sandbox and remove its files
KEPT_PARCELS = 4096
MOST_AT_ONCE = 1024


class RayCluster:
    """Runs items on the nodes of the cluster that this process has joined."""

    def __init__(self, ray: Any, note: Callable[[str], None]) -> None:
        self._ray = ray
        self._note = note
        self._task = ray.remote(_task_body())
        self._parcels = _Parcels(ray)
        self._seen: dict[str, Mapping[str, float]] = {}

    @classmethod
    def joined(cls, note: Callable[[str], None]) -> RayCluster:
        """Join the cluster; raise EngineError where Ray, or a cluster, is missing."""
        # Ray prints what its nodes complain of to standard output, where results go. Lines that match are left out.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^")
        try:
            import ray
            from ray import init  # a folder called ray, such as Ray's own /tmp/ray, can be imported too and has none
        except ImportError:
            raise EngineError(NOT_INSTALLED) from None
        address = os.environ.get("RAY_ADDRESS", "auto")
        if "://" in address:
            raise EngineError(
                f"RAY_ADDRESS is {address}, which goes through Ray's client server; start this on a node of the"
                " cluster instead, with RAY_ADDRESS unset or HEAD:6379"
            )
        if address != "auto" and not _answers(address):
            raise EngineError(NO_CLUSTER.format(where=f" at {address}, which RAY_ADDRESS names"))
        try:
            init(address=address, log_to_driver=False, logging_level="ERROR", namespace="kgrade")
        except ConnectionError:
            raise EngineError(NO_CLUSTER.format(where="")) from None
        except (RuntimeError, ValueError) as why:
            raise EngineError(f"the Ray cluster cannot be joined: {str(why).splitlines()[0]}") from None
        return cls(ray, note)

    @property
    def at_once(self) -> int:
        """An item for each processor that nodes offer, and one more a node that waits its turn there."""
        nodes = self._nodes()
        return max(1, min(MOST_AT_ONCE, sum(int(node.get("CPU", 0)) + 1 for node in nodes if node.get("CPU", 0))))

    def collect(
        self,
        source: ItemSource,
        target: str,
        stages: Collection[str],
        on_progress: OnProgress,
        cancel: threading.Event,
        python: str | None,
    ) -> Collected:
        """Run the stages on a node; see `Engine.collect`."""
        sent: dict[str, Any] = {}

        def send(tree: str | None, read: Callable[[], Mapping[str, bytes]]) -> str:
            name, sent_as = self._parcels.stored(tree, read)
            sent[name] = sent_as
            return name

        order = msgspec.msgpack.encode(parcels.order(source, target, stages, python, send))
        # A target that once had a device waits for one: without, the evidence would say less than it did.
        self._seen |= self._nodes_by_id()
        needs = demand(target, list(self._seen.values()))
        name = f"{source.item} {target}"

        def begin(avoided: Sequence[str]) -> attempts.Attempt:
            others = [node for node, has in self._nodes_by_id().items() if node not in avoided and needs.fits(has)]
            where = {NODE_LABEL: f"!in({','.join(avoided)})"} if avoided and others else None
            options = self._task.options(
                name=name,
                num_cpus=1,
                num_gpus=needs.gpus,
                accelerator_type=needs.accelerator,
                resources={needs.named: 1} if needs.named else None,
                label_selector=where,
                scheduling_strategy="SPREAD",
                num_returns="streaming",
                max_retries=0,
            )
            run = options.remote(order, sent, bool(needs.gpus))
            return _Attempt(self._ray, run, lambda: any(needs.fits(node) for node in self._nodes()), needs)

        return attempts.persist(begin, on_progress, cancel, lambda why: self._note(f"{source.item} on {target}: {why}"))

    def close(self) -> None:
        """Leave the cluster; it goes on."""
        self._ray.shutdown()

    def _nodes(self) -> list[Mapping[str, float]]:
        return list(self._nodes_by_id().values())

    def _nodes_by_id(self) -> dict[str, Mapping[str, float]]:
        return {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}


def _answers(address: str) -> bool:
    """Whether something listens at `HOST:PORT`; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _task_body() -> Callable[..., Any]:
    """Return what Ray runs on a node.

    It is a function within a function so that it travels by value: a node without kgrade can then say so.
    """

    def carry_out(order: bytes, sent: dict[str, Any], on_gpu: bool) -> Any:
        import ray

        yield ray.get_runtime_context().get_node_id()
        from kgrade.harness.engines import remote

        yield from remote.carry_out(order, lambda name: ray.get(sent[name]), on_gpu=on_gpu)

    return carry_out


class _Parcels:
    """Parcels in the cluster's object store: each goes there once, and nodes take from there what they need.

    The newest are remembered; one that is forgotten stays in the store for as long as a task holds its reference.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._by_tree: OrderedDict[str, tuple[str, Any]] = OrderedDict()
        self._turn = threading.Lock()

    def stored(self, tree: str | None, read: Callable[[], Mapping[str, bytes]]) -> tuple[str, Any]:
        """Store what `read` gives, unless the files of `tree` are stored; return the parcel's name and reference."""
        with self._turn:
            if tree is not None and tree in self._by_tree:
                self._by_tree.move_to_end(tree)
                return self._by_tree[tree]
        name, data = parcels.packed(read())
        found = name, self._ray.put(data)
        if tree is not None:
            with self._turn:
                found = self._by_tree.setdefault(tree, found)
                while len(self._by_tree) > KEPT_PARCELS:
                    self._by_tree.popitem(last=False)
        return found


class _Attempt:
    """One task of the cluster, seen from here. The first thing that it tells is the node that it runs on."""

    def __init__(self, ray: Any, run: Any, possible: Callable[[], bool], needs: Demand) -> None:
        self._ray, self._run = ray, run
        self._possible, self._needs = possible, needs
        self._looked = time.monotonic()
        self._lonely_since: float | None = None
        self._over = False
        self.node: str | None = None

    def heard(self, within_s: float) -> remote.Beat | remote.Done | None:
        """Return what the task tells next; see `Attempt.heard`."""
        ray = self._ray
        ready, _ = ray.wait([self._run], timeout=within_s)
        if not ready:
            self._await_a_node()
            return None
        try:
            told = ray.get(next(self._run))
        except StopIteration:
            self._over = True
            raise attempts.Lost("a task ended without a result", self.node) from None
        except ray.exceptions.RayError as why:
            self._over = True
            raise attempts.Lost(self._sentence(why), self.node) from None
        if isinstance(told, str):
            self.node = told
            return remote.Beat()
        assert isinstance(told, remote.Beat | remote.Done)
        self._over = isinstance(told, remote.Done)
        return told

    def end(self) -> None:
        """Interrupt the task if it runs still; its sandbox ends with it."""
        if self._over:
            return
        self._over = True
        with suppress(self._ray.exceptions.RayError):
            self._ray.cancel(self._run)
            ended, _ = self._ray.wait([self._run.completed()], timeout=SETTLE_S)
            if not ended:
                self._ray.cancel(self._run, force=True)

    def _await_a_node(self) -> None:
        now = time.monotonic()
        if self.node is not None or now - self._looked < LOOK_S:
            return
        self._looked = now
        if self._possible():
            self._lonely_since = None
            return
        self._lonely_since = self._lonely_since or now
        if now - self._lonely_since > LONELY_S:
            wanted = ", ".join(f"{amount:g} {name}" for name, amount in self._needs.resources.items())
            raise Undone(f"no node of the cluster has {wanted}; start one, and collect again")

    def _sentence(self, why: Exception) -> str:
        errors = self._ray.exceptions
        cause = getattr(why, "cause", None) or why
        where = f"node {self.node[:12]}" if self.node else "a node"
        if isinstance(why, errors.RayTaskError):
            if isinstance(cause, ImportError):
                return f"{where} cannot import kgrade: {cause}; install the same kgrade there"
            if isinstance(cause, remote.Unfit):
                return f"{where} is not fit: {cause}"
            return f"{where} failed, {type(cause).__name__}: {str(cause).splitlines()[0] if str(cause) else ''}"
        if isinstance(why, errors.WorkerCrashedError | errors.NodeDiedError | errors.RaySystemError):
            return f"{where} died, or Ray's worker on it"
        if isinstance(why, errors.OutOfMemoryError):
            return f"{where} ran out of memory"
        return f"{where} was lost: {type(why).__name__}"
