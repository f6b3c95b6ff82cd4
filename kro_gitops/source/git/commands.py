"""
Every git command we run, its environment and its configuration; nothing else may build one.

Git accepts options where names belong (`--upload-pack=touch X` is a valid branch name, and a
command), reads dozens of variables and four configuration files, and most of them can make it run
programs. So the arguments are fixed here; what comes from outside is a full ref, a whole object id
or a checked URL and stands behind `--end-of-options`; environment and configuration inherit
nothing. Configuration goes through the environment, because any user of the machine can list the
arguments of a process and some values are secret.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kro_gitops.source.api.url_policy import check_ref
from kube_objects.errors import RefusedError

SUBCOMMANDS = frozenset(
    {"init", "ls-remote", "fetch", "ls-tree", "diff-tree", "merge-base", "rev-list", "blame"}
    | {"cat-file", "repack", "prune"}
)
READER = ("cat-file", "--batch-command")
CHECKER = ("cat-file", "--batch-check")
KEPT = "refs/kg/"  # our refs: each is named after the object it keeps
HEADS = "refs/kg-heads/"  # a remote's branches, while a commit is looked for in them
TIP = "tip"
EVERYTHING = 0x7FFFFFFF  # git's own number for "infinite depth"

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SEPARATOR = "--end-of-options"
_WITHOUT_OPERANDS = frozenset({"cat-file", "repack", "prune"})
_OPTIONS = frozenset(
    {"--quiet", "--bare", "--template=", "--object-format=sha1", "--object-format=sha256"}
    | {"--symref", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"}
    | {"--no-auto-gc", "--no-auto-maintenance", "--no-prune", "--filter=blob:none", "--stdin"}
    | {"-r", "-z", "-l", "--full-tree", "--name-only", "--no-renames", "--no-ext-diff"}
    | {"--no-textconv", "--is-ancestor", "--objects", "--missing=print", "--no-object-names"}
    | {"--porcelain", "--no-progress", "--batch-check", "-a", "-d", "-q", "--expire=now"}
)
# `git blame` of 2.39 does not know the separator; all that stands before its `--` is an id.
_NUMBERED = re.compile(r"--depth=\d{1,10}|-L\d{1,9},\d{1,9}|[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Command:
    """Arguments behind `git`, and its stdin; creating any command but ours raises."""

    arguments: tuple[str, ...]
    text: bytes = b""
    configuration: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        name, *rest = self.arguments or ("",)
        separator = "--" if name == "blame" else _SEPARATOR
        ends = name in _WITHOUT_OPERANDS or separator in rest
        options = rest[: rest.index(separator)] if separator in rest else rest
        are_known = all(each in _OPTIONS or _NUMBERED.fullmatch(each) for each in options)
        if name not in SUBCOMMANDS or not ends or not are_known:
            raise refused_command(self.arguments)
        if any("\0" in argument or "\n" in argument for argument in rest):
            raise refused_command(self.arguments)


def refused_command(arguments: Sequence[object]) -> RefusedError:
    """Return the error for a command that is none of ours; only its first word is shown."""
    name = str(arguments[0])[:40] if arguments else ""
    return RefusedError("git-command-refused", f"git '{name}' is no command we run in this form")


def init(folder: str, *, digits: int) -> Command:
    """Create an empty bare repository without a template; ids have 40 or 64 digits."""
    form = "sha256" if digits == 64 else "sha1"
    options = ("--quiet", "--bare", "--template=", f"--object-format={form}")
    return Command(("init", *options, _SEPARATOR, folder))


def ls_remote(url: str, patterns: Iterable[str]) -> Command:
    """
    List the refs of a remote.

    A pattern is a full ref, or a folder of refs (`refs/tags/*`). For a ref that may be an
    annotated tag, git is also asked for the commit that it stands for, `REF^{}`.
    """
    forms: list[str] = []
    for pattern in patterns:
        plain = pattern.removesuffix("/*")
        if plain != "refs":
            _full(plain)
        forms.append(pattern)
        if plain == pattern and plain != "HEAD" and not plain.startswith("refs/heads/"):
            forms.append(f"{pattern}^{{}}")
    return Command(("ls-remote", "--symref", "--quiet", _SEPARATOR, _url(url), *forms))


def fetch(url: str, refspecs: Iterable[str], *, depth: int = 1, filters: bool = False) -> Command:
    """Fetch refs with `depth` commits of history; the functions below build the refspecs."""
    checked = tuple(refspecs)
    for refspec in checked:
        if not refspec.startswith("+"):
            raise RefusedError("bad-ref", "a refspec begins with '+'")
        source = refspec[1:].partition(":")[0]
        if refspec != ALL_HEADS and not _ID.fullmatch(source):
            _full(source)
    return Command((*_fetching(depth, filters), _SEPARATOR, _url(url), *checked))


def fetch_blobs(url: str, ids: Iterable[str]) -> Command:
    """Fetch single objects by their ids, which go through stdin: there may be thousands."""
    options = (*_fetching(0, filters=True), "--stdin")
    text = "".join(f"{_id(each)}\n" for each in ids).encode()
    # Without negotiation: a server that knows which commits we have omits their files.
    alone = (("fetch.negotiationAlgorithm", "noop"),)
    return Command((*options, _SEPARATOR, _url(url)), text, alone)


def ref_to(ref: str, target: str) -> str:
    """Refspec: a full ref of the remote's, kept under an object's id."""
    return f"+{_full(ref)}:{KEPT}{_id(target)}"


def only_ref(ref: str) -> str:
    """Refspec: a full ref of the remote's; its objects come, no ref is written."""
    return f"+{_full(ref)}"


def tip_of(ref: str, name: str = TIP) -> str:
    """Refspec: a full ref of the remote's, to look at where it stands."""
    return f"+{_full(ref)}:{HEADS}{name}"


def id_to(target: str) -> str:
    """Refspec: an object by its id."""
    return f"+{_id(target)}:{KEPT}{target}"


def only_id(target: str) -> str:
    """Refspec: an object by its id; no ref is written."""
    return f"+{_id(target)}"


ALL_HEADS = f"+refs/heads/*:{HEADS}*"


def ls_tree(tree: str, *, sizes: bool) -> Command:
    """List all files below a tree or commit."""
    options = ("-r", "-z", "--full-tree", *(("-l",) if sizes else ()))
    return Command(("ls-tree", *options, _SEPARATOR, _id(tree)))


def diff_tree(old: str, new: str) -> Command:
    """List the paths in which two trees differ."""
    options = ("-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv")
    return Command(("diff-tree", *options, _SEPARATOR, _id(old), _id(new)))


def is_ancestor(old: str, new: str) -> Command:
    """Exit with 0 if a commit is in another's history."""
    return Command(("merge-base", "--is-ancestor", _SEPARATOR, _id(old), _id(new)))


def blame(commit: str, path: str, line: int) -> Command:
    """Print the commit that last changed a line."""
    place = f"-L{int(line)},{int(line)}"
    return Command(("blame", "--porcelain", "--no-progress", place, _id(commit), "--", path))


def missing_of_path(commit: str, path: str) -> Command:
    """List the objects a path had in all its history; `?` before those that are not here."""
    options = ("--objects", "--missing=print", "--no-object-names")
    return Command(("rev-list", *options, _SEPARATOR, _id(commit), "--", path))


def check_objects(ids: Iterable[str]) -> Command:
    """Print type and size of objects, or that they are missing."""
    return Command(CHECKER, "".join(f"{_id(each)}\n" for each in ids).encode())


def repack() -> Command:
    """Put all that our refs reach into one pack, and drop the rest of the packs."""
    return Command(("repack", "-a", "-d", "-q", "-l"))


def prune() -> Command:
    """Drop unreachable loose objects, and the shallow entries that nothing needs."""
    return Command(("prune", "--expire=now"))


def environment(
    *, home: str, path: str, git_dir: str = "", protocols: Iterable[str] = ()
) -> dict[str, str]:
    """Return the whole environment of a command; only the named transports are allowed."""
    found = {
        "PATH": path,
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": home.rpartition("/")[0],
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",  # set, so that git does not try SSH_ASKPASS either
        "GIT_SSH_COMMAND": "false",  # replaced where there is a key
        "GIT_SSH_VARIANT": "ssh",
        "GIT_ALLOW_PROTOCOL": ":".join(protocols) or "none",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",  # git < 2.44 does not know it: see `repository`
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PAGER": "cat",
    }
    return found | ({"GIT_DIR": git_dir} if git_dir else {})


def configuration(
    *, git_dir: str = "", protocols: Iterable[str] = (), more: Iterable[tuple[str, str]] = ()
) -> dict[str, str]:
    """Return the variables from which git reads its configuration."""
    pairs = [
        *_CONFIGURATION,
        *((f"protocol.{name}.allow", "always") for name in protocols),
        *((("safe.directory", git_dir),) if git_dir else ()),
        *more,
    ]
    found = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


_CONFIGURATION = (
    # Nothing that runs programs.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    # Received objects are checked: a path that leaves its folder or a hostile `.gitmodules`
    # ends the fetch.
    ("transfer.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    ("transfer.credentialsInUrl", "die"),
    ("transfer.bundleURI", "false"),
    ("core.symlinks", "false"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    # One server, the one that was checked.
    ("http.followRedirects", "false"),
    ("http.sslVerify", "true"),
    ("http.saveCookies", "false"),
    ("http.delegation", "none"),
    ("protocol.version", "2"),
    # Nothing in the background, one pack for each fetch, and a bound on memory.
    ("gc.auto", "0"),
    ("gc.autoDetach", "false"),
    ("maintenance.auto", "false"),
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.showForcedUpdates", "false"),
    ("core.packedGitWindowSize", "16m"),
    ("core.packedGitLimit", "256m"),
    ("core.bigFileThreshold", "4m"),  # larger files are streamed; we read none of that size
    ("core.deltaBaseCacheLimit", "16m"),
    ("pack.threads", "1"),
    ("pack.windowMemory", "16m"),
    ("pack.deltaCacheSize", "16m"),
    ("core.logAllRefUpdates", "false"),
)


def _fetching(depth: int, filters: bool) -> tuple[str, ...]:
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    deep = (f"--depth={int(depth)}",) if depth else ()
    return (
        *("fetch", *options, "--no-auto-gc", "--no-auto-maintenance", "--no-prune"),
        *(*deep, *(("--filter=blob:none",) if filters else ())),
    )


def _url(url: str) -> str:
    """Reject URLs that `check_url` cannot have returned: this is the last place to look."""
    if url.startswith(("https://", "http://", "ssh://", "file:///", "/")):
        return url
    raise RefusedError("bad-url", "the URL is not in a form that is handed to git")


def _id(text: str) -> str:
    if _ID.fullmatch(text):
        return text
    raise RefusedError("bad-commit", "an object id has 40 or 64 hexadecimal digits")


def _full(ref: str) -> str:
    """Return a ref that git cannot take for an option or a pattern."""
    if ref == "HEAD":
        return ref
    if ref.startswith("refs/"):
        return check_ref(ref)
    raise RefusedError("bad-ref", "a ref is handed to git by its full name, refs/…")
