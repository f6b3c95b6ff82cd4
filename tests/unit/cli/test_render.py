import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import KIND, config_map, definition, instance, resource
from tests.command import EXAMPLES, Outcome, run

LOAD_BALANCER = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "${schema.metadata.name}"},
    "spec": {"type": "LoadBalancer", "ports": [{"port": 443}]},
}
INGRESS = "lb.status.loadBalancer.ingress"
HOSTNAME = f"${{{INGRESS}[0].hostname}}"
ONLY_IF_READY = [f"${{size({INGRESS}) > 0}}"]
ZONES = {
    "id": "zones",
    "externalRef": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"selector": {"matchLabels": {"zone": "true"}}},
    },
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *documents: Any) -> None:
    text = "---\n".join(f"{json.dumps(document)}\n" for document in documents)
    Path(name).write_text(text, encoding="utf-8")


def rendered(
    *resources: dict[str, Any], given: dict[str, Any] | None = None, words: tuple[str, ...] = ()
) -> Outcome:
    fields = {"on": "boolean | default=false", "names": "[]string", "note": "string"}
    write("all.yaml", definition(*resources, spec=fields), instance(given or {}))
    return run("render", "all.yaml", *words)


def documents(printed: str) -> list[Any]:
    return [document for document in yaml.safe_load_all(printed) if document]


def headings(printed: str) -> list[str]:
    return [line for line in printed.split("\n") if line.startswith("#")]


def test_children_are_printed_as_documents_that_say_what_they_are() -> None:
    done = rendered(resource("lb", LOAD_BALANCER), resource("cm", config_map("x", a="b")))
    assert (done.code, done.err) == (0, "")
    assert headings(done.out) == [f"# {KIND} town/corner · lb", f"# {KIND} town/corner · cm"]
    assert [document["kind"] for document in documents(done.out)] == ["Service", "ConfigMap"]


def test_what_is_not_known_stands_there_with_its_type() -> None:
    body = config_map("x", host=HOSTNAME, text=f"https://{HOSTNAME}/")
    done = rendered(resource("lb", LOAD_BALANCER), resource("cm", body))
    assert done.code == 0
    assert f'  host: "⟨known after apply: {INGRESS}⟩" # string\n' in done.out
    assert f'  text: "https://⟨known after apply: {INGRESS}⟩/" # string\n' in done.out


def test_what_a_live_value_decides_may_be_created() -> None:
    body = resource("cm", config_map("x"), includeWhen=ONLY_IF_READY)
    done = rendered(resource("lb", LOAD_BALANCER), body)
    assert done.code == 0
    heading = f"# {KIND} town/corner · cm: may be created, known after apply: {INGRESS}"
    assert headings(done.out)[1] == heading


def test_who_reads_what_may_be_created_may_be_created() -> None:
    first = resource("cm", config_map("x"), includeWhen=ONLY_IF_READY)
    second = resource("last", config_map("${cm.metadata.name}-y"))
    done = rendered(resource("lb", LOAD_BALANCER), first, second)
    assert [": may be created" in line for line in headings(done.out)] == [False, True, True]


def test_a_collection_of_unknown_length_is_shown_once() -> None:
    body = resource("each1", config_map("${zone.metadata.name}"), forEach=[{"zone": "${zones}"}])
    done = rendered(ZONES, body)
    assert done.code == 0
    heading = f"# {KIND} town/corner · each1: one for each element, known after apply: zones"
    assert headings(done.out) == [heading]
    assert documents(done.out)[0]["metadata"]["name"] == "⟨known after apply: each zone⟩"


def test_excluded_resources_and_all_that_need_them_are_named_at_the_end() -> None:
    first = resource("cm", config_map("x"), includeWhen=["${schema.spec.on}"])
    second = resource("last", config_map("${cm.metadata.name}-y"))
    done = rendered(first, second, resource("other"))
    assert done.code == 0
    assert headings(done.out) == [
        f"# {KIND} town/corner · other",
        f"# {KIND} town/corner · cm: not included",
        f"# {KIND} town/corner · last: not included",
    ]


def test_a_resource_that_waits_is_a_problem_and_stops_only_what_needs_it() -> None:
    first = resource("cm", config_map("x", note="${schema.spec.note}"))
    second = resource("last", config_map("${cm.metadata.name}-y"))
    done = rendered(first, second, resource("other"))
    assert done.code == 1
    assert headings(done.out) == [
        f"# {KIND} town/corner · other",
        f"# {KIND} town/corner · cm: cannot be rendered",
        f"# {KIND} town/corner · last: waits for cm",
    ]
    text = 'node "cm": failed to evaluate expression: eval "schema.spec.note": no such key: note'
    assert f"error[data-pending]: {KIND} town/corner: {text} (data pending)\n" in done.err


def test_an_expression_that_fails_is_a_problem() -> None:
    body = config_map("x", first="${schema.spec.names[0].split('-')[7]}")
    done = rendered(resource("cm", body), given={"names": ["a"]})
    assert done.code == 1
    assert f'{KIND} town/corner: node "cm": ' in done.err
    assert "index out of bounds: 7" in done.err


def test_no_child_holds_what_json_cannot() -> None:
    done = rendered(resource("cm", config_map("x", a="${string(1.0 / 0.0)}")))
    assert done.code == 0
    crd = yaml.safe_load(
        (Path(__file__).parents[2] / "planted/repo/crds/certificate.yaml").read_text()
    )
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {
        "ratio": {"type": "number"}
    }
    body = {
        "apiVersion": "pki.example.com/v1",
        "kind": "Certificate",
        "metadata": {"name": "x"},
        "spec": {"ratio": "${0.0 / 0.0}"},
    }
    write("all.yaml", crd, definition(resource("cm", body)), instance())
    done = run("render", "all.yaml")
    assert done.code == 1
    assert "the result is no number that JSON can hold" in done.err


def test_data_by_the_id_of_a_resource_stands_in_for_a_cluster() -> None:
    write("live.yaml", {"lb": {"status": {"loadBalancer": {"ingress": [{"hostname": "h"}]}}}})
    body = resource("cm", config_map("x", host=HOSTNAME), includeWhen=ONLY_IF_READY)
    done = rendered(resource("lb", LOAD_BALANCER), body, words=("--set-status", "live.yaml"))
    assert (done.code, done.err) == (0, "")
    assert documents(done.out)[1]["data"] == {"host": "h"}
    assert headings(done.out)[1] == f"# {KIND} town/corner · cm"


@pytest.mark.parametrize("in_list", [False, True], ids=["alone", "in a list"])
def test_objects_as_kubectl_prints_them_stand_in_for_a_cluster(in_list: bool) -> None:
    live = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "corner", "namespace": "town", "uid": "1"},
        "status": {"loadBalancer": {"ingress": [{"hostname": "h"}]}},
    }
    write("live.yaml", {"apiVersion": "v1", "kind": "List", "items": [live]} if in_list else live)
    body = resource("cm", config_map("x", host=HOSTNAME, uid="${lb.metadata.uid}"))
    done = rendered(resource("lb", LOAD_BALANCER), body, words=("--set-status", "live.yaml"))
    assert documents(done.out)[1]["data"] == {"host": "h", "uid": "1"}


def test_objects_of_a_selector_can_be_given() -> None:
    write("live.yaml", {"zones": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]})
    body = resource("each1", config_map("${zone.metadata.name}"), forEach=[{"zone": "${zones}"}])
    done = rendered(ZONES, body, words=("--set-status", "live.yaml"))
    assert [document["metadata"]["name"] for document in documents(done.out)] == ["a", "b"]


def test_data_for_a_resource_that_does_not_exist_is_noticed() -> None:
    write("live.yaml", {"lbb": {}})
    done = rendered(resource("lb", LOAD_BALANCER), words=("--set-status", "live.yaml"))
    assert done.err == "--set-status: no definition has a resource with the id 'lbb'\n"


def test_data_that_is_no_yaml_is_refused_with_its_place() -> None:
    Path("live.yaml").write_text("a: [\n", encoding="utf-8")
    done = run("render", EXAMPLES, "--set-status", "live.yaml")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("live.yaml:1:4: error[yaml-syntax]")


@pytest.mark.parametrize("name", ["shop/front", "front"])
def test_one_instance_can_be_chosen(name: str) -> None:
    done = run("render", EXAMPLES, "--instance", name)
    assert done.code == 0
    assert {line.split(" · ")[0] for line in headings(done.out)} == {"# WebApp shop/front"}


def test_an_instance_that_does_not_exist_is_a_problem() -> None:
    done = run("render", EXAMPLES, "--instance", "shop/nobody")
    assert (done.code, done.out) == (1, "")
    assert done.err == "no instance 'shop/nobody' in these files\n"


def test_what_compiles_is_rendered_and_what_does_not_is_reported() -> None:
    broken = definition(resource("cm", config_map("${schema.spec.nam}")))
    broken["metadata"]["name"] = "broken"
    broken["spec"]["schema"]["kind"] = "Broken"
    write("all.yaml", definition(resource()), instance(), broken)
    done = run("render", "all.yaml")
    assert done.code == 1
    assert len(documents(done.out)) == 1
    assert "error[undefined-field]" in done.err
    assert done.err.endswith("\n1 error found\n")


def test_collections_can_be_limited() -> None:
    done = run("render", EXAMPLES, "--instance", "imports", "--max-collection-size", "1")
    assert done.code == 1
    assert "collection size of 2 is over the maximum collection size of 1" in done.err


def test_json_lists_children_and_what_is_not_known() -> None:
    body = resource("cm", config_map("x", host=HOSTNAME), includeWhen=ONLY_IF_READY)
    off = resource("off", config_map("y"), includeWhen=["${schema.spec.on}"])
    (found,) = rendered(resource("lb", LOAD_BALANCER), body, off, words=("-o", "json")).json
    assert found["instance"] == {
        "apiVersion": "kro.run/v1",
        "kind": KIND,
        "namespace": "town",
        "name": "corner",
    }
    assert found["excluded"] == ["off"]
    assert found["waiting"] == {}
    child = found["children"][1]
    assert child["node"] == "cm"
    assert child["mayBeCreated"] == [INGRESS]
    assert {"path": ["data", "host"], "type": "string", "reads": [INGRESS]} in child["unknown"]


def files_below(out: str) -> list[str]:
    return sorted(path.relative_to(out).as_posix() for path in Path(out).rglob("*.yaml"))


def test_a_file_can_be_written_for_each_child() -> None:
    done = run("render", EXAMPLES, "--instance", "front", "--out", "children")
    assert (done.code, done.out) == (0, "")
    assert done.err == "3 files written below children\n"
    assert files_below("children") == [
        "shop/webapp-front/01-deployment-front.yaml",
        "shop/webapp-front/02-service-front.yaml",
        "shop/webapp-front/03-ingress-front.yaml",
    ]
    text = Path("children/shop/webapp-front/02-service-front.yaml").read_text(encoding="utf-8")
    metadata = yaml.safe_load(text)["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("front", "shop")


@pytest.mark.parametrize("link", ["out/shop", "out/shop/webapp-front", "out/shop/webapp-front/x"])
def test_links_in_the_folder_are_not_followed(link: str, folder: Path) -> None:
    outside = folder / "outside"
    outside.mkdir()
    path = Path(link)
    if path.name == "x":
        path = path.with_name("01-deployment-front.yaml")
    path.parent.mkdir(parents=True)
    path.symlink_to(outside / "file" if path.suffix else outside)
    done = run("render", EXAMPLES, "--instance", "front", "--out", "out")
    assert done.code == 1
    assert f"'{path}' is a link" in done.err
    assert list(outside.iterdir()) == []


def test_children_of_instances_with_the_same_file_name_do_not_overwrite_each_other() -> None:
    elsewhere = config_map("same")
    elsewhere["metadata"]["namespace"] = "elsewhere"
    other = definition(resource("cm", elsewhere), group="other.example.com")
    other["metadata"]["name"] = "other"
    twin = {**instance(), "apiVersion": "other.example.com/v1"}
    write("all.yaml", definition(resource("cm", config_map("same"))), instance(), other, twin)
    done = run("render", "all.yaml", "--out", "out")
    assert done.err == "2 files written below out\n"
    assert files_below("out") == [
        "town/kiosk-corner/01-configmap-same-2.yaml",
        "town/kiosk-corner/01-configmap-same.yaml",
    ]


def test_a_folder_that_cannot_be_made_is_a_problem_of_one_line() -> None:
    Path("out").write_text("a file", encoding="utf-8")
    done = run("render", EXAMPLES, "--out", "out")
    assert done.code == 1
    assert done.err.startswith("kro-gitops: ")
    assert "Traceback" not in done.err


def test_what_the_api_server_would_not_accept_is_not_rendered() -> None:
    made = definition(resource("cm", config_map("${schema.metadata.name}")))
    write("all.yaml", made, instance(name="x\n---\na: b\x1b"), instance(name="fine"))
    done = run("render", "all.yaml")
    assert done.code == 1
    assert "error[invalid-name]" in done.err
    assert "\x1b" not in done.err
    assert [each["metadata"]["name"] for each in documents(done.out)] == ["fine"]


def test_one_instance_is_rendered_as_among_the_others() -> None:
    made = definition(resource("cm", config_map("shared")))
    write("all.yaml", made, instance(name="first"), instance(name="second"))
    done = run("render", "all.yaml", "--instance", "second")
    assert done.code == 1
    assert "error[foreign-applyset]: Kiosk town/second:" in done.err
    assert documents(done.out) == []


def test_a_pipe_as_data_is_refused_and_not_waited_for() -> None:
    os.mkfifo("pipe")
    done = run("render", EXAMPLES, "--set-status", "pipe")
    assert (done.code, done.err) == (1, "pipe is not a regular file\n")


def test_data_may_stand_beside_the_manifests() -> None:
    write("all.yaml", definition(resource("lb", LOAD_BALANCER)), instance())
    write("live.yaml", {"lb": {}})
    done = run("render", ".", "--set-status", "./live.yaml")
    assert (done.code, done.err) == (0, "")


def test_the_flags_of_the_controller_decide_what_children_carry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tracking = "web:kro.run/Kiosk:town/corner"
    marked = instance(
        labels={"team": "a", "tier": "web"},
        annotations={"argocd.argoproj.io/tracking-id": tracking},
    )
    write("all.yaml", definition(resource("cm", config_map("x"))), marked)

    def metadata(*words: str) -> Any:
        (child,) = documents(run("render", "all.yaml", *words).out)
        return child["metadata"]

    usual = metadata()
    assert usual["annotations"]["argocd.argoproj.io/tracking-id"] == tracking
    assert (usual["labels"]["team"], usual["labels"]["tier"]) == ("a", "web")
    assert (
        "argocd.argoproj.io/tracking-id" not in metadata("--tracking-mode", "native")["annotations"]
    )
    chosen = metadata("--propagate-labels", "team", "--kro-version", "v0.9.9")["labels"]
    assert "tier" not in chosen
    assert (chosen["team"], chosen["kro.run/kro-version"]) == ("a", "v0.9.9")
    monkeypatch.setenv("KRO_GITOPS_TRACKING_MODE", "native")
    assert "argocd.argoproj.io/tracking-id" not in metadata()["annotations"]


def test_a_flag_of_the_controller_that_means_nothing_is_a_wrong_command_line() -> None:
    done = run("render", ".", "--kro-version", "new")
    assert done.code == 64
    assert "--kro-version" in done.err


def test_nested_instances_are_shown_unless_depth_says_otherwise() -> None:
    done = run("render", EXAMPLES, "--instance", "outlet")
    kinds = [document["kind"] for document in documents(done.out)]
    assert len(kinds) == 9
    assert {"Shop"} < set(re.findall(r"^# (\w+) ", done.out, re.MULTILINE))
    shallow = documents(run("render", EXAMPLES, "--instance", "outlet", "--depth", "0").out)
    assert [document["kind"] for document in shallow] == ["Database", "WebApp"]


def test_a_reference_to_an_object_of_the_same_files_is_resolved() -> None:
    shared = {**config_map("shared", key="value")}
    shared["metadata"]["namespace"] = "town"
    reference = {
        "id": "shared",
        "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}},
    }
    reader = resource("cm", config_map("x", v="${shared.data.key}"))
    write("all.yaml", definition(reference, reader), instance(), shared)
    (child,) = documents(run("render", "all.yaml").out)
    assert child["data"] == {"v": "value"}


def test_what_the_controller_rejects_fails_with_its_place() -> None:
    body = config_map("x-${name}")
    write(
        "all.yaml",
        definition(
            resource("cm", body, forEach=[{"name": "${schema.spec.names}"}]),
            spec={"names": "[]string"},
        ),
        instance({"names": ["a", "a"]}),
    )
    for verb in ("render", "validate"):
        done = run(verb, "all.yaml")
        assert done.code == 1
        assert re.search(
            r"^all\.yaml:1:\d+: error\[identity-collision\]: Kiosk town/corner: "
            r'node "cm" identity collision: duplicate identity: /v1/ConfigMap/town/x-a$',
            done.out + done.err,
            re.MULTILINE,
        )
