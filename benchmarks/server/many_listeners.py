"""What do two hundred listeners and fifty viewers cost the lab, compared with one of each?

A run trains meanwhile. Each listener requests all lines and must receive every one of them.
The listeners share the machine's two cores with the lab and the training.
"""

import asyncio
import json
import time

import httpx
import psutil
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from app.core.tasks import Tasks
from benchmarks.lab import MeasuredLab, measured_lab, option

LISTENERS = option("LISTENERS", 200)
VIEWERS = option("VIEWERS", 50)
_WINDOW_S = 65
"""The event loop lag covers the last minute."""


def run() -> None:
    """Print lag, memory and lost lines, for one of each and for many."""
    print("| listeners | viewers | lag p50 ms | lag p99 ms | web MB | losses | frames/s |")
    print("|---|---|---|---|---|---|---|")
    with measured_lab() as lab:
        for listeners, viewers in ((1, 1), (LISTENERS, VIEWERS)):
            cells = asyncio.run(_measure(lab, listeners, viewers))
            print(f"| {listeners} | {viewers} | {' | '.join(cells)} |", flush=True)


async def _measure(lab: MeasuredLab, listeners: int, viewers: int) -> tuple[str, ...]:
    run_id = lab.start(env_id="CartPole-v1", algorithm="PPO", total_timesteps=100_000_000)
    counts = [0] * viewers
    tasks = Tasks()
    for viewer in range(viewers):
        tasks.start(_watch(lab, run_id, counts, viewer), name="watch")
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"{lab.url}/api", timeout=None, limits=limits) as client:
        listening = [tasks.start(_listen(client, run_id), name="listen") for _ in range(listeners)]
        began = time.monotonic()
        await asyncio.sleep(_WINDOW_S)
        health = (await client.get("/health")).json()["event_loop_lag_ms"]
        memory = psutil.Process(lab.pid).memory_info().rss / 1e6
        rate = sum(counts) / viewers / (time.monotonic() - began)
        await asyncio.to_thread(lab.stop, run_id)
        received = await asyncio.gather(*listening)
        total = len((await client.get(f"/runs/{run_id}/metrics")).json()["items"])
    await tasks.cancel()
    lost = sum(numbers != list(range(1, total + 1)) for numbers in received)
    losses = f"{lost} of {listeners} listeners lost lines"
    return str(health["p50"]), str(health["p99"]), f"{memory:.0f}", losses, f"{rate:.1f}"


async def _listen(client: httpx.AsyncClient, run_id: str) -> list[int]:
    """Return the numbers of the received lines, in their order."""
    numbers: list[int] = []
    address = f"/runs/{run_id}/stream"
    async with client.stream("GET", address, params={"all": 1, "after": 0}) as answer:
        event = ""
        async for line in answer.aiter_lines():
            name, _, value = line.partition(": ")
            event = value if name == "event" else event
            if name == "data" and event == "metrics":
                numbers += [item["n"] for item in json.loads(value)["items"]]
    return numbers


async def _watch(lab: MeasuredLab, run_id: str, counts: list[int], viewer: int) -> None:
    address = f"{lab.url.replace('http', 'ws')}/api/runs/{run_id}/frames"
    try:
        async with connect(address, max_size=None) as line:
            async for _ in line:
                await line.send("ack")
                counts[viewer] += 1
    except (WebSocketException, OSError):
        return
