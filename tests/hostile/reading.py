"""
The whole way of a repository's text, from a URL to manifests, as a program of its own.

It is given questions on stdin (JSON) and prints what came of each: how far it got, the error it
ended in, what was found wrong with files. `tests/hostile/confinement.py` runs it between walls.
"""

import json
import logging
import resource
import sys
from pathlib import Path
from typing import Any

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.api.types import WantedRef
from kro_gitops.source.api.url_policy import check_url
from kro_gitops.source.files.manifests import read
from kro_gitops.source.files.selection import choose_files, ignore_paths
from kro_gitops.source.git.mirror import Mirrors
from kro_gitops.source.git.revisions import choose, patterns
from kro_gitops.source.git.types import FetchRules, Remote
from kube_objects.problems import Finding, Origin, Problem

_SHOWN = 50


def follow(question: dict[str, Any], report: dict[str, Any]) -> None:
    """Go all the way, noting in the report where we are."""
    local = bool(question["local"])
    rules = FetchRules(allow_private_networks=local, allow_plain_http=local)
    wanted = WantedRef(**question["ref"])
    report["stage"] = "url"
    check_url(question["url"], rules)
    remote = Remote(question["url"], timeout=question["seconds"])
    mirror = Mirrors(Path(question["folder"]), rules).of(remote)
    try:
        report["stage"] = "ask"
        chosen = choose(mirror.ask(patterns(wanted)), wanted)
        report["stage"] = "fetch"
        mirror.fetch(chosen)
        report["stage"] = "commit"
        commit = mirror.commit(chosen.commit)
        report["commit"] = [commit.author, commit.author_email, commit.committer, commit.subject]
        report["stage"] = "tree"
        listing = mirror.listing(chosen.commit)
        report["entries"] = len(listing.entries)
        report["stage"] = "read"
        ignoring = ignore_paths(listing.entries, ())
        rules_of = mirror.read({file.id for file in ignoring})
        files = choose_files(
            listing.entries, (), "", {file.path: rules_of[file.id] for file in ignoring}
        )
        small = [file for file in files.entries if file.size <= rules.file_bytes]
        contents = mirror.read({file.id for file in small})
        report["stage"] = "manifests"
        found = read([(file.path, contents[file.id]) for file in small], chosen=True)
        findings = [
            *(_finding("refused-path", each.shown, each.reason) for each in listing.refused),
            *(_finding("file-too-large", each.path) for each in files.entries if each not in small),
            *files.findings,
            *found.findings,
        ]
        report["manifests"] = len(found.manifests)
        report["found"] = len(findings)
        report["findings"] = [
            [f.problem.code, f.origin.file, f.origin.line, f.problem.summary[:300]]
            for f in findings[:_SHOWN]
        ]
        report["objects"] = [str(each.object)[:300] for each in found.manifests[:_SHOWN]]
        report["stage"] = "end"
    finally:
        mirror.close()


def _finding(code: str, file: str, summary: str = "it is not read") -> Finding:
    return Finding(Problem(code, summary), Origin(file, 1, 1))


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Say what comes of a question."""
    report: dict[str, Any] = {"stage": "", "error": None}
    try:
        follow(question, report)
    except KroGitopsError as error:
        report["error"] = [type(error).__name__, error.code, error.message, error.hint]
    report["own_kib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report["git_kib"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return report


def main() -> None:
    """Answer the questions on stdin."""
    logging.basicConfig(level=logging.DEBUG)  # to stderr, which is looked through, too
    sys.stdout.write(json.dumps([answer(question) for question in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
