"""
Save everything that the embedded API holds to a file, or put it back from there.

`save` works while `kro-gitops run` serves the folder, too: the file holds what was there at one
moment. `restore` needs the folder to itself. Keys and kubeconfig of a folder are not in the file.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kro_gitops.local.snapshots import Store

EXAMPLES = """\
examples:
  kro-gitops snapshot save before.db
  kro-gitops snapshot restore before.db --force
  kro-gitops snapshot restore before.db --data-dir elsewhere

exit codes: 0 done, 1 the file or the store cannot be used, 64 wrong command line
"""

SAVE, RESTORE = "save", "restore"
# What may be wrong with a store, and what to do about it.
_ADVICE = {
    (SAVE, "store-unusable"): "name the folder with --data-dir FOLDER; `kro-gitops run` makes one",
    (RESTORE, "store-unusable"): "name a folder that you may write with --data-dir FOLDER",
    (RESTORE, "store-in-use"): "end the `kro-gitops run` that serves it, or name another folder "
    "with --data-dir FOLDER",
    (RESTORE, "store-not-empty"): "--force replaces it; `kro-gitops snapshot save FILE` keeps it",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `snapshot`."""
    parser.add_argument("action", choices=[SAVE, RESTORE], help="into the file, or out of it")
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="the snapshot; `save` replaces an older one, and nothing else",
    )
    parser.add_argument(
        "--data-dir",
        metavar="FOLDER",
        help="the folder of the store, as `run` has it: by default KRO_GITOPS_DATA_DIR, or "
        "kro-gitops in XDG_DATA_HOME",
    )
    parser.add_argument(
        "--force", action="store_true", help="let `restore` replace a store that is not empty"
    )


def run(args: argparse.Namespace) -> int:
    """Save or restore, and say how much that was."""
    from kro_gitops.cli.cluster_options import failure_text
    from kro_gitops.cli.exits import PROBLEMS, WRONG_USAGE
    from kro_gitops.cli.output import Style, say
    from kro_gitops.errors import UserError

    if args.force and args.action == SAVE:
        say("kro-gitops snapshot: --force is for restore\nTry 'kro-gitops snapshot --help'.")
        return WRONG_USAGE
    try:
        say(_save(args) if args.action == SAVE else _restore(args))
    except UserError as error:
        hint = _ADVICE.get((args.action, error.code), error.hint)
        told = UserError(error.code, error.message, hint=hint)
        say(failure_text(told, Style(sys.stderr)))
        return PROBLEMS
    return 0


def _save(args: argparse.Namespace) -> str:
    from kro_gitops.local import snapshots
    from kro_gitops.settings.homes import at_home

    store = _store(args)
    saved = snapshots.save(store, at_home(args.file))
    return f"saved {_size(saved)} of '{store.parent}' to '{args.file}'"


def _restore(args: argparse.Namespace) -> str:
    from kro_gitops.local import snapshots
    from kro_gitops.settings.homes import at_home

    store = _store(args)
    restored = snapshots.restore(at_home(args.file), store, replace=args.force)
    return f"restored {_size(restored)} from '{args.file}' to '{store.parent}'"


def _store(args: argparse.Namespace) -> Path:
    from kro_gitops.local.api_process import default_folder
    from kro_gitops.local.snapshots import STORE_FILE
    from kro_gitops.settings.flags import PREFIX
    from kro_gitops.settings.homes import at_home

    named = args.data_dir or os.environ.get(f"{PREFIX}DATA_DIR")
    folder = Path(named) if named else default_folder(os.environ, Path.home())
    return at_home(folder) / STORE_FILE


def _size(store: "Store") -> str:
    from kro_gitops.cli.output import counted

    return counted(sum(map(store.count, store.buckets())), "object")
