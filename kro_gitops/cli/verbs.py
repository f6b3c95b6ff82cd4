"""
The command line: every verb with its help and its examples, and the parser.

Nothing heavy is imported here, so that `--help`, mistakes in the command line and completion are
fast. `cli.main` imports the module of the verb that was asked for and calls its `run(args)`.
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from kro_gitops import __version__
from kro_gitops.cli.arguments import (
    approve_arguments,
    completion_arguments,
    eval_arguments,
    explain_arguments,
    generate_arguments,
    get_arguments,
    graph_arguments,
    history_arguments,
    render_arguments,
    resume_arguments,
    rollback_arguments,
    run_arguments,
    snapshot_arguments,
    suspend_arguments,
    sync_arguments,
    timeline_arguments,
    tree_arguments,
    validate_arguments,
    version_arguments,
    why_arguments,
)
from kro_gitops.cli.exit_codes import WRONG_USAGE

_EXAMPLES = """\
examples:
  kro-gitops validate .
  kro-gitops render rgds/ instances/team-shop/ --instance shop/front

`kro-gitops help VERB` shows the options of a verb.
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

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a whole command line; an option that the verb does not have gets a suggestion."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser: argparse.ArgumentParser = self
            for action in self._actions:
                if isinstance(action, argparse._SubParsersAction):
                    parser = action.choices[parsed.verb]
            parser.error(unrecognized(unknown, parser._option_string_actions))
        return parsed

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = suggestion(str(value), map(str, action.choices))
            text = (
                f"invalid choice: {value!r} ({hint or 'choose from ' + ', '.join(action.choices)})"
            )
            raise argparse.ArgumentError(action, text)

    def error(self, message: str) -> NoReturn:
        """Print the mistake in the command line and how to get help."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `did you mean …?` with the most similar of the known words, or nothing."""
    near = get_close_matches(word, known, n=1)
    return f"did you mean '{near[0]}'?" if near else ""


def unrecognized(words: Sequence[str], options: Collection[str]) -> str:
    """Return the message for arguments that a verb does not have."""
    hints = [
        hint
        for name in (word.partition("=")[0] for word in words if word.startswith("-"))
        if (hint := suggestion(name, options))
    ]
    text = f"unrecognized arguments: {' '.join(words)}"
    return f"{text} ({' '.join(hints)})" if hints else text


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: its line in the list of verbs, the head and the end of its help, its arguments."""

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


def help_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `help`."""
    parser.add_argument(
        "topic", nargs="?", choices=tuple(VERBS), metavar="VERB", help="the verb (default: all)"
    )


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
        "print a definition's CRD, a sample instance, a JSON Schema or a role",
        """\
Print the CRD of a definition, a sample instance, a JSON Schema for editors, or the ClusterRole that
the controller needs for it.
""",
        """\
examples:
  kro-gitops generate crd rgds/webapp.yaml
  kro-gitops generate instance rgds/webapp.yaml > instances/front.yaml
  kro-gitops generate schema rgds/webapp.yaml > .schemas/webapp.json
  kro-gitops generate role rgds/webapp.yaml > webapp-role.yaml

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
  kro-gitops get instances -A -l team=shop -w

With -w, a row is printed again when it changes, until Ctrl-C.

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
  kro-gitops tree -A -w

exit codes: 0 shown, 1 not found or not readable, 64 wrong command line
""",
        tree_arguments,
    ),
    "explain": Verb(
        "explain the status of an instance, a definition or a source, and what to do about it",
        """\
Explain the status of an instance, a definition or a source: cause, next commands, details.

An object is healthy only if it is also what git says: not if its source rejected the version in
git, is pinned or suspended, or cannot read git; nor if its definition is broken, deleted or older
than git, a child is not healthy, or no controller runs.
""",
        """\
examples:
  kro-gitops explain webapp/front -n shop
  kro-gitops explain webapps.kro.run/front -n shop -o json
  kro-gitops explain rgd/webapp
  kro-gitops explain source/shop -n gitops

exit codes: 0 healthy and what git says, 1 not, or not found or not readable,
            64 wrong command line
""",
        explain_arguments,
    ),
    "timeline": Verb(
        "list what happened to an instance, a definition or a source",
        """\
List what happened to an instance, a definition or a source, oldest first: commits, revisions of the
definition, writes of each field manager, repairs of drift, conditions, Pods and Events.

Only what the cluster still knows: the last write of each field manager, the last transition of a
condition, the last end of a container, and Events of about an hour. `!` marks what is bad.
""",
        """\
examples:
  kro-gitops timeline webapp/front -n shop
  kro-gitops timeline webapp/front -n shop --since 2h -o json
  kro-gitops timeline rgd/webapp
  kro-gitops timeline source/shop -n gitops

exit codes: 0 shown, 1 not found or not readable, 64 wrong command line
""",
        timeline_arguments,
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
        """\
Suspend a source: until it is resumed, nothing is fetched, applied, corrected or pruned.

With --all, every source of the namespace, or of the cluster, is listed and suspended: the emergency
brake. On a terminal you are asked first; elsewhere --yes is needed.
""",
        """\
examples:
  kro-gitops suspend shop --reason "database migration until noon"
  kro-gitops suspend gitops/shop --wait
  kro-gitops suspend --all -A --yes --reason "incident 42"

exit codes: 0 suspended; 1 not found, not writable or timed out; 2 not confirmed;
            64 wrong command line
""",
        suspend_arguments,
    ),
    "resume": Verb(
        "resume a suspended source",
        """\
Resume a suspended source: it fetches and applies the current revision at once.

With --all, every suspended source of the namespace, or of the cluster, is listed with its reason
and resumed, also those that were not suspended with --all.
""",
        """\
examples:
  kro-gitops resume shop
  kro-gitops resume gitops/shop --wait
  kro-gitops resume --all -A --yes

exit codes: 0 resumed, or ready with --wait; 1 not found, failed or timed out; 2 not confirmed;
            64 wrong command line
""",
        resume_arguments,
    ),
    "history": Verb(
        "list the revisions that a source applied, with their results",
        "List the revisions that a source applied: author, changes, result.",
        """\
examples:
  kro-gitops history shop
  kro-gitops history gitops/shop -o json

Column N is a REVISION of `kro-gitops rollback SOURCE REVISION`: 0 is the current one, 1 the one
before it. The last two healthy revisions are kept, however many failed since.

exit codes: 0 shown, 1 not found or not readable, 64 wrong command line
""",
        history_arguments,
    ),
    "approve": Verb(
        "delete what a prune limit keeps",
        """\
Show the children that a change would delete and that a limit keeps, and approve their deletion.

Exactly what is shown is approved: these children of an instance, this revision of a definition, or
this commit of a source. What a later change deletes needs another approval.
""",
        """\
examples:
  kro-gitops approve rgd/webapp
  kro-gitops approve webapp/front -n shop --yes
  kro-gitops approve source/shop -n gitops

exit codes: 0 approved; 1 nothing to approve, not confirmed, not found or not writable;
            64 wrong command line
""",
        approve_arguments,
    ),
    "rollback": Verb(
        "pin a source to a commit that it applied before",
        """\
Pin a source to a commit that it applied before, until git is corrected: without REVISION, to the
newest one that was healthy, before the one that was attempted last.

First the controller plans what is created, changed and deleted, children included. On a terminal
you are asked then; elsewhere a rollback that deletes, or fails in part, needs --yes.

KIND/NAME or rgd/NAME pins only that object, to the newest healthy revision with another content of
it: `kro-gitops rollback webapp/front -n shop`. The rest of its source follows git.

The normal way back is `git revert`: it is reviewed, permanent and visible to all. Use a pin when
that takes too long: new commits are ignored until the pin expires or is removed.
""",
        """\
examples:
  kro-gitops rollback shop --reason "checkout fails" --for 2h
  kro-gitops rollback gitops/shop 2 --reason "checkout fails" --wait --yes
  kro-gitops rollback shop --dry-run -o json
  kro-gitops rollback shop --undo

`kro-gitops history SOURCE` lists the revisions with their numbers. 0 is the current one, if it was
healthy.

exit codes: 0 pinned, or ready with --wait; 1 not found, failed or timed out;
            2 not confirmed: it would delete or fail in part, and --yes is missing;
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
    "version": Verb(
        "print the version, and that of kro it is compatible with",
        "Print the version of kro-gitops, and the version of kro that it is compatible with.",
        """\
examples:
  kro-gitops version
  kro-gitops version -o json
""",
        version_arguments,
    ),
    "help": Verb(
        "print the help of a verb",
        "Print the help of a verb, as `kro-gitops VERB --help` does, or the list of verbs.",
        """\
examples:
  kro-gitops help
  kro-gitops help run
""",
        help_arguments,
    ),
}
