"""
A second opinion: the CEL project's own C++ engine.

It has a checker, so that types, values and the words of type errors must agree; of syntax
errors only the position, of run-time errors only that there is one. Where they do not agree,
differences.toml says who is right. It runs in a process of its own (see `cpp_engine`).
"""

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.differential.cpp_engine import DIED, PACKAGE, Answer, NotAvailableError, ask, interpreter
from tests.differential.opinions import (
    Disagreement,
    Opinion,
    our_opinion,
    read_explanations,
    read_expressions,
)
from tools.oracle.cel_grammar import Grammar

ENGINE = "cel-cpp"
SUBJECT = f"tally: {ENGINE}, expressions"
EXPLANATIONS = read_explanations(ENGINE)
GENERATED = 40_000 if os.environ.get("KRO_GITOPS_TESTS") == "full" else 4_000
SEED = 20

Record = Callable[[str, object], None]

_POSITION = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error)?")

# What Kubernetes and kro add to the language, and what kills the process.
_NOT_THEIRS = re.compile(
    r"quantity|semver|\bcidr|\bip\b|url\(|isURL|isIP|isCIDR|isQuantity|isSemver|\.sum\(|\.min\("
    r"|\.max\(|isSorted|\.find|json\.|hash\.|random\.|AtIndex|\.merge\(|deepMerge|omit\(|runtime"
    r"|unwrap|transformMap|\]\.(?:lastI|i)ndexOf|sort\w*\([^()]*\)\.(?:lastI|i)ndexOf"
)


@pytest.fixture(scope="module")
def python(record_property_once: None) -> Path:
    raise NotImplementedError
