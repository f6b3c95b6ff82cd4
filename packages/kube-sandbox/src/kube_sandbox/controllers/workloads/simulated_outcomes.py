"""
Simulated outcomes of pods: their names, and which one applies to a pod.

The annotation of the pod decides, else its image, else the default of its owner. What an outcome
amounts to depends on the restart policy: only a pod that is not restarted fails for good.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    # The command line knows outcomes, too, and has nothing to do with objects.
    from kube_objects.refs import KubeObject

Outcome = Literal[
    "Running",
    "Succeeded",
    "Failed",
    "Pending",
    "Unschedulable",
    "CrashLoopBackOff",
    "ImagePullBackOff",
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
OUTCOME_ANNOTATION = "kube-sandbox.dev/outcome"  # of a Pod; `Settings` can name another

# What becomes of an outcome where containers are started again, or are not.
_BY_RESTARTS: Mapping[str, Mapping[Outcome, Outcome]] = {
    "Always": {"Succeeded": "CrashLoopBackOff", "Failed": "CrashLoopBackOff"},
    "OnFailure": {"Failed": "CrashLoopBackOff"},
    "Never": {"CrashLoopBackOff": "Failed"},
}


def find_outcome(text: str) -> Outcome | None:
    """Return the outcome that a text is; `None` if it is none."""
    return next((each for each in OUTCOMES if each == text), None)


def parse_outcomes(texts: Iterable[str]) -> dict[str, Outcome]:
    """Read `IMAGE=OUTCOME`, the last one for an image counts; raise `ValueError` for others."""
    found = {}
    for text in texts:
        image, _, word = text.strip().rpartition("=")
        outcome = find_outcome(word)
        if outcome is None or not image or any(each.isspace() for each in image):
            raise ValueError(text)
        found[image] = outcome
    return found


def written_outcome(pod: "KubeObject", annotation: str) -> str:
    """Return what a pod's annotation says of it, known or not; empty if there is none."""
    found: str = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    return found


def outcome_text_of(
    pod: "KubeObject", annotation: str, outcomes: Mapping[str, Outcome]
) -> Outcome | None:
    """Return what is said of a pod, by its annotation or else by its images."""
    written = find_outcome(written_outcome(pod, annotation))
    if written is not None or not outcomes:
        return written
    for container in pod["spec"]["containers"]:
        # An image is named as it is written, without its digest, or without its tag, too.
        image = container.get("image", "")
        tagged = image.partition("@")[0]
        # A colon before the last slash is that of a port.
        place, slash, name = tagged.rpartition("/")
        for known in (image, tagged, f"{place}{slash}{name.partition(':')[0]}"):
            if known in outcomes:
                return outcomes[known]
    return None


def after_restarts(pod: "KubeObject", outcome: Outcome) -> Outcome:
    """Return what an outcome comes to, by the pod's restart policy."""
    policy = pod["spec"].get("restartPolicy", "Always")
    return _BY_RESTARTS.get(policy, {}).get(outcome, outcome)
