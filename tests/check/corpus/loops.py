"""Loops of events of other makers than Python's: libuv's, and trio's."""

import asyncio

import trio
import uvloop


async def wait(n):
    await asyncio.sleep(0.001)
    return n


async def with_uvloop():
    print(sum(await asyncio.gather(*[wait(n) for n in range(50)])))
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()


async def with_trio():
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(trio.sleep, 0.001)


uvloop.install()
asyncio.run(with_uvloop())
trio.run(with_trio)
