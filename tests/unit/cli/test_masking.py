"""Values of Secrets in files that have mistakes: no verb that reads the files shows them."""

from pathlib import Path

import pytest

from kro_gitops.cli.output import FORMATS
from tests.command import EXAMPLES, run
from tests.e2e.faults.planted_secrets import forms

CANARY = "c4nary/of+a-secret"
HEAD = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n"
DEFINITION = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: login}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Login
    spec:
      password: string | maxLength=8
      parts: '[]string'
      user: string
  resources:
    - id: secret
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: "${schema.metadata.name}"}
        stringData:
          password: ${schema.spec.password}
          first: ${schema.spec.parts[0]}
          @@DATA@@
"""
INSTANCE = """\
apiVersion: kro.run/v1alpha1
kind: Login
metadata: {name: front, namespace: shop}
spec:
"""


def _definition(data: str = "") -> str:
    return DEFINITION.replace("@@DATA@@", data)


SOUND = _definition("user: ${schema.spec.user}")

# What is planted, by the mistake next to it; each of these has a finding.
FILES = {
    "a warning only": f"{HEAD}stringData: {{word: {CANARY}}}\n",
    "one line of JSON": f'{{"apiVersion": "v1", "kind": "Secret", "metadata": '
    f'{{"name": "a"}}, "stringData": {{"w": "{CANARY}"}}}}\n',
    "not Base64": f"{HEAD}data: {{word: {CANARY}}}\n",
    "a list": f"{HEAD}data: [{CANARY}]\n",
    "a text": f"{HEAD}stringData: {CANARY}\n",
    "a list of texts": f"{HEAD}stringData:\n  word: [{CANARY}]\n",
    "a misspelt field": f"{HEAD}stringDate: {{word: {CANARY}, word: {CANARY}}}\n",
    "a key twice": f"{HEAD}stringData:\n  word: {CANARY}\n  word: {CANARY}\n",
    "a quote": f'{HEAD}stringData:\n  word: "{CANARY}\n',
    "a tab": f"{HEAD}stringData:\n\tword: {CANARY}\n",
    "a control character": f"{HEAD}stringData:\n  word: {CANARY}\x07\n",
    "an alias": f"{HEAD}stringData:\n  word: *{CANARY.replace('/', '')} {CANARY}\n",
    "text after a separator": f"--- {{kind: Secret, stringData: {{word: {CANARY}}}}}\n",
    "no name": f"apiVersion: v1\nkind: Secret\nmetadata: {{}}\nstringData: {{word: {CANARY}}}\n",
    "no name, one line": f"{{apiVersion: v1, kind: Secret, stringData: {{word: {CANARY}}}}}\n",
    "in a list of objects": "apiVersion: v1\nkind: List\nitems:\n"
    f"- {{apiVersion: v1, kind: Secret, metadata: {{name: a}}, stringData: {{w: {CANARY}}}}}\n",
    "nameless in a list": "apiVersion: v1\nkind: List\nitems:\n"
    f"- {{stringData: {{w: {CANARY}}}, apiVersion: v1, kind: Secret}}\n",
    "a block of text": f"{HEAD}data:\n  word: |\n    {CANARY}\n",
    "applied by kubectl": f"{HEAD}data: 7\n".replace(
        "namespace: shop",
        f"annotations: {{kubectl.kubernetes.io/last-applied-configuration: {CANARY}}}, labels: 7",
    ),
    "a literal of a template": _definition(f"x: {CANARY}-${{schema.spec.nothing}}"),
    "a literal of an expression": _definition(f"x: ${{'{CANARY}' + schema.spec.nothing}}"),
    "a template that is broken": _definition(f'x: "{CANARY}'),
    "an instance, too long": f"{SOUND}---\n{INSTANCE}  password: {CANARY}-and-more\n",
    "an instance, of another type": f"{SOUND}---\n{INSTANCE}  password: [{CANARY}]\n",
    "an instance, in one line": f"{SOUND}---\n{INSTANCE}  {{password: {CANARY}, usr: bob}}\n",
    "an instance, as parts": f"{SOUND}---\n{INSTANCE}  password: a\n  parts: {{a: {CANARY}}}\n",
    "an instance that is broken": f'{SOUND}---\n{INSTANCE}  password: "{CANARY}\n',
    "an instance of a broken definition": _definition("x: ${nothing}")
    + f"---\n{INSTANCE}  user: a\n  user: b\n  password: {{a: {CANARY}, a: {CANARY}}}\n",
    "a nested instance": SOUND
    + "---\n"
    + _definition()
    .replace("kind: Login", "kind: Outer")
    .replace("name: login", "name: outer")
    .replace("kind: Secret", "kind: Login")
    .replace("apiVersion: v1\n", "apiVersion: kro.run/v1alpha1\n")
    .replace(
        "stringData:\n          password: ${schema.spec.password}",
        f"spec:\n          password: [{CANARY}]",
    )
    .replace("          first: ${schema.spec.parts[0]}\n", ""),
}


@pytest.mark.parametrize("planted", FILES.values(), ids=FILES.keys())
def test_no_message_about_a_file_shows_a_value_of_a_secret(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(planted, encoding="utf-8")
    said = {form: run("validate", "-o", form, ".") for form in FORMATS}
    assert "a.yaml" in said["text"].out, "there is a finding"
    done = {**said, "render": run("render", "."), "graph": run("graph", "a.yaml")}
    texts = {
        name: each.err if name == "render" else each.out + each.err for name, each in done.items()
    }
    for name, text in texts.items():
        found = [form for form in forms(CANARY) if form in text]
        assert not found, f"{name}: {text}"


def test_a_line_is_shown_up_to_the_value_and_the_place_is_marked(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(FILES["a warning only"], encoding="utf-8")
    out = run("validate", str(file)).out
    assert "    4 | stringData: {word: (hidden)\n      | ^^^^^^^^^^\n" in out


def test_an_expression_in_a_secret_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(_definition("x: ${schema.spec.pasword}"), encoding="utf-8")
    out = run("validate", str(file)).out
    assert " x: ${schema.spec.pasword}\n" in out
    assert "did you mean 'password'?" in out


def test_the_text_of_other_files_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    text = (EXAMPLES / "rgds" / "webapp.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("${schema.spec.replicas}", "${schema.spec.replcas}"))
    assert "replicas: ${schema.spec.replcas}\n" in run("validate", str(file)).out
