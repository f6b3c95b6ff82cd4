import io
import logging
import sys
from collections.abc import Callable, Iterator

import pytest

from kro_gitops.cli import run as verb
from kro_gitops.cli.run import session
from kro_gitops.cli.verbs import VERBS, Parser
from kro_gitops.errors import UserError
from kro_gitops.settings.address import Address
from kro_gitops.settings.settings import OPTIONS, Gate, LogFormat, LogLevel, Settings

# A value for each kind of option, as kro's users write them.
SAMPLES = {
    "true|false": "true",
    "N": "7",
    "DURATION": "7s",
    "ADDRESS": ":7777",
    "FILE": "config",
    "NAME": "dev",
    "NAMESPACE": "kro-system",
    "KEY": "example.com/app",
    "VERSION": "v0.9.4",
    "PATTERNS": "team",
    "GATE=true,…": "CELOmitFunction=true",
    "TEXT": "x",
}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take no setting from who runs the tests, and leave the root logger as it was."""
    for option in OPTIONS:
        for name in option.variables:
            monkeypatch.delenv(name, raising=False)
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)
    logging.captureWarnings(capture=False)


class Application:
    """Stands where controllers are put together: it remembers what it was told."""

    def __init__(self) -> None:
        self.settings: Settings | None = None
        self.ends: Callable[[], int] = lambda: 0

    def run(self, settings: Settings, _beside: object = None) -> int:
        self.settings = settings
        return self.ends()


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Application:
    made = Application()
    monkeypatch.setattr(session, "run_controllers", made.run)
    return made


def parser() -> Parser:
    made = Parser(prog="kro-gitops run", epilog=VERBS["run"].examples)
    VERBS["run"].configure(made)
    return made


def started(*words: str) -> int:
    return verb.run(parser().parse_args(words))


def settings(application: Application, *words: str) -> Settings:
    assert started("--in-cluster", *words) == 0
    assert application.settings is not None
    return application.settings


FLAGS = [
    (flag, option.values.choices[-1] if option.values.choices else SAMPLES.get(metavar, "error"))
    for option in OPTIONS
    for flag in option.flags
    for metavar in [option.values.metavar]
]


@pytest.mark.parametrize(("flag", "text"), FLAGS, ids=[flag for flag, _ in FLAGS])
def test_every_option_can_be_given_with_one_dash_or_two(flag: str, text: str) -> None:
    made = parser()
    plain = made.parse_args([flag, text])
    assert vars(plain) != vars(made.parse_args([]))
    for words in ([f"{flag}={text}"], [flag[1:], text], [f"{flag[1:]}={text}"]):
        assert vars(made.parse_args(words)) == vars(plain)


@pytest.mark.parametrize(
    ("words", "elects"),
    [
        ([], False),
        (["--leader-elect"], True),
        (["-leader-elect"], True),
        (["--leader-elect=true"], True),
        (["--leader-elect=false"], False),
        (["-leader-elect=false"], False),
        (["--leader-elect", "--leader-elect=false"], False),
    ],
)
def test_a_switch_may_say_what_it_means(
    application: Application, words: list[str], elects: bool
) -> None:
    assert settings(application, *words).leader_elect is elects


@pytest.mark.parametrize("word", ["--no-install-crds", "--install-crds=false", "-no-install-crds"])
def test_what_is_on_can_be_switched_off(application: Application, word: str) -> None:
    assert settings(application).install_crds
    assert not settings(application, word).install_crds


def test_an_option_that_is_repeated_is_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--embedded-outcome", "a=Failed", "--embedded-outcome=b=Broken")
    assert started(*words) == 64
    assert "--embedded-outcome: 'a=Failed,b=Broken' is not IMAGE=OUTCOME" in capsys.readouterr().err


def test_the_arguments_of_kros_chart_work(application: Application) -> None:
    given = settings(
        application,
        "--allow-crd-deletion=true",
        "--metrics-bind-address=:9000",
        "--health-probe-bind-address=0",
        "--client-qps=100",
        "--client-burst=150",
        "--feature-gates=CELOmitFunction=true,InstanceConditionEvents=false",
        "--zap-devel=false",
        "--zap-encoder=json",
        "--zap-log-level=2",
        "--zap-stacktrace-level=error",
        "--zap-time-encoding=rfc3339",
        "--dynamic-controller-rate-limiter-rate-limit=10",
    )
    assert given.allow_crd_deletion
    assert given.metrics_bind_address == Address("", 9000)
    assert given.health_probe_bind_address is None
    assert (given.client_qps, given.client_burst) == (100, 150)
    assert given.feature_gates == {Gate.OMIT}
    assert (given.log_format, given.log_level) == (LogFormat.JSON, LogLevel.DEBUG)
    assert given.ignored == (
        "--zap-devel",
        "--zap-stacktrace-level",
        "--zap-time-encoding",
        "--dynamic-controller-rate-limiter-rate-limit",
    )


def test_flags_without_effect_are_mentioned_once_in_the_log(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    settings(application, "--zap-devel=false", "-pprof-bind-address=:6060")
    (line,) = stream.getvalue().splitlines()
    assert 'flags="--zap-devel, --pprof-bind-address"' in line


def test_without_them_nothing_is_said(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(application)
    assert capsys.readouterr().err == ""


def test_the_environment_is_read(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRO_GITOPS_RGD_MAX_COLLECTION_SIZE", "7")
    monkeypatch.setenv("KRO_GITOPS_LOG_LEVEL", "error")
    given = settings(application, "--log-level=debug")
    assert (given.rgd_max_collection_size, given.log_level) == (7, LogLevel.DEBUG)


def test_without_a_cluster_a_pod_is_asked_which_one_is_meant(
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert started() == 64
    assert application.settings is None
    said = capsys.readouterr().err
    assert said.startswith("kro-gitops run: no cluster is named, and this is a pod: use ")
    assert said.endswith("Try 'kro-gitops run --help'.\n")


def test_all_mistakes_are_shown_with_exit_code_64(
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KRO_GITOPS_CLIENT_QPS", "many")
    assert started("--in-cluster", "--evaluation-limit=soon", "--leader-elect=perhaps") == 64
    assert application.settings is None
    lines = capsys.readouterr().err.splitlines()
    assert [line.removeprefix("kro-gitops run: ").split(":")[0] for line in lines[:-1]] == [
        "KRO_GITOPS_CLIENT_QPS",
        "--evaluation-limit",
        "--leader-elect",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--log-format=xml"], "invalid choice: 'xml'"),
        (["--leader-elekt"], "--leader-elekt"),
        (["--leader-el"], "--leader-el"),
        (["-l"], "-l"),
        (["somewhere"], "somewhere"),
    ],
)
def test_what_the_parser_refuses_exits_with_64_too(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        started(*words, "--in-cluster")
    assert ended.value.code == 64
    assert said in capsys.readouterr().err


def test_the_exit_code_is_that_of_the_application(application: Application) -> None:
    application.ends = lambda: 3
    assert started("--in-cluster") == 3


def test_what_the_user_must_change_is_told_without_a_traceback(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> int:
        raise UserError("no-kubeconfig", "there is no kubeconfig at x", hint="make one")

    application.ends = fails
    assert started("--kubeconfig", "x") == 1
    assert capsys.readouterr().err == (
        "kro-gitops run: there is no kubeconfig at x\n  hint: make one\n"
    )


def test_the_help_is_grouped_and_shows_each_option_once() -> None:
    shown = parser().format_help()
    headings = ["options:", "cluster:", "engine:", "leader election:", "process:", "kro's flags"]
    places = [shown.index(f"\n{heading}") for heading in headings]
    assert places == sorted(places)
    for option in OPTIONS:
        assert shown.count(f"\n  {option.flags[0]} ") + shown.count(f"\n  {option.flags[0]}\n") == 1
        assert f"\n  {option.flags[0][1:]}" not in shown
