"""
The corpus: every row is a repository or a URL that somebody might try, and what must come of it.

A row ends in an error (nothing of the repository is read), in findings (the file is refused, the
others are read), or in nothing: it is harmless and must be read as it is. `file` and `line` are
where the finding points; an error that stops before the files has none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.hostile import files, trees
from tests.hostile.stage import BAD_FILE, GOOD_FILE, Stage


@dataclass(frozen=True, slots=True)
class Row:
    """A hostile repository, and what must come of reading it."""

    build: Callable[[Stage], None]
    error: str = ""
    finding: str = ""
    file: str = BAD_FILE
    line: int = 1
    manifests: int = 1  # the good file's, mostly
    ref: Mapping[str, str] = field(default_factory=lambda: {"branch": "main"})

    @property
    def name(self) -> str:
        return self.build.__name__.replace("_", "-")


ROWS = (
    # What YAML allows
    Row(files.alias_bomb, finding="alias", line=7),
    Row(files.deep_nesting, finding="too-deep", line=5),
    Row(files.deep_json, finding="too-deep", file="apps/bad.json"),
    Row(files.deep_indentation, finding="too-deep", line=65),
    Row(files.duplicate_keys, finding="duplicate-key", line=7, manifests=2),
    Row(files.python_object, finding="tag", line=5, manifests=2),
    Row(files.many_documents, finding="source-too-large", file="apps/b.yaml", manifests=12_500),
    Row(files.many_errors, finding="not-a-manifest", line=2, manifests=0),
    Row(files.same_object_in_one_file, finding="duplicate-object", line=9, manifests=2),
    Row(files.same_object_in_two_files, finding="duplicate-object", file=GOOD_FILE, line=4),
    # What encodings allow
    Row(files.not_utf8, finding="not-utf8", line=6),
    Row(files.utf16, finding="not-utf8"),
    Row(files.null_bytes, finding="control-character", line=6),
    Row(files.byte_order_mark, manifests=2),
    Row(files.carriage_returns, manifests=2),
    # Sizes
    Row(files.file_over_a_mebibyte, finding="file-too-large"),
    Row(files.huge_blob, finding="file-too-large"),
    Row(files.much_yaml, finding="source-too-large", file="apps/big74.yaml", manifests=72),
    Row(trees.many_files, error="git-tree-too-large"),
    Row(trees.tree_bomb, error="git-tree-too-large"),
    Row(trees.delta_bomb, finding="file-too-large", manifests=0),
    Row(trees.many_refs, ref={"semver": "1.x"}, manifests=2),
    # Links and submodules
    Row(files.link_to_an_absolute_path, finding="KG-S02"),
    Row(files.link_out_of_the_repository, finding="KG-S02"),
    Row(files.link_to_a_folder, finding="KG-S02", file="apps/linked"),
    Row(files.submodule, finding="KG-S03", file="apps/sub"),
    Row(files.submodule_that_runs_a_command, error="git-objects-refused"),
    Row(files.attributes_and_hooks),
    Row(files.lfs_pointer, finding="not-a-manifest"),
    # Names
    Row(trees.path_with_dots, error="git-objects-refused"),
    Row(trees.path_with_git, error="git-objects-refused"),
    Row(trees.path_with_git_disguised, error="git-objects-refused"),
    Row(trees.path_with_a_slash, error="git-objects-refused"),
    Row(trees.path_with_a_backslash, finding="refused-path", file="apps/..\\\\bad.yaml"),
    Row(
        trees.path_with_controls,
        finding="refused-path",
        file="apps/bad\\x1b[31m\\nINFO: all is well\\r.yaml",
    ),
    Row(trees.path_not_utf8, finding="refused-path", file="apps/b\\\\xfcd.yaml"),
    Row(trees.path_turned_around, finding="refused-path", file="apps/bad\\u202elmay.yaml"),
    Row(trees.path_of_four_kibibytes, finding="refused-path", file="apps/" + "n" * 195),
    Row(trees.path_like_an_option, manifests=2),
    Row(trees.path_of_many_folders, finding="refused-path", file=("apps/" + "d/" * 98)[:200]),
    # Objects that are not what they are said to be
    Row(trees.strange_mode, manifests=2),
    Row(trees.same_name_twice, error="git-objects-refused"),
    Row(trees.missing_blob, error="git-failed"),
    Row(trees.file_that_is_a_folder, error="git-failed"),
    Row(trees.branch_that_is_a_file, error="not-a-commit"),
    Row(trees.tag_of_a_folder, error="not-a-commit", ref={"tag": "v1"}),
    Row(trees.tags_in_a_row, ref={"tag": "v1"}, manifests=2),
    Row(trees.head_like_an_option, error="bad-ref", ref={}),
    Row(trees.strange_commit),
    Row(trees.commit_with_a_long_message, error="git-file-too-large"),
    Row(trees.commit_in_no_encoding),
    Row(trees.commit_in_a_strict_encoding),
    Row(trees.commit_in_a_slow_encoding),
)

# Refs that people write; the repository has a branch of that name, where git allows one.
REFS: tuple[Mapping[str, str], ...] = (
    {"branch": "--upload-pack={command}"},
    {"branch": "-x"},
    {"branch": "a/../../x"},
    {"branch": "main\n--upload-pack={command}"},
    {"branch": "main\0x"},
    {"branch": "main:refs/heads/x"},
    {"branch": "+main"},
    {"branch": "^main"},
    {"branch": "main@{1}"},
    {"branch": "*"},
    {"branch": "x" * 300},
    {"branch": ".hidden"},
    {"branch": "main.lock"},
    {"tag": "--upload-pack={command}"},
    {"tag": "v1;{command}"},
    {"name": "--upload-pack={command}"},
    {"name": "main"},
    {"name": "refs/heads/../../config"},
    {"name": "refs/heads/$({command})"},
    {"commit": "HEAD"},
    {"commit": "--all"},
    {"commit": "1234567"},
    {"commit": "1" * 39 + "\n"},
    {"semver": "v" * 5000},
    {"semver": "*", "semver_filter": "(a+)+$" * 50},
)

# URLs that people write, and the code of the error; the rules are those of a plain installation.
URLS: tuple[tuple[str, str], ...] = (
    ("ext::sh -c {command}%", "bad-url"),
    ("ext::sh", "bad-url"),
    ("fd::17", "bad-url"),
    ("file://{canary}", "bad-url"),
    ("{canary}", "bad-url"),
    ("../repositories/app.git", "bad-url"),
    ("FILE://{canary}", "bad-url"),
    ("-oProxyCommand={command}", "bad-url"),
    ("--upload-pack={command}", "bad-url"),
    ("ssh://-oProxyCommand={command}/x", "bad-url"),
    ("ssh://git@-oProxyCommand={command}/x", "bad-url"),
    ("ssh://-oProxyCommand={command}@example.com/x", "bad-url"),
    ("ssh://git@example.com:-oProxyCommand/x", "bad-url"),
    ("git@example.com:app.git", "bad-url"),
    ("git://example.com/app.git", "bad-url"),
    ("ftp://example.com/app.git", "bad-url"),
    ("http://example.com/app.git", "bad-url"),
    ("https://user:pl4nted-s3cret@example.com/app.git", "url-with-login"),
    ("https://pl4nted-s3cret@example.com/app.git", "url-with-login"),
    ("https://example.com/app.git?token=pl4nted-s3cret", "bad-url"),
    ("https://example.com/app.git\n", "bad-url"),
    ("https://example.com/a\r\nHost: x", "bad-url"),
    ("https://example.com%0d%0aX: y/app.git", "bad-url"),
    ("https://example.com/%0aurl=https://evil.example/", "bad-url"),
    ("https://example.com/../../x", "bad-url"),
    ("https://example.com\\@169.254.169.254/x", "bad-url"),
    ("https://169.254.169.254/latest/meta-data", "private-network"),
    ("https://[::ffff:169.254.169.254]/x", "private-network"),
    ("https://[fe80::1]/x", "private-network"),
    ("https://[fd00:ec2::254]/x", "private-network"),
    ("https://2852039166/x", "bad-url"),
    ("https://0xa9.0xfe.0xa9.0xfe/x", "bad-url"),
    ("https://0251.0376.0251.0376/x", "bad-url"),
    ("https://127.1/x", "bad-url"),
    ("https://0/x", "bad-url"),
    ("https://0.0.0.0/x", "private-network"),
    ("https://127.0.0.1/x", "private-network"),
    ("https://[::1]/x", "private-network"),
    ("https://10.0.0.1/x", "private-network"),
    ("https://localhost/x", "private-network"),
    ("https://localhost./x", "bad-url"),
    ("ssh://git@127.0.0.1/x", "private-network"),
    ("https://①②⑦.0.0.1/x", "bad-url"),
    ("https://exa\u202emple.com/x", "bad-url"),
    ("https:///x", "bad-url"),
    ("https://example.com", "bad-url"),
    ("https://example.com:99999/x", "bad-url"),
    ("", "bad-url"),
    ("https://" + "a" * 100_000 + "/x", "bad-url"),
)
