"""The CEL project's C++ engine; runs where its package is installed, on Python 3.12 or later."""

from collections.abc import Callable
from typing import Any

from cel_expr_python import cel  # type: ignore[import-not-found]  # installed elsewhere

from benchmarks.peers.serving import Data, serve

_EXTENSIONS = ("optional", "strings", "lists", "encoders", "bindings", "two-var-comprehensions")


class CppEngine:
    """Untyped variables, an activation that is reused, results as plain Python values."""

    def __init__(self) -> None:
        listed = "".join(f"  - name: {name}\n    version: latest\n" for name in _EXTENSIONS)
        self._config = cel.NewEnvConfigFromYaml(f"name: benchmark\nextensions:\n{listed}")
        self._env: Any = None

    def compiler(self, names: list[str]) -> Callable[[str], Any]:
        """Make an environment; programs belong to it."""
        variables = dict.fromkeys(names, cel.Type.DYN)
        self._env = cel.NewEnv(config=self._config, variables=variables)
        compiler: Callable[[str], Any] = self._env.compile
        return compiler

    def bound(self, program: Any, data: Data) -> Callable[[], Any]:
        """Convert the data once."""
        activation = self._env.Activation(data=data)
        return lambda: program.eval(activation).plain_value()

    def plain(self, value: Any) -> Any:
        """Return the value: it is plain, unless it is an error."""
        if isinstance(value, (str, int, float, bool, list, dict)) or value is None:
            return value
        raise ValueError(repr(value))


if __name__ == "__main__":
    serve(CppEngine())
