"""
What git printed → values.

The formats are the ones made for programs: NUL-separated, raw objects. Names that are not UTF-8,
or hold what no path of ours may hold, are set aside with a reason and never become paths.
"""

import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from kro_gitops.source.api.url_policy import check_path
from kro_gitops.source.git.revisions import RemoteRefs
from kro_gitops.source.git.types import Commit, Entry, Found, Listing, RefusedPath
from kube_objects.errors import RefusedError

_PLAIN = re.compile(r"[\w@%+=:,~ ()-][\w@%+=:,~ ().-]*(?:/[\w@%+=:,~ ()-][\w@%+=:,~ ().-]*)*", re.A)
_LONGEST_PERSON = 255
_PERSON = re.compile(r"(.*?) ?<([^<>]*)> (-?\d{1,20}) [+-]\d{4}")
_SHORT = 1000
_SHOWN = 200
# Python knows codecs that raise, or take for ever, on what a stranger wrote: only these are used.
_ENCODING = re.compile(
    r"utf-?8|(?:us-)?ascii|iso-?8859-?\d{1,2}|latin-?\d|(?:windows|cp)-?125\d|koi8-[ru]"
    r"|shift[_-]?jis|euc-?(?:jp|kr)|gbk|gb2312|gb18030|big5",
    re.IGNORECASE,
)


def parse_refs(output: bytes) -> RemoteRefs:
    """Read `ls-remote --symref`."""
    head, refs, peeled = "", {}, {}
    for line in output.decode("utf-8", "replace").splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: "):
            head = value.removeprefix("ref: ") if name == "HEAD" else head
        elif name.endswith("^{}"):
            peeled[name.removesuffix("^{}")] = value
        elif name:
            refs[name] = value
    return RemoteRefs(head, refs, peeled)


def parse_listing(output: bytes, most: int) -> dict[str, Found]:
    """Read `ls-tree -r -z`, with sizes or without; what is found goes by `name_of` its name."""
    count = output.count(b"\0")
    if count > most:
        raise tree_too_large(most)
    found: dict[str, Found] = {}
    for record in output.split(b"\0")[:count]:
        facts, _, name = record.partition(b"\t")
        mode, _, id, *size = facts.decode("ascii").split()
        known = bool(size) and size[0].isdecimal()
        each = read_found(name, mode, id, int(size[0]) if known else -1)
        if isinstance(each, Entry):
            if size == ["BAD"]:
                raise ValueError(id)  # git cannot find the object
            found[each.path] = each
        else:
            found[name_of(name)] = each
    return found


def read_found(name: bytes, mode: str, id: str, size: int) -> Found:
    """Return a file, or why its name is refused."""
    path, reason = read_path(name)
    return RefusedPath(path, reason) if reason else Entry(path, mode, id, size)


def listing_of(found: Collection[Found]) -> Listing:
    """Put files, and names that are refused, apart."""
    entries = tuple(each for each in found if isinstance(each, Entry))
    if len(entries) == len(found):
        return Listing(entries)
    return Listing(entries, tuple(each for each in found if isinstance(each, RefusedPath)))


def name_of(name: bytes) -> str:
    """Return a text for any name git may hold, another one for each; a path if it can be one."""
    return name.decode("utf-8", "surrogateescape")


def bytes_of(name: str) -> bytes:
    """Return the name that such a text stands for; git sorts by these."""
    return name.encode("utf-8", "surrogateescape")


def read_path(name: bytes) -> tuple[str, str]:
    """Return a path, and why it is refused, if it is."""
    try:
        path = name.decode()
    except UnicodeDecodeError:
        shown = _shown(name.decode("utf-8", "backslashreplace"))
        return shown, f"the path '{shown}' is not UTF-8"
    if len(path) <= _SHORT and _PLAIN.fullmatch(
        path
    ):  # nearly all are; the full check is ten times as slow
        return path, ""
    try:
        check_path(path)
    except RefusedError as error:
        return _shown(path), error.message
    return path, ""


def tree_too_large(most: int) -> RefusedError:
    """Say that a revision has more files than are read."""
    return RefusedError(
        "git-tree-too-large",
        f"the revision has more than {most} files, or names beyond measure",
        hint="keep manifests in a repository of their own",
    )


def parse_paths(output: bytes) -> frozenset[str]:
    """Read `diff-tree -z --name-only`."""
    return frozenset(name.decode("utf-8", "replace") for name in output.split(b"\0") if name)


def parse_commit(id: str, content: bytes) -> Commit:
    """Read a raw commit object."""
    head, _, message = content.partition(b"\n\n")
    headers = list(_headers(head))
    single = dict(reversed(headers))  # the first of each counts
    encoding = single.get("encoding", b"utf-8").decode("ascii", "replace")
    author, email, authored = _person(single.get("author", b""), encoding)
    committer, _, committed = _person(single.get("committer", b""), encoding)
    subject, _, body = _text(message, encoding).strip().partition("\n\n")
    return Commit(
        *(id, single.get("tree", b"").decode("ascii", "replace")),
        *(author, email, authored, committer, committed),
        *(" ".join(subject.split()), body.strip()),
        tuple(value.decode("ascii", "replace") for key, value in headers if key == "parent"),
    )


def parse_tag(content: bytes) -> str:
    """Read whom a raw tag object points at."""
    first = content.partition(b"\n")[0]
    return first.removeprefix(b"object ").decode("ascii", "replace")


def _headers(head: bytes) -> Iterator[tuple[str, bytes]]:
    for line in head.split(b"\n"):
        if not line.startswith(b" "):  # a signature's further lines do
            key, _, value = line.partition(b" ")
            yield key.decode("ascii", "replace"), value


def _person(text: bytes, encoding: str) -> tuple[str, str, str]:
    found = _PERSON.fullmatch(_text(text, encoding))
    if found is None:
        return "", "", ""
    # They are shown and kept in a status: one that is a megabyte long would fill it.
    name, address = found[1].strip()[:_LONGEST_PERSON], found[2][:_LONGEST_PERSON]
    return name, address, _time(int(found[3]))


def _time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""  # anybody may write any number there


def _text(data: bytes, encoding: str) -> str:
    """Read what a stranger wrote, line by line fit for a terminal."""
    name = encoding if _ENCODING.fullmatch(encoding) else "utf-8"
    try:
        text = data.decode(name, "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    return "\n".join(map(printable, text.split("\n")))


def printable(text: str) -> str:
    """Replace what moves a cursor, or turns text around: a terminal would obey it."""
    if text.isprintable():
        return text
    return "".join(_harmless(each) for each in text)


def _harmless(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd"


def _shown(path: str) -> str:
    return path[:_SHOWN].encode("unicode_escape").decode("ascii")
