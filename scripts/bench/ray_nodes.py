"""A Ray cluster of several nodes on one machine, whose nodes can be killed one by one. Linux only.

Each node is what `ray start` makes of a machine: a raylet, its agents, an object store and its workers. The nodes have
addresses of their own on the loopback interface (127.0.0.2, 127.0.0.3, …), since Ray takes 127.0.0.1 for the machine's
outer address. Every port is given, so that nothing depends on which ports are free. Ray's servers listen on all
interfaces all the same, so the cluster asks for a token that is made anew for each.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OBJECT_STORE = 200_000_000  # bytes; the head's is as large as each node's
_PORTS_OF_NODE = 300
_START = 60  # seconds until a node must be there
_ATTEMPTS = 3  # at starting it: Ray gives its agents 15 s, which a busy machine may not have
_SLOW = 600  # seconds that its workers have, and may be silent
# Titles that Ray gives its workers: with a task of a build, and with none.
_TASKS = ("ray::_read_file", "ray::_write_shard")
_WORKERS = (*_TASKS, "ray::IDLE")
_TICKS = os.sysconf("SC_CLK_TCK")


class RayNode:
    """One node: the process `ray start --block` and all that it starts."""

    def __init__(self, number: int, process: subprocess.Popen[bytes]) -> None:
        self.number, self.process = number, process
        self.address = _address(number)

    def processes(self) -> list[int]:
        """The ids of the node's processes, the first one too."""
        return [self.process.pid, *descendants(self.process.pid)]

    def worker_seconds(self) -> float:
        """Processor seconds of its workers, without Ray's own servers, which work for as long as they run."""
        return sum(processor_seconds(pid) for pid in self.processes() if _title(pid).startswith(_WORKERS))

    def task_seconds(self) -> dict[int, float]:
        """Processor seconds of those of its workers that do a task of a build at present, by their process ids."""
        return {pid: processor_seconds(pid) for pid in self.processes() if _title(pid).startswith(_TASKS)}

    def kill(self) -> None:
        """Take away the node at once, as when its machine loses power."""
        # Twice: what was started in between is found where its parent has not gone yet.
        for pid in (*self.processes(), *self.processes()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


class RayNodes:
    """The nodes of one cluster; node 0 is the head, which has no processor cores to give.

    Attributes:
        address: for RAY_ADDRESS.
        environment: what a process needs that uses the cluster.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self._folder, self._port = folder, port
        self.address = f"{_address(0)}:{port}"
        self.environment = {
            "RAY_ADDRESS": self.address,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": str(_START),
            "RAY_agent_register_timeout_ms": str(_START * 1000),
            "RAY_worker_register_timeout_seconds": str(_SLOW),
            "RAY_health_check_failure_threshold": "10",
        }
        self.nodes: list[RayNode] = []

    def start(self, cores: int = 1) -> RayNode:
        """Start a node with so many cores and a resource of its own, node1, node2 and so on; the first is the head.

        Raises:
            RuntimeError: it did not start; the message holds the end of what Ray said.
        """
        number = len(self.nodes)
        base = self._port + number * _PORTS_OF_NODE
        ports = {
            "node-manager-port": base + 1,
            "object-manager-port": base + 2,
            "metrics-export-port": base + 3,
            "runtime-env-agent-port": base + 4,
            "dashboard-agent-listen-port": base + 5,
            "dashboard-agent-grpc-port": base + 6,
            "min-worker-port": base + 20,
            "max-worker-port": base + _PORTS_OF_NODE - 1,
        }
        role = {"address": self.address, "resources": json.dumps({f"node{number}": 1})}
        if not number:
            role = {"head": "", "port": str(self._port), "include-dashboard": "false", "dashboard-port": str(base + 7)}
            role["temp-dir"] = str(self._folder)
        options = role | {name: str(value) for name, value in ports.items()}
        options |= {"node-ip-address": _address(number), "num-cpus": str(cores if number else 0)}
        options |= {"object-store-memory": str(_OBJECT_STORE), "include-log-monitor": "false"}
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
        command += [f"--{name}={value}" if value else f"--{name}" for name, value in options.items()]
        log = self._folder / f"node{number}.log"
        for _ in range(_ATTEMPTS):
            with log.open("wb") as out:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=os.environ | self.environment
                )
            node = RayNode(number, process)
            until = time.monotonic() + 2 * _START
            while "Ray runtime started" not in (said := log.read_text("utf-8", "replace")):
                if process.poll() is not None or time.monotonic() > until:
                    break
                time.sleep(0.2)
            else:
                self.nodes.append(node)
                return node
            node.kill()
        raise RuntimeError(f"node {number} of Ray did not start:\n{said[-2000:]}")

    @contextmanager
    def joined(self) -> Iterator[None]:
        """This process uses the cluster for several builds, so that its workers stay."""
        import ray

        from atomr_local.indexing.text_index.ray_build import start_ray

        start_ray(self.address)
        try:
            yield
        finally:
            ray.shutdown()

    def stop(self) -> None:
        """Kill all nodes, the head last."""
        for node in reversed(self.nodes):
            node.kill()


@contextmanager
def ray_nodes(workers: int = 2, port: int = 21_000) -> Iterator[RayNodes]:
    """A head and so many nodes of one core each, while this lasts."""
    folder = Path(tempfile.mkdtemp(prefix="ray"))  # short: sockets lie in it, whose paths are bounded
    cluster = RayNodes(folder, port)
    try:
        for _ in range(workers + 1):
            cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def descendants(pid: int) -> list[int]:
    """The ids of all processes that this one started, and that these did."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children.setdefault(int(_fields(stat)[1]), []).append(int(stat.parent.name))
    found, waiting = [], [pid]
    while waiting:
        new = children.get(waiting.pop(), [])
        found += new
        waiting += new
    return found


def processor_seconds(pid: int) -> float:
    """Of a process and its children that have ended; 0 where it is gone."""
    try:
        return sum(map(int, _fields(Path(f"/proc/{pid}/stat"))[11:15])) / _TICKS
    except OSError:
        return 0.0


def _fields(stat: Path) -> list[str]:
    """What follows the name of the program, beginning with the state."""
    return stat.read_text("utf-8", "replace").rpartition(")")[2].split()


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
    except OSError:
        return ""


def _address(number: int) -> str:
    return f"127.0.0.{number + 2}"
