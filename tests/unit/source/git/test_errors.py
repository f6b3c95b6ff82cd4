"""What git and servers say, and the error that becomes of it; texts as they were heard."""

import pytest

from kro_gitops.errors import Unavailable
from kro_gitops.source.git.errors import (
    error_for,
    is_damage,
    is_file_too_large,
    is_out_of_memory,
    is_redirect,
)
from kube_objects.errors import RefusedError


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (
            "remote: Support for password authentication was removed.\n"
            "fatal: Authentication failed for 'https://github.com/x/y/'",
            "git-auth-failed",
        ),
        (
            "remote: HTTP Basic: Access denied.\nfatal: Authentication failed for 'https://h/'",
            "git-auth-failed",
        ),
        (
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            "git-auth-failed",
        ),
        (
            "git@h: Permission denied (publickey).\r\n"
            "fatal: Could not read from remote repository.\n",
            "git-auth-failed",
        ),
        (
            "fatal: unable to access 'https://h/': The requested URL returned error: 403",
            "git-auth-failed",
        ),
        (
            "remote: Repository not found.\nfatal: repository 'https://h/x/' not found",
            "git-repository-not-found",
        ),
        (
            "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
            "git-repository-not-found",
        ),
        (
            "No ED25519 host key is known for h and you have requested strict checking.\n"
            "Host key verification failed.",
            "git-host-key-unknown",
        ),
        (
            "fatal: unable to access 'https://h/': server certificate verification failed.",
            "git-tls-failed",
        ),
        (
            "fatal: unable to access 'https://h/': SSL certificate problem: self-signed",
            "git-tls-failed",
        ),
        (
            "ssh: connect to host 1.2.3.4 port 22: Connection refused",
            "git-connection-failed",
        ),
        ("ssh: connect to host 1.2.3.4 port 22: Connection timed out", "git-timeout"),
        (
            "fatal: unable to access 'https://h/': The requested URL returned error: 429",
            "git-rate-limited",
        ),
        (
            "fatal: unable to access 'https://h/': The requested URL returned error: 502",
            "git-server-failed",
        ),
        (
            "fatal: unable to access 'https://h/': Received HTTP code 407 from proxy after CONNECT",
            "git-proxy-failed",
        ),
        (
            "fatal: unable to access 'https://h/certificates/': Failed to connect to h port 443",
            "git-connection-failed",
        ),
        ("fatal: couldn't find remote ref refs/heads/x", "git-ref-gone"),
        ("fatal: remote error: upload-pack: not our ref 1111", "git-ref-gone"),
        (
            "error: Server does not allow request for unadvertised object 1111",
            "git-id-refused",
        ),
        ("something nobody has heard", "git-failed"),
        ("", "git-failed"),
    ],
)
def test_each_complaint_has_its_code(said: str, code: str) -> None:
    error = error_for(said)
    assert isinstance(error, Unavailable)
    assert error.code == code


def test_the_servers_own_words_are_passed_on_without_what_git_always_says() -> None:
    error = error_for(
        "remote: \nremote: The project you were looking for could not be found.\nremote: \n"
        "fatal: Could not read from remote repository.\n\n"
        "Please make sure you have the correct access rights\nand the repository exists.\n"
    )
    assert error.message.endswith(
        "may not see it: The project you were looking for could not be found."
    )


def test_broken_objects_are_refused_and_not_taken_for_damage_here() -> None:
    said = (
        "error: object 1111111111111111111111111111111111111111: hasDotgit: contains '.git'\n"
        "fatal: fsck error in packed object\nfatal: fetch-pack: invalid index-pack output"
    )
    error = error_for(said)
    assert isinstance(error, RefusedError)
    assert error.code == "git-objects-refused"
    assert not is_damage(said)


def test_limits_are_recognised_unless_the_server_claims_them() -> None:
    assert is_out_of_memory("fatal: Out of memory, calloc failed")
    assert not is_out_of_memory("remote: fatal: Out of memory, malloc failed")
    assert is_file_too_large("error: index-pack died of signal 25")
    assert not is_file_too_large("remote: File too large")


def test_damage_on_the_other_side_is_not_ours() -> None:
    assert is_damage("error: packfile ./objects/pack/x.pack does not match index")
    assert not is_damage("remote: error: packfile ./objects/pack/x.pack does not match index")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "Failed to connect to h port 1 after 0 ms: no",
            "Failed to connect to h port 1 after 7 ms: no",
        ),
        (
            "verification failed. CAfile: /tmp/kro-gitops-a1/ca CRLfile: none",
            "verification failed. CAfile: /tmp/kro-gitops-b2/ca CRLfile: none",
        ),
        (
            'Load key "/tmp/kro-gitops-a1/identity": error in libcrypto',
            'Load key "/tmp/kro-gitops-b2/identity": error in libcrypto',
        ),
    ],
)
def test_the_same_failure_has_the_same_words(first: str, second: str) -> None:
    assert error_for(first).message == error_for(second).message
    assert "kro-gitops-" not in error_for(first).message


def test_long_complaints_are_cut() -> None:
    assert len(error_for("\n".join(f"line {n} {'x' * 200}" for n in range(50))).message) < 700


def test_a_redirect_is_recognised() -> None:
    assert is_redirect(
        "fatal: unable to access 'https://h/': The requested URL returned error: 301"
    )
    assert not is_redirect("fatal: The requested URL returned error: 404")
