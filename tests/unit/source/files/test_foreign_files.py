import pytest

from kro_gitops.source.files.foreign_files import chart_folders, is_foreign

CHARTS = chart_folders(["charts/web/Chart.yaml", "readme.md"])


@pytest.mark.parametrize(
    "name",
    [
        "readme.md",
        "Makefile",
        ".github/workflows/ci.yaml",
        "team/.config/x.yml",
        ".gitlab-ci.yml",
        "apps/kustomization.yaml",
        "Chart.yaml",
        "values.yaml",
        "package.json",
        "charts/web/templates/deployment.yaml",
        "charts/web/charts/db/templates/x.yaml",
        "charts/web/values-prod.yaml",
    ],
)
def test_files_of_other_tools_are_skipped(name: str) -> None:
    assert is_foreign(name, CHARTS)


@pytest.mark.parametrize(
    "name",
    [
        "app.yaml",
        "./apps/app.yml",
        "apps/app.json",
        "APP.YAML",
        "templates/app.yaml",
        "charts/web/crds/crd.yaml",
        "charts/website/templates/app.yaml",
        "values-of-ours/app.yaml",
    ],
)
def test_everything_else_is_read(name: str) -> None:
    assert not is_foreign(name, CHARTS)


def test_a_chart_may_be_the_whole_repository() -> None:
    charts = chart_folders(["Chart.yaml"])
    assert is_foreign("templates/app.yaml", charts)
    assert not is_foreign("apps/app.yaml", charts)
