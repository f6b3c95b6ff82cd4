"""Print a completion script for your shell; it knows every verb and option."""

import argparse
import sys

EXAMPLES = """\
examples:
  source <(kro-gitops completion bash)
  kro-gitops completion zsh > ~/.zfunc/_kro-gitops
  kro-gitops completion fish > ~/.config/fish/completions/kro-gitops.fish
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `completion`."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="your shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]
    sys.stdout.write(write(_verbs()))
    return 0


Verbs = dict[str, tuple[str, list[argparse.Action]]]


def _verbs() -> Verbs:
    """Read verbs and options off the parser itself, so that the script cannot be out of date."""
    from kro_gitops.cli.main import VERBS, build_parser

    parser = build_parser("*")
    chooser = next(
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {name: (VERBS[name], chooser.choices[name]._actions) for name in VERBS}


def _options(actions: list[argparse.Action]) -> list[str]:
    return [option for action in actions for option in action.option_strings]


def _words(actions: list[argparse.Action]) -> list[str]:
    """List the values that positional arguments allow."""
    return [
        str(choice) for a in actions if not a.option_strings and a.choices for choice in a.choices
    ]


def _bash(verbs: Verbs) -> str:
    cases = []
    for name, (_, actions) in verbs.items():
        values = "".join(
            f"      {'|'.join(a.option_strings)}) words='{' '.join(map(str, a.choices))}';;\n"
            for a in actions
            if a.option_strings and a.choices
        )
        default = " ".join([*_words(actions), *_options(actions)])
        cases.append(
            f"    {name}) case $previous in\n{values}      *) words='{default}';;\n      esac;;\n"
        )
    listed = " ".join(verbs)
    return (
        "_kro_gitops() {\n"
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words\n'
        "  if [ $COMP_CWORD -eq 1 ]; then\n"
        f"    words='{listed} --help --version'\n"
        '  else case "${COMP_WORDS[1]}" in\n'
        f"{''.join(cases)}"
        "  esac; fi\n"
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))\n'
        "  local IFS=$'\\n'\n"
        '  case "$current" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$current"));; esac\n'
        "}\n"
        "complete -o filenames -F _kro_gitops kro-gitops\n"
    )


def _zsh(verbs: Verbs) -> str:
    listed = "\n".join(f"    '{name}:{_zsh_text(text)}'" for name, (text, _) in verbs.items())
    cases = []
    for name, (_, actions) in verbs.items():
        specs = [_zsh_option(option, a) for a in actions for option in a.option_strings]
        specs += [_zsh_argument(a) for a in actions if not a.option_strings]
        joined = " \\\n        ".join(specs)
        cases.append(f"      {name})\n        _arguments {joined};;\n")
    return (
        "#compdef kro-gitops\n"
        "_kro_gitops() {\n"
        "  local -a verbs\n"
        f"  verbs=(\n{listed}\n  )\n"
        "  if (( CURRENT == 2 )); then\n"
        "    _describe 'verb' verbs\n"
        "  else\n"
        "    local verb=$words[2]\n"
        "    shift words; (( CURRENT-- ))\n"
        f"    case $verb in\n{''.join(cases)}    esac\n"
        "  fi\n"
        "}\n"
        # Read from a file of its own name, this is the function; else it declares it.
        'if [ "$funcstack[1]" = "_kro-gitops" ]; then\n'
        '  _kro_gitops "$@"\n'
        "else\n"
        "  compdef _kro_gitops kro-gitops\n"
        "fi\n"
    )


def _zsh_option(option: str, action: argparse.Action) -> str:
    text = _zsh_text(action.help or "")
    if action.choices:
        return f"'{option}[{text}]:value:({' '.join(map(str, action.choices))})'"
    takes_value = action.nargs != 0
    return f"'{option}[{text}]:value:_files'" if takes_value else f"'{option}[{text}]'"


def _zsh_argument(action: argparse.Action) -> str:
    values = f"({' '.join(map(str, action.choices))})" if action.choices else "_files"
    return f"'{'*' if action.nargs == '+' else ''}:{_zsh_text(action.help or '')}:{values}'"


def _zsh_text(text: str) -> str:
    cleaned = text.replace("%(default)s", "").replace("(default: )", "")
    return "".join(" " if c in "'[]:\\" else c for c in cleaned).strip()


def _fish(verbs: Verbs) -> str:
    lines = []
    for name, (text, actions) in verbs.items():
        lines.append(
            f"complete -c kro-gitops -n __fish_use_subcommand -a {name} -d '{_zsh_text(text)}'"
        )
        seen = f"'__fish_seen_subcommand_from {name}'"
        words = _words(actions)
        if words:
            lines.append(f"complete -c kro-gitops -n {seen} -a '{' '.join(words)}'")
        for action in actions:
            lines += [_fish_option(seen, option, action) for option in action.option_strings]
    return "\n".join(lines) + "\n"


def _fish_option(seen: str, option: str, action: argparse.Action) -> str:
    form = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
    line = f"complete -c kro-gitops -n {seen} {form} -d '{_zsh_text(action.help or '')}'"
    if action.choices:
        return f"{line} -x -a '{' '.join(map(str, action.choices))}'"
    return f"{line} -r" if action.nargs != 0 else line
