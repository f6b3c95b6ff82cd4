from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.source.api.url_policy import (
    Address,
    check_commit,
    check_path,
    check_ref,
    check_url,
    refused_address,
)
from kube_objects.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Rules:
    allow_plain_http: bool = False
    allowed_hosts: Collection[str] = ()
    local_urls: Collection[str] = ()


STRICT = Rules()


def refusal(url: str, rules: Rules = STRICT) -> RefusedError:
    with pytest.raises(RefusedError) as refused:
        check_url(url, rules)
    return refused.value


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://github.com/org/repo", Address("https", "github.com", 443, "/org/repo")),
        ("https://GitHub.com/org/repo.git", Address("https", "github.com", 443, "/org/repo.git")),
        ("https://git.local:8443/a/b.git/", Address("https", "git.local", 8443, "/a/b.git/")),
        ("ssh://git@h.example/o/r", Address("ssh", "h.example", 22, "/o/r", "git")),
        ("ssh://h.example:2222/~me/r", Address("ssh", "h.example", 2222, "/~me/r")),
        ("https://192.0.2.7/r", Address("https", "192.0.2.7", 443, "/r")),
        ("https://[2001:DB8:0::1]:9/r", Address("https", "2001:db8::1", 9, "/r")),
        (
            "https://dev.azure.com/o/My%20P/_git/r",
            Address("https", "dev.azure.com", 443, "/o/My%20P/_git/r"),
        ),
        ("https://my_host.example/r", Address("https", "my_host.example", 443, "/r")),
        ("https://1password.example/r", Address("https", "1password.example", 443, "/r")),
        ("https://xn--bcher-kva.example/r", Address("https", "xn--bcher-kva.example", 443, "/r")),
    ],
)
def test_ordinary_urls_are_taken_apart(url: str, address: Address) -> None:
    assert check_url(url, STRICT) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "-oProxyCommand=touch x",
        "--upload-pack=touch x",
        "ext::sh -c touch% x",
        "ext::sh",
        "fd::7",
        "https::https://github.com/o/r",
        "file:///srv/repo",
        "file:/srv/repo",
        "/srv/repo",
        "../repo",
        "repo",
        "git://github.com/o/r",
        "ftp://github.com/o/r",
        "git+ssh://github.com/o/r",
        "javascript:alert(1)",
        "http://github.com/o/r",
        "HTTPS://github.com/o/r",
        "https:/github.com/o/r",
        "https:///o/r",
        "https://",
        "https://github.com",
        "https://github.com/",
        "https://github.com//",
        "https://github.com:/o/r",
        "https://github.com:0/o/r",
        "https://github.com:65536/o/r",
        "https://github.com:0443/o/r",
        "https://github.com:22x/o/r",
        "https://github.com./o/r",
        "https://.github.com/o/r",
        "https://git..com/o/r",
        "https://-oProxyCommand=x/o/r",
        "ssh://-oProxyCommand=x/o/r",
        "ssh://-oProxyCommand=x@h/o/r",
        "ssh://git%40h@evil/o/r",
        "https://git%68ub.com/o/r",
        "https://git hub.com/o/r",
        "https://github.com/o/r\n",
        "https://github.com/o/r\nhttps://evil",
        "https://github.com/o\tr",
        "https://github.com/o\x00r",
        "https://github.com/o\u202er",
        "https://github.com\\@evil.example/o",
        "https://bücher.example/r",
        "https://gіthub.com/o/r",
        "https://github。com/o/r",
        "https://github.com/ö",
        "https://github.com/o/%zz",
        "https://github.com/o/%",
        "https://github.com/o/%00",
        "https://github.com/o/%0a",
        "https://github.com/o/../r",
        "https://github.com/o/%2e%2e/r",
        "https://github.com/o/..%2fr",
        "https://github.com/o/./r",
        "https://github.com/o/%5c",
        "https://github.com/o/r?x=1",
        "https://github.com/o/r?",
        "https://github.com/o/r#main",
        "https://0x7f.1/r",
        "https://127.1/r",
        "https://2130706433/r",
        "https://0x7f000001/r",
        "https://0177.0.0.1/r",
        "https://127.0.0.01/r",
        "https://1.2.3.4.5/r",
        "https://host.0x/r",
        "https://256.1.1.1/r",
        "https://[::1/r",
        "https://::1/r",
        "https://[fe80::1%25eth0]/r",
        "https://[fe80::1%eth0]/r",
        "https://[127.0.0.1]/r",
        "https://[]/r",
        "https://a]b/r",
        "https://" + "a" * 64 + ".example/r",
        "https://" + "a." * 127 + "example/r",
        "https://github.com/" + "a" * 2048,
    ],
)
def test_everything_else_is_refused_and_says_why(url: str) -> None:
    refused = refusal(url)
    assert refused.code == "bad-url"
    assert refused.message.startswith("the URL ")
    assert all(character.isprintable() for character in refused.message)
    assert len(refused.message) < 320


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2@github.com/o/r",
        "https://hunter2@github.com/o/r",
        "https://user:hun@hunter2@github.com/o/r",
        "ssh://git:hunter2@github.com/o/r",
        "https://:hunter2@github.com/o/r",
        "https://@github.com/o/r",
    ],
)
def test_a_login_in_a_url_is_refused_and_never_repeated(url: str) -> None:
    refused = refusal(url)
    assert "hunter2" not in refused.message + refused.hint
    assert refused.code in ("url-with-login", "bad-url")
    assert "secretRef" in refused.hint or refused.code == "bad-url"


@pytest.mark.parametrize(
    ("scp", "ssh"),
    [
        ("git@github.com:org/repo.git", "ssh://git@github.com/org/repo.git"),
        ("github.com:org/repo.git", "ssh://git@github.com/org/repo.git"),
        ("me@host.example:/srv/r", "ssh://me@host.example/srv/r"),
        ("git@[2001:db8::1]:r", "ssh://git@[2001:db8::1]/r"),
    ],
)
def test_the_scp_form_is_answered_with_the_url_to_write(scp: str, ssh: str) -> None:
    refused = refusal(scp)
    assert ssh in refused.hint
    assert check_url(ssh, STRICT).scheme == "ssh"


def test_plain_http_is_for_those_who_allow_it() -> None:
    assert "encrypted" in refusal("http://git.local/r").message
    assert check_url("http://git.local/r", Rules(allow_plain_http=True)).port == 80


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("git.example.com", True),
        ("GIT.EXAMPLE.COM", True),
        ("a.team.example", True),
        ("a.b.team.example", True),
        ("team.example", False),
        ("evilteam.example", False),
        ("git.example.com.evil.example", False),
        ("[2001:db8::1]", True),
        ("[2001:db8::2]", False),
    ],
)
def test_hosts_can_be_limited(host: str, is_allowed: bool) -> None:
    rules = Rules(allowed_hosts=("git.example.com", "*.Team.example", "[2001:db8::1]"))
    url = f"https://{host}/r"
    if is_allowed:
        assert check_url(url, rules).path == "/r"
    else:
        assert refusal(url, rules).code == "host-not-allowed"


def test_a_folder_of_this_machine_is_for_the_operator_who_named_it() -> None:
    rules = Rules(local_urls={"/srv/repo", "file:///srv/other"})
    assert check_url("/srv/repo", rules) == Address("file", "", 0, "/srv/repo")
    assert check_url("file:///srv/other", rules).path == "/srv/other"
    assert refusal("/srv/repo/../secret", rules).code == "bad-url"


@given(st.text(max_size=80))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    with suppress(RefusedError):
        assert check_url(text, STRICT).scheme in ("https", "ssh")


@pytest.mark.parametrize(
    "name",
    ["main", "feature/login", "refs/pull/7/head", "v1.2.3", "größe", "a@b", "HEAD", "x-", "#1"],
)
def test_ordinary_refs_pass(name: str) -> None:
    assert check_ref(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "@", "-x", "--upload-pack=x", "a/-x", ".a", "a/.b", "a..b", "a//b", "/a", "a/"),
        *("a.", "a.lock", "a.lock/b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b"),
        *("a@{1}", "a\nb", "a\x00", "a\x7f", "a\u202eb", "x" * 256, "é" * 128, "\ud800"),
    ],
)
def test_refs_git_refuses_or_misreads_are_refused(name: str) -> None:
    with pytest.raises(RefusedError) as refused:
        check_ref(name)
    assert refused.value.code == "bad-ref"


@pytest.mark.parametrize("text", ["a" * 40, "0123456789abcdef" * 4])
def test_whole_commit_ids_pass(text: str) -> None:
    assert check_commit(text) == text


@pytest.mark.parametrize("text", ["", "abc", "A" * 40, "a" * 41, "g" * 40, "a" * 40 + "\n", "HEAD"])
def test_other_texts_are_no_commit_ids(text: str) -> None:
    with pytest.raises(RefusedError) as refused:
        check_commit(text)
    assert refused.value.code == "bad-commit"


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("apps", "apps"),
        ("./apps/shop/", "apps/shop"),
        ("apps//shop", "apps/shop"),
        (".", ""),
        ("", ""),
        ("a b/ü", "a b/ü"),
        ("..a/b..", "..a/b.."),
    ],
)
def test_paths_come_back_in_plain_form(path: str, plain: str) -> None:
    assert check_path(path) == plain


@pytest.mark.parametrize(
    "path", ["/etc", "..", "a/../b", "../x", "a\\b", "a\nb", "a\x00b", "\x1b[31m", "a" * 4097]
)
def test_paths_that_leave_the_repository_are_refused(path: str) -> None:
    with pytest.raises(RefusedError) as refused:
        check_path(path)
    assert refused.value.code == "bad-path"
    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("ip", "reason"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("fd00:ec2::254", "private"),
        ("100.100.100.200", "private"),
        ("198.18.0.1", "private"),
        ("192.0.0.192", "private"),
        ("fec0::1", "private"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("0.1.2.3", "private"),
        ("240.0.0.1", "private"),
        ("255.255.255.255", "private"),
        ("168.63.129.16", "cloud platform"),
        ("::ffff:127.0.0.1", "loopback, as IPv4-mapped"),
        ("::ffff:169.254.169.254", "link-local, as IPv4-mapped"),
        ("::ffff:10.1.2.3", "private, as IPv4-mapped"),
        ("::127.0.0.1", "loopback, as IPv4-compatible"),
        ("2002:7f00:1::", "loopback, as 6to4"),
        ("2002:a9fe:a9fe::1", "link-local, as 6to4"),
        ("64:ff9b::7f00:1", "loopback, as NAT64"),
        ("64:ff9b::10.0.0.1", "private, as NAT64"),
        ("64:ff9b:1::1", "NAT64"),
        ("2001:0:0a00:1::1", "Teredo"),
        ("2001:db8::1", "private"),
        ("localhost", "not an IP address"),
        ("", "not an IP address"),
        ("2130706433", "not an IP address"),
    ],
)
def test_addresses_that_are_not_public_are_refused(ip: str, reason: str) -> None:
    assert reason in refused_address(ip)


@pytest.mark.parametrize(
    "ip",
    [
        *("140.82.121.4", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:50c0:8000::153"),
        *("::ffff:140.82.121.4", "2002:8c52:7904::1", "64:ff9b::140.82.121.4"),
    ],
)
def test_public_addresses_pass(ip: str) -> None:
    assert refused_address(ip) == ""
