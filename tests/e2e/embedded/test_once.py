"""`run --once` on the embedded API: one command from nothing to an exit code that tells."""

import json

import pytest

from tests.e2e.embedded.conftest import PATHS, Start, User
from tests.git_repositories import GitRepository

pytestmark = pytest.mark.timeout(240)

MISTAKE = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: broken
spec:
  schema:
    apiVersion: v1alpha1
    kind: Broken
    spec:
      name: string
  resources:
    - id: settings
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: ${schema.spec.nam}
"""


def test_the_examples_become_ready_and_stay_for_the_next_run(
    user: User, examples: GitRepository
) -> None:
    words = ("run", "--once", "--repo", examples.path, "--path", PATHS)
    first = user.does(*words)
    assert first.code == 0, first.out + first.err
    # What is used, and that nothing else is, stands in the first line.
    said = first.err.splitlines()[0]
    assert said.startswith("embedded API at https://127.0.0.1:")
    assert said.endswith(", data in ~/.local/share/kro-gitops; no cluster is accessed")
    kubectl = first.err.splitlines()[1]
    assert kubectl == "for kubectl: export KUBECONFIG=~/.local/share/kro-gitops/kubeconfig"
    # A line for each change, as nobody sits at a terminal; logs are lines to read, too.
    assert "WebApp shop/front: ready" in first.err.splitlines()
    assert any(line.endswith(" I stopping") for line in first.err.splitlines())
    assert "{" not in first.err
    # The tree, the sum, and how to look around.
    assert "├── deployment: Deployment/front" in first.out
    tree, _, rest = first.out.partition("\n\n")
    assert "Degraded" not in tree
    head, *advice = rest.splitlines()
    assert head.startswith("ready after ")
    assert head.endswith(": 1 source · 5 definitions · 8 instances · 22 children")
    assert "  export KUBECONFIG=~/.local/share/kro-gitops/kubeconfig" in advice
    assert "  kubectl get databases -A" in advice

    again = user.does(*words)
    assert again.code == 0, again.out + again.err


def test_logs_are_json_when_that_is_asked_for(user: User) -> None:
    done = user.does("run", "--once", "--ephemeral", "--log-format", "json")
    assert done.code == 0, done.err
    records = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    assert records[-1]["msg"] == "stopping"


def test_a_repository_with_mistakes_is_an_exit_code_and_reasons(
    user: User, repository: GitRepository
) -> None:
    repository.commit({"rgds/broken.yaml": MISTAKE, "apps/worse.yaml": "a: ["})
    done = user.does("run", "--once", "--ephemeral", "--repo", repository.path)
    assert done.code == 1, done.out + done.err
    assert "not ready after " in done.out
    assert (
        "GitSource default/repo: is not ready\n"
        "  apps/worse.yaml:1:4: error[yaml-syntax]: a value is expected here " in done.out
    )
    assert (
        "\nrgds/broken.yaml:17:31: error[undefined-field]: ResourceGraphDefinition broken: "
        "undefined field 'nam' (did you mean 'name'?)\n" in done.out
    )
    assert "hint: correct the files in git" in done.out
    assert "hint: `kro-gitops validate FOLDER`" in done.out
    assert "no cluster is accessed" in done.err
    assert not user.data.exists()


def test_what_never_comes_is_waited_for_until_the_time_is_up(
    user: User, examples: GitRepository
) -> None:
    words = ("--repo", examples.path, "--path", "repo", "--timeout", "20s")
    done = user.does("run", "--once", "--ephemeral", *words)
    assert done.code == 1, done.out + done.err
    assert "not ready after 20.0 s: 0/1 sources · 5 definitions · " in done.out
    (line,) = [each for each in done.out.splitlines() if ": Database data/warehouse: " in each]
    assert line.startswith("repo/instances/team-data/warehouse.yaml: Database data/warehouse: ")
    assert 'waiting for external reference "password": not found: Secret data/' in line


def test_without_anything_to_do_it_ends_at_once(user: User) -> None:
    done = user.does("run", "--once", "--ephemeral")
    assert (done.code, done.out) == (
        0,
        "there is nothing to reconcile: --repo names a repository to follow\n",
    )


def test_a_folder_that_is_no_repository_is_reported_before_anything_starts(user: User) -> None:
    done = user.does("run", "--repo", user.home / "nowhere")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"kro-gitops run: --repo: there is no folder '{user.home / 'nowhere'}'\n"
        "  hint: name the root folder of a git repository; a URL begins with https:// or ssh://\n"
    )
    assert not user.data.exists()


def test_a_reason_is_complete_where_it_is_kept_in_a_file(
    user: User, repository: GitRepository
) -> None:
    long = "x" * 400 + "y"
    repository.commit({"rgds/broken.yaml": MISTAKE.replace(".nam}", f".{long}}}")})
    done = user.does("run", "--once", "--ephemeral", "--repo", repository.path)
    assert done.code == 1, done.out + done.err
    head = "rgds/broken.yaml:17:31: error[undefined-field]: ResourceGraphDefinition broken: "
    (reason,) = [line for line in done.out.splitlines() if line.startswith(head)]
    assert f"undefined field '{long}'" in reason
    assert "…" not in reason


def test_the_variable_of_kubectl_is_mentioned_and_not_used(user: User) -> None:
    done = user.does("run", "--once", "--ephemeral", KUBECONFIG="/the/cluster/of/somebody")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0].endswith(
        "KUBECONFIG is set but ignored: use --kubeconfig or --context for a cluster"
    )


def test_a_real_kubeconfig_of_the_user_is_not_read(user: User, start_run: Start) -> None:
    (user.home / ".kube").mkdir()
    (user.home / ".kube" / "config").write_text("not a kubeconfig: [", encoding="utf-8")
    done = user.does("run", "--once", "--ephemeral")
    assert done.code == 0, done.err
