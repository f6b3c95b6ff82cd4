"""What git prints, read."""

import pytest

from kro_gitops.source.git.output import (
    parse_commit,
    parse_listing,
    parse_paths,
    parse_refs,
    read_path,
)
from kro_gitops.source.git.types import Entry
from kube_objects.errors import RefusedError

ID = "1" * 40


def test_refs_heads_and_peeled_tags_are_told_apart() -> None:
    found = parse_refs(
        b"ref: refs/heads/trunk\tHEAD\n"
        + f"{ID}\tHEAD\n{ID}\trefs/tags/v1\n{'2' * 40}\trefs/tags/v1^{{}}\n".encode(),
        2,
    )
    assert found.head == "refs/heads/trunk"
    assert found.refs == {"HEAD": ID, "refs/tags/v1": ID}
    assert found.peeled == {"refs/tags/v1": "2" * 40}


def test_more_refs_than_allowed_overflow() -> None:
    tags = "".join(f"{ID}\trefs/tags/v{n}\n{ID}\trefs/tags/v{n}^{{}}\n" for n in range(3))
    assert len(parse_refs(tags.encode(), 3).refs) == 3
    with pytest.raises(OverflowError):
        parse_refs(tags.encode(), 2)
    with pytest.raises(OverflowError):
        parse_refs(tags.encode() * 10, 2)


TOKEN = "ghp_" + "x1Y2" * 9
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\n\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("message", "subject", "body"),
    [
        (f"Use {TOKEN} now\n\nsee {TOKEN}", "Use *** now", "see ***"),
        ("Set password=hunter22\n\nok", "Set password=***", "ok"),
        ("Clone https://ada:s3cret@git.example.com/x", "Clone https://***@git.example.com/x", ""),
        (f"Add\n{KEY}\nhere", "Add *** here", ""),
        ("Fix the token check\n\nNo secrets.", "Fix the token check", "No secrets."),
    ],
)
def test_secrets_in_a_message_are_masked_where_it_is_read(
    message: str, subject: str, body: str
) -> None:
    found = parse_commit(ID, f"tree {ID}\n\n{message}\n".encode())
    assert (found.subject, found.body) == (subject, body)


def test_secrets_in_names_are_masked_where_they_are_read() -> None:
    person = f"Ada {TOKEN} <{TOKEN}@example.com> 1700000000 +0000"
    raw = f"tree {ID}\nauthor {person}\ncommitter {person}\n\nchange"
    found = parse_commit(ID, raw.encode())
    assert (found.author, found.author_email) == ("Ada ***", "***@example.com")
    assert found.committer == "Ada ***"
    assert found.authored == "2023-11-14T22:13:20Z"


def test_a_message_without_end_is_cut_between_words() -> None:
    raw = f"tree {ID}\n\nsubject\n\n" + f"{TOKEN} " * 20_000
    found = parse_commit(ID, raw.encode())
    assert found.subject == "subject"
    assert set(found.body.split()) == {"***"}
    assert len(found.body.split()) < 2_000


def test_a_name_is_cut_after_secrets_are_masked() -> None:
    person = f"{'a' * 240} {TOKEN} <x@example.com> 1700000000 +0000"
    found = parse_commit(ID, f"tree {ID}\nauthor {person}\n\nchange".encode())
    assert found.author == "a" * 240 + " ***"


def test_sizes_may_be_unknown() -> None:
    lines = b"100644 blob %s       7\ta b\x00160000 commit %s       -\tsub\x00"
    lines %= (ID.encode(), ID.encode())
    assert parse_listing(lines, 5) == {
        "a b": Entry("a b", "100644", ID, 7),
        "sub": Entry("sub", "160000", ID, -1),
    }
    assert parse_listing(f"100644 blob {ID}\tx\0".encode(), 5) == {
        "x": Entry("x", "100644", ID, -1)
    }


def test_a_listing_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(RefusedError) as caught:
        parse_listing(b"rubbish\0" * 6, 5)
    assert caught.value.code == "git-tree-too-large"


@pytest.mark.parametrize(
    "name", ["a", "a/b.yaml", ".github/x.yaml", "ü/ñ", "a b", "-x", "a..b", "日本.yaml"]
)
def test_ordinary_names_are_paths(name: str) -> None:
    assert read_path(name.encode()) == (name, "")


@pytest.mark.parametrize(
    "name",
    [b"a/../b", b"..", b"/a", b"a\\b", b"a\nb", b"a\x7f", b"\xff", b"a\xe2\x80\xaeb", b"x" * 5000],
)
def test_other_names_are_refused_and_shown_on_one_line(name: bytes) -> None:
    shown, reason = read_path(name)
    assert reason
    assert shown.isascii()
    assert shown.isprintable()


def test_paths_of_a_difference() -> None:
    assert parse_paths(b"a\0b/c\0") == frozenset({"a", "b/c"})
    assert parse_paths(b"") == frozenset()


def test_a_signed_commit_in_another_encoding_is_read() -> None:
    raw = (
        f"tree {'3' * 40}\nparent {ID}\nparent {'2' * 40}\n"
        "author J\xfcrgen <j@example.org> 1700000000 +0100\n"
        "committer <> 99999999999999999 +0000\n"
        "encoding ISO-8859-1\n"
        "gpgsig -----BEGIN PGP SIGNATURE-----\n author Mallory <m@example.org> 1 +0000\n"
        " -----END PGP SIGNATURE-----\n\nGr\xfc\xdfe\n"
    ).encode("latin-1")
    found = parse_commit(ID, raw)
    assert (found.author, found.authored) == ("Jürgen", "2023-11-14T22:13:20Z")
    assert (found.committer, found.committed) == ("", "")
    assert (found.tree, found.parents) == ("3" * 40, (ID, "2" * 40))
    assert (found.subject, found.body) == ("Grüße", "")


def test_a_commit_of_rubbish_is_read_as_far_as_it_goes() -> None:
    found = parse_commit(ID, b"\xff\xfe\n\n\xff")
    assert (found.tree, found.author, found.subject) == ("", "", "\ufffd")


def test_nobody_has_a_name_that_fills_a_status() -> None:
    person = f"{'x' * 100_000} <{'y' * 100_000}> 1700000000 +0100"
    found = parse_commit(ID, f"tree {'3' * 40}\nauthor {person}\ncommitter {person}\n\na".encode())
    assert {len(each) for each in (found.author, found.author_email, found.committer)} == {255}
