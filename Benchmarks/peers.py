"""The servers that ours is measured beside: started here, with configurations as good as their makers' advice gives."""
import base64
import hashlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from measuring import wait_until

SYSTEM_PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"

NGINX = """
{user}
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log warn;
worker_processes {workers};
worker_rlimit_nofile 65536;
events {{ worker_connections 16384; multi_accept on; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  keepalive_timeout 600;
  send_timeout 600;
  open_file_cache max=100;
  client_max_body_size 0;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  {extra}
  server {{
    listen 127.0.0.1:{port} reuseport backlog=4096;
    {listen}
    root {root};
    location /gated/ {{
      alias {root}/;
      secure_link $arg_md5,$arg_expires;
      secure_link_md5 "$secure_link_expires$uri secret";
      if ($secure_link = "") {{ return 403; }}
      if ($secure_link = "0") {{ return 410; }}
    }}
    {locations}
  }}
}}
"""

ASKING_UPSTREAM = """upstream gate {{ server 127.0.0.1:{backend}; keepalive 256; keepalive_requests 100000000; }}"""

ASKING_LOCATION = """
    location /asked/ {{
      alias {root}/;
      auth_request /gate;
    }}
    location = /gate {{
      internal;
      proxy_pass http://gate/none;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
    }}
"""

LIGHTTPD = """
server.document-root = "{root}"
server.port = {port}
server.bind = "127.0.0.1"
server.pid-file = "{directory}/lighttpd.pid"
server.errorlog = "{directory}/error.log"
server.event-handler = "linux-sysepoll"
server.network-backend = "sendfile"
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 600
server.max-write-idle = 600
server.max-fds = 16384
server.max-connections = 8192
server.listen-backlog = 4096
mimetype.assign = ("" => "application/octet-stream")
"""


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Peer:
    """A process that serves; `pids` are those whose processor time and memory count."""

    field = None

    def __init__(self, port, command, directory):
        self.port = port
        self.directory = directory
        self.process = subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL)

    @property
    def pids(self):
        return [self.process.pid]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def has_port(process, port):
    """Whether the port takes connections; a process that has ended never will."""
    if process.poll() is not None:
        raise RuntimeError(f"{process.args[0]} ended with exit code {process.returncode}")
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()


class Nginx(Peer):
    def __init__(self, name, port, root, work, workers=1, extra="", listen="", locations="", backend=None):
        directory = work / f"nginx-{name}"
        directory.mkdir(exist_ok=True)
        if backend:
            extra += ASKING_UPSTREAM.format(backend=backend)
            locations += ASKING_LOCATION.format(root=root)
        configuration = directory / "nginx.conf"
        configuration.write_text(NGINX.format(
            directory=directory, root=root, port=port, workers=workers, extra=extra, listen=listen,
            # A worker's usual user need not be able to get to the files.
            locations=locations, user="user root root;" if os.geteuid() == 0 else ""))
        executable = shutil.which("nginx", path=SYSTEM_PATH)
        super().__init__(port, [executable, "-c", configuration], directory)
        wait_until(lambda: has_port(self.process, port) and len(children(self.process.pid)) >= workers, "nginx")
        self.workers = children(self.process.pid)

    @property
    def pids(self):
        return self.workers

    @staticmethod
    def secure_link(name):
        expires, path = 4_000_000_000, f"/gated/{name}"
        digest = hashlib.md5(f"{expires}{path} secret".encode()).digest()
        return f"{path}?md5={base64.urlsafe_b64encode(digest).decode().rstrip('=')}&expires={expires}"


class Lighttpd(Peer):
    def __init__(self, port, root, work):
        directory = work / "lighttpd"
        directory.mkdir(exist_ok=True)
        configuration = directory / "lighttpd.conf"
        configuration.write_text(LIGHTTPD.format(directory=directory, root=root, port=port))
        super().__init__(port, [shutil.which("lighttpd", path=SYSTEM_PATH), "-D", "-f", configuration], directory)
        wait_until(lambda: has_port(self.process, port), "lighttpd")


class Limit(Peer):
    """Benchmarks/peers/limit.c."""

    def __init__(self, port, work, fields, files):
        super().__init__(port, [work / "limit", port, 1, fields, *files], work)
        wait_until(lambda: has_port(self.process, port), "the limit")
