"""
The arguments of each verb.

Nothing heavy is imported here, so that `--help`, mistakes in the command line and completion are
fast. `cli.verbs` has the table of verbs with their help.
"""

import argparse
from pathlib import Path
from typing import Any

from kro_gitops.cli.argument_types import (
    duration,
    external_kind,
    full_target,
    positive,
    source_name,
    target,
    whole_number,
)
from kro_gitops.engine.options import DEFAULTS
from kro_gitops.settings.flags import OPTIONS
from kro_gitops.settings.option import OMIT_GATE, Group, Option

DEFAULT_WAIT = 300.0  # seconds that `--wait` lasts at most
# What `get` lists, by all accepted names.
LISTED = {
    **dict.fromkeys(("rgds", "rgd", "definitions", "definition"), "rgds"),
    **dict.fromkeys(("instances", "instance"), "instances"),
    **dict.fromkeys(("revisions", "revision", "gr"), "revisions"),
    **dict.fromkeys(("sources", "source", "gs", "gitsource", "gitsources"), "sources"),
}

# The flags of the controller that decide how children are applied; `render` has them, too.
_STAMP_FLAGS = (
    "kro-version",
    "adoption-policy",
    "tracking-mode",
    "argocd-tracking-method",
    "argocd-label-key",
    "propagate-labels",
)
STAMP_OPTIONS = tuple(option for option in OPTIONS if option.flag in _STAMP_FLAGS)

_PATHS = "files or folders; '-' is standard input"


def validate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `validate`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help=_PATHS)
    _add_output(parser, "text", "json", "github", "sarif", what="findings")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings, too")
    _add_build_options(parser)
    section = parser.add_argument_group("flags of the controller that decide what is rejected")
    for option in STAMP_OPTIONS:
        if option.flag == "adoption-policy":
            _add_setting(section, option)


def render_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `render`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help=_PATHS)
    parser.add_argument(
        "--instance",
        metavar="NS/NAME",
        help="render only this instance; NAME alone matches any namespace",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        default="default",
        metavar="NS",
        help="the namespace of instances that name none (default: %(default)s)",
    )
    parser.add_argument(
        "--depth",
        type=whole_number,
        metavar="N",
        help="levels of nested instances whose children are printed; 0: none (default: all)",
    )
    parser.add_argument(
        "--set-status", metavar="FILE", help="objects to use instead of a cluster's"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="write a file for each child instead of printing"
    )
    _add_output(parser, "yaml", "json", what="children")
    _add_timeout(parser, "the expressions of one instance")
    _add_build_options(parser)
    section = parser.add_argument_group("flags of the controller that decide what children carry")
    for option in STAMP_OPTIONS:
        _add_setting(section, option)


def graph_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `graph`."""
    _add_definition(parser)
    _add_output(parser, "text", "mermaid", "dot", "svg", what="the graph")
    _add_build_options(parser)


def generate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `generate`."""
    choices = ("crd", "instance", "schema", "role")
    parser.add_argument("what", choices=choices, help="what to print")
    _add_definition(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("yaml", "json"),
        help="format of a CRD, an instance or a role (default: yaml); a schema is always JSON",
    )
    _add_build_options(parser)


def eval_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `eval`."""
    parser.add_argument("expression", metavar="EXPRESSION", help="CEL, with or without ${…}")
    parser.add_argument("--rgd", metavar="FILE", help="a definition whose names to declare")
    parser.add_argument("--name", help="the definition to use, if the file has several")
    parser.add_argument("--instance", metavar="FILE", help="an instance of that definition")
    parser.add_argument("--data", metavar="FILE", help="values for names, as YAML or JSON")
    _add_output(parser, "text", "json", what="the result")
    _add_timeout(parser, "the evaluation")
    _add_build_options(parser)


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.usage = "%(prog)s [--repo PATH|URL] [--context NAME | --in-cluster] [OPTION …]"
    for group in Group:
        section = parser.add_argument_group(group.value)
        for option in OPTIONS:
            if option.group is group:
                _add_setting(section, option)
    # Accept `-leader-elect`, as kro does, without a second line for each option in the help.
    known = parser._option_string_actions
    known |= {name[1:]: action for name, action in known.items() if name.startswith("--")}


def _add_setting(section: argparse._ArgumentGroup, option: Option) -> None:
    # Values are parsed later, together with those of variables, so that a mistake has one message.
    text = option.help
    if option.default and not option.is_ignored:
        text += f" (default: {option.default})"
    more: dict[str, Any] = {"metavar": option.values.metavar}
    if option.is_switch:
        more |= {"nargs": "?", "const": "true"}
    elif option.values.choices:
        more = {"choices": option.values.choices}
    elif option.values.repeats:
        more |= {"action": "append"}
    section.add_argument(*option.flags, dest=option.flag, help=text.replace("%", "%%"), **more)
    if option.negation:
        section.add_argument(
            option.negation,
            dest=option.flag,
            action="store_const",
            const="false",
            help=f"the same as {option.flags[0]}=false",
        )


def given_options(args: argparse.Namespace) -> dict[str, str]:
    """Return the texts of the options that were given, by flag."""
    texts = {flag: text for flag, text in vars(args).items() if text is not None}
    # An option that is given several times is a list, as it is in a variable.
    return {
        option.flag: ",".join(texts[option.flag]) if option.values.repeats else texts[option.flag]
        for option in OPTIONS
        if option.flag in texts
    }


def snapshot_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `snapshot`."""
    parser.add_argument("action", choices=("save", "restore"), help="what to do")
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="the snapshot; `save` overwrites an older snapshot, but no other file",
    )
    parser.add_argument(
        "--data-dir",
        metavar="FOLDER",
        help="the data directory of `run` (default: KRO_GITOPS_DATA_DIR, or kro-gitops in "
        "XDG_DATA_HOME)",
    )
    parser.add_argument(
        "--force", action="store_true", help="let `restore` replace a store that is not empty"
    )


def get_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `get`."""
    parser.add_argument(
        "what", choices=tuple(LISTED), metavar="WHAT", help="rgds, instances, revisions or sources"
    )
    parser.add_argument(
        "name",
        nargs="?",
        type=target,
        metavar="NAME",
        help="list only this one; instances: KIND, KIND/NAME or NAME; revisions: NAME or the name "
        "of an RGD; sources: NAME or NAMESPACE/NAME",
    )
    _add_output(parser, "text", "wide", "json", "yaml", "name")
    parser.add_argument(
        "-l",
        "--selector",
        default="",
        metavar="SELECTOR",
        help="list only objects with these labels, such as team=shop,tier!=test",
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="go on and print each row that changes"
    )
    _add_cluster(parser, all_namespaces=True)


def tree_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `tree`."""
    parser.add_argument(
        "target",
        nargs="?",
        type=target,
        metavar="KIND/NAME",
        help="the instance, or source/NAME; KIND alone for all of a kind (default: all instances)",
    )
    _add_output(parser, "text", "json", "yaml")
    parser.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="go on and show changes: in place on a terminal, elsewhere as another tree",
    )
    _add_cluster(parser, all_namespaces=True)


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `explain`."""
    parser.add_argument(
        "target",
        type=full_target,
        metavar="KIND/NAME",
        help="the instance, rgd/NAME or source/NAME",
    )
    _add_output(parser, "text", "json", "yaml")
    _add_cluster(parser)


def timeline_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `timeline`."""
    parser.add_argument(
        "target",
        type=full_target,
        metavar="KIND/NAME",
        help="the instance, rgd/NAME or source/NAME",
    )
    parser.add_argument(
        "--since",
        type=duration,
        metavar="DURATION",
        help="only what happened in this time, such as 2h (default: everything)",
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="go on and print what happens from now on"
    )
    _add_output(parser, "text", "json", "yaml")
    _add_cluster(parser)


def why_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `why`."""
    parser.add_argument("target", type=full_target, metavar="KIND/NAME", help="the object")
    parser.add_argument(
        "field",
        nargs="?",
        default="",
        metavar="FIELD",
        help="the field, such as spec.replicas (default: the whole object)",
    )
    parser.add_argument(
        "--repo",
        metavar="PATH",
        help="a clone to read lines from (default: the one that contains the current folder)",
    )
    parser.add_argument(
        "--fetch", action="store_true", help="fetch missing commits from the source's URL"
    )
    _add_output(parser, "text", "json", "yaml")
    _add_cluster(parser)


def sync_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `sync`."""
    _add_source(parser)
    _add_wait(parser)


def suspend_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `suspend`."""
    _add_source_or_all(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why; shown wherever the source is listed")
    _add_wait(parser, all_namespaces=True)


def resume_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `resume`."""
    _add_source_or_all(parser)
    _add_wait(parser, all_namespaces=True)


def history_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `history`."""
    _add_source(parser)
    _add_output(parser, "text", "json", "yaml")
    _add_cluster(parser)


def approve_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `approve`."""
    parser.add_argument(
        "target",
        type=full_target,
        metavar="KIND/NAME",
        help="the instance, rgd/NAME for a change of a definition, or source/NAME for a commit",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    _add_cluster(parser)


def rollback_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rollback`."""
    parser.add_argument(
        "source",
        type=source_name,
        metavar="SOURCE",
        help="the source: NAME or NAMESPACE/NAME; or one object of a source: KIND/NAME, rgd/NAME",
    )
    parser.add_argument(
        "revision",
        nargs="?",
        metavar="REVISION",
        help="a number of `history`, or a commit (default: the newest that was healthy)",
    )
    parser.add_argument("--to", metavar="COMMIT", help="the same as REVISION; for a commit only")
    parser.add_argument("--reason", metavar="TEXT", help="why; stored in the source")
    parser.add_argument(
        "--for",
        dest="lasting",
        type=duration,
        metavar="DURATION",
        help="remove the pin after this time, such as 2h (default: it stays)",
    )
    parser.add_argument("--undo", action="store_true", help="remove the pin and follow git again")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and change nothing")
    _add_yes(parser)
    _add_output(parser, "text", "json", "yaml", what="the plan")
    _add_wait(parser)


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `completion`."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


def version_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `version`."""
    _add_output(parser, "text", "json")


def _add_definition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "definition", metavar="RGD", help="the file with the definition; '-' is standard input"
    )
    parser.add_argument("--name", help="the definition to use, if the file has several")


def _add_build_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that change how definitions are compiled."""
    _add_schema_options(parser)
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        choices=(OMIT_GATE,),
        help="enable a feature gate of kro, as in the cluster",
    )
    parser.add_argument(
        "--max-collection-size",
        type=positive,
        default=DEFAULTS.max_collection_size,
        metavar="N",
        help="maximum number of objects of one forEach (default: %(default)s)",
    )
    parser.add_argument(
        "--max-dimensions",
        type=positive,
        default=DEFAULTS.max_dimensions,
        metavar="N",
        help="maximum number of dimensions of one forEach (default: %(default)s)",
    )


def _add_schema_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name kinds which neither Kubernetes nor the files define."""
    parser.add_argument(
        "--schema-location",
        action="append",
        default=[],
        metavar="PATH",
        help="CRDs, or JSON schemas as GROUP/kind_version.json: a file, a folder, or a template "
        "such as 'crds/{{ .Group }}/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json'; "
        "can be given several times",
    )
    parser.add_argument(
        "--external-kind",
        action="append",
        default=[],
        type=external_kind,
        metavar="GROUP/KIND",
        help="a kind that the cluster has, whose schema is not known; GROUP/* is all of a group; "
        "can be given several times",
    )


def _add_timeout(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--timeout",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help=f"time limit for {what} (default: %(default)s)",
    )


def _add_output(parser: argparse.ArgumentParser, *formats: str, what: str = "") -> None:
    parser.add_argument(
        "-o",
        "--output",
        choices=formats,
        default=formats[0],
        help=f"output format{f' of {what}' if what else ''} (default: %(default)s)",
    )


def _add_cluster(parser: argparse.ArgumentParser, *, all_namespaces: bool = False) -> None:
    """Add the options that select a cluster and a namespace."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig to use")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig to use")
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="the namespace (default: the context's)"
    )
    if all_namespaces:
        parser.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")
    parser.add_argument("--no-color", action="store_true", help="print without colours")


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", type=source_name, metavar="SOURCE", help="the source: NAME or NAMESPACE/NAME"
    )


def _add_source_or_all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        type=source_name,
        metavar="SOURCE",
        help="the source: NAME or NAMESPACE/NAME",
    )
    parser.add_argument(
        "--all", action="store_true", help="all sources of the namespace; of the cluster with -A"
    )
    _add_yes(parser)


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _add_wait(parser: argparse.ArgumentParser, *, all_namespaces: bool = False) -> None:
    parser.add_argument("--wait", action="store_true", help="wait until it has succeeded or failed")
    parser.add_argument(
        "--timeout",
        type=duration,
        default=DEFAULT_WAIT,
        metavar="DURATION",
        help="time limit of --wait (default: 5m)",
    )
    _add_cluster(parser, all_namespaces=all_namespaces)
