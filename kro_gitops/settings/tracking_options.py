"""
What a platform decides about tracking: the values of settings.

Apart from the code that goes by them, because the help of the command line lists them and must not
wait for that code.
"""

from enum import StrEnum

INSTANCE_LABEL = "app.kubernetes.io/instance"  # Argo CD's default


class Mode(StrEnum):
    """Who deploys instances, and whether Argo CD should see their children."""

    FOLLOW = "follow"  # if Argo CD applied the instance, its children get its tracking id
    NATIVE = "native"  # there is no Argo CD: owner references and our own keys only


class Method(StrEnum):
    """Argo CD's `application.resourceTrackingMethod`."""

    ANNOTATION = "annotation"
    LABEL = "label"
    BOTH = "annotation+label"

    @classmethod
    def parse(cls, text: str) -> "Method":
        """Read the setting; what is unset or unknown means annotations, as since Argo CD 3."""
        return cls(text) if text in (each.value for each in cls) else cls.ANNOTATION

    @property
    def reads_label(self) -> bool:
        """Return whether the label decides who owns an object."""
        return self is Method.LABEL
