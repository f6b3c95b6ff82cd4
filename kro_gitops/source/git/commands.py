"""
Every git command we run, its environment and its configuration; nothing else may build one.

Git takes options where names belong (`--upload-pack=touch X` is a valid branch name, and a
command), asks dozens of variables and four configuration files what to do, and can be told to
run programs by most of them. So the arguments are fixed here, what comes from outside is a full
ref, a whole object id or a checked URL, it stands behind `--end-of-options`, and environment and
configuration are made from nothing. Configuration goes through the environment, because
arguments are for everybody to read and some values are secret.
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
    """Arguments behind `git`, and what it reads; refuses itself where it is not one of ours."""

    arguments: tuple[str, ...]
    text: bytes = b""
    configuration: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        name, *rest = self.arguments or ("",)
        separator = "--" if name == "blame" else _SEPARATOR
        ends = name in _WITHOUT_OPERANDS or separator in rest
        options = rest[: rest.index(separator)] if separator in rest else rest
        if name not in SUBCOMMANDS or not ends or not all(map(_is_option, options)):
            raise refused_command(self.arguments)
        if any("\0" in argument or "\n" in argument for argument in rest):
            raise refused_command(self.arguments)


def _is_option(argument: str) -> bool:
    return argument in _OPTIONS or bool(_NUMBERED.fullmatch(argument))


def refused_command(arguments: Sequence[object]) -> RefusedError:
    """Say that a command is none of ours; only its first word is shown."""
    name = str(arguments[0])[:40] if arguments else ""
    return RefusedError("git-command-refused", f"git '{name}' is no command we run in this form")


def init(folder: str, *, digits: int) -> Command:
    """Make an empty bare repository, without a template; ids have 40 or 64 digits."""
    form = "sha256" if digits == 64 else "sha1"
    options = ("--quiet", "--bare", "--template=", f"--object-format={form}")
    return Command(("init", *options, _SEPARATOR, folder))


def ls_remote(url: str, patterns: Iterable[str]) -> Command:
    """Ask which refs a remote has, and which commits its annotated tags stand for."""
    wanted = tuple(form for pattern in patterns for form in _patterns(pattern))
    arguments = ("ls-remote", "--symref", "--quiet", _SEPARATOR, _url(url), *wanted)
    return Command(arguments)


def fetch(url: str, refspecs: Iterable[str], *, depth: int = 1, filters: bool = False) -> Command:
    """Fetch refs, no deeper than told; the refspecs come from the functions below."""
    return Command((*_fetching(depth, filters), _SEPARATOR, _url(url), *map(_refspec, refspecs)))


def fetch_blobs(url: str, ids: Iterable[str]) -> Command:
    """Fetch single objects by their ids, which go through stdin: there may be thousands."""
    options = (*_fetching(0, filters=True), "--stdin")
    text = "".join(f"{_id(each)}\n" for each in ids).encode()
    # Without negotiation: a server that hears which commits we have takes their files for ours.
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
    """Ask (by exit code) whether a commit is in another's history."""
    return Command(("merge-base", "--is-ancestor", _SEPARATOR, _id(old), _id(new)))


def blame(commit: str, path: str, line: int) -> Command:
    """Ask for the commit that last changed a line."""
    place = f"-L{int(line)},{int(line)}"
    return Command(("blame", "--porcelain", "--no-progress", place, _id(commit), "--", path))


def missing_of_path(commit: str, path: str) -> Command:
    """List the objects a path had in all its history; `?` before those that are not here."""
    options = ("--objects", "--missing=print", "--no-object-names")
    return Command(("rev-list", *options, _SEPARATOR, _id(commit), "--", path))


def check_objects(ids: Iterable[str]) -> Command:
    """Ask which objects are there, of what type and size."""
    return Command(CHECKER, "".join(f"{_id(each)}\n" for each in ids).encode())


def repack() -> Command:
    """Put all that our refs reach into one pack, and drop the rest of the packs."""
    return Command(("repack", "-a", "-d", "-q", "-l"))


def prune() -> Command:
    """Drop loose objects and notes on cut-off history that nothing needs."""
    return Command(("prune", "--expire=now"))


def environment(
    *, home: str, path: str, git_dir: str = "", protocols: Iterable[str] = ()
) -> dict[str, str]:
    """Give the whole environment of a command; no transport is allowed unless named."""
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
        "GIT_ASKPASS": "",  # nobody is asked, not even those that come after it
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
    """Give the variables by which git reads its configuration from the environment."""
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
    # What came is checked; a name that leaves a folder, or `.gitmodules` tricks, end it there.
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
    # Nothing in the background, one pack a fetch, and memory that can be told beforehand.
    ("gc.auto", "0"),
    ("gc.autoDetach", "false"),
    ("maintenance.auto", "false"),
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.showForcedUpdates", "false"),
    ("core.packedGitWindowSize", "16m"),
    ("core.packedGitLimit", "256m"),
    ("core.bigFileThreshold", "16m"),
    ("pack.threads", "1"),
    ("pack.windowMemory", "64m"),
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
    """Let only checked forms through once more: here is the last place to look."""
    if url.startswith(("https://", "http://", "ssh://", "file:///", "/")):
        return url
    raise RefusedError("bad-url", "the URL is not in a form that is handed to git")


def _id(text: str) -> str:
    if _ID.fullmatch(text):
        return text
    raise RefusedError("bad-commit", "an object id has 40 or 64 hexadecimal digits")


def _full(ref: str) -> str:
    if ref == "HEAD":
        return ref
    if ref.startswith("refs/"):
        return check_ref(ref)
    raise RefusedError("bad-ref", "a ref is handed to git by its full name, refs/…")


def _patterns(pattern: str) -> tuple[str, ...]:
    """Check a full ref, or all refs below a folder (`refs/tags/*`); add a tag's commit."""
    plain = pattern.removesuffix("/*")
    if plain != "refs":
        _full(plain)
    is_exact = plain == pattern and plain != "HEAD" and not plain.startswith("refs/heads/")
    return (pattern, f"{pattern}^{{}}") if is_exact else (pattern,)


def _refspec(text: str) -> str:
    source = text.removeprefix("+").partition(":")[0]
    if text.startswith("+") and (text == ALL_HEADS or _ID.fullmatch(source) or _full(source)):
        return text
    raise RefusedError("bad-ref", "a refspec begins with '+'")
