"""Hostile trees, refs and packs: objects that git itself would not have written."""

import hashlib
import struct
import zlib

from tests.git_repositories import Person, TreeEntry
from tests.hostile.stage import Stage, config_map

_FILE = "100644"
_FOLDER = "40000"


def _with_entry(stage: Stage, *names: bytes, mode: str = _FILE) -> None:
    """Commit a good file, and beside it one entry below folders of these names."""
    blob = stage.repository.blob(config_map("bad").encode())
    good = stage.repository.blob(config_map("good").encode())
    *folders, name = names
    entry = TreeEntry(mode, name, blob)
    for folder in reversed(folders):
        entry = TreeEntry(_FOLDER, folder, stage.repository.tree([entry]))
    apps = [TreeEntry(_FILE, b"good.yaml", good), entry]
    apps.sort(key=lambda each: each.name + (b"/" if each.mode == _FOLDER else b""))
    tree = stage.repository.tree(apps)
    stage.repository.commit_tree(stage.repository.tree([TreeEntry(_FOLDER, b"apps", tree)]))


def path_with_dots(stage: Stage) -> None:
    _with_entry(stage, b"..", b"..", b"bad.yaml")


def path_with_git(stage: Stage) -> None:
    _with_entry(stage, b".git", b"hooks", b"post-checkout.yaml")


def path_with_git_disguised(stage: Stage) -> None:
    _with_entry(stage, b".g\xe2\x80\x8cit", b"bad.yaml")


def path_with_a_slash(stage: Stage) -> None:
    _with_entry(stage, b"../../bad.yaml")


def path_with_a_backslash(stage: Stage) -> None:
    _with_entry(stage, b"..\\bad.yaml")


def path_with_controls(stage: Stage) -> None:
    _with_entry(stage, b"bad\x1b[31m\nINFO: all is well\r.yaml")


def path_not_utf8(stage: Stage) -> None:
    _with_entry(stage, b"b\xfcd.yaml")


def path_turned_around(stage: Stage) -> None:
    _with_entry(stage, "bad\u202elmay.yaml".encode())


def path_of_four_kibibytes(stage: Stage) -> None:
    _with_entry(stage, b"n" * 4096 + b".yaml")


def path_like_an_option(stage: Stage) -> None:
    _with_entry(stage, b"--output=bad.yaml")


def path_of_many_folders(stage: Stage) -> None:
    _with_entry(stage, *[b"d"] * 4_000, b"bad.yaml")


def strange_mode(stage: Stage) -> None:
    _with_entry(stage, b"bad.yaml", mode="100777")


def same_name_twice(stage: Stage) -> None:
    repository = stage.repository
    blobs = [repository.blob(config_map(name).encode()) for name in ("good", "bad")]
    apps = repository.tree(TreeEntry(_FILE, b"good.yaml", blob) for blob in blobs)
    repository.commit_tree(repository.tree([TreeEntry(_FOLDER, b"apps", apps)]))


def many_files(stage: Stage) -> None:
    _shared(stage, 200, 1_000)


def tree_bomb(stage: Stage) -> None:
    _shared(stage, *[10] * 9)


def _shared(stage: Stage, *widths: int) -> None:
    """Commit folders in which every entry is the same folder: few objects, many paths."""
    repository = stage.repository
    entry = (_FILE, repository.blob(config_map("bad").encode()), b".yaml")
    for width in reversed(widths):
        mode, id, ending = entry
        names = sorted(b"%04d" % n + ending for n in range(width))
        entry = (_FOLDER, repository.tree(TreeEntry(mode, name, id) for name in names), b"")
    repository.commit_tree(entry[1])


def missing_blob(stage: Stage) -> None:
    repository = stage.repository
    apps = repository.tree([TreeEntry(_FILE, b"bad.yaml", "12" * 20)])
    repository.commit_tree(repository.tree([TreeEntry(_FOLDER, b"apps", apps)]))


def file_that_is_a_folder(stage: Stage) -> None:
    repository = stage.repository
    folder = repository.tree([TreeEntry(_FILE, b"a.yaml", repository.blob(b"a: 1\n"))])
    apps = repository.tree([TreeEntry(_FILE, b"bad.yaml", folder)])
    repository.commit_tree(repository.tree([TreeEntry(_FOLDER, b"apps", apps)]))


def branch_that_is_a_file(stage: Stage) -> None:
    # git would refuse to write this ref, and serves it.
    ref = stage.repository.path / "refs/heads/main"
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(stage.repository.blob(b"no commit\n") + "\n", encoding="ascii")


def tag_of_a_folder(stage: Stage) -> None:
    repository = stage.repository
    folder = repository.tree([])
    text = f"object {folder}\ntype tree\ntag v1\ntagger A <a@b> 1767225600 +0000\n\nv1\n"
    repository.set_ref("refs/tags/v1", repository.write("tag", text.encode()))


def tags_in_a_row(stage: Stage) -> None:
    stage.commit(config_map("bad"))
    repository = stage.repository
    named, kind = repository.head(), "commit"
    for _ in range(2_000):
        text = f"object {named}\ntype {kind}\ntag v1\ntagger A <a@b> 1767225600 +0000\n\nv1\n"
        named, kind = repository.write("tag", text.encode()), "tag"
    repository.set_ref("refs/tags/v1", named)


def head_like_an_option(stage: Stage) -> None:
    stage.commit(config_map("bad"))
    name = f"refs/heads/--upload-pack={stage.command}"
    packed = f"{stage.repository.head()} {name}\n"
    (stage.repository.path / "packed-refs").write_text(packed, encoding="utf-8")
    (stage.repository.path / "HEAD").write_text(f"ref: {name}\n", encoding="utf-8")


def many_refs(stage: Stage) -> None:
    stage.commit(config_map("bad"))
    commit = stage.repository.head()
    names = sorted(f"refs/tags/v1.{n // 250}.{n % 250}" for n in range(20_000))
    head = "# pack-refs with: peeled fully-peeled sorted \n"
    packed = head + "".join(f"{commit} {name}\n" for name in names)
    (stage.repository.path / "packed-refs").write_text(packed, encoding="ascii")


def strange_commit(stage: Stage) -> None:
    blob = stage.repository.blob(config_map("good").encode())
    tree = stage.repository.nested([b"apps"], TreeEntry(_FILE, b"good.yaml", blob))
    author = Person("Mallory\x1b[2J\u202e", "m@example.com")
    message = "\x1b]0;owned\x07subject\u202e\r hidden\n\n" + "body\n" * 40_000
    stage.repository.commit_tree(tree, message=message, author=author)


def commit_with_a_long_message(stage: Stage) -> None:
    tree = stage.repository.tree([])
    stage.repository.commit_tree(tree, message="very long " * 200_000)


def _commit_in(stage: Stage, encoding: str, message: bytes) -> None:
    """Commit a good file with a message that claims an encoding."""
    blob = stage.repository.blob(config_map("good").encode())
    tree = stage.repository.nested([b"apps"], TreeEntry(_FILE, b"good.yaml", blob))
    who = "A <a@example.com> 1767225600 +0000"
    head = f"tree {tree}\nauthor {who}\ncommitter {who}\nencoding {encoding}\n\n".encode()
    stage.repository.force_branch("main", stage.repository.write("commit", head + message))


def commit_in_no_encoding(stage: Stage) -> None:
    _commit_in(stage, "undefined", b"hello")  # a codec of Python's that always raises


def commit_in_a_strict_encoding(stage: Stage) -> None:
    _commit_in(stage, "idna", b"xn--\xff")  # a codec that knows no replacing


def commit_in_a_slow_encoding(stage: Stage) -> None:
    _commit_in(stage, "punycode", b"a" * 500_000 + b"-" + b"b" * 500_000)


def delta_bomb(stage: Stage) -> None:
    """Serve a pack of a few KiB in which deltas unfold to a file of 320 MiB."""
    repository = stage.repository
    base = bytes(1 << 16)
    steps = 128, 40  # 8 MiB, 320 MiB
    small = _zeros_id(b"blob", len(base)).hex()
    middle = _zeros_id(b"blob", steps[0] * len(base))
    final_size = steps[1] * steps[0] * len(base)
    objects = [
        _packed(3, base),
        _delta(bytes.fromhex(small), len(base), steps[0]),
        _delta(middle, steps[0] * len(base), steps[1]),
    ]
    body = b"PACK" + struct.pack(">II", 2, len(objects)) + b"".join(objects)
    repository.git("index-pack", "--stdin", stdin=body + hashlib.sha1(body).digest())
    huge = _zeros_id(b"blob", final_size).hex()
    # Deltas are sent as they are only together with what they refer to.
    parts = zip((b"a", b"b", b"bad.yaml"), (small, middle.hex(), huge), strict=True)
    apps = repository.tree(TreeEntry(_FILE, name, id) for name, id in parts)
    repository.commit_tree(repository.tree([TreeEntry(_FOLDER, b"apps", apps)]))


def _zeros_id(kind: bytes, zeros: int) -> bytes:
    """Return the id of an object that is so many zero bytes."""
    digest, piece = hashlib.sha1(kind + b" %d\0" % zeros), bytes(1 << 20)
    for start in range(0, zeros, len(piece)):
        digest.update(piece[: zeros - start])
    return digest.digest()


def _packed(kind: int, content: bytes, *, before: bytes = b"") -> bytes:
    """Write an object of a pack: its type and size in git's variable length, then itself."""
    size, first = len(content) >> 4, kind << 4 | len(content) & 15
    head = bytearray()
    while size:
        head.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    head.append(first)
    return bytes(head) + before + zlib.compress(content, 9)


def _delta(base: bytes, base_size: int, copies: int) -> bytes:
    """Write an object that is so many copies of another."""
    sizes = _length(base_size) + _length(base_size * copies)
    copy = b"\xf0" + base_size.to_bytes(4, "little")[:3]  # from 0, a size of three bytes
    return _packed(7, sizes + copy * copies, before=base)


def _length(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
