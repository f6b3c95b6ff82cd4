"""Every code has its heading in docs/reference/errors.md, and its example prints what is shown."""

import re

import pytest

from tests.docs.error_codes import emitted_codes
from tools.error_page import PAGE, Example, examples, headings, kiosk, printed

TEXT = PAGE.read_text(encoding="utf-8")

# Codes whose cause cannot be shown in a few lines of YAML.
WITHOUT_EXAMPLE = {
    *("alias-bomb", "control-character", "file-too-large", "no-such-file"),
    *("not-utf8", "source-too-large", "too-deep", "too-many-documents", "unreadable-file"),
    *("cyclic-type", "expression-build", "schema-too-deep"),
    *("schema-too-large", "unknown-reference"),
    *("collection-too-large", "data-missing", "evaluation-failed", "evaluation-limit"),
    "evaluation-stopped",
    *("result-unusable", "value-unknown", "identity-collision", "namespace-missing"),
    "unknown-owner",
    *("name-missing", "nesting-too-deep", "not-a-boolean"),
    # What a folder or a cluster is needed for.
    *("no-such-repository", "not-a-repository", "not-the-repository-root"),
    *("embedded-api-ended", "folder-unusable", "sandbox-not-installed", "snapshot-unusable"),
    *("store-in-use", "store-not-empty", "store-unusable"),
    *("KG-T01", "address-unavailable", "already-exists", "ambiguous-kind", "api-error"),
    *("bad-certificate", "bad-kubeconfig", "bad-setting", "breaking-change"),
    *("cache-sync-timeout", "cluster-unavailable", "conflict", "crd-deleting"),
    *("credential-plugin", "data-pending", "duplicate-target", "expired", "forbidden"),
    *("foreign-applyset", "invalid", "invalid-application-name"),
    *("invalid-inventory", "no-discovery", "no-kubeconfig", "no-lease-namespace", "no-schema"),
    *("no-such-kind", "no-such-object", "not-an-instance", "not-established", "not-found"),
    *("not-installed", "not-one-version", "not-ours", "not-published", "not-served"),
    *("not-watched", "owner-out-of-reach", "server-trouble", "too-many-requests"),
    *("bad-name", "inventory-unknown"),
    *("no-campaign", "not-leading", "owner-unknown", "tracking-overridden", "unauthorized"),
    # What git, a remote or a source is needed for.
    *("KG-S02", "KG-S03", "KG-S04", "api-redirected", "api-tls-failed", "api-unreachable"),
    *("app-login", "bad-address", "bad-commit", "bad-credentials", "bad-keys", "bad-path"),
    *("bad-proxy", "bad-ref", "bad-secret", "bad-semver", "bad-semver-filter", "bad-signature"),
    *("bad-url", "blocked-dependency", "bridge-refused", "commit-not-found"),
    *("commit-not-in-branch", "definition-refused", "drifted", "empty-repository", "expired-key"),
    *("expired-signature", "foreign-owner", "git-auth-failed", "git-command-refused"),
    *("git-connection-failed", "git-failed", "git-file-too-large", "git-host-key-unknown"),
    *("git-host-unknown", "git-id-refused", "git-mirror-damaged", "git-not-fetched"),
    *("git-not-installed", "git-objects-refused", "git-out-of-memory", "git-proxy-failed"),
    *("git-rate-limited", "git-storage-exceeded", "git-storage-failed"),
    *("git-storage-full", "git-tree-too-large"),
    *("git-redirected", "git-ref-gone", "git-ref-moved", "git-repository-not-found"),
    *("git-server-failed", "git-timeout", "git-tls-failed", "git-too-large", "git-too-many-refs"),
    *("github-app-failed", "github-app-rate-limited", "github-app-refused", "gpg-not-installed"),
    *("held-back", "hook-bad-payload", "hook-bad-signature", "hook-stale-signature"),
    *("hook-too-large", "hook-unauthenticated", "hook-unsupported-encoding"),
    *("hook-weak-signature", "hook-without-token", "hook-wrong-forge", "host-not-allowed"),
    *("invalid-depends-on", "invalid-field", "invalid-pointer", "invalid-source", "invalid-wave"),
    *("kept", "later-dependency", "missing-rights", "no-matching-version", "no-such-field"),
    *("invalid-plan-request", "no-healthy-revision", "no-plan", "pinned-object-missing"),
    *("no-such-line", "no-such-revision", "not-a-commit", "not-allowed", "not-gone", "not-ready"),
    *("notification-failed", "notification-refused", "object-cycle", "object-missing"),
    *("path-not-found", "private-network", "proxy-not-for-app", "proxy-not-for-ssh"),
    *(
        "prune-postponed",
        "ref-not-found",
        "refused-path",
        "revoked-key",
        "schema-mismatch",
        "unusable-schema",
        "secret-not-found",
    ),
    *(
        "source-suspended",
        "sources-too-large",
        "ssh-key-unreadable",
        "ssh-login-missing",
        "tag-renamed",
    ),
    *("invalid-readiness", "invalid-drift-rules", "second-controller"),
    *("too-many-patterns", "unknown-dependency", "unknown-signer", "unsigned", "url-with-login"),
}


def test_every_code_has_a_heading() -> None:
    assert set(emitted_codes()) - set(headings(TEXT)) == set()


def test_every_heading_is_a_code() -> None:
    assert set(headings(TEXT)) - set(emitted_codes()) == set()


def test_no_code_is_explained_twice() -> None:
    assert len(headings(TEXT)) == len(set(headings(TEXT)))


def test_codes_are_sorted_within_their_group() -> None:
    for group in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]:
        assert headings(group) == sorted(headings(group))


def test_every_explanation_says_how_to_fix_it() -> None:
    for section in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]:
        assert "\n**Fix:** " in section, section.split("\n")[0]


@pytest.mark.parametrize("example", list(examples(TEXT)), ids=lambda example: example.code)
def test_an_example_prints_what_is_shown(example: Example) -> None:
    said = printed(example.text, kiosk(TEXT))
    assert said == example.shown, "run python -m tools.update_docs"
    assert set(re.findall(r"^\w+\[(\S+)\]", said, re.MULTILINE)) == {example.code}


def test_every_code_that_can_be_shown_has_an_example() -> None:
    shown = {example.code for example in examples(TEXT)}
    assert shown | WITHOUT_EXAMPLE == set(headings(TEXT))
    assert not shown & WITHOUT_EXAMPLE


def test_links_lead_to_headings() -> None:
    lines = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    anchors = {line.lower().replace(" ", "-") for line in lines}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors
