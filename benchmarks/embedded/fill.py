"""
Creates objects of all kinds that are measured; a process of its own.

    python -m benchmarks.embedded.fill KUBECONFIG RESULT COUNT
"""

import asyncio
import sys
from pathlib import Path

from benchmarks.embedded import workload
from benchmarks.embedded.load import AT_ONCE, Server, prepare, timed
from benchmarks.engine.connection import write_result


async def main(kubeconfig: str, result: str, count: str) -> None:
    """Create them, and say how long each took."""
    server = Server(Path(kubeconfig))
    subjects = list(workload.SUBJECTS.values())

    async def create(number: int) -> None:
        subject = subjects[number % len(subjects)]
        name = f"object-{number}"
        await server.apply(subject.path(name), subject.body(name, 1))

    try:
        await prepare(server)
        seconds = await timed(int(count), AT_ONCE, create)
        write_result(result, {"seconds": seconds})
    finally:
        await server.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
