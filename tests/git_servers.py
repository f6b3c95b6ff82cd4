"""
Real git servers on this machine, by one name: HTTP, SSH, and a proxy in front of them.

Each is a context manager, listens at a port that the system chose, and leaves no process behind.
"""

from tests.certificates import Certificates, Tls, certificates
from tests.connect_proxy import ConnectProxy, connect_proxy
from tests.git_http_server import HttpServer, Request, http_server
from tests.git_ssh_server import SshServer, ssh_server

__all__ = (
    "Certificates",
    "ConnectProxy",
    "HttpServer",
    "Request",
    "SshServer",
    "Tls",
    "certificates",
    "connect_proxy",
    "http_server",
    "ssh_server",
)
