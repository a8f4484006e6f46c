"""What further processes and nodes gain: python benchmarks/scale_out.py

Two agents play the pickup. `asking` waits half a second for an endpoint at every step, as an agent behind a model's
server does; `thinking` keeps a processor busy for 20 milliseconds. The Ray cluster is local, of two nodes with one
processor each.
"""

from __future__ import annotations

import http.client
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

from natlang_envs.evaluation import AgentInput, evaluate, load_agent
from natlang_envs.evaluation.workers import Workers

PROTOCOL = "dangerous-taxi-pickup-cities/v1"
LATENCY, THINKING = 0.5, 0.02  # seconds
AT_ONCE, WARM = 8, 4  # episodes in flight for each worker; episodes before the clock starts
TURNS = 3
ME = "benchmarks.scale_out"


def asking(view: AgentInput) -> str:
    """Ask the endpoint of `SCALE_OUT_PORT`, which takes its time; then take the first command."""
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["SCALE_OUT_PORT"]), timeout=60)
    connection.request("GET", "/")
    connection.getresponse().read()
    connection.close()
    return view.admissible_commands[len(view.path) % 4]


def thinking(view: AgentInput) -> str:
    """Count for a while; then take the first command."""
    until = time.process_time() + THINKING
    while time.process_time() < until:
        pass
    return view.admissible_commands[len(view.path) % 4]


class Slow(BaseHTTPRequestHandler):
    """An endpoint that answers after half a second, however many ask."""

    def do_GET(self) -> None:
        time.sleep(LATENCY)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None: ...


def rate(agent: str, episodes: int, workers: Workers | None, concurrency: int = 1) -> float:
    """Return the episodes a second, from the `WARM`th that ended to the last."""
    ends: list[float] = []
    evaluate(
        load_agent(agent), PROTOCOL, episodes=episodes, workers=workers, concurrency=concurrency,
        progress=lambda *_: ends.append(time.monotonic()),
    )  # fmt: skip
    return (len(ends) - WARM) / (ends[-1] - ends[WARM - 1])


def bare(count: int, episodes: int) -> float:
    """Return the episodes a second of processes that know nothing of each other."""
    code = f"from {ME} import rate; print(rate('{ME}:thinking', {episodes}, None))"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(count)]
    return sum(float(each.communicate()[0]) for each in started)


def ratio(more: Callable[[], float], less: Callable[[], float]) -> tuple[float, float, float]:
    """Return the medians of both and of their ratios, taken in turns."""
    pairs = [(less(), more()) for _ in range(TURNS)]
    return median(one for one, _ in pairs), median(two for _, two in pairs), median(two / one for one, two in pairs)


def main() -> None:
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.request_queue_size = 256
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["SCALE_OUT_PORT"] = str(server.server_address[1])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ask, think = f"{ME}:asking", f"{ME}:thinking"

    def on_ray(count: int, agent: str, episodes: int, concurrency: int) -> Callable[[], float]:
        return lambda: rate(agent, episodes, Workers(count, "ray", cluster.address, agent), concurrency)

    def here(count: int, agent: str, episodes: int, concurrency: int) -> Callable[[], float]:
        return lambda: rate(agent, episodes, Workers(count, agent=agent), concurrency)

    wait, work = "endpoint of 0.5 s, 8 at a time each", "20 ms of a processor a step"
    rows = [
        (wait, "Ray node", on_ray(2, ask, 96, AT_ONCE), on_ray(1, ask, 48, AT_ONCE), 1.8),
        (wait, "worker", here(2, ask, 96, AT_ONCE), here(1, ask, 48, AT_ONCE), 1.8),
        (work, "bare process", lambda: bare(2, 60), lambda: bare(1, 60), 0.0),
        (work, "worker", here(2, think, 120, 1), here(1, think, 60, 1), 0.0),
        (work, "Ray node", on_ray(2, think, 120, 1), on_ray(1, think, 60, 1), 0.0),
    ]
    print("| an agent that needs | player | one, episodes/s | two, episodes/s | gain |\n|---|---|---|---|---|")
    gains: list[float] = []
    for what, player, fast, slow, floor in rows:
        one, two, gain = ratio(fast, slow)
        gains.append(gain)
        note = f", floor {floor}" if floor else ""
        print(f"| {what} | {player} | {one:.2f} | {two:.2f} | {gain:.2f} ×{note} |", flush=True)
    for row, name in ((3, "workers"), (4, "Ray nodes")):
        print(f"\nTwo {name} gain {gains[row] / gains[2]:.2f} of what two bare processes gain (floor 0.8).")
    print(f"\n{time.strftime('%Y-%m-%d')}: {platform.machine()}, {os.cpu_count()} cores; medians of {TURNS} turns.")
    cluster.shutdown()


if __name__ == "__main__":
    main()
