"""
The command line: every verb with its arguments, its help and its examples.

Nothing heavy is imported here, so that `--help`, mistakes in the command line and completion are
fast. `cli.main` imports the module of the verb that was asked for and calls its `run(args)`.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kro_gitops import __version__
from kro_gitops.cli.argument_types import (
    duration,
    full_target,
    positive,
    source_name,
    target,
    whole_number,
)
from kro_gitops.cli.exit_codes import WRONG_USAGE
from kro_gitops.engine.options import DEFAULTS
from kro_gitops.settings.flags import OMIT_GATE, OPTIONS, Group, Option

DEFAULT_WAIT = 300.0  # seconds that `--wait` lasts at most
# What `get` lists, by every name that it may be given.
LISTED = {
    **dict.fromkeys(("rgds", "rgd", "definitions", "definition"), "rgds"),
    **dict.fromkeys(("instances", "instance"), "instances"),
    **dict.fromkeys(("revisions", "revision", "gr"), "revisions"),
    **dict.fromkeys(("sources", "source", "gs", "gitsource", "gitsources"), "sources"),
}

# The flags of the controller that decide how children are stamped; `render` has them, too.
_STAMP_FLAGS = (
    "kro-version",
    "tracking-mode",
    "argocd-tracking-method",
    "argocd-label-key",
    "propagate-labels",
)
STAMP_OPTIONS = tuple(option for option in OPTIONS if option.flag in _STAMP_FLAGS)

_PATHS = "files or folders; '-' is standard input"
_EXAMPLES = """\
examples:
  kro-gitops validate .
  kro-gitops render rgds/ instances/team-shop/ --instance shop/front

`kro-gitops VERB --help` shows the options of a verb.
"""


class Parser(argparse.ArgumentParser):
    """An argument parser with the exit code and the layout of kro-gitops."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)
        self._is_parsing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Allow options before an optional argument, as in `why X -n shop FIELD`."""
        # argparse alone would take that argument as missing as soon as an option comes.
        if self._is_parsing or not any(
            action.nargs == "?" for action in self._get_positional_actions()
        ):
            return super().parse_known_args(args, namespace)
        self._is_parsing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_parsing = False

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the command line and how to get help."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: a line for the list of verbs, the head and the end of its help, its arguments."""

    summary: str
    description: str
    examples: str
    configure: Callable[[argparse.ArgumentParser], None]


def build_parser(verb: str | None = None) -> Parser:
    """Build the parser; only the verb that is named, or with `*` each verb, gets its arguments."""
    parser = Parser(
        prog="kro-gitops",
        description="Reconcile kro ResourceGraphDefinitions and their instances from git.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"kro-gitops {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
    for name, declared in VERBS.items():
        sub = verbs.add_parser(
            name, help=declared.summary, description=declared.description, epilog=declared.examples
        )
        if verb in (name, "*"):
            declared.configure(sub)
    return parser


def validate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `validate`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help=_PATHS)
    _add_output(parser, "text", "json", "github", "sarif", what="findings")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings, too")
    _add_build_options(parser)


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
    parser.add_argument("what", choices=("crd", "instance", "schema"), help="what to print")
    _add_definition(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("yaml", "json"),
        help="format of a CRD or an instance (default: yaml); a schema is always JSON",
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
    _add_cluster(parser, all_namespaces=True)


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `explain`."""
    parser.add_argument(
        "target", type=full_target, metavar="KIND/NAME", help="the instance, or rgd/NAME"
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
    """Declare the arguments of `sync` and `resume`."""
    _add_source(parser)
    _add_wait(parser)


def suspend_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `suspend`."""
    _add_source(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why; shown wherever the source is listed")
    _add_wait(parser)


def history_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `history`."""
    _add_source(parser)
    _add_output(parser, "text", "json", "yaml")
    _add_cluster(parser)


def rollback_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rollback`."""
    _add_source(parser)
    parser.add_argument(
        "number",
        nargs="?",
        type=positive,
        metavar="N",
        help="how many revisions to go back (default: 1)",
    )
    parser.add_argument("--to", metavar="COMMIT", help="pin this commit instead of counting back")
    parser.add_argument("--reason", metavar="TEXT", help="why; required, stored in the source")
    parser.add_argument(
        "--for",
        dest="lasting",
        type=duration,
        metavar="DURATION",
        help="remove the pin after this time, such as 2h (default: it stays)",
    )
    parser.add_argument("--undo", action="store_true", help="remove the pin and follow git again")
    _add_wait(parser)


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `completion`."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


def _add_definition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "definition", metavar="RGD", help="the file with the definition; '-' is standard input"
    )
    parser.add_argument("--name", help="the definition to use, if the file has several")


def _add_build_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that change how definitions are compiled."""
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


def _add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="wait until it has succeeded or failed")
    parser.add_argument(
        "--timeout",
        type=duration,
        default=DEFAULT_WAIT,
        metavar="DURATION",
        help="time limit of --wait (default: 5m)",
    )
    _add_cluster(parser)


VERBS = {
    "validate": Verb(
        "check definitions and instances in files, without a cluster",
        "Check definitions and instances in files or folders, without a cluster.",
        """\
examples:
  kro-gitops validate .
  kro-gitops validate -o github rgds/ instances/
  cat webapp.yaml | kro-gitops validate -

exit codes: 0 no errors, 1 errors found, 64 wrong command line
""",
        validate_arguments,
    ),
    "render": Verb(
        "print the children of each instance, without a cluster",
        """\
Print the children of each instance as YAML, exactly as the controller would apply them.

Values that only a cluster knows are printed as ⟨known after apply: …⟩ with their type.
Children that are instances of a definition in these files are followed by their own children.
Whatever the controller would reject is an error here, with the same code and text.

Not printed are gitops.kro.run/source, gitops.kro.run/path and gitops.kro.run/revision, which
children inherit from an instance that a GitSource applied.
""",
        """\
examples:
  kro-gitops render . --instance shop/front
  kro-gitops render rgds/ instances/ --out children
  kro-gitops render . --set-status live.yaml
  kro-gitops render . --depth 0 --tracking-mode native

--set-status takes objects as `kubectl get -o yaml` prints them, or a mapping of node ids:
  deployment:
    status: {availableReplicas: 3}

exit codes: 0 rendered, 1 problems found, 64 wrong command line
""",
        render_arguments,
    ),
    "graph": Verb(
        "draw the dependency graph of a definition",
        "Draw the dependency graph of a definition: the order of its resources, and why.",
        """\
examples:
  kro-gitops graph rgds/webapp.yaml
  kro-gitops graph rgds/webapp.yaml -o svg > webapp.svg
""",
        graph_arguments,
    ),
    "generate": Verb(
        "print a definition's CRD, a sample instance or a JSON Schema",
        "Print the CRD of a definition, a sample instance, or a JSON Schema for editors.",
        """\
examples:
  kro-gitops generate crd rgds/webapp.yaml
  kro-gitops generate instance rgds/webapp.yaml > instances/front.yaml
  kro-gitops generate schema rgds/webapp.yaml > .schemas/webapp.json

An editor's YAML plugin uses the schema for files that start with
  # yaml-language-server: $schema=.schemas/webapp.json
""",
        generate_arguments,
    ),
    "eval": Verb(
        "print the type and value of an expression",
        """\
Print the type and value of a CEL expression, or the error.

With --rgd the names of that definition are declared with their types; with --instance the instance
is rendered first, so that expressions can read its children.
""",
        """\
examples:
  kro-gitops eval "[1, 2, 3].map(x, x * 2)"
  kro-gitops eval 'schema.spec.image.split(":")[1]' --rgd rgds/webapp.yaml --instance front.yaml
  kro-gitops eval 'cm.data.size()' --data data.yaml

--data is a mapping from names to values:
  cm:
    data: {a: "1"}

exit codes: 0 evaluated, 1 problems found, 64 wrong command line
""",
        eval_arguments,
    ),
    "run": Verb(
        "run the controllers, on an embedded API or a cluster",
        """\
Run the controllers: on an embedded Kubernetes API, or against the cluster that is named.

Without --kubeconfig, --context or --in-cluster an embedded Kubernetes API is started, and objects
are reconciled there: no cluster is accessed, and KUBECONFIG is not read. Every option can also be
set in the environment: --log-level as KRO_GITOPS_LOG_LEVEL. A flag takes precedence over its
variable. kro's flags are accepted, also with one dash.
""",
        """\
examples:
  kro-gitops run --repo .
  kro-gitops run --repo . --path examples/repo --once --ephemeral
  kro-gitops run --kubeconfig ~/.kube/config --context kind-dev
  kro-gitops run --in-cluster --leader-elect --log-format json

exit codes: 0 everything is ready (--once), or stopped by SIGTERM; 1 not ready, or could not start
or continue; 64 wrong command line; 130 stopped by Ctrl-C
""",
        run_arguments,
    ),
    "snapshot": Verb(
        "save the data of the embedded API to a file, or restore it",
        """\
Save all objects of the embedded API to a file, or restore them from it.

`save` also works while `kro-gitops run` serves the data directory: the file is consistent.
`restore` needs `run` to be stopped. Keys and kubeconfig of a data directory are not part of the
file.
""",
        """\
examples:
  kro-gitops snapshot save before.db
  kro-gitops snapshot restore before.db --force
  kro-gitops snapshot restore before.db --data-dir elsewhere

exit codes: 0 done, 1 the file or the store cannot be used, 64 wrong command line
""",
        snapshot_arguments,
    ),
    "get": Verb(
        "list definitions, instances, revisions or sources of a cluster",
        "List definitions, instances, revisions or sources of a cluster with their status.",
        """\
examples:
  kro-gitops get rgds
  kro-gitops get instances -A
  kro-gitops get instances webapp/front -n shop -o yaml
  kro-gitops get revisions webapp
  kro-gitops get sources -A -o wide

exit codes: 0 listed, 1 not found or not readable, 64 wrong command line
""",
        get_arguments,
    ),
    "tree": Verb(
        "show an instance or a source of a cluster with all its objects",
        """\
Show an instance with its children, or a source with the objects it applied.

Nested instances are shown with their children, each object with its health, and a source with
what failed.
""",
        """\
examples:
  kro-gitops tree webapp/front -n shop
  kro-gitops tree -A
  kro-gitops tree webapp -n shop -o json
  kro-gitops tree source/shop -n gitops

exit codes: 0 shown, 1 not found or not readable, 64 wrong command line
""",
        tree_arguments,
    ),
    "explain": Verb(
        "explain the status of an instance, and what to do about it",
        "Explain the status of an instance: definition, conditions, blocking child, next steps.",
        """\
examples:
  kro-gitops explain webapp/front -n shop
  kro-gitops explain webapps.kro.run/front -n shop -o json
  kro-gitops explain rgd/webapp

exit codes: 0 healthy, 1 not healthy or not readable, 64 wrong command line
""",
        explain_arguments,
    ),
    "why": Verb(
        "trace an object or a field to its line, commit and author",
        "Trace an object or a field: its template, instance, line in git, commit, and drift.",
        """\
examples:
  kro-gitops why deployment/front -n shop spec.replicas
  kro-gitops why configmap/front -n shop data.LOG_LEVEL
  kro-gitops why deployment/front -n shop 'spec.template.spec.containers[name=app].image'
  kro-gitops why service/front -n shop
  kro-gitops why webapp/front -n shop spec.replicas -o json

Lines and commits are read from the git repository that contains the current folder, if it has the
commit; otherwise from the clone of --repo, or with --fetch from the source's URL.

exit codes: 0 answered, 1 not found or not readable, 64 wrong command line
""",
        why_arguments,
    ),
    "sync": Verb(
        "make a source fetch its repository now",
        "Make a source fetch its repository now, instead of at the next interval.",
        """\
examples:
  kro-gitops sync shop
  kro-gitops sync gitops/shop --wait --timeout 10m

exit codes: 0 requested, or ready with --wait; 1 not found, failed or timed out;
            64 wrong command line
""",
        sync_arguments,
    ),
    "suspend": Verb(
        "suspend a source until it is resumed",
        "Suspend a source: until it is resumed, nothing is fetched, applied, corrected or pruned.",
        """\
examples:
  kro-gitops suspend shop --reason "database migration until noon"
  kro-gitops suspend gitops/shop --wait

exit codes: 0 suspended; 1 not found, not writable or timed out; 64 wrong command line
""",
        suspend_arguments,
    ),
    "resume": Verb(
        "resume a suspended source",
        "Resume a suspended source: it fetches and applies the current revision at once.",
        """\
examples:
  kro-gitops resume shop
  kro-gitops resume gitops/shop --wait

exit codes: 0 resumed, or ready with --wait; 1 not found, failed or timed out;
            64 wrong command line
""",
        sync_arguments,
    ),
    "history": Verb(
        "list the revisions that a source applied, with their results",
        "List the revisions that a source applied: author, changes, result.",
        """\
examples:
  kro-gitops history shop
  kro-gitops history gitops/shop -o json

Column N is the argument of `kro-gitops rollback SOURCE N`: 0 is the current revision, 1 the one
before it.

exit codes: 0 shown, 1 not found or not readable, 64 wrong command line
""",
        history_arguments,
    ),
    "rollback": Verb(
        "pin a source to a commit that it applied before",
        """\
Pin a source to a commit that it applied before, until git is corrected.

The normal way back is `git revert`: it is reviewed, permanent and visible to all. Use a pin when
that takes too long: new commits are ignored until the pin expires or is removed.
""",
        """\
examples:
  kro-gitops rollback shop --reason "checkout fails" --for 2h
  kro-gitops rollback gitops/shop 2 --reason "checkout fails" --wait
  kro-gitops rollback shop --undo

`kro-gitops history SOURCE` lists what N counts: 1, the default, is the previous revision.

exit codes: 0 pinned, or ready with --wait; 1 not found, failed or timed out;
            64 wrong command line
""",
        rollback_arguments,
    ),
    "completion": Verb(
        "print a completion script for your shell",
        "Print a completion script for your shell.",
        """\
examples:
  source <(kro-gitops completion bash)
  kro-gitops completion zsh > ~/.zfunc/_kro-gitops
  kro-gitops completion fish > ~/.config/fish/completions/kro-gitops.fish
""",
        completion_arguments,
    ),
}
