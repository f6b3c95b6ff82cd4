"""`snapshot`: save the objects of the embedded API to a file, or restore them."""

import argparse
import os
import sys
from pathlib import Path

from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import Style, counted, failure_text, say, wrong_usage
from kro_gitops.errors import UserError
from kro_gitops.local import snapshots
from kro_gitops.local.api_process import default_folder
from kro_gitops.local.files import expand_home
from kro_gitops.local.snapshots import STORE_FILE, Store
from kro_gitops.settings.option import PREFIX

# What may be wrong with a store, and what to do about it.
_HINTS = {
    ("save", "store-unusable"): "name the data directory with --data-dir FOLDER; "
    "`kro-gitops run` creates one",
    ("restore", "store-unusable"): "name a folder that you may write to with --data-dir FOLDER",
    ("restore", "store-in-use"): "stop the `kro-gitops run` that serves it, or name another folder "
    "with --data-dir FOLDER",
    ("restore", "store-not-empty"): "--force replaces it; `kro-gitops snapshot save FILE` keeps it",
}


def run(args: argparse.Namespace) -> int:
    """Save or restore, and print the number of objects."""
    if args.force and args.action == "save":
        return wrong_usage(args.verb, "--force is for restore")
    named = args.data_dir or os.environ.get(f"{PREFIX}DATA_DIR")
    folder = Path(named) if named else default_folder(os.environ, Path.home())
    try:
        store = expand_home(folder) / STORE_FILE
        if args.action == "save":
            saved = snapshots.save(store, expand_home(args.file))
            say(f"saved {_size(saved)} of '{store.parent}' to '{args.file}'")
        else:
            restored = snapshots.restore(expand_home(args.file), store, replace=args.force)
            say(f"restored {_size(restored)} from '{args.file}' to '{store.parent}'")
    except UserError as error:
        hint = _HINTS.get((args.action, error.code), error.hint)
        say(failure_text(UserError(error.code, error.message, hint=hint), Style(sys.stderr)))
        return PROBLEMS
    return 0


def _size(store: Store) -> str:
    return counted(sum(map(store.count, store.buckets())), "object")
