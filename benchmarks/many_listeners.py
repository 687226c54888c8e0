"""What do two hundred listeners and fifty viewers cost the lab, beside a single one of each?

A run trains meanwhile. Every listener asks for all lines; afterwards each must have had every one.
The listeners run on the same machine and use the same two cores as the lab and the training.
"""

import asyncio
import json
import time

import httpx
import psutil
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from app.core.tasks import Tasks
from benchmarks.lab import MeasuredLab, measured_lab, wish

LISTENERS = wish("LISTENERS", 200)
VIEWERS = wish("VIEWERS", 50)
_WINDOW_S = 65
"""The probe of the event loop remembers a minute."""


def run() -> None:
    """Print lag, memory and what was lost, for one of each and for many."""
    print("| listeners | viewers | lag p50 ms | lag p99 ms | web MB | losses | pictures/s |")
    print("|---|---|---|---|---|---|---|")
    with measured_lab() as lab:
        for listeners, viewers in ((1, 1), (LISTENERS, VIEWERS)):
            cells = asyncio.run(_measure(lab, listeners, viewers))
            print(f"| {listeners} | {viewers} | {' | '.join(cells)} |", flush=True)


async def _measure(lab: MeasuredLab, listeners: int, viewers: int) -> tuple[str, ...]:
    run_id = lab.start(env_id="CartPole-v1", algorithm="PPO", total_timesteps=100_000_000)
    counts = [0] * viewers
    tasks = Tasks()
    for who in range(viewers):
        tasks.start(_watch(lab, run_id, counts, who), name="watch")
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"{lab.url}/api", timeout=None, limits=limits) as client:
        listening = [tasks.start(_listen(client, run_id), name="listen") for _ in range(listeners)]
        began = time.monotonic()
        await asyncio.sleep(_WINDOW_S)
        health = (await client.get("/health")).json()["event_loop_lag_ms"]
        memory = psutil.Process(lab.pid).memory_info().rss / 1e6
        rate = sum(counts) / viewers / (time.monotonic() - began)
        await asyncio.to_thread(lab.stop, run_id)
        heard = await asyncio.gather(*listening)
        total = len((await client.get(f"/runs/{run_id}/metrics")).json()["items"])
    await tasks.cancel()
    lost = sum(numbers != list(range(1, total + 1)) for numbers in heard)
    said = f"{lost} of {listeners} listeners lost any"
    return str(health["p50"]), str(health["p99"]), f"{memory:.0f}", said, f"{rate:.1f}"


async def _listen(client: httpx.AsyncClient, run_id: str) -> list[int]:
    """Return the numbers of the lines that were told, in their order."""
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


async def _watch(lab: MeasuredLab, run_id: str, counts: list[int], who: int) -> None:
    address = f"{lab.url.replace('http', 'ws')}/api/runs/{run_id}/frames"
    try:
        async with connect(address, max_size=None) as line:
            async for _ in line:
                await line.send("ack")
                counts[who] += 1
    except (WebSocketException, OSError):
        return
