from kro_gitops.settings.flags import OPTIONS
from tools.update_docs import SETTINGS_PAGE, settings_page


def test_the_page_about_settings_is_what_the_table_of_options_says() -> None:
    shown = SETTINGS_PAGE.read_text(encoding="utf-8")
    assert shown == settings_page(), "run python -m tools.update_docs"


def test_every_option_is_on_the_page_once_with_its_variable() -> None:
    page = settings_page()
    for option in OPTIONS:
        assert page.count(f"| `{option.flags[0]}`") == 1
        if not option.is_ignored:
            assert all(f"`{variable}`" in page for variable in option.variables)
