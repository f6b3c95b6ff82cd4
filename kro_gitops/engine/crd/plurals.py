"""
The plural of a kind, as kro forms it: `gateway` → `gateways`, `policy` → `policies`.

The name of a CRD is made of it, so it has to be kro's plural, right or wrong.
"""

from dataclasses import dataclass
from functools import cache

from kro_gitops.engine.crd.plural_tables import ACRONYMS, DICTIONARY, ENDINGS


@dataclass(frozen=True, slots=True)
class _Rules:
    """The tables, ready for use."""

    plurals: dict[str, str]  # singular → plural, whole words
    already_plural: frozenset[str]
    endings: tuple[tuple[str, str], ...]  # singular → plural, the first that fits wins
    acronyms: frozenset[str]


def pluralize(word: str, *, acronym: bool | None = None) -> str:
    """
    Return the plural of a lower-case word.

    Endings of acronyms are left alone, and those in `s` come out as kro's `dnsDNSes`, which
    no cluster takes for a name. Whether a word is one is looked up unless the caller says so.
    """
    rules = _rules()
    if acronym is None:
        acronym = word in rules.acronyms
    if word in rules.plurals:
        return rules.plurals[word]
    if word in rules.already_plural:
        return word
    if acronym:
        return f"{word}{word.upper()}es" if word.endswith("s") else f"{word}s"
    return _by_ending(word, rules)


def _by_ending(word: str, rules: _Rules) -> str:
    for singular, plural in rules.endings:
        if word.endswith(plural):
            return word
        if word.endswith(singular):
            return word.removesuffix(singular) + plural
    return word if not word or word.endswith("s") else f"{word}s"


@cache
def _rules() -> _Rules:
    plurals: dict[str, str] = {}
    already_plural: set[str] = set()
    compounds: list[tuple[str, str]] = []
    for entry in DICTIONARY.split():
        singular, _, rest = entry.rstrip("!~").partition(">")
        plural, *alternatives = rest.split("|")
        plurals[singular] = plural
        if not entry.endswith("~"):
            already_plural.update((plural, *alternatives))
        if not entry.endswith("!"):
            compounds.insert(0, (singular, plural))
    for entry in ENDINGS.split():
        singular, _, plural = entry.partition(">")
        compounds.append((singular, plural))
    return _Rules(plurals, frozenset(already_plural), tuple(compounds), frozenset(ACRONYMS.split()))
