"""
Files → manifests: objects that know where they are written.

Reads what it is given and touches no disk. Nothing that is wrong with a file stops the others:
all findings come together, sorted as people read. An object whose name cannot be told is left
out; one that is doubtful in other ways is kept, for the checks that follow to say more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kro_gitops.source.files.foreign_files import chart_folders, is_foreign
from kube_objects.documents import Document, load
from kube_objects.paths import format_path
from kube_objects.problems import WHOLE, Finding, Origin, Path, Problem, Severity, Spot
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.yaml_values import DEFAULT_LIMITS, Limits

_SECRET_FIELDS = ("data", "stringData")
# Read by tools before anything reaches a cluster.
_CLIENT_GROUPS = frozenset(("kustomize.config.k8s.io",))


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """What one source may cost: all its files together, and each of them."""

    files: int = 10_000
    total_bytes: int = 64 << 20
    documents: int = 20_000
    file: Limits = DEFAULT_LIMITS


DEFAULT_SOURCE_LIMITS = SourceLimits()


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object and the document it stands in; `prefix` is its path there, if it is in a list."""

    object: KubeObject
    document: Document
    prefix: Path = ()
    ref: ObjectRef = field(init=False)  # the object's name

    def __post_init__(self) -> None:
        object.__setattr__(self, "ref", ObjectRef.of(self.object))

    def origin(self, spot: Spot = WHOLE) -> Origin:
        """Return where a spot of the object is written."""
        return self.document.origin(spot.below(self.prefix))

    def finding(self, problem: Problem) -> Finding:
        """Give a problem of the object its place and its subject."""
        return self.document.finding(problem.below(self.prefix), str(self.ref))


@dataclass(frozen=True, slots=True)
class Manifests:
    """What a source holds, in the order of its files, and what is wrong with it."""

    manifests: tuple[Manifest, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class FileManifests:
    """What one file holds by itself: whether a name is taken elsewhere is not asked yet."""

    name: str
    size: int
    documents: int = 0
    manifests: tuple[Manifest, ...] = ()
    findings: tuple[Finding, ...] = ()


def read(
    files: Iterable[tuple[str, bytes]],
    limits: SourceLimits = DEFAULT_SOURCE_LIMITS,
    *,
    revision: str = "",
    chosen: bool = False,
) -> Manifests:
    """
    Read the manifests in files, given as pairs of path and content.

    Files that are certainly not meant for a cluster are passed over by their names, unless
    somebody has chosen each file already.
    """
    wanted = [*files] if chosen else _own_files(list(files))
    return combine((read_file(*each, limits, revision=revision) for each in wanted), limits)


def read_file(
    name: str,
    content: bytes,
    limits: SourceLimits = DEFAULT_SOURCE_LIMITS,
    *,
    revision: str = "",
) -> FileManifests:
    """Read one file; the same content under the same name always gives the same."""
    if len(content) > limits.total_bytes:
        return FileManifests(name, len(content))  # too much in any company
    most = min(limits.documents, limits.file.documents)
    loaded = load(content, name, revision=revision, limits=replace(limits.file, documents=most))
    reader = _FileReader()
    for document in loaded.documents:
        if document.value is not None:
            reader.read(document, document.value, ())
    return FileManifests(
        name,
        len(content),
        len(loaded.documents),
        tuple(reader.manifests),
        (*loaded.findings, *reader.findings),
    )


def fitting(
    files: Iterable[tuple[str, int]], limits: SourceLimits = DEFAULT_SOURCE_LIMITS
) -> tuple[int, tuple[Finding, ...]]:
    """Say how many of the files, given by name and size, may be read at all, and why no more."""
    files = list(files)
    if len(files) <= limits.files and sum(size for _, size in files) <= limits.total_bytes:
        return len(files), ()  # nearly always, and this runs for each new commit
    combined, fit = _Combined(limits), 0
    for name, size in files:
        if not combined.take(fit + 1, FileManifests(name, size)):
            break
        fit += 1
    return fit, tuple(combined.findings)


def combine(
    files: Iterable[FileManifests], limits: SourceLimits = DEFAULT_SOURCE_LIMITS
) -> Manifests:
    """Put the files of a source together: within its limits, and every object once."""
    combined = _Combined(limits)
    for number, file in enumerate(files, 1):
        if not combined.take(number, file):
            break
    findings = sorted(combined.findings, key=lambda finding: finding.order)
    return Manifests(tuple(combined.manifests), tuple(findings))


@dataclass(slots=True)
class _Combined:
    limits: SourceLimits
    manifests: list[Manifest] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    _first: dict[tuple[str, str, str, str], Manifest] = field(default_factory=dict)
    _bytes: int = 0
    _documents: int = 0

    def take(self, number: int, file: FileManifests) -> bool:
        self._bytes += file.size
        self._documents += file.documents
        excess = self._excess(number)
        if excess:
            problem = Problem("source-too-large", excess, hint="files from here on are not read")
            self.findings.append(Finding(problem, Origin(file.name, 1, 1)))
            return False
        self.findings.extend(file.findings)
        for manifest in file.manifests:
            self._add(manifest)
        return True

    def _excess(self, number: int) -> str:
        limits = self.limits
        if number > limits.files:
            return f"there are more than {limits.files:,} files"
        if self._bytes > limits.total_bytes:
            return f"the files have more than {limits.total_bytes:,} bytes together"
        if self._documents > limits.documents:
            return f"there are more than {limits.documents:,} documents"
        return ""

    def _add(self, manifest: Manifest) -> None:
        ref, kind = manifest.ref, manifest.ref.kind
        key = (kind.group, kind.kind, ref.namespace, ref.name)
        first = self._first.setdefault(key, manifest)
        if first is not manifest:
            self.findings.append(manifest.finding(_duplicate(ref, first.origin())))
            return
        self.manifests.append(manifest)
        if kind.kind == "Secret":
            self.findings.extend(manifest.finding(each) for each in _lints(manifest.object))


@dataclass(slots=True)
class _FileReader:
    manifests: list[Manifest] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def read(self, document: Document, value: Any, prefix: Path) -> None:
        if not isinstance(value, dict):
            self._complain(document, prefix, _no_object(value))
        elif isinstance(value.get("sops"), dict):
            self._complain(document, prefix, _ENCRYPTED)
        elif _is_list(value):
            for index, item in enumerate(value["items"] or ()):
                self.read(document, _typed(item, value), (*prefix, "items", index))
        else:
            self._read_manifest(Manifest(value, document, prefix))

    def _read_manifest(self, manifest: Manifest) -> None:
        problems = list(_identity_problems(manifest.object))
        for problem in problems:
            self._complain(manifest.document, manifest.prefix, problem)
        if not problems and manifest.ref.kind.group not in _CLIENT_GROUPS:
            self.manifests.append(manifest)

    def _complain(self, document: Document, prefix: Path, problem: Problem) -> None:
        self.findings.append(document.finding(problem.below(prefix)))


def _own_files(files: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    charts = chart_folders(name for name, _ in files)
    return [each for each in files if not is_foreign(each[0], charts)]


_ENCRYPTED = Problem(
    "encrypted-document",
    "the document is encrypted with SOPS and cannot be read",
    Spot(("sops",), on_key=True),
    hint="decrypt it before it reaches the source, or keep the secret outside git",
)


def _is_list(value: KubeObject) -> bool:
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and _holds_items(value)


def _holds_items(value: KubeObject) -> bool:
    return "items" in value and (value["items"] is None or isinstance(value["items"], list))


def _typed(item: Any, owner: KubeObject) -> Any:
    """Name an item that relies on the kind of its list: a ConfigMapList holds ConfigMaps."""
    kind = owner["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict) or "kind" in item or "apiVersion" in item:
        return item
    return {"apiVersion": owner.get("apiVersion"), "kind": kind, **item}


def _no_object(value: Any) -> Problem:
    what = "a list" if isinstance(value, list) else "a single value"
    hint = "put each object in a document of its own" if isinstance(value, list) else ""
    return Problem("not-a-manifest", f"this is {what}, not a Kubernetes object", hint=hint)


def _identity_problems(value: KubeObject) -> Iterator[Problem]:
    absent = [name for name in ("apiVersion", "kind") if value.get(name) in (None, "")]
    if absent:
        names = " and ".join(f"'{name}'" for name in absent)
        yield Problem(
            "not-a-manifest",
            f"{names} {'are' if len(absent) > 1 else 'is'} missing: this is no Kubernetes object",
            hint="keep files that are not for the cluster outside the source's path",
        )
        return
    for name in ("apiVersion", "kind"):
        yield from _must_be_text(value[name], (name,))
    yield from _metadata_problems(value.get("metadata"))


def _metadata_problems(metadata: Any) -> Iterator[Problem]:
    if metadata is not None and not isinstance(metadata, dict):
        yield Problem("wrong-type", "'metadata' must be an object", Spot(("metadata",)))
        return
    metadata = metadata or {}
    if metadata.get("name") in (None, ""):
        yield Problem(
            "missing-name",
            "'metadata.name' is missing",
            Spot(("metadata", "name"), on_key=True),
            hint="in git every object needs a fixed name; generateName makes a new one each time"
            if "generateName" in metadata
            else "",
        )
    for name in ("labels", "annotations"):
        if not isinstance(metadata.get(name, {}), dict | None):
            text = f"'metadata.{name}' must be an object"
            yield Problem("wrong-type", text, Spot(("metadata", name)))
    for name in ("name", "namespace"):
        if metadata.get(name) is not None:
            yield from _must_be_text(metadata[name], ("metadata", name))
        if metadata.get(name) in (".", ".."):  # they would lead elsewhere in a path
            yield Problem("bad-name", f"'{metadata[name]}' is no {name}", Spot(("metadata", name)))


def _must_be_text(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str):
        return
    is_scalar = not isinstance(value, (dict, list))
    yield Problem(
        "wrong-type",
        f"'{format_path(path)}' must be a string",
        Spot(path),
        hint="put it in quotes" if is_scalar else "",
    )


def _duplicate(ref: ObjectRef, first: Origin) -> Problem:
    place = f"{first.file}:{first.line}:{first.column}"
    return Problem(
        "duplicate-object",
        f"{ref} is defined twice: it stands at {place} already",
        Spot(("metadata", "name")),
        hint="remove one of the two",
    )


def _lints(value: KubeObject) -> Iterator[Problem]:
    if value["apiVersion"] != "v1" or value["kind"] != "Secret":
        return
    for name in _SECRET_FIELDS:
        if value.get(name):
            yield Problem(
                "KG-S01",
                "the values of this Secret can be read by anyone who can read the repository",
                Spot((name,), on_key=True),
                hint="keep them in a secret store, or in git only sealed",
                severity=Severity.WARNING,
            )
            return
