import pytest

from kro_gitops.engine.simpleschema.markers import MARKERS, Marker, read_markers
from kube_objects.problems import Problem


def values(definition: str) -> list[tuple[str, str]]:
    markers = read_markers(definition)
    assert markers.problems == ()
    return [(marker.name, marker.value) for marker in markers.found]


def only_problem(definition: str) -> Problem:
    [problem] = read_markers(definition).problems
    return problem


def underlined(definition: str, problem: Problem) -> str:
    return definition[problem.spot.start : problem.spot.end]


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        pytest.param("required=true", [("required", "true")], id="one"),
        pytest.param(
            "required=true\tdefault=5\n minimum=1",
            [("required", "true"), ("default", "5"), ("minimum", "1")],
            id="several, between any blanks",
        ),
        pytest.param('description="two words"', [("description", "two words")], id="quoted"),
        pytest.param('default="a\\"b"', [("default", 'a"b')], id="an escaped quote"),
        pytest.param('pattern="\\d\\\\d"', [("pattern", "\\d\\d")], id="other escapes stay"),
        pytest.param("default=a=b", [("default", "a=b")], id="= belongs to an open value"),
        pytest.param('default=a"b c"d', [("default", 'a"b c"d')], id="quotes inside stay"),
        pytest.param(
            'default={"a": [1, 2]} required=true',
            [("default", '{"a": [1, 2]}'), ("required", "true")],
            id="brackets hold blanks together",
        ),
        pytest.param('default="}" enum="["', [("default", "}"), ("enum", "[")], id="not in quotes"),
        pytest.param('pattern="a|b"', [("pattern", "a|b")], id="bars in a value"),
        pytest.param("default=", [("default", "")], id="an empty value"),
        pytest.param('default=""', [("default", "")], id="an empty quoted value"),
        pytest.param("min imum=1", [("minimum", "1")], id="blanks inside a key vanish"),
        pytest.param("default='x'", [("default", "'x'")], id="single quotes mean nothing"),
        pytest.param("default=1 default=2", [("default", "1"), ("default", "2")], id="repeated"),
    ],
)
def test_markers_are_read(markers: str, expected: list[tuple[str, str]]) -> None:
    assert values(f"string | {markers}") == expected


def test_without_a_bar_there_are_no_markers() -> None:
    assert values("string required=true") == []


def test_a_marker_knows_where_it_and_its_value_stand() -> None:
    definition = 'string | required=true  default="a b"'
    [_, marker] = read_markers(definition).found
    assert marker == Marker("default", "a b", 24, 37, 32)
    assert definition[marker.spot.start : marker.spot.end] == 'default="a b"'
    assert definition[marker.value_spot.start : marker.value_spot.end] == '"a b"'


@pytest.mark.parametrize(
    ("markers", "message", "underline"),
    [
        pytest.param(" ", "marker key '' without a value", "| ", id="nothing after the bar"),
        pytest.param(" required=true ", "marker key '' without a value", " ", id="a last blank"),
        pytest.param(
            " description=two words", "marker key 'words' without a value", "words", id="words"
        ),
        pytest.param(" default='x y'", "marker key 'y'' without a value", "y'", id="half a value"),
        pytest.param(
            " required = true", "marker key 'true' without a value", "true", id="blanks around ="
        ),
        pytest.param(" ==", "empty marker key", "=", id="no key"),
        pytest.param(
            " Required=true",
            'invalid marker key "Required": unknown marker: Required',
            "Required",
            id="keys have a case",
        ),
        pytest.param(
            " required=true | default=x",
            'invalid marker key "|default": unknown marker: |default',
            "| default",
            id="a second bar",
        ),
        pytest.param(' default="a b', "unclosed quote", '"a b', id="an open quote"),
        pytest.param(' default="', "unclosed quote", '"', id="nothing but a quote"),
        pytest.param(" default=[{}", "unclosed bracket/brace", "[{}", id="an open bracket"),
        pytest.param(" default=[]]", "unmatched closing bracket/brace", "]", id="one too many"),
        pytest.param(
            ' "required=true', "marker key '\"required=true' without a value", None, id="q"
        ),
    ],
)
def test_a_wrong_marker_is_underlined(markers: str, message: str, underline: str | None) -> None:
    definition = f"string |{markers}"
    problem = only_problem(definition)
    assert problem.message == message
    assert underline is None or underlined(definition, problem) == underline


def test_what_follows_an_unknown_marker_is_still_read() -> None:
    markers = read_markers("string | min=1 default=x maxx=2 required=true")
    assert [marker.name for marker in markers.found] == ["default", "required"]
    assert [problem.summary for problem in markers.problems] == [
        "unknown marker 'min'",
        "unknown marker 'maxx'",
    ]


@pytest.mark.parametrize(
    ("markers", "hint"),
    [
        ("requird=true", "did you mean 'required'?"),
        ("minlength=3", "did you mean 'minLength'?"),
        ("min=3", "did you mean 'minimum'?"),
        ("unique=true", "did you mean 'uniqueItems'?"),
        ("zzz=3", f"the markers are {', '.join(MARKERS)}"),
        ("required", "write 'required=true'"),
        ("default", "write 'default=…', without a blank before '='"),
        ("optional", "remove it: fields are optional unless marked required=true"),
        ("whatever", "write it as name=value"),
        ("description=two words", 'a value with blanks needs double quotes: description="…"'),
        (
            "description=two words enum=a",
            'a value with blanks needs double quotes: description="…"',
        ),
        ("default='x y'", 'single quotes have no meaning here: write default="…"'),
        ("default=x | enum=a", "only the first '|' separates: put blanks between markers"),
        ("", "remove the '|', or write a marker after it"),
    ],
)
def test_a_wrong_marker_gets_a_hint(markers: str, hint: str) -> None:
    assert only_problem(f"string |{markers}").hint == hint
