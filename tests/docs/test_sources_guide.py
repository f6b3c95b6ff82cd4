"""The guide about sources names every phase, every condition and every verb."""

from pathlib import Path

import pytest

from kro_gitops.inspect.views.source_advice import ADVICE
from kro_gitops.inspect.views.sources import NOTABLE
from kro_gitops.source.api.resources import PHASES

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "operating-sources.md"
TEXT = GUIDE.read_text(encoding="utf-8")
ALWAYS = ("Ready", "Reconciling", "SourceVerified", "Applied", "Healthy")


@pytest.mark.parametrize("name", sorted({*PHASES, *ADVICE, *NOTABLE, *ALWAYS}))
def test_the_guide_explains(name: str) -> None:
    assert f"\n| `{name}` | " in TEXT


@pytest.mark.parametrize("verb", ["sync", "suspend", "resume", "history", "rollback", "approve"])
def test_the_guide_shows(verb: str) -> None:
    assert f"$ kro-gitops {verb} " in TEXT
