"""The memory that git may use fits into the container's limit."""

from pathlib import Path

import pytest

from kro_gitops.source.git.memory import DEFAULT, container_memory, share_of

MIB = 1 << 20


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "ascii")
    return root


def test_version_2_in_a_container_of_its_own(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{512 * MIB}\n"}
    assert container_memory(write(tmp_path, files)) == 512 * MIB


def test_version_2_takes_the_lowest_limit_of_the_groups_above(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/kubepods/pod1/box\n",
        "sys/fs/cgroup/kubepods/memory.max": f"{900 * MIB}\n",
        "sys/fs/cgroup/kubepods/pod1/memory.max": f"{300 * MIB}\n",
        "sys/fs/cgroup/kubepods/pod1/box/memory.max": "max\n",
    }
    assert container_memory(write(tmp_path, files)) == 300 * MIB


def test_version_1(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/box\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": f"{256 * MIB}\n",
    }
    assert container_memory(write(tmp_path, files)) == 256 * MIB


def test_the_path_of_the_host_is_not_mounted(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/kubepods/pod1/box\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{256 * MIB}\n",
    }
    assert container_memory(write(tmp_path, files)) == 256 * MIB


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"},
        {
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        {"proc/self/cgroup": "nonsense\n"},
    ],
)
def test_no_limit(files: dict[str, str], tmp_path: Path) -> None:
    assert container_memory(write(tmp_path, files)) is None


def test_all_commands_together_leave_room_for_the_controller() -> None:
    for container in (512, 1024, 2048, 4096):
        share = share_of(container * MIB)
        assert share.commands * share.command <= (container - 256) * MIB
        assert share.commands >= 4
        assert share.refs <= share.command


def test_a_small_container_still_fetches() -> None:
    share = share_of(128 * MIB)
    assert (share.commands, share.command) == (4, 64 * MIB)


def test_a_large_container_and_none_have_the_same_share() -> None:
    assert share_of(64 << 30) == share_of(None) == DEFAULT
