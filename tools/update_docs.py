"""
Write the parts of the documentation that are made from the program.

    python -m tools.update_docs

`docs/reference/cli.md` is made of the parsers, `docs/reference/settings.md` of the table of
options, and what the examples in `docs/reference/errors.md` print is what they print now. Tests
compare the pages with what would be written.
"""

import argparse
from pathlib import Path

from kro_gitops.cli.verbs import VERBS, Parser, build_parser
from kro_gitops.settings.flags import OPTIONS
from kro_gitops.settings.option import Group, Option
from tools import error_page

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
CLI_PAGE = REFERENCE / "cli.md"
SETTINGS_PAGE = REFERENCE / "settings.md"

_HEAD = """\
# The command line

<!-- Made from the parsers by `python -m tools.update_docs`. -->

`get`, `tree`, `explain`, `timeline`, `why`, `history`, `sync`, `suspend`, `resume`, `approve` and
`rollback` access a cluster, which they find as kubectl does; only the last five change something:
the object that is named. `run` starts an [embedded API](../embedded.md) unless a cluster is named;
`snapshot` saves and restores its data. All other verbs only read files. Results go to standard
output, messages to standard error.

| code | meaning |
|---|---|
| 0 | success |
| 1 | errors were found, an object is not healthy, or something could not be read or written |
| 2 | not confirmed: `--yes` was not given, and it was declined or there was no terminal |
| 64 | the command line is wrong |
| 130 | stopped by Ctrl-C |

`kro-gitops version` prints the version, `kro-gitops help VERB` or `kro-gitops VERB --help` the
help below. Verbs and options that are misspelt get a suggestion. Colours are used on a terminal
only, and not with `NO_COLOR` or `--no-color`. A table on a terminal fits its width; in a pipe every
row is one line.
"""

_SETTINGS_HEAD = """\
# Settings

<!-- Made from the table of options by `python -m tools.update_docs`. -->

The options of `kro-gitops run`. Each is a flag and an environment variable; the flag takes
precedence, and an empty variable counts as unset. Flags are written `--flag value`, `--flag=value`
or, as kro's, with one dash. A switch alone means `true`; what is enabled by default is disabled
with `--no-…` or `=false`. All errors are reported at once, with exit code 64.

A cluster is named with `--in-cluster`, or with `--kubeconfig` or `--context` or both. `KUBECONFIG`
alone names none, so that no controller runs against a cluster by accident: without these flags the
[embedded API](../embedded.md) is used.

The chart's values for these are in [Deployment](deployment.md#values).
"""

_IGNORED = "Accepted for compatibility with manifests written for kro; they are logged once."


def settings_page() -> str:
    """Return the page about settings."""
    return "\n".join([_SETTINGS_HEAD, *(_settings_of(group) for group in Group)])


def _settings_of(group: Group) -> str:
    title = group.value if group is Group.KRO else group.value.capitalize()
    lines = [f"## {title}", ""]
    options = [option for option in OPTIONS if option.group is group]
    if group is Group.KRO:
        lines += [_IGNORED, "", "| flag | instead |", "|---|---|"]
        lines += [f"| `{option.flags[0]}` | {option.help} |" for option in options]
    else:
        lines += ["| flag | variable | may be | default | meaning |", "|---|---|---|---|---|"]
        lines += [_setting(option) for option in options]
    return "\n".join([*lines, ""])


def _setting(option: Option) -> str:
    cells = (
        ", ".join(f"`{each}`" for each in option.flags),
        ", ".join(f"`{each}`" for each in option.variables),
        option.values.allowed,
        f"`{option.default}`" if option.default else "",
        option.help,
    )
    return "| " + " | ".join(cells) + " |"


def cli_page() -> str:
    """Return the page about the command line."""
    parsers = _verb_parsers()
    table = ["| verb | what it does |", "|---|---|"]
    summaries = [(verb, declared.summary) for verb, declared in VERBS.items()]
    table += [f"| [{verb}](#{verb}) | {summary} |" for verb, summary in summaries]
    parts = [_HEAD, "\n".join(table) + "\n", *(_section(verb, parsers[verb]) for verb in VERBS)]
    return "\n".join(parts)


def _verb_parsers() -> dict[str, Parser]:
    parser = build_parser("*")
    chooser = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(chooser.choices)


def _section(verb: str, parser: Parser) -> str:
    lines = [f"## {verb}", "", (parser.description or "").strip(), ""]
    lines += ["```text", _usage(verb, parser), "```", ""]
    if verb == "run":
        lines += ["Options are in [Settings](settings.md)."]
    else:
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
    match action.nargs:
        case "+":
            return f"{shown} [{shown} ...]"
        case "?":
            return f"[{shown}]"
        case _:
            return str(shown)


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
    SETTINGS_PAGE.write_text(settings_page(), encoding="utf-8")
    errors = error_page.PAGE.read_text(encoding="utf-8")
    error_page.PAGE.write_text(error_page.refreshed(errors), encoding="utf-8")


if __name__ == "__main__":
    main()
