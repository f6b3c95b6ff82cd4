"""
Files → manifests: objects that know where they are written.

Reads what it is given and touches no disk. Nothing that is wrong with a file stops the others:
all findings come together, sorted by place. An object without a valid name is left out; one with
other problems is kept, for the checks that follow.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

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


class Placed(Protocol):
    """An object that knows where it is written."""

    @property
    def object(self) -> KubeObject:
        """Return the object."""

    @property
    def ref(self) -> ObjectRef:
        """Return its name."""

    def origin(self, spot: Spot = WHOLE) -> Origin:
        """Return where a spot of the object is written."""

    def finding(self, problem: Problem) -> Finding:
        """Give a problem of the object its place and its subject."""


M = TypeVar("M", bound=Placed)
M_co = TypeVar("M_co", bound=Placed, covariant=True)


class FileContent(Protocol[M_co]):
    """What one file has by itself; duplicates in other files are not looked for yet."""

    @property
    def name(self) -> str:
        """Return the path of the file."""

    @property
    def size(self) -> int:
        """Return the size of the file in bytes."""

    @property
    def documents(self) -> int:
        """Return how many documents the file has."""

    @property
    def manifests(self) -> tuple[M_co, ...]:
        """Return its objects."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return its problems."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of a source, in the order of its files, and findings."""

    manifests: tuple[Manifest, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class FileManifests:
    """The manifests of one file, and findings."""

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

    Files that are certainly not meant for a cluster are skipped by their names, unless `chosen`:
    the caller has selected each file.
    """
    selected = list(files)
    if not chosen:
        charts = chart_folders(name for name, _ in selected)
        selected = [each for each in selected if not is_foreign(each[0], charts)]
    read_files = (read_file(*each, limits, revision=revision) for each in selected)
    return Manifests(*combine(read_files, limits))


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
    """Return how many of the files, given by name and size, may be read, and why no more."""
    files = list(files)
    if len(files) <= limits.files and sum(size for _, size in files) <= limits.total_bytes:
        return len(files), ()  # nearly always, and this runs for each new commit
    combined: _Combined[Manifest] = _Combined(limits)
    fit = 0
    for name, size in files:
        if not combined.take(fit + 1, FileManifests(name, size)):
            break
        fit += 1
    return fit, tuple(combined.findings)


def combine(
    files: Iterable[FileContent[M]], limits: SourceLimits = DEFAULT_SOURCE_LIMITS
) -> tuple[tuple[M, ...], tuple[Finding, ...]]:
    """Return the objects of all files, within the limits of a source and each once; findings."""
    combined: _Combined[M] = _Combined(limits)
    for number, file in enumerate(files, 1):
        if not combined.take(number, file):
            break
    findings = sorted(combined.findings, key=lambda finding: finding.order)
    return tuple(combined.manifests), tuple(findings)


@dataclass(slots=True)
class _Combined(Generic[M]):
    limits: SourceLimits
    manifests: list[M] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    _first: dict[tuple[str, str, str, str], M] = field(default_factory=dict)
    _bytes: int = 0
    _documents: int = 0

    def take(self, number: int, file: FileContent[M]) -> bool:
        self._bytes += file.size
        self._documents += file.documents
        limits, excess = self.limits, ""
        if number > limits.files:
            excess = f"there are more than {limits.files:,} files"
        elif self._bytes > limits.total_bytes:
            excess = f"the files have more than {limits.total_bytes:,} bytes together"
        elif self._documents > limits.documents:
            excess = f"there are more than {limits.documents:,} documents"
        if excess:
            problem = Problem("source-too-large", excess, hint="files from here on are not read")
            self.findings.append(Finding(problem, Origin(file.name, 1, 1)))
            return False
        self.findings.extend(file.findings)
        for manifest in file.manifests:
            ref, kind = manifest.ref, manifest.ref.kind
            key = (kind.group, kind.kind, ref.namespace, ref.name)
            first = self._first.setdefault(key, manifest)
            if first is not manifest:
                at = first.origin()
                problem = Problem(
                    "duplicate-object",
                    f"{ref} is defined twice: it stands at {at.file}:{at.line}:{at.column} already",
                    Spot(("metadata", "name")),
                    hint="remove one of the two",
                )
                self.findings.append(manifest.finding(problem))
                continue
            self.manifests.append(manifest)
            if (kind.api_version, kind.kind) == ("v1", "Secret"):
                field_name = next((n for n in _SECRET_FIELDS if manifest.object.get(n)), None)
                if field_name is not None:
                    problem = replace(_PLAIN_SECRET, spot=Spot((field_name,), on_key=True))
                    self.findings.append(manifest.finding(problem))
        return True


@dataclass(slots=True)
class _FileReader:
    manifests: list[Manifest] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def read(self, document: Document, value: Any, prefix: Path) -> None:
        """Read a document, or an item of a list in one."""
        if isinstance(value, list):
            text = "this is a list, not a Kubernetes object"
            hint = "put each object in a document of its own"
            self._complain(document, prefix, Problem("not-a-manifest", text, hint=hint))
        elif not isinstance(value, dict):
            text = "this is a single value, not a Kubernetes object"
            self._complain(document, prefix, Problem("not-a-manifest", text))
        elif isinstance(value.get("sops"), dict):
            self._complain(document, prefix, _ENCRYPTED)
        elif (
            isinstance(kind := value.get("kind"), str)
            and kind.endswith("List")
            and isinstance(value.get("items", ""), list | None)
        ):
            item_kind = kind.removesuffix("List")
            for index, item in enumerate(value["items"] or ()):
                # An item may rely on the kind of its list: a ConfigMapList has ConfigMaps.
                is_typed = not isinstance(item, dict) or "kind" in item or "apiVersion" in item
                if item_kind and not is_typed:
                    item = {"apiVersion": value.get("apiVersion"), "kind": item_kind, **item}
                self.read(document, item, (*prefix, "items", index))
        else:
            manifest = Manifest(value, document, prefix)
            problems = list(_identity_problems(value))
            for problem in problems:
                self._complain(document, prefix, problem)
            if not problems and manifest.ref.kind.group not in _CLIENT_GROUPS:
                self.manifests.append(manifest)

    def _complain(self, document: Document, prefix: Path, problem: Problem) -> None:
        self.findings.append(document.finding(problem.below(prefix)))


_ENCRYPTED = Problem(
    "encrypted-document",
    "the document is encrypted with SOPS and cannot be read",
    Spot(("sops",), on_key=True),
    hint="decrypt it before it reaches the source, or keep the secret outside git",
)
_PLAIN_SECRET = Problem(
    "KG-S01",
    "the values of this Secret can be read by anyone who can read the repository",
    hint="keep them in a secret store, or in git only sealed",
    severity=Severity.WARNING,
)


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
    metadata = value.get("metadata")
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
