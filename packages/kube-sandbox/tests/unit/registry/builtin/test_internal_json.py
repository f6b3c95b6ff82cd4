import orjson

from kube_sandbox.registry.builtin.internal_json import (
    difference,
    format_internal,
    format_selector,
    internal_form,
)
from kube_sandbox.registry.field_errors import format_field_value


def test_a_value_is_printed_with_the_fields_of_go_in_their_order() -> None:
    value = format_internal({"rollingUpdate": {"maxSurge": 1}}, "apps.DeploymentStrategy")
    assert (
        format_field_value(value) == '{"Type":"","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}'
    )


def test_what_is_absent_is_null() -> None:
    assert format_field_value(format_internal(None, "batch.SuccessPolicy")) == "null"
    assert format_field_value(format_selector(None)) == "null"


def test_fields_that_the_api_has_elsewhere_are_where_go_has_them() -> None:
    spec = internal_form({"hostNetwork": True, "securityContext": {"runAsUser": 5}}, "core.PodSpec")
    assert spec["SecurityContext"]["HostNetwork"] is True
    assert spec["SecurityContext"]["RunAsUser"] == 5
    assert "HostNetwork" not in spec


def test_the_metadata_of_a_template_is_printed_as_the_api_has_it() -> None:
    template = internal_form({"metadata": {"labels": {"b": "1", "a": "2"}}}, "core.PodTemplateSpec")
    assert list(template) == ["labels", "Spec"]
    assert list(template["labels"]) == ["a", "b"]


def test_labels_come_before_expressions_in_a_selector() -> None:
    selector = {
        "matchExpressions": [{"values": ["x"], "operator": "In", "key": "a"}],
        "matchLabels": {"b": "c"},
    }
    assert orjson.dumps(format_selector(selector)) == (
        b'{"matchLabels":{"b":"c"},"matchExpressions":[{"key":"a","operator":"In","values":["x"]}]}'
    )


def test_a_difference_is_shown_line_by_line() -> None:
    old, new = {"type": "Recreate"}, {"type": "<Other>"}
    assert difference(old, new, "apps.DeploymentStrategy") == (
        "@@ -1,4 +1,4 @@\n"
        " {\n"
        '- "Type": "Recreate",\n'
        '+ "Type": "\\u003cOther\\u003e",\n'
        '  "RollingUpdate": null\n'
        " }\n"
    )
