import pytest

from kro_gitops.source.files.manifests import Manifests, SourceLimits, read
from kube_objects.problems import Finding, Problem, Severity, Spot
from kube_objects.yaml_values import Limits

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: shop}\n"


def config(name: str) -> str:
    return CONFIG.replace("NAME", name)


def source(limits: SourceLimits | None = None, **files: str) -> Manifests:
    pairs = [(name.replace("__", "/") + ".yaml", text.encode()) for name, text in files.items()]
    return read(pairs, limits or SourceLimits(), revision="abc")


def refs(manifests: Manifests) -> list[str]:
    return [str(manifest.ref) for manifest in manifests.manifests]


def codes(manifests: Manifests) -> list[str]:
    return [finding.problem.code for finding in manifests.findings]


def complaint(text: str) -> Finding:
    (finding,) = source(app=text).findings
    return finding


def test_every_object_knows_where_it_is_written() -> None:
    found = source(a=config("one"), b=f"# note\n---\n{config('two')}---\n{config('three')}")
    assert found.findings == ()
    assert refs(found) == ["ConfigMap shop/one", "ConfigMap shop/two", "ConfigMap shop/three"]
    origins = [manifest.origin() for manifest in found.manifests]
    assert [(each.file, each.line, each.revision) for each in origins] == [
        ("a.yaml", 1, "abc"),
        ("b.yaml", 3, "abc"),
        ("b.yaml", 7, "abc"),
    ]


def test_lists_are_taken_apart_and_places_stay_exact() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: one}
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: two
"""
    found = source(app=text)
    assert found.findings == ()
    assert refs(found) == ["ConfigMap one", "ConfigMap two"]
    second = found.manifests[1]
    origin = second.origin(Spot(("metadata", "name")))
    assert (origin.line, origin.column) == (13, 13)
    finding = second.finding(Problem("x", "y", Spot(("metadata", "name"), on_key=True)))
    assert (str(finding.origin), finding.width) == ("app.yaml:13:7@abc", 4)
    assert finding.subject == "ConfigMap two"


def test_items_of_a_typed_list_have_its_kind() -> None:
    text = "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: one}\n"
    found = source(app=text)
    assert found.findings == ()
    assert found.manifests[0].object["kind"] == "ConfigMap"
    assert found.manifests[0].object["apiVersion"] == "v1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("apiVersion: v1\nkind: List\nitems:\n", [], id="a list of nothing"),
        pytest.param(
            "apiVersion: acme.io/v1\nkind: AllowList\nmetadata: {name: x}\nspec: {}\n",
            ["AllowList x"],
            id="a kind that is only called so",
        ),
        pytest.param("# nothing\n---\nnull\n---\n", [], id="empty documents"),
    ],
)
def test_what_looks_like_a_list_or_nothing(text: str, names: list[str]) -> None:
    found = source(app=text)
    assert (refs(found), found.findings) == (names, ())


@pytest.mark.parametrize(
    ("text", "code", "summary", "place"),
    [
        pytest.param(
            "name: x\n",
            "not-a-manifest",
            "'apiVersion' and 'kind' are missing: this is no Kubernetes object",
            "1:1",
            id="other YAML",
        ),
        pytest.param(
            "apiVersion: v1\nKind: X\n",
            "not-a-manifest",
            "'kind' is missing: this is no Kubernetes object",
            "1:1",
            id="a typo in kind",
        ),
        pytest.param(
            "- a\n", "not-a-manifest", "this is a list, not a Kubernetes object", "1:1", id="a list"
        ),
        pytest.param(
            "hello\n",
            "not-a-manifest",
            "this is a single value, not a Kubernetes object",
            "1:1",
            id="text",
        ),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems: [3]\n",
            "not-a-manifest",
            "this is a single value, not a Kubernetes object",
            "3:9",
            id="a bad item",
        ),
        pytest.param(
            "apiVersion: 1\nkind: X\nmetadata: {name: x}\n",
            "wrong-type",
            "'apiVersion' must be a string",
            "1:13",
            id="a number as version",
        ),
        pytest.param(
            "apiVersion: v1\nkind: [X]\nmetadata: {name: x}\n",
            "wrong-type",
            "'kind' must be a string",
            "2:7",
            id="a list as kind",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata: x\n",
            "wrong-type",
            "'metadata' must be an object",
            "3:11",
            id="text as metadata",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata: {name: x, annotations: [a]}\n",
            "wrong-type",
            "'metadata.annotations' must be an object",
            "3:34",
            id="a list as annotations",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata: {name: x, labels: text}\n",
            "wrong-type",
            "'metadata.labels' must be an object",
            "3:29",
            id="text as labels",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata: {name: ..}\n",
            "bad-name",
            "'..' is no name",
            "3:18",
            id="a way up as name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata: {name: 12}\n",
            "wrong-type",
            "'metadata.name' must be a string",
            "3:18",
            id="a number as name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata: {name: x, namespace: on}\n",
            "wrong-type",
            "'metadata.namespace' must be a string",
            "3:32",
            id="a boolean as namespace",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata:\n  labels: {}\n",
            "missing-name",
            "'metadata.name' is missing",
            "3:1",
            id="no name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\n",
            "missing-name",
            "'metadata.name' is missing",
            "1:1",
            id="none",
        ),
        pytest.param(
            "apiVersion: v1\nkind: X\nmetadata: {name: x}\nsops: {mac: y}\n",
            "encrypted-document",
            "the document is encrypted with SOPS and cannot be read",
            "4:1",
            id="encrypted",
        ),
    ],
)
def test_what_is_no_manifest_is_reported(text: str, code: str, summary: str, place: str) -> None:
    found = source(app=text)
    assert found.manifests == ()
    (finding,) = found.findings
    assert (finding.problem.code, finding.problem.summary) == (code, summary)
    assert f"{finding.origin.line}:{finding.origin.column}" == place


def test_a_generated_name_is_explained() -> None:
    text = "apiVersion: v1\nkind: X\nmetadata: {generateName: x-}\n"
    assert "generateName makes a new one each time" in complaint(text).problem.hint


def test_one_object_stands_in_one_place() -> None:
    found = source(a=config("one"), z__b=f"{config('two')}---\n{config('one')}")
    assert refs(found) == ["ConfigMap shop/one", "ConfigMap shop/two"]
    (finding,) = found.findings
    assert finding.problem.code == "duplicate-object"
    assert finding.problem.summary == (
        "ConfigMap shop/one is defined twice: it stands at a.yaml:1:1 already"
    )
    assert str(finding.origin) == "z/b.yaml:7:18@abc"
    assert finding.subject == "ConfigMap shop/one"


def test_another_version_is_the_same_object_and_another_group_is_not() -> None:
    shop = "apiVersion: {}\nkind: Shop\nmetadata: {{name: x}}\n"
    versions = [shop.format(each) for each in ("acme.io/v1", "acme.io/v2", "other.io/v1")]
    found = source(app="---\n".join(versions))
    assert codes(found) == ["duplicate-object"]
    assert [manifest.ref.kind.group for manifest in found.manifests] == ["acme.io", "other.io"]


def test_a_secret_in_git_is_a_risk_but_no_error() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: hunter2}\n"
    found = source(app=text)
    assert refs(found) == ["Secret x"]
    (finding,) = found.findings
    assert (finding.problem.code, finding.problem.severity) == ("KG-S01", Severity.WARNING)
    assert str(finding.origin) == "app.yaml:4:1@abc"
    assert "hunter2" not in finding.problem.summary + finding.problem.hint


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {}\n",
        "apiVersion: acme.io/v1\nkind: Secret\nmetadata: {name: x}\ndata: {a: b}\n",
    ],
)
def test_a_secret_without_secrets_is_none(text: str) -> None:
    assert source(app=text).findings == ()


def test_kustomizations_are_for_another_tool() -> None:
    text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Component\nmetadata: {name: x}\n"
    assert source(app=text) == Manifests()


def test_bad_files_do_not_stop_the_others_and_findings_are_sorted() -> None:
    found = source(b="a: [\n", a=f"a: 1\n---\n{config('one')}a: 1\na: 2\n")
    assert refs(found) == ["ConfigMap shop/one"]
    assert [(each.origin.file, each.problem.code) for each in found.findings] == [
        ("a.yaml", "not-a-manifest"),
        ("a.yaml", "duplicate-key"),
        ("b.yaml", "yaml-syntax"),
    ]


def test_other_files_are_not_read() -> None:
    files = [("readme.md", b"\xff"), (".github/ci.yaml", b"on: push"), ("values.yaml", b"a: 1")]
    assert read(files) == Manifests()


def test_json_is_read_too() -> None:
    text = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}'
    assert refs(read([("app.json", text)])) == ["ConfigMap x"]


@pytest.mark.parametrize(
    ("limits", "code", "summary"),
    [
        (SourceLimits(files=1), "source-too-large", "there are more than 1 files"),
        (
            SourceLimits(total_bytes=100),
            "source-too-large",
            "the files have more than 100 bytes together",
        ),
        (SourceLimits(documents=1), "source-too-large", "there are more than 1 documents"),
        (
            SourceLimits(file=Limits(file_bytes=10)),
            "file-too-large",
            "the file has more than 10 bytes",
        ),
    ],
)
def test_a_source_has_limits(limits: SourceLimits, code: str, summary: str) -> None:
    found = source(limits, a=config("one"), b=config("two"))
    assert found.findings[0].problem.code == code
    assert found.findings[0].problem.summary == summary
    assert len(found.manifests) < 2


def test_documents_are_counted_over_all_files() -> None:
    three = "---\n".join(config(name) for name in ("b", "c", "d"))
    found = source(SourceLimits(documents=3), a=config("a"), b=three)
    assert refs(found) == ["ConfigMap shop/a"]
    assert codes(found) == ["source-too-large"]
