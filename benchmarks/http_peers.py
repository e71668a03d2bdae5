"""CPU a request of our client, a bare loop over libcurl, aiohttp and openai against one server, JSON included.

Usage: http_peers.py PATH_OF_BENCH_HTTP [requests]. 256 in flight; medians of three interleaved runs, each peer if it is
installed. Each client is driven as its own documentation recommends: one session for all requests, and openai over
aiohttp (`pip install 'openai[aiohttp]'`), which it says is faster with many requests at once.
"""

import asyncio
import importlib.util
import statistics
import subprocess
import sys
import time

IN_FLIGHT = 256
CONTENT = ('a line of the transcript so far, as "long" as they are\n' * 40)[:1900]
FIELDS = {
    "model": "m",
    "messages": [{"role": "user", "content": CONTENT}],
    "temperature": 1,
    "top_p": 1,
    "max_tokens": 512,
    "stop": ["</search>", "</answer>"],
    "seed": 1,
}


async def run(ask, requests):
    """Asks `requests` times, IN_FLIGHT at once; returns (CPU microseconds per request, requests per second)."""
    left = iter(range(requests))

    async def worker():
        for _ in left:
            await ask()

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return 1e6 * cpu / requests, requests / wall


async def with_aiohttp(url, requests):
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:

        async def ask():
            async with session.post(url + "/chat/completions", json=FIELDS) as reply:
                return (await reply.json(content_type=None))["choices"][0]["message"]["content"]

        await run(ask, IN_FLIGHT)
        return await run(ask, requests)


async def with_openai(url, requests):
    import openai

    http = openai.DefaultAioHttpClient()
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=600, http_client=http) as client:

        async def ask():
            return (await client.chat.completions.create(**FIELDS)).choices[0].message.content

        await run(ask, IN_FLIGHT)
        return await run(ask, requests)


def main():
    program = sys.argv[1]
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    peers = {"aiohttp": with_aiohttp, "openai": with_openai}
    for name in [name for name in peers if importlib.util.find_spec(name) is None]:
        print(f"{name} is not installed")
        del peers[name]
    for mean_ms in (0, 50):
        serve = [program, "serve", str(mean_ms)]
        with subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            url = server.stdout.readline().strip()
            figures = {}
            for _ in range(3):
                against = [program, "against", url, str(requests)]
                said = subprocess.run(against, capture_output=True, text=True, check=True).stdout
                ours, bare = map(float, said.split())
                figures.setdefault("Espalier", []).append(ours)
                figures.setdefault("bare libcurl", []).append(bare)
                for name, client in peers.items():
                    figures.setdefault(name, []).append(asyncio.run(client(url, requests))[0])
            server.stdin.close()
        medians = {name: statistics.median(runs) for name, runs in figures.items()}
        for name, cpu in medians.items():
            ratio = cpu / medians["Espalier"]  # of requests a CPU second
            print(f"latency {mean_ms:2d} ms: {name:12s} {cpu:7.1f} us CPU/request; Espalier: {ratio:.2f} times as many")


if __name__ == "__main__":
    main()
