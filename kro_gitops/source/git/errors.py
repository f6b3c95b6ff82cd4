"""
What git, ssh or a server printed → an error with a code and a hint.

Git has one exit code for everything, so its output decides; it is English, because its environment
says so. The first matching row of the table wins, so the more exact ones stand first. The output
itself is shown without secrets, because the server's own words are often the best hint.
"""

import re

from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.source.api.redaction import redact
from kro_gitops.source.git.output import printable
from kro_gitops.source.git.types import FetchRules
from kube_objects.errors import RefusedError

_LINES = 6
_LENGTH = 600

_TABLE: tuple[tuple[str, str, str, str], ...] = (
    (
        r"host key verification failed|host key is known for|host identification has changed",
        "git-host-key-unknown",
        "the server's ssh host key is not among those that are known",
        "add the line that 'ssh-keyscan HOST' prints to 'known_hosts' of the Secret,"
        " after comparing it with what the server's owner published",
    ),
    (
        r"authentication failed|could not read (?:username|password)|permission denied \("
        r"|returned error: 40[13]|invalid credentials|access denied|too many authentication fail"
        r"|http basic: access denied|not authorized|error in libcrypto|invalid format",
        "git-auth-failed",
        "the server did not accept the login",
        "check the Secret named in 'secretRef', and that the token or key may read this repository",
    ),
    (
        r"returned error: 407|proxy connect aborted|proxy authentication required"
        r"|could not resolve proxy|(?:code|response) \d+ from proxy|connect tunnel failed",
        "git-proxy-failed",
        "the proxy did not let us through",
        "check the Secret named in 'proxySecretRef'",
    ),
    (
        r"repository not found|repository '[^']*' not found|returned error: 404|not found: "
        r"|does not appear to be a git repository|not a git repository|no such (?:repo|project)"
        r"|project you were looking for could not be found|does not exist"
        r"|not valid: is this a git repository",
        "git-repository-not-found",
        "there is no such repository, or the login may not see it",
        "check the URL; forges say 'not found' for private repositories, too: then a Secret is"
        " missing in 'secretRef', or its token may not read this one",
    ),
    (
        r"could not resolve host|name or service not known|temporary failure in name resolution",
        "git-host-unknown",
        "the server's name cannot be resolved",
        "check the URL's host, and the DNS of the machine this runs on",
    ),
    (
        r"certificate|gnutls|ssl_|ssl connect|ssl routines|tls|unsupported protocol",
        "git-tls-failed",
        "no trusted connection to the server",
        "for a private authority, put its certificate into 'ca.crt' of the Secret",
    ),
    (
        r"operation timed out|connection timed out|timed out after|time-?out",
        "git-timeout",
        "the server did not answer in time",
        "check that the server can be reached from here, or raise 'timeout'",
    ),
    (
        r"connection refused|failed to connect|couldn't connect|no route to host"
        r"|network is unreachable|connection reset|empty reply|port \d+: ",
        "git-connection-failed",
        "the server cannot be reached",
        "check host and port of the URL, and whether the network lets us through",
    ),
    (
        r"unadvertised object|want \S+ not valid",
        "git-id-refused",
        "the server hands out no commit by its id",
        "name a branch that holds the commit, too",
    ),
    (
        r"couldn't find remote ref|not our ref|no such remote ref|expected sha/ref",
        "git-ref-gone",
        "the server does not have (or hand out) the revision any more",
        "the ref may have been deleted or moved just now; the remote is asked again",
    ),
    (
        r"returned error: 429|rate limit|too many requests",
        "git-rate-limited",
        "the server asks us to come back later",
        "poll less often ('interval'), or use a webhook",
    ),
    (
        r"returned error: 5\d\d|internal server error|service unavailable",
        "git-server-failed",
        "the server failed",
        "",
    ),
)
_REDIRECT = re.compile(r"returned error: 30\d|unable to update url base from redirection")
_OBJECTS = re.compile(r"error: object [0-9a-f]{40,64}: |fsck error|badObjectSha1|index-pack.*bad")
_FILE_TOO_LARGE = re.compile(r"died of signal 25|file too large", re.IGNORECASE)
_OUT_OF_MEMORY = re.compile(r"out of memory|malloc failed|mmap failed", re.IGNORECASE)
_DAMAGED = re.compile(
    r"bad object refs/kg|packfile|objects/pack|loose object|object file|shallow file"
    r"|missing (?:blob|tree|commit)|did not (?:receive expected|send all necessary)"
    r"|bad config|corrupt|unable to (?:read|open object)|could not parse"
    r"|unable to create '[^']*\.lock'|error processing shallow",
    re.IGNORECASE,
)
_LOCATION = re.compile(r"Recv header: location: (\S+)", re.IGNORECASE)
# What differs each time although nothing has changed: it would rewrite the status each time.
_VARYING = re.compile(
    r" ?CAfile: \S+ CRLfile: \S+| after \d+ (?:ms|milliseconds)|[^\s\"']*kro-gitops-\w+/"
)
_URL = re.compile(r"(?<=')[a-z]+://[^']*(?=')")
_NOISE = re.compile(r"^(?:remote: )?(?:fatal|error|warning): |^remote:\s*")
# What git prints for any reason, and what is only about the way we call it.
_EMPTY = re.compile(
    r"could not read from remote repository|please make sure you have the correct access rights"
    r"|and the repository exists|terminal prompts disabled|the remote end hung up unexpectedly",
    re.IGNORECASE,
)


def error_for(complaint: str) -> KroGitopsError:
    """Return the error for what git printed; the text must be redacted already."""
    # Fold it into one line: prefixes, repetitions and what differs each time say nothing.
    steady = _VARYING.sub("", complaint)
    lines = (_NOISE.sub("", printable(line).strip()) for line in steady.splitlines())
    distinct = dict.fromkeys(line for line in lines if line and not _EMPTY.search(line))
    said = "; ".join(list(distinct)[:_LINES])
    if len(said) > _LENGTH:
        said = said[:_LENGTH] + " …"
    if _OBJECTS.search(complaint):
        return RefusedError(
            "git-objects-refused",
            f"the repository holds objects that git itself calls broken or dangerous: {said}",
            hint="look with 'git fsck --strict' in a clone, and rewrite what it names",
        )
    words = _URL.sub("", complaint)  # a repository may be called "certificates"
    for pattern, code, summary, hint in _TABLE:
        if re.search(pattern, words, re.IGNORECASE):
            return Unavailable(code, f"{summary}: {said}" if said else summary, hint=hint)
    return Unavailable("git-failed", f"git failed: {said}" if said else "git failed")


def is_redirect(complaint: str) -> bool:
    """Return True if the server redirected; redirects are not followed."""
    return bool(_REDIRECT.search(complaint))


def is_file_too_large(complaint: str) -> bool:
    """Return True if the kernel ended git at our limit on the size of a file."""
    return any(map(_FILE_TOO_LARGE.search, _own_lines(complaint)))


def is_out_of_memory(complaint: str) -> bool:
    """Return True if git needed more memory than our limit."""
    return any(map(_OUT_OF_MEMORY.search, _own_lines(complaint)))


def is_damage(complaint: str) -> bool:
    """Return True if git failed on our own repository, not on the remote's or on what it sent."""
    if _OBJECTS.search(complaint):
        return False
    return any(map(_DAMAGED.search, _own_lines(complaint)))


def _own_lines(complaint: str) -> list[str]:
    """Return the lines that git printed itself; a server can choose the others."""
    return [line for line in complaint.splitlines() if not line.startswith("remote:")]


def redirected(trace: str) -> RefusedError:
    """Return the error for a server that redirects; the trace names the target."""
    found = _LOCATION.search(trace)
    target = (
        redact(found[1], limit=200).partition("?")[0].partition("/info/refs")[0] if found else ""
    )
    return RefusedError(
        "git-redirected",
        f"the server points to {target or 'another place'}, where we do not follow",
        hint="write the address it points to into 'url', if it is the one you mean",
    )


def timed_out(seconds: float) -> Unavailable:
    """Return the error for a command that was killed at its timeout."""
    return Unavailable(
        "git-timeout",
        f"git was not done after {seconds:g} s and was ended",
        hint="check that the server can be reached from here, or raise 'timeout'",
    )


def too_large(most: int) -> RefusedError:
    """Return the error for a fetch that was killed because of its size."""
    return RefusedError(
        "git-too-large",
        f"the fetch brought more than {most / (1 << 20):g} MiB and was ended",
        hint="keep manifests in a repository of their own, set 'blobFilter', or let the operator"
        " raise the limit",
    )


def out_of_memory(most: int) -> RefusedError:
    """Return the error for a command that was killed because of its memory."""
    return RefusedError(
        "git-out-of-memory",
        f"git needed more than {most >> 20} MiB of memory and was ended",
        hint="keep manifests in a repository of their own, or let the operator raise the memory"
        " limit of the container, of which git gets a share",
    )


def too_many_refs(rules: FetchRules) -> RefusedError:
    """Return the error for a remote that lists more refs than are read."""
    return RefusedError(
        "git-too-many-refs",
        f"the server lists more than {rules.refs:,} refs, or more than"
        f" {rules.refs_bytes >> 20} MiB of them",
        hint="name one ref in 'ref.branch' or 'ref.name'; if you do, the server ignores it: check"
        " that the URL is that of a git server",
    )
