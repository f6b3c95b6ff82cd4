import pytest

from kro_gitops.engine.crd.plurals import pluralize


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        # the ordinary ones
        ("clusterpolicy", "clusterpolicies"),
        ("database", "databases"),
        ("gateway", "gateways"),
        ("testwatch", "testwatches"),
        ("cache", "caches"),
        ("status", "statuses"),
        ("box", "boxes"),
        ("webapp", "webapps"),
        # plurals stay
        ("testnames", "testnames"),
        ("policies", "policies"),
        ("redis", "redis"),
        ("children", "children"),
        # whole words of the dictionary
        ("index", "indices"),
        ("person", "people"),
        ("ox", "oxen"),
        ("axis", "axes"),
        ("octopus", "octupuses"),
        ("information", "information"),
        ("basis", "bases"),
        ("medium", "media"),
        # ends of longer words
        ("searchindex", "searchindices"),
        ("salesperson", "salespeople"),
        ("taskforce", "taskforces"),
        ("woman", "women"),
        ("webhuman", "webhumans"),
        ("fox", "foxes"),
        ("musebox", "museboxes"),
        # right or wrong, these are the names kro gives
        ("price", "price"),
        ("repo", "repoes"),
        ("video", "videoes"),
        ("cafe", "caves"),
        ("modula", "mobulae"),
        ("data", "data"),
        ("bases", "bases"),
    ],
)
def test_plurals_are_those_of_kro(word: str, plural: str) -> None:
    assert pluralize(word) == plural


@pytest.mark.parametrize(
    ("word", "plural"),
    [("ssh", "sshs"), ("id", "ids"), ("cpu", "cpus"), ("utf8", "utf8s"), ("tofu", "tofus")],
)
def test_endings_of_acronyms_are_left_alone(word: str, plural: str) -> None:
    assert pluralize(word) == plural


@pytest.mark.parametrize(("word", "plural"), [("dns", "dnsDNSes"), ("https", "httpsHTTPSes")])
def test_acronyms_in_s_get_a_name_no_cluster_takes(word: str, plural: str) -> None:
    assert pluralize(word) == plural


def test_only_whole_words_are_acronyms() -> None:
    assert pluralize("mydns") == "mydns"
    assert pluralize("myssh") == "mysshes"


def test_a_caller_may_know_better_what_is_an_acronym() -> None:
    assert pluralize("dns", acronym=False) == "dns"
    assert pluralize("aws", acronym=True) == "awsAWSes"
