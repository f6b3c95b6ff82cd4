"""
The command lines of a control plane on loopback.

Everything is written below one directory. The API server signs its own certificate there, knows
one token, and lets roles decide who may do what.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.cluster.parts import ToolError


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files of a control plane are, and the ports it listens on."""

    home: Path
    etcd_port: int
    peer_port: int
    api_port: int
    manager_port: int

    @property
    def etcd_url(self) -> str:
        """Return where etcd is reached, without TLS: it listens on loopback alone."""
        return f"http://127.0.0.1:{self.etcd_port}"

    @property
    def api_url(self) -> str:
        """Return where the API server is reached."""
        return f"https://127.0.0.1:{self.api_port}"

    @property
    def certificate(self) -> Path:
        """Return the API server's certificate; those who trust it trust the server."""
        return self.home / "certificates" / "apiserver.crt"

    @property
    def tokens(self) -> Path:
        """Return the file that says which token is whose."""
        return self.home / "tokens.csv"

    @property
    def key(self) -> Path:
        """Return the key that service account tokens are signed with."""
        return self.home / "service-account.key"

    @property
    def kubeconfig(self) -> Path:
        """Return the administrator's kubeconfig."""
        return self.home / "kubeconfig"


def etcd(layout: Layout) -> list[str]:
    """Return the command line of an etcd that may forget everything at a power cut."""
    peer_url = f"http://127.0.0.1:{layout.peer_port}"
    return [
        find_binary("etcd"),
        f"--data-dir={layout.home / 'etcd'}",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
    ]


def api_server(layout: Layout, *, with_service_accounts: bool) -> list[str]:
    """Return the command line of an API server as it comes, but for the place it runs in."""
    command = [
        find_binary("kube-apiserver"),
        f"--etcd-servers={layout.etcd_url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={layout.api_port}",
        f"--cert-dir={layout.certificate.parent}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.key}",
        f"--service-account-signing-key-file={layout.key}",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--endpoint-reconciler-type=none",  # no Endpoints on an address only we reach
        "--shutdown-delay-duration=0s",
    ]
    if not with_service_accounts:
        # Nobody makes a namespace's default service account, and no Pod is let in without one.
        command.append("--disable-admission-plugins=ServiceAccount")
    return command


def controller_manager(layout: Layout) -> list[str]:
    """Return the command line of a controller manager that is the only one there is."""
    return [
        find_binary("kube-controller-manager"),
        f"--kubeconfig={layout.kubeconfig}",
        f"--authentication-kubeconfig={layout.kubeconfig}",
        f"--authorization-kubeconfig={layout.kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.manager_port}",
        f"--cert-dir={layout.home / 'manager-certificates'}",
        f"--root-ca-file={layout.certificate}",
        f"--service-account-private-key-file={layout.key}",
        "--leader-elect=false",
    ]


def find_binary(name: str) -> str:
    """Return the path of a binary built by `tools/kube/build.sh`."""
    default = Path.home() / ".cache" / "kro-gitops" / "kube" / "bin"
    found = Path(os.environ.get("KUBE_BIN") or default) / name
    if not found.exists():
        raise ToolError(f"{found} does not exist; `make kube-bin` builds it")
    return str(found)


def make_service_account_key(path: Path) -> None:
    """Make the key the API server insists on signing service account tokens with."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ToolError("openssl is not installed; it makes the service account key")
    command = [openssl, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
