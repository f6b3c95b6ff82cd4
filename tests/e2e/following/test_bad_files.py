"""
Something is wrong with one of many files: it is named to the column, and the rest goes on.
"""

import pytest
import yaml

from tests.e2e.following.watching import holding, map_ref
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.world import condition

UNKNOWN_FIELD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: odd
data: {}
dta:
  x: "1"
"""
BAD_YAML = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: odd
  labels: {a: b
data: {}
"""
INVALID = """\
apiVersion: v1
kind: Service
metadata:
  name: odd
spec:
  ports:
    - port: 80
      targetPort: 99999
"""
WRONG_TYPE = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: odd
data:
  x: 1
"""
NO_NAME = "apiVersion: v1\nkind: ConfigMap\ndata: {}\n"
NO_KIND = "apiVersion: example.org/v1\nkind: Nothing\nmetadata:\n  name: odd\n"
TWICE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: good\ndata:\n  x: '3'\n"


@pytest.mark.parametrize(
    ("content", "place", "text"),
    [
        (BAD_YAML, (6, 5), ""),
        (UNKNOWN_FIELD, (6, 1), "dta"),
        (INVALID, (8, 19), "targetPort"),
        (WRONG_TYPE, (6, 6), "must be a string"),
        (NO_NAME, (1, 1), "name"),
        (NO_KIND, (1, 13), "there is no kind Nothing"),
    ],
    ids=[
        "bad YAML",
        "unknown field",
        "invalid value",
        "wrong type",
        "without a name",
        "unknown kind",
    ],
)
async def test_one_bad_file_among_good_ones(
    world: SourceWorld, content: str, place: tuple[int, int], text: str
) -> None:
    world.commit({"good.yaml": config_map("good", x="1"), "gone.yaml": config_map("gone")})
    await world.follow()
    await world.ready()
    files = {"good.yaml": config_map("good", x="2"), "gone.yaml": None, "odd.yaml": content}
    commit = world.commit({**files, "new.yaml": config_map("new", x="2")})
    source = await world.reported("Ready", "False", text="odd.yaml:", commit=commit)
    [failure] = source["status"]["failures"]
    assert failure["file"] == "odd.yaml"
    assert (failure["line"], failure["column"]) == place, failure
    assert text in failure["message"]
    assert condition(source, "Applied")["status"] == "False"
    assert source["status"]["lastAppliedRevision"] != source["status"]["lastAttemptedRevision"]
    await holding(world, "good", x="2")
    await holding(world, "new", x="2")
    assert await world.find(map_ref(world, "gone")) is not None
    assert "prune-postponed" in {each["code"] for each in source["status"]["warnings"]}
    commit = world.commit({"odd.yaml": None})
    source = await world.ready(commit)
    await world.gone(map_ref(world, "gone"))
    assert "failures" not in source["status"]


async def test_a_name_that_is_used_twice_is_applied_by_neither(world: SourceWorld) -> None:
    world.commit({"good.yaml": config_map("good", x="1")})
    await world.follow()
    await world.ready()
    commit = world.commit({"twice.yaml": TWICE})
    source = await world.reported("Ready", "False", text="good.yaml", commit=commit)
    assert source["status"]["failures"][0]["file"] == "twice.yaml"
    await holding(world, "good", x="1")
    await world.ready(world.commit({"twice.yaml": None}))


async def test_a_field_that_the_definition_of_another_source_gets_later(
    world: SourceWorld,
) -> None:
    platform = world.new_repository()
    platform.commit({"shop.yaml": yaml.safe_dump(world.shop())})
    await world.follow("platform", url=world.url(platform))
    await world.ready(name="platform")
    front = world.front(color="red", size="XL")
    commit = world.commit({"front.yaml": yaml.safe_dump(front, sort_keys=False)})
    await world.follow()
    source = await world.reported(
        "Ready", "False", text="'spec.size' is not a field", commit=commit
    )
    [failure] = source["status"]["failures"]
    assert (failure["line"], failure["column"]) == (8, 3)
    fields = {"color": "string", "size": 'string | default="M"'}
    platform.commit({"shop.yaml": yaml.safe_dump(world.shop(fields))})
    await world.ready(commit)
    await world.data({"color": "red", "size": "XL"})
