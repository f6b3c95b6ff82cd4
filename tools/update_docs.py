"""
Write the parts of the documentation that are made from the program.

    python -m tools.update_docs

`docs/reference/cli.md` is made of the parsers, and what the examples in `docs/reference/errors.md`
print is what they print now. Tests compare both pages with what would be written.
"""

import argparse
from pathlib import Path

from kro_gitops.cli.main import VERBS, Parser, build_parser
from tools import error_page

CLI_PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"

_HEAD = """\
# The command line

<!-- Made from the parsers by `python -m tools.update_docs`. -->

None of these commands needs a cluster. Results go to standard output, everything else to standard
error.

| code | meaning |
|---|---|
| 0 | nothing to complain about |
| 1 | problems were found, or a file could not be read or written |
| 64 | the command line is wrong |

`kro-gitops --version` prints the version, `kro-gitops VERB --help` what stands below. Colours
appear on a terminal only, and never if `NO_COLOR` is set.
"""


def cli_page() -> str:
    """Return the page about the command line."""
    parsers = _verb_parsers()
    table = ["| verb | what it does |", "|---|---|"]
    table += [f"| [{verb}](#{verb}) | {summary} |" for verb, summary in VERBS.items()]
    parts = [_HEAD, "\n".join(table) + "\n", *(_section(verb, parsers[verb]) for verb in VERBS)]
    return "\n".join(parts)


def _verb_parsers() -> dict[str, Parser]:
    parser = build_parser("*")
    chooser = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(chooser.choices)


def _section(verb: str, parser: Parser) -> str:
    lines = [f"## {verb}", "", (parser.description or "").strip(), ""]
    lines += ["```text", _usage(verb, parser), "```", ""]
    lines += ["| argument | meaning |", "|---|---|"]
    lines += [_row(action, parser) for action in parser._actions if action.dest != "help"]
    lines += ["", "```text", (parser.epilog or "").strip(), "```", ""]
    return "\n".join(lines)


def _usage(verb: str, parser: Parser) -> str:
    # Written here, because each version of argparse writes it in its own way.
    arguments = [_argument(action) for action in parser._actions if not action.option_strings]
    return " ".join(["kro-gitops", verb, "[OPTIONS]", *arguments])


def _argument(action: argparse.Action) -> str:
    shown = action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}"
    return f"{shown} [{shown} ...]" if action.nargs == "+" else str(shown)


def _row(action: argparse.Action, parser: Parser) -> str:
    help_text = parser._get_formatter()._expand_help(action)
    return f"| {_name(action)} | {help_text.replace('|', chr(92) + '|')} |"


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        shown = action.metavar or "|".join(map(str, action.choices or ()))
        return f"`{shown}`".replace("|", r"\|")
    value = ""
    if action.nargs != 0:
        value = f" {action.metavar or action.dest.upper()}"
        if action.choices:
            value = " " + "|".join(map(str, action.choices))
    return ", ".join(f"`{option}{value}`" for option in action.option_strings).replace("|", r"\|")


def main() -> None:
    """Write the pages."""
    CLI_PAGE.write_text(cli_page(), encoding="utf-8")
    errors = error_page.PAGE.read_text(encoding="utf-8")
    error_page.PAGE.write_text(error_page.refreshed(errors), encoding="utf-8")


if __name__ == "__main__":
    main()
