"""
What git printed → values.

The formats are those for programs: NUL-separated, raw objects. Names that are not UTF-8, or hold
what no path may hold, are set aside with a reason and never become paths.
"""

import contextlib
import re
from collections.abc import Collection
from datetime import UTC, datetime

from kro_gitops.source.api.redaction import redact
from kro_gitops.source.api.url_policy import check_path
from kro_gitops.source.git.revisions import RemoteRefs
from kro_gitops.source.git.types import Commit, Entry, Found, Listing, RefusedPath
from kube_objects.errors import RefusedError

_PLAIN = re.compile(r"[\w@%+=:,~ ()-][\w@%+=:,~ ().-]*(?:/[\w@%+=:,~ ()-][\w@%+=:,~ ().-]*)*", re.A)
_LONGEST_PERSON = 255
_LONGEST_MESSAGE = 1 << 16  # characters
_PERSON = re.compile(r"(.*?) ?<([^<>]*)> (-?\d{1,20}) [+-]\d{4}")
_SHORT = 1000
_SHOWN = 200
# Some of Python's codecs raise, or take very long, on hostile input: only these are used.
_ENCODING = re.compile(
    r"utf-?8|(?:us-)?ascii|iso-?8859-?\d{1,2}|latin-?\d|(?:windows|cp)-?125\d|koi8-[ru]"
    r"|shift[_-]?jis|euc-?(?:jp|kr)|gbk|gb2312|gb18030|big5",
    re.IGNORECASE,
)


def parse_refs(output: bytes, most: int) -> RemoteRefs:
    """Read `ls-remote --symref`; raise `OverflowError` if there are more refs than `most`."""
    head = ""
    refs: dict[str, str] = {}
    peeled: dict[str, str] = {}
    if output.count(b"\n") > 2 * most + 2:  # a tag has two lines, HEAD one more
        raise OverflowError
    for line in output.splitlines():
        value, _, name = line.decode("utf-8", "replace").partition("\t")
        if value.startswith("ref: "):
            head = value.removeprefix("ref: ") if name == "HEAD" else head
        elif name.endswith("^{}"):
            peeled[name.removesuffix("^{}")] = value
        elif name:
            refs[name] = value
    if len(refs) > most:
        raise OverflowError
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
    """Return a file, or why its name is rejected."""
    path, reason = read_path(name)
    return RefusedPath(path, reason) if reason else Entry(path, mode, id, size)


def listing_of(found: Collection[Found]) -> Listing:
    """Separate files from rejected names."""
    entries = tuple(each for each in found if isinstance(each, Entry))
    if len(entries) == len(found):
        return Listing(entries)
    return Listing(entries, tuple(each for each in found if isinstance(each, RefusedPath)))


def name_of(name: bytes) -> str:
    """Return a distinct text for any name that git may hold; a path if it can be one."""
    return name.decode("utf-8", "surrogateescape")


def bytes_of(name: str) -> bytes:
    """Return the name that such a text stands for; git sorts by these."""
    return name.encode("utf-8", "surrogateescape")


def read_path(name: bytes) -> tuple[str, str]:
    """Return a path, and why it is rejected, if it is."""
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
    """Return the error for a revision with more files than are read."""
    return RefusedError(
        "git-tree-too-large",
        f"the revision has more than {most} files, or names beyond measure",
        hint="keep manifests in a repository of their own",
    )


def parse_paths(output: bytes) -> frozenset[str]:
    """Read `diff-tree -z --name-only`."""
    return frozenset(name.decode("utf-8", "replace") for name in output.split(b"\0") if name)


def parse_commit(id: str, content: bytes) -> Commit:
    """Read a raw commit object; secrets in its message and its names are masked."""
    head, _, message = content.partition(b"\n\n")
    headers: list[tuple[str, bytes]] = []
    for line in head.split(b"\n"):
        if not line.startswith(b" "):  # a signature's further lines do
            key, _, value = line.partition(b" ")
            headers.append((key.decode("ascii", "replace"), value))
    single = dict(reversed(headers))  # the first of each counts
    encoding = single.get("encoding", b"utf-8").decode("ascii", "replace")
    author, email, authored = _person(single.get("author", b""), encoding)
    committer, _, committed = _person(single.get("committer", b""), encoding)
    text = _text(message, encoding).strip()
    if len(text) > _LONGEST_MESSAGE:
        # Masking takes a second for a megabyte. Cut between words: half a token would not match.
        text = text[:_LONGEST_MESSAGE].rpartition(" ")[0] or text[:_LONGEST_MESSAGE]
    # Here and not where it is shown: a status, `history`, `why` and notifications cannot forget it.
    subject, _, body = redact(text).partition("\n\n")
    return Commit(
        *(id, single.get("tree", b"").decode("ascii", "replace")),
        *(author, email, authored, committer, committed),
        *(" ".join(subject.split()), body.strip()),
        tuple(value.decode("ascii", "replace") for key, value in headers if key == "parent"),
    )


def parse_tag(content: bytes) -> str:
    """Read the id that a raw tag object points at."""
    first = content.partition(b"\n")[0]
    return first.removeprefix(b"object ").decode("ascii", "replace")


def _person(text: bytes, encoding: str) -> tuple[str, str, str]:
    found = _PERSON.fullmatch(_text(text, encoding))
    if found is None:
        return "", "", ""
    # They are shown and kept in a status: one that is a megabyte long would fill it.
    name, address = (redact(found[i]).strip()[:_LONGEST_PERSON] for i in (1, 2))
    time = ""
    with contextlib.suppress(OverflowError, ValueError, OSError):  # it may be any number
        time = datetime.fromtimestamp(int(found[3]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return name, address, time


def _text(data: bytes, encoding: str) -> str:
    """Decode text of a commit; each line of it may be printed on a terminal."""
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
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def _shown(path: str) -> str:
    return path[:_SHOWN].encode("unicode_escape").decode("ascii")
