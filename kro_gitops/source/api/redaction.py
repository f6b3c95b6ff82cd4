"""
Text that may be shown: secrets in it are replaced by `***`.

The output of git, ssh and HTTP servers goes to logs, conditions and comments, and it quotes URLs
and headers. Two filters, because each misses some: the shapes that secrets have (user info in
URLs, headers, tokens of the large forges, private keys), and the secrets that we know, also in
their encoded forms. Losing a harmless word is better than showing a key.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MASK = "***"
_CUT = " …"

_SHORTEST_SECRET = 3  # what is shorter stands in every other word
_SHORTEST_LINE = 16  # of a secret with many lines, a key say
_SHORTEST_CODE = 8  # of Base64 characters that are surely the secret's

_NAMES = (
    r"(?:access|refresh|private|id|auth|job|deploy|session)?[_-]?token"
    r"|pass(?:word|wd|phrase)?|pwd|(?:client[_-]?)?secret|api[_-]?key|credentials?"
    r"|x-amz-(?:signature|credential|security-token)|sig(?:nature)?"
)

# Each repetition is bounded or stops at what begins the pattern: hostile text costs linear time.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
            r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----|\Z)",
            re.DOTALL,
        ),
        MASK,
    ),
    # ssh://git@host: a user alone is no secret there, and people need to see it.
    (re.compile(r"(?<![sS][sS][hH])://[^\s/?#]{1,1024}@"), f"://{MASK}@"),
    (re.compile(r"://[^\s/?#:@]{0,256}:[^\s/?#]{0,1024}@"), f"://{MASK}@"),
    # A password with a slash that is not encoded; a port is none.
    (re.compile(r"://[^\s/?#:@]{1,256}:(?!\d{1,5}[/?#\s])[^\s]{1,512}@"), f"://{MASK}@"),
    (
        re.compile(
            r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|private-token|job-token"
            r"|x-(?:gitlab|gitea|hub|vault|auth|api)-(?:token|signature|signature-256|key))"
            r"([\"']?\s{0,8}[:=]\s{0,8}[\"']?)[^\r\n\"']+"
        ),
        rf"\1\2{MASK}",
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s{1,8}(?=\S{0,64}[0-9=])[\w.~+/=-]{8,}"), rf"\1 {MASK}"),
    (re.compile(rf"(?i)([?&;](?:{_NAMES})=)[^&\s#\"'<>]+"), rf"\1{MASK}"),
    (re.compile(rf"(?i)\b((?:{_NAMES})=)[^&\s\"'<>,;]+"), rf"\1{MASK}"),
    (re.compile(rf"(?i)([\"'](?:{_NAMES})[\"']\s{{0,8}}:\s{{0,8}}[\"'])[^\"'\r\n]+"), rf"\1{MASK}"),
    (
        re.compile(
            r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{16,}"
            r"|ATBB\w{16,}|ATCTT[\w=-]{16,}|xox[abeoprs]-[\w-]{10,}|AKIA[A-Z0-9]{16}"
            r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]{0,})?)"
        ),
        MASK,
    ),
)


def redact(text: str, secrets: Iterable[str | bytes] = (), *, limit: int = 0) -> str:
    """Return the text with every secret masked; at most `limit` characters of it, if given."""
    forms = {form for secret in secrets for form in _forms(secret)}
    if forms:
        # The longest first: a secret may begin with another.
        longest_first = sorted(forms, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), MASK, text)
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    # Cut last: half a secret would match nothing.
    if limit and len(text) > limit:
        return text[: max(0, limit - len(_CUT))] + _CUT
    return text


def _forms(secret: str | bytes) -> Iterator[str]:
    """Yield how a secret may look in a text."""
    text = secret.decode("utf-8", "replace") if isinstance(secret, bytes) else secret
    text = text.strip()
    if len(text) < _SHORTEST_SECRET:
        return
    yield text
    yield json.dumps(text)[1:-1]
    yield repr(text)[1:-1]
    for encoded in (quote(text), quote(text, safe=""), quote_plus(text)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda escape: escape[0].lower(), encoded)
    data = text.encode("utf-8", "surrogatepass")
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):  # bytes before it, in the group of three that are encoded together
            code = encode(bytes(before) + data).decode()
            first = (before * 8 + 5) // 6
            last = (before + len(data)) * 8 // 6
            if last - first >= _SHORTEST_CODE:
                yield code[first:last]
    lines = text.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _SHORTEST_LINE)
