"""
What a peer's process does: read requests, measure, answer.

A request is a line of JSON. `evaluate` measures one expression over one set of data, `compile`
the way of many expressions from text to something that has run once.
"""

import json
import sys
from collections.abc import Callable
from typing import Any, Protocol

from benchmarks.timing import seconds_of, seconds_per_call

Data = dict[str, Any]


class Engine(Protocol):
    """A CEL engine, as far as it is measured."""

    def compiler(self, names: list[str]) -> Callable[[str], Any]:
        """Return a function from text to program, in an environment with these variables."""

    def bound(self, program: Any, data: Data) -> Callable[[], Any]:
        """Return the evaluation of a program over data converted beforehand."""

    def plain(self, value: Any) -> Any:
        """Return what an evaluation gave as JSON data, for comparison."""


def serve(engine: Engine) -> None:
    """Answer every line of standard input."""
    requests: dict[str, Callable[..., dict[str, Any]]]
    requests = {"evaluate": _evaluate, "compile": _compile}
    for line in sys.stdin:
        request = json.loads(line)
        answer = requests[request.pop("do")](engine, **request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _evaluate(engine: Engine, text: str, data: Data, spend: float) -> dict[str, Any]:
    try:
        evaluate = engine.bound(engine.compiler(list(data))(text), data)
        value = engine.plain(evaluate())
    except Exception as error:  # whatever the engine raises is its way of saying no
        return {"cannot": f"{type(error).__name__}: {error}"}
    return {"seconds": seconds_per_call(evaluate, spend), "value": value}


def _compile(engine: Engine, texts: list[str], names: list[str]) -> dict[str, Any]:
    compiler = engine.compiler(names)
    compiler("1 + 1")  # what an engine sets up once is not counted
    programs: list[Any] = []

    def compile_all() -> None:
        for text in texts:
            try:
                programs.append(compiler(text))
            except Exception:  # counted by its absence
                continue

    compiling = seconds_of(compile_all)
    return {
        "compiling": compiling,
        "first_use": seconds_of(lambda: _use_each(engine, programs)),
        "compiled": len(programs),
    }


def _use_each(engine: Engine, programs: list[Any]) -> None:
    """Evaluate each once, without data: plans are made, and then a variable is missing."""
    for program in programs:
        try:
            engine.bound(program, {})()
        except Exception:  # the missing variable
            continue
