"""
Kubeconfig files: texts in, the entry of one context out.

The rules are those of kubectl (client-go's `clientcmd`): of several files, the first that sets the
current context or defines a cluster, a user or a context of some name wins, and a relative path
counts from the folder of the file that it is written in. No file is opened here, and no credential
plugin is run.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import yaml

# libyaml's parser, where PyYAML was built with it: every verb that talks to a cluster waits for it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLUGINS = ("exec", "auth-provider")

Pem = PurePath | bytes
"""A certificate or a key: the file that holds it, or its text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A named cluster, user or context, and the folder that its relative paths count from."""

    value: Mapping[str, Any] = field(default_factory=dict)
    folder: PurePath = field(default_factory=PurePath)

    def text(self, key: str) -> str:
        """Return a text; empty if there is none."""
        value = self.value.get(key)
        return str(value) if value not in (None, "") else ""

    def path(self, key: str) -> PurePath | None:
        """Return a path, counted from the folder of the file."""
        return self.folder / self.text(key) if self.text(key) else None

    def pem(self, key: str) -> Pem | None:
        """Return a certificate or key; data in the file wins over the path of another file."""
        encoded = self.text(f"{key}-data")
        if not encoded:
            return self.path(key)
        try:
            return b64decode(encoded, validate=False)
        except (NotBase64, ValueError):
            raise ValueError(f"{key}-data is not valid base64") from None


@dataclass(frozen=True, slots=True)
class Context:
    """What a context refers to; without a user the server is asked anonymously."""

    name: str
    namespace: str
    cluster: Entry
    user_name: str
    user: Entry

    @property
    def needs_plugin(self) -> bool:
        """Return True if a command or an identity provider has to be asked for credentials."""
        return any(self.user.value.get(key) for key in _PLUGINS)

    @property
    def server(self) -> str:
        """Return the URL of the API server, without a slash at its end."""
        return self.cluster.text("server").rstrip("/")

    @property
    def basic_auth(self) -> str:
        """Return the header of user name and password; empty unless both are set."""
        name, password = self.user.text("username"), self.user.text("password")
        if not name or not password:
            return ""
        return "Basic " + b64encode(f"{name}:{password}".encode()).decode()


class Kubeconfigs:
    """Several kubeconfig files, merged."""

    def __init__(self, files: Iterable[tuple[PurePath, str]]) -> None:
        """Merge files, each given by its path and its text; raise ValueError for what is none."""
        self._entries: dict[str, dict[str, Entry]] = {"cluster": {}, "user": {}, "context": {}}
        self.current = ""
        for path, text in files:
            try:
                config = yaml.load(text, _Loader) or {}
            except yaml.YAMLError as error:
                # PyYAML quotes the line, and a line of a kubeconfig may be a token.
                mark = getattr(error, "problem_mark", None)
                line = f" (line {mark.line + 1})" if mark is not None else ""
                raise ValueError(f"{path} is not valid YAML{line}") from None
            if not isinstance(config, dict):
                raise ValueError(f"{path} is not a kubeconfig: it is no mapping")
            self.current = self.current or str(config.get("current-context") or "")
            for kind, entries in self._entries.items():
                for item in config.get(f"{kind}s") or ():
                    if not isinstance(item, dict) or not item.get("name"):
                        raise ValueError(f"{path}: an entry of {kind}s has no name")
                    value = item.get(kind) or {}
                    if not isinstance(value, dict):
                        raise ValueError(f"{path}: {kind} '{item['name']}' is no mapping")
                    entries.setdefault(str(item["name"]), Entry(value, path.parent))

    def context(self, name: str | None = None) -> Context:
        """Return a context by its name, or the current one; raise ValueError if there is none."""
        selected = name or self.current
        if not selected:
            raise ValueError("no context is given, and current-context is not set")
        found = self._entries["context"].get(selected)
        if found is None:
            raise ValueError(f"context '{selected}' does not exist")
        cluster = self._entries["cluster"].get(found.text("cluster"))
        if cluster is None:
            missing = found.text("cluster")
            raise ValueError(f"cluster '{missing}' of context '{selected}' is missing")
        if not cluster.text("server"):
            raise ValueError(f"cluster '{found.text('cluster')}' has no server")
        user = found.text("user")
        entry = self._entries["user"].get(user, Entry())
        return Context(selected, found.text("namespace"), cluster, user, entry)
