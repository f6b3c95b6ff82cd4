"""Whatever stands in a file, every finding has a place inside it."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.preview.repository import compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog

FILES = sorted((Path(__file__).parents[2] / "examples" / "repo").rglob("*.yaml"))
TEXTS = [file.read_text("utf-8") for file in FILES]
PIECES = (
    *("\n", " ", "  ", "\t", ":", "- ", "${", "}", "'", '"', "|", ">-", "[", "]", "{", "&a", "*a"),
    *(
        "schema.spec.",
        "string",
        "integer",
        "required=true",
        "default=",
        "null",
        "0",
        "~",
        "é",
        "😀",
    ),
    *(
        "forEach:",
        "includeWhen:",
        "template:",
        "externalRef:",
        "status:",
        "omit()",
        "!!set",
        "---\n",
    ),
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 12))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + cut :]
    return text


@settings(max_examples=examples(60))
@given(mutated())
def test_every_finding_has_a_place_inside_its_file(text: str) -> None:
    found = compile_repository(read([("a.yaml", text.encode())]), catalog)
    lines = text.split("\n")
    for finding in found.findings:
        origin = finding.origin
        assert origin.file == "a.yaml"
        assert 1 <= origin.line <= len(lines)
        assert 1 <= origin.column <= len(lines[origin.line - 1]) + 1
        assert finding.width >= 1
