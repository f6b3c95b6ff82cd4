"""
The controller's flags as arguments of verbs, made from the table in `flags`.
"""

import argparse

from kro_gitops.settings.flags import OPTIONS, Option

# What decides how children are stamped.
STAMP_FLAGS = (
    "kro-version",
    "tracking-mode",
    "argocd-tracking-method",
    "argocd-label-key",
    "propagate-labels",
)
STAMP_OPTIONS = tuple(option for option in OPTIONS if option.flag in STAMP_FLAGS)


def add_flag(section: argparse._ArgumentGroup, option: Option) -> None:
    """Declare a flag of the controller."""
    # Values are parsed later, together with those of variables: the same mistake, the same text.
    text = option.help
    if option.default and not option.is_ignored:
        text += f" (default: {option.default})"
    more: dict[str, object] = {"metavar": option.values.metavar}
    if option.is_switch:
        more |= {"nargs": "?", "const": "true"}
    elif option.values.choices:
        more = {"choices": option.values.choices}
    elif option.values.repeats:
        more |= {"action": "append"}
    section.add_argument(*option.flags, dest=option.flag, help=text.replace("%", "%%"), **more)  # type: ignore[arg-type]  # as the table says
    if option.negation:
        section.add_argument(
            option.negation,
            dest=option.flag,
            action="store_const",
            const="false",
            help=f"the same as {option.flags[0]}=false",
        )


def given_flags(args: argparse.Namespace) -> dict[str, str]:
    """Return the texts of the controller's flags that were given."""
    texts = {flag: text for flag, text in vars(args).items() if text is not None}
    # What is given several times is a list, as it is in a variable.
    return {
        each.flag: ",".join(texts[each.flag]) if each.values.repeats else texts[each.flag]
        for each in OPTIONS
        if each.flag in texts
    }
