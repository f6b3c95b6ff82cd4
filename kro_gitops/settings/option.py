"""
What an option is: its flag, variables, values, default and help; and the choices that options have.

`--help` loads this module, so it imports nothing heavy.
"""

from dataclasses import dataclass
from enum import StrEnum

from kro_gitops.settings.values import BOOLEAN, Values

PREFIX = "KRO_GITOPS_"
OMIT_GATE = "CELOmitFunction"


class Gate(StrEnum):
    """kro's feature gates; all of them are alpha, so they are off by default."""

    OMIT = OMIT_GATE
    CONDITION_EVENTS = "InstanceConditionEvents"
    CONDITION_METRICS = "InstanceConditionMetrics"


class LogFormat(StrEnum):
    """The format of log records; `auto` is console, with a live view on a terminal."""

    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class AdoptionPolicy(StrEnum):
    """What a child's first apply does with an object that has another owner."""

    NEVER = "never"
    REFUSE = "refuse"
    ADOPT = "adopt"


class AddedFields(StrEnum):
    """From which objects fields are removed that people added by hand."""

    OWN = "own"
    ALL = "all"
    KEEP = "keep"


class Readiness(StrEnum):
    """What `Ready` of an instance says: kro's meaning, or also that children are healthy."""

    KRO = "kro"
    CHILDREN = "children"


class AuthorReady(StrEnum):
    """For which definitions `Ready` stands beside conditions that their author defines."""

    NEVER = "never"
    SOURCE = "source"
    ALWAYS = "always"


class Group(StrEnum):
    """A section of the help; the values are its headings."""

    CLUSTER = "cluster"
    EMBEDDED = "embedded API, used when no cluster is named"
    SOURCES = "sources"
    ENGINE = "engine"
    ELECTION = "leader election"
    PROCESS = "process"
    KRO = "kro's flags that have no effect"


@dataclass(frozen=True, slots=True)
class Option:
    """One option; `aliases` are other names of the same flag."""

    group: Group
    flag: str
    values: Values
    default: str
    help: str
    aliases: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flag and its aliases with their dashes."""
        return tuple(f"--{name}" for name in (self.flag, *self.aliases))

    @property
    def negation(self) -> str:
        """Return the flag that disables what is enabled by default; empty if there is none."""
        return f"--no-{self.flag}" if self.is_switch and self.default == "true" else ""

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the environment variables, one for each name."""
        names = (self.flag, *self.aliases)
        return tuple(PREFIX + name.upper().replace("-", "_") for name in names)

    @property
    def field(self) -> str:
        """Return the field of `Settings`; empty if the option is ignored."""
        return "" if self.is_ignored else self.flag.replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Return whether the flag alone means true."""
        return self.values is BOOLEAN

    @property
    def is_ignored(self) -> bool:
        """Return whether it is accepted only for compatibility with kro."""
        return self.group is Group.KRO
