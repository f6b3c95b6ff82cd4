"""cel-python, in pure Python. It has two ways to run a program; the argument names one."""

import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import celpy
from celpy.adapter import CELJSONEncoder, json_to_cel

from benchmarks.peers.serving import Data, serve

_RUNNERS = {"interpreted": celpy.InterpretedRunner, "compiled": celpy.CompiledRunner}


class PythonEngine:
    """No types, data converted once."""

    def __init__(self, runner: str) -> None:
        self._env = celpy.Environment(runner_class=_RUNNERS[runner])

    def compiler(self, names: list[str]) -> Callable[[str], Any]:
        """Return the way to a program; variables need no declaration."""
        return lambda text: self._env.program(self._env.compile(text))

    def bound(self, program: Any, data: Data) -> Callable[[], Any]:
        """Convert the data once."""
        activation = {name: json_to_cel(value) for name, value in data.items()}
        return lambda: program.evaluate(activation)

    def plain(self, value: Any) -> Any:
        """Return JSON data."""
        return json.loads(json.dumps(value, cls=CELJSONEncoder))


if __name__ == "__main__":
    logging.disable()
    serve(PythonEngine(sys.argv[1]))
