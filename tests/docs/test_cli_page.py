from kro_gitops.cli.verbs import VERBS
from tools.update_docs import CLI_PAGE, cli_page


def test_the_page_about_the_command_line_is_what_the_parsers_say() -> None:
    assert CLI_PAGE.read_text(encoding="utf-8") == cli_page(), "run python -m tools.update_docs"


def test_every_verb_and_option_is_on_the_page() -> None:
    page = cli_page()
    for verb in VERBS:
        assert f"\n## {verb}\n" in page
    for option in (
        "--strict",
        "--set-status FILE",
        "--out DIR",
        "--max-dimensions N",
        "--data FILE",
    ):
        assert f"`{option}`" in page
