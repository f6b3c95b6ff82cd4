"""Hostile files: what YAML and encodings allow, and nobody means."""

from objects_testing.budgets import examples

from tests.git_repositories import Executable, Stored, Submodule, Symlink
from tests.hostile.stage import BAD_FILE, GOOD_FILE, Stage, config_map

_FULL = examples(1) > 1
LARGE = 2 << 30 if _FULL else 256 << 20


def alias_bomb(stage: Stage) -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12)]
    bomb = ["l0: &l0 [lol]", *levels]
    stage.commit(config_map("bad") + "data:\n" + "".join(f"  {line}\n" for line in bomb))


def deep_nesting(stage: Stage) -> None:
    stage.commit(config_map("bad") + f"data: {'[' * 10_000}{']' * 10_000}\n")


def deep_json(stage: Stage) -> None:
    stage.commit('{"a":' * 10_000 + "1" + "}" * 10_000, "apps/bad.json")


def deep_indentation(stage: Stage) -> None:
    stage.commit("".join(" " * n + "a:\n" for n in range(1_200)))


def duplicate_keys(stage: Stage) -> None:
    stage.commit(config_map("bad") + "data:\n  color: red\n  color: blue\n")


def not_utf8(stage: Stage) -> None:
    stage.commit(config_map("bad").encode() + b"data:\n  color: gr\xfcn\n")


def utf16(stage: Stage) -> None:
    stage.commit(config_map("bad").encode("utf-16"))


def byte_order_mark(stage: Stage) -> None:
    stage.commit(b"\xef\xbb\xbf" + config_map("bad").encode())


def carriage_returns(stage: Stage) -> None:
    stage.commit(config_map("bad").replace("\n", "\r\n"))


def null_bytes(stage: Stage) -> None:
    stage.commit(config_map("bad").encode() + b"data:\n  color: a\0b\n")


def python_object(stage: Stage) -> None:
    call = f"!!python/object/apply:os.system ['touch {stage.marker}']"
    stage.commit(config_map("bad") + f"data: {call}\n")


def many_documents(stage: Stage) -> None:
    halves = {"apps/a.yaml": range(12_500), "apps/b.yaml": range(12_500, 25_000)}
    stage.repository.commit(
        {name: "---\n".join(map(_small, numbers)) for name, numbers in halves.items()}
    )


def _small(number: int) -> str:
    return f"{{apiVersion: v1, kind: A, metadata: {{name: a{number}}}}}\n"


def many_errors(stage: Stage) -> None:
    stage.commit("---\nkind: A\n" * 20_000)


def same_object_in_one_file(stage: Stage) -> None:
    stage.commit(f"{config_map('bad')}---\n{config_map('bad')}")


def same_object_in_two_files(stage: Stage) -> None:
    stage.commit(config_map("good"))


def file_over_a_mebibyte(stage: Stage) -> None:
    stage.commit(config_map("bad") + "data:\n  text: " + "x" * (2 << 20) + "\n")


def huge_blob(stage: Stage) -> None:
    repository = stage.repository
    huge = repository.zeros(LARGE)
    repository.commit({GOOD_FILE: config_map("good"), BAD_FILE: Stored(huge)})


def much_yaml(stage: Stage) -> None:
    text = "data:\n  text: " + "x" * (900 << 10) + "\n"
    names = [f"big{n}" for n in range(80)]
    stage.repository.commit({f"apps/{name}.yaml": config_map(name) + text for name in names})


def link_to_an_absolute_path(stage: Stage) -> None:
    stage.repository.commit({GOOD_FILE: config_map("good"), BAD_FILE: Symlink(str(stage.canary))})


def link_out_of_the_repository(stage: Stage) -> None:
    up = Symlink("../" * 20 + str(stage.canary).lstrip("/"))
    stage.repository.commit({GOOD_FILE: config_map("good"), BAD_FILE: up})


def link_to_a_folder(stage: Stage) -> None:
    stage.repository.commit(
        {GOOD_FILE: config_map("good"), "apps/linked": Symlink(str(stage.folder))}
    )


def submodule(stage: Stage) -> None:
    modules = f'[submodule "apps/sub"]\n\tpath = apps/sub\n\turl = {stage.url}\n'
    stage.repository.commit(
        {GOOD_FILE: config_map("good"), ".gitmodules": modules, "apps/sub": Submodule()}
    )


def submodule_that_runs_a_command(stage: Stage) -> None:
    modules = (
        f'[submodule "x"]\n\tpath = apps/sub\n\turl = ext::sh -c "touch {stage.marker}"\n'
        f"\tupdate = !touch {stage.marker}\n"
    )
    stage.repository.commit(
        {GOOD_FILE: config_map("good"), ".gitmodules": modules, "apps/sub": Submodule()}
    )


def attributes_and_hooks(stage: Stage) -> None:
    touch = f"touch {stage.marker}"
    script = Executable(f"#!/bin/sh\n{touch}\n")
    stage.repository.commit(
        {
            GOOD_FILE: config_map("good"),
            ".gitattributes": "*.yaml filter=evil diff=evil merge=evil export-subst\n",
            ".gitconfig": f'[filter "evil"]\n\tsmudge = {touch}\n[core]\n\tfsmonitor = {touch}\n',
            ".lfsconfig": f"[lfs]\n\turl = ext::sh -c '{touch}'\n",
            "config": f"[core]\n\tfsmonitor = {touch}\n\tsshCommand = {touch}\n",
            "hooks/post-checkout": script,
            "hooks/reference-transaction": script,
            "hooks/pre-auto-gc": script,
        }
    )
    for name in ("post-checkout", "reference-transaction", "post-update", "pre-auto-gc"):
        hook = stage.repository.path / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(script.content, encoding="utf-8")
        hook.chmod(0o755)


def lfs_pointer(stage: Stage) -> None:
    digest = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
    head = "version https://git-lfs.github.com/spec/v1\n"
    stage.commit(f"{head}oid sha256:{digest}\nsize 12345\n")
