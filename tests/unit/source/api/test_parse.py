"""What a source wants, read and written; every mistake in it is told at once, with its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.errors import UserError
from kro_gitops.source.api.parse import Defaults, InvalidSourceError, read_spec, write_spec
from kro_gitops.source.api.schema import SPEC_SCHEMA
from kro_gitops.source.api.types import (
    EVERYTHING,
    Allow,
    Brake,
    DeletionPolicy,
    Dependency,
    DriftMode,
    Forge,
    Notification,
    NotificationEvent,
    NotificationType,
    Pin,
    Provider,
    SourceSpec,
    Tracking,
    TrackingMode,
    Verify,
    VerifyMode,
    WantedRef,
    Webhook,
)
from kro_gitops.tracking.ignored_fields import IgnoreRule
from kube_objects.refs import KubeObject

URL = "https://git.example.com/team/shop.git"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def source(spec: dict[str, Any]) -> KubeObject:
    return {
        "apiVersion": "gitops.kro.run/v1alpha1",
        "kind": "GitSource",
        "metadata": {"name": "shop", "namespace": "team"},
        "spec": spec,
    }


def read(defaults: Defaults | None = None, **spec: Any) -> SourceSpec:
    return read_spec(source({"url": URL, **spec}), defaults or Defaults())


def complaints(defaults: Defaults | None = None, **spec: Any) -> list[str]:
    with pytest.raises(InvalidSourceError) as caught:
        read(defaults, **spec)
    assert caught.value.code == "invalid-source"
    return [each.summary for each in caught.value.problems]


def test_a_url_is_enough() -> None:
    assert read() == SourceSpec(URL)


def test_everything_that_can_be_said_is_read() -> None:
    assert read(
        ref={"branch": "main", "commit": COMMIT},
        paths=["apps/", "./rgds"],
        ignore="*.md\n",
        interval="1m30s",
        timeout="500ms",
        suspend=True,
        provider="github",
        secretRef={"name": "login"},
        proxySecretRef={"name": "proxy"},
        blobFilter=True,
        verify={"mode": "HEAD", "secretRef": {"name": "keys"}},
        prune=False,
        maxPrune={"percent": 10},
        allowEmpty=True,
        deletionPolicy="Orphan",
        drift={
            "mode": "warn",
            "ignore": [{"paths": ["/spec/replicas"], "target": {"kind": "Deployment"}}],
        },
        adopt=True,
        force=True,
        wait=False,
        healthTimeout="1h",
        allow={"namespaces": ["team-*"], "kinds": ["*.apps"], "rgds": True},
        serviceAccountName="deployer",
        dependsOn=[{"name": "base"}, {"name": "base", "namespace": "platform"}],
        tracking={"mode": "bridge", "application": "argocd/shop"},
        notifications=[{"type": "slack", "secretRef": {"name": "chat"}, "events": ["Failed"]}],
        webhook={"secretRef": {"name": "hook"}, "forge": "gitea"},
        pin={"commit": COMMIT, "reason": "bad release", "expires": "2026-03-01T09:30:00+01:00"},
    ) == SourceSpec(
        URL,
        ref=WantedRef(branch="main", commit=COMMIT),
        paths=("apps", "rgds"),
        ignore="*.md\n",
        interval=90.0,
        timeout=0.5,
        suspend=True,
        provider=Provider.GITHUB,
        secret="login",
        proxy_secret="proxy",
        filters_blobs=True,
        verify=Verify(VerifyMode.HEAD, "keys"),
        prune=False,
        brake=Brake(10.0, 5),
        allows_empty=True,
        deletion_policy=DeletionPolicy.ORPHAN,
        drift=DriftMode.WARN,
        ignore_differences=(IgnoreRule(("/spec/replicas",), kind="Deployment"),),
        adopt=True,
        force=True,
        wait=False,
        health_timeout=3600.0,
        allow=Allow(namespaces=("team-*",), kinds=("*.apps",), rgds=True),
        service_account="deployer",
        depends_on=(Dependency("team", "base"), Dependency("platform", "base")),
        tracking=Tracking(TrackingMode.BRIDGE, "argocd/shop"),
        notifications=(Notification("chat", NotificationType.SLACK, ("Failed",)),),
        webhook=Webhook("hook", Forge.GITEA),
        pin=Pin(COMMIT, "bad release", "2026-03-01T09:30:00+01:00"),
    )


@pytest.mark.parametrize("paths", [["."], ["./"], ["apps", "."]])
def test_the_repository_itself_means_all_of_it(paths: list[str]) -> None:
    assert read(paths=paths).paths == ()


def test_an_account_is_the_operators_unless_the_source_has_its_own() -> None:
    defaults = Defaults(default_service_account="tenant")
    assert read(defaults).service_account == "tenant"
    assert read(defaults, serviceAccountName="deployer").service_account == "deployer"


def test_a_status_of_another_version_is_none_of_our_business() -> None:
    obj = {**source({"url": URL}), "status": {"phase": "Dancing", "other": 1}}
    assert read_spec(obj, Defaults()) == SourceSpec(URL)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("interval", "1x", "spec.interval '1x' is no length of time"),
        ("interval", "0.5s", "spec.interval '0.5s' is too short"),
        ("timeout", "0s", "spec.timeout '0s' is too short"),
        ("healthTimeout", "0ms", "spec.healthTimeout '0ms' is too short"),
        ("healthTimeout", "8761h", "spec.healthTimeout '8761h' is too long"),
        ("paths", ["apps", "../x"], "spec.paths[1]: the path '../x' holds '..'"),
        ("paths", ["/apps"], "spec.paths[0]: the path '/apps' begins with '/'"),
        ("ignore", "*.md\n!\n", "spec.ignore has a line '!' that is no pattern"),
        ("ignore", "[z-a]", "spec.ignore has a line '[z-a]' that is no pattern"),
        ("ref", {"branch": "refs/heads/main"}, "spec.ref.branch 'refs/heads/main' is a full ref"),
        ("ref", {"tag": "refs/tags/v1"}, "spec.ref.tag 'refs/tags/v1' is a full ref"),
        (
            "ref",
            {"branch": "--upload-pack=x"},
            "spec.ref.branch: the ref '--upload-pack=x' has a part that begins with '-' or '.', "
            "or ends with '.lock'",
        ),
        ("ref", {"commit": "abc"}, "spec.ref.commit: 'abc' is no commit id"),
        (
            "ref",
            {"semver": "1.x", "semverFilter": "("},
            "spec.ref.semverFilter '(' is no regular expression",
        ),
        (
            "drift",
            {"ignore": [{"paths": ["/a~2b"]}]},
            "spec.drift.ignore[0].paths[0] '/a~2b' is no JSON pointer",
        ),
        ("allow", {"namespaces": ["Team"]}, "spec.allow.namespaces[0] 'Team' matches nothing"),
        ("allow", {"namespaces": ["a/b"]}, "spec.allow.namespaces[0] 'a/b' matches nothing"),
        ("allow", {"namespaces": ["a[b"]}, "spec.allow.namespaces[0] 'a[b' matches nothing"),
        ("allow", {"kinds": ["apps/v1"]}, "spec.allow.kinds[0] 'apps/v1' matches nothing"),
        ("allow", {"kinds": ["jobs.batch"]}, "spec.allow.kinds[0] 'jobs.batch' matches nothing"),
        ("allow", {"instancesOf": ["A.B"]}, "spec.allow.instancesOf[0] 'A.B' matches nothing"),
        ("dependsOn", [{"name": "shop"}], "spec.dependsOn[0] names 'shop', this source itself"),
        (
            "dependsOn",
            [{"name": "x"}, {"name": "shop", "namespace": "team"}],
            "spec.dependsOn[1] names 'shop', this source itself",
        ),
        ("pin", {"commit": "main"}, "spec.pin.commit: 'main' is no commit id"),
        (
            "pin",
            {"commit": COMMIT, "expires": "2026-03-01T09:30:00"},  # which zone?
            "spec.pin.expires '2026-03-01T09:30:00' is no time of RFC 3339",
        ),
        ("suspend", "yes", "'spec.suspend' must be a boolean, but is the string \"yes\""),
        (
            "verify",
            {"mode": "HEAD"},
            "spec.verify: needs secretRef: the Secret with the keys that are trusted",
        ),
        ("replicas", 3, "'spec.replicas' is not a field of GitSource"),
    ],
)  # fmt: skip
def test_what_is_refused(field: str, value: Any, complaint: str) -> None:
    assert complaints(**{field: value}) == [complaint]


def test_a_range_that_means_nothing_is_told_at_its_place() -> None:
    (complaint,) = complaints(ref={"semver": "one"})
    assert complaint.startswith("spec.ref.semver: ")
    assert "'one'" in complaint


def test_the_operator_says_how_often_is_too_often() -> None:
    assert read(Defaults(min_interval=30), interval="30s").interval == 30
    with pytest.raises(InvalidSourceError) as caught:
        read(Defaults(min_interval=30), interval="29s")
    assert (caught.value.message, caught.value.hint) == (
        "GitSource team/shop: spec.interval '29s' is too short",
        "it must be at least 30s",
    )


def test_the_operator_may_keep_sources_in_their_namespace() -> None:
    closed = Defaults(no_cross_namespace_refs=True)
    assert complaints(closed, dependsOn=[{"name": "base", "namespace": "platform"}]) == [
        "spec.dependsOn[0].namespace 'platform' is another namespace, "
        "and sources may only name their own"
    ]
    assert read(closed, dependsOn=[{"name": "base", "namespace": "team"}]).depends_on == (
        Dependency("team", "base"),
    )


def test_every_problem_is_told_and_how_to_fix_it() -> None:
    with pytest.raises(UserError) as caught:
        read(interval="1x", provider="gitlab", paths=["../x"])
    assert caught.value.message == (
        "GitSource team/shop: 'spec.provider' is \"gitlab\", but must be one of: generic, github "
        "(did you mean 'github'?); "
        "spec.interval '1x' is no length of time (write numbers with units: 30s, 1m30s, 1h); "
        "spec.paths[0]: the path '../x' holds '..' (name a folder or file by its path from the "
        "repository's top, apps/shop say)"
    )


@pytest.mark.parametrize("obj", [{}, {"spec": None}, {"spec": []}, {"spec": {}}, {"metadata": 1}])
def test_what_is_no_source_at_all(obj: KubeObject) -> None:
    with pytest.raises(InvalidSourceError):
        read_spec(obj, Defaults())


def test_a_password_in_a_url_is_not_repeated() -> None:
    with pytest.raises(InvalidSourceError) as caught:
        read_spec(source({"url": "https://me:s3cret@git.example.com/shop"}), Defaults())
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value.problems)
    assert "must not hold a user name or a password" in caught.value.message


words = st.text("abc", min_size=1, max_size=4)
durations = st.integers(1000, 10**8).map(lambda milliseconds: milliseconds / 1000)
maybe = st.just("") | words
commits = st.sampled_from([COMMIT, "ab" * 32])
several = st.lists(words, max_size=3, unique=True).map(tuple)
kinds = st.lists(words.map(lambda word: f"{word.title()}.x"), max_size=3, unique=True).map(tuple)

specs = st.builds(
    SourceSpec,
    url=words.map(lambda word: f"https://git.example.com/{word}"),
    ref=st.builds(WantedRef, branch=maybe, tag=maybe, commit=st.just("") | commits)
    | st.builds(WantedRef, semver=st.just(">=1.0.0"), semver_filter=maybe),
    paths=several,
    ignore=maybe,
    interval=durations,
    timeout=st.integers(1000, 600_000).map(lambda milliseconds: milliseconds / 1000),
    suspend=st.booleans(),
    provider=st.sampled_from(Provider),
    secret=words,
    proxy_secret=maybe,
    filters_blobs=st.booleans(),
    verify=st.none() | st.builds(Verify, st.just(VerifyMode.HEAD), words),
    prune=st.booleans(),
    brake=st.builds(Brake, st.integers(0, 100).map(float), st.integers(0, 99)),
    allows_empty=st.booleans(),
    deletion_policy=st.sampled_from(DeletionPolicy),
    drift=st.sampled_from(DriftMode),
    ignore_differences=st.lists(
        st.builds(
            IgnoreRule,
            several.filter(bool).map(lambda names: tuple(f"/{name}" for name in names)),
            maybe,
            maybe,
            maybe,
            maybe,
        ),
        max_size=2,
    ).map(tuple),
    adopt=st.booleans(),
    force=st.booleans(),
    wait=st.booleans(),
    health_timeout=durations,
    allow=st.just(EVERYTHING)
    | st.builds(Allow, several, kinds, st.booleans(), st.booleans(), kinds),
    service_account=maybe,
    depends_on=st.lists(
        st.builds(Dependency, words, words.map(lambda word: f"{word}-other")), max_size=2
    ).map(tuple),
    tracking=st.builds(Tracking, st.sampled_from(TrackingMode), words, words),
    notifications=st.lists(
        st.builds(
            Notification,
            words,
            st.sampled_from(NotificationType),
            st.lists(st.sampled_from(NotificationEvent), max_size=3, unique=True).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    webhook=st.none() | st.builds(Webhook, words, st.none() | st.sampled_from(Forge)),
    pin=st.none()
    | st.builds(Pin, commits, maybe, st.just("") | st.just("2026-03-01T09:30:00Z"), maybe),
)


@given(specs)
def test_what_is_written_is_read_again(spec: SourceSpec) -> None:
    assert read_spec(source(write_spec(spec)), Defaults()) == spec


def test_what_has_its_default_is_not_written() -> None:
    assert write_spec(SourceSpec(URL)) == {"url": URL}
    assert write_spec(SourceSpec(URL, interval=300, timeout=5400.5, health_timeout=7200)) == {
        "url": URL,
        "interval": "5m",
        "timeout": "1h30m0.5s",
        "healthTimeout": "2h",
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
texts = st.text(max_size=20)
shaped = st.fixed_dictionaries(
    {"url": st.just(URL)},
    optional={
        "ref": st.dictionaries(
            st.sampled_from(["branch", "tag", "semver", "semverFilter", "name", "commit"]), texts
        ),
        "paths": st.lists(texts, max_size=2),
        "ignore": texts,
        "interval": texts,
        "drift": st.fixed_dictionaries(
            {"ignore": st.lists(st.fixed_dictionaries({"paths": st.lists(texts)}), max_size=2)}
        ),
        "allow": st.dictionaries(
            st.sampled_from(["namespaces", "kinds", "instancesOf"]), st.lists(texts, max_size=2)
        ),
        "dependsOn": st.lists(st.fixed_dictionaries({"name": texts}), max_size=2),
        "pin": st.fixed_dictionaries({"commit": texts, "expires": texts}),
    },
)
anything = st.dictionaries(st.sampled_from(list(SPEC_SCHEMA["properties"])), values, max_size=4)


@given(shaped | anything)
def test_whatever_is_written_is_read_or_refused(spec: dict[str, Any]) -> None:
    try:
        url = read_spec(source(spec), Defaults()).url
    except InvalidSourceError:
        return
    assert url == spec["url"]


def test_a_folder_of_the_controller_is_for_the_source_that_its_operator_named_alone() -> None:
    folder = "file:///srv/platform.git"
    assert read(Defaults(local_source="team/shop"), url=folder).url == folder
    for named in ("", "platform/repo", "team/shop2"):
        with pytest.raises(InvalidSourceError, match=r"spec\.url names a folder of the controller"):
            read(Defaults(local_source=named), url=folder)


def test_nobody_waits_for_git_longer_than_others_can_bear() -> None:
    assert read(timeout="10m").timeout == 600
    with pytest.raises(InvalidSourceError, match=r"spec\.timeout '11m' is too long"):
        read(timeout="11m")
