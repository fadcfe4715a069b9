"""The programs of scripts/torture, as it starts, kills, stops and equips them; and nginx, which stands between some devices and the servers."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

from node_engines import Failure, Process, answers
from torture_preload import Preload

CONFIGURATION = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy/nginx/pullbox.conf"
NGINX = "/usr/sbin/nginx"


def executable(options, name):
    """With which a program begins: the version before, where --earlier has it."""
    earlier = options.earlier and options.earlier / name
    return earlier if earlier and earlier.exists() else options.bin / name


class Program(Process):
    """One of the programs. It is meant to run between start() and kill() or stop(): whatever ends by itself meanwhile is a fault of its own."""

    def __init__(self, name, command, directory, environment=None):
        self.ready_file = directory / "ready"
        super().__init__(name, [*command, "--ready-file", self.ready_file], directory / "log", environment)
        self.is_wanted, self.is_still = False, False
        # Whether it may fail to start, as it does where its records cannot be written: then it is started again, as its unit does. Only with an
        # exit code: what a signal ends has crashed.
        self.is_excused = False
        # Nil where there are none: what is preloaded, and the small disk of what it keeps.
        self.preload, self.disk = None, None

    def start(self):
        if self.is_running:
            return
        self.ready_file.unlink(missing_ok=True)
        super().start()
        self.is_wanted = True

    def kill(self):
        self.is_wanted, self.is_still = False, False
        super().kill()

    def stop(self, seconds=60):
        self.is_wanted = False
        self.go_on()
        return super().stop(seconds)

    def stand_still(self):
        """Whether it does."""
        if self.is_running:
            self.process.send_signal(signal.SIGSTOP)
            self.is_still = True
        return self.is_still

    def go_on(self):
        if self.is_still and self.is_running:
            self.process.send_signal(signal.SIGCONT)
        self.is_still = False

    @property
    def has_begun(self):
        """Whether it has come to where it serves."""
        return self.ready_file.exists()

    def has_ended(self):
        if self.is_excused and self.is_wanted and not self.is_running and self.process.returncode > 0 and not self.ready_file.exists():
            self.start()
        return self.is_wanted and not self.is_running

    def is_ready(self):
        if self.has_ended():
            raise Failure(f"{self.name} ended by itself with {self.process.returncode}: {self.tail()[-600:]}")
        return self.has_begun

    def equip(self, options, directory, state, parts=()):
        """Lets its clock and its disk be wrong; the paths of files that may read wrong have one of `parts`."""
        self.preload = Preload(directory, state, parts) if options.has_compiler else None
        self.environment = self.preload.environment() if self.preload else None

    def live_in_summer(self, seconds):
        """From its next start on its time zone is one whose clocks go forward in so many seconds, and back tomorrow. Before, it is
        that of UTC."""
        begin = time.gmtime(time.time() + seconds)
        # As TZ counts them: without 29 February.
        day = begin.tm_yday - (begin.tm_year % 4 == 0 and begin.tm_yday > 59)
        zone = f"WIN0SUM-1,J{day}/{begin.tm_hour}:{begin.tm_min}:{begin.tm_sec},J{day % 365 + 1}/2"
        self.environment = (self.environment or dict(os.environ)) | {"TZ": zone}

    def remount(self, mode):
        """Whether its disk is now `ro` or `rw`: one on which a file is open for writing does not become read-only."""
        done = subprocess.run(["mount", "-o", f"remount,{mode}", str(self.disk.path)], stderr=subprocess.DEVNULL)
        return done.returncode == 0

    def remove(self):
        if self.disk:
            self.disk.remove()


class Edge(Program):
    """nginx with deploy/nginx/pullbox.conf. It sends packages from the server's disk itself (X-Accel-Redirect), or passes everything through
    from several servers, whose packages lie elsewhere."""

    def __init__(self, options, port, nodes, address):
        directory = options.work / "edge"
        directory.mkdir()
        self.port, text = port, CONFIGURATION.read_text()
        for name, value in (
                ("listen 80;", f"listen 127.0.0.1:{port};"),
                ("server 127.0.0.1:8080;", " ".join(f"server 127.0.0.1:{node.port};" for node in nodes)),
                # The only address that the servers trust.
                ("proxy_http_version 1.1;", f"proxy_http_version 1.1;\n    proxy_bind {address};"),
                ("/var/lib/pullbox-server/blobs/", f"{nodes[0].state}/blobs/"),
                ("/var/log/nginx/pullbox.log", f"{directory}/site.log")):
            if text.count(name) != 1:
                raise Failure(f"{CONFIGURATION.name} has not once '{name}'")
            text = text.replace(name, value)
        (directory / "site.conf").write_text(text)
        places = "".join(f"  {kind}_temp_path {directory}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if os.geteuid() == 0 else ""
        (directory / "nginx.conf").write_text(
            f"{user}pid {directory}/pid;\nerror_log {directory}/log;\nevents {{}}\nhttp {{\n{places}  include {directory}/site.conf;\n}}\n")
        super().__init__("edge", [NGINX, "-p", directory, "-c", directory / "nginx.conf", "-e", directory / "log", "-g", "daemon off;"], directory)
        # It takes no --ready-file.
        self.command = self.command[:-2]

    @staticmethod
    def is_available():
        return shutil.which(NGINX) is not None

    @property
    def has_begun(self):
        return answers(self.port)

    def tell(self, number):
        """nginx is several processes; what is not told by SIGTERM is told to all."""
        if self.is_running:
            os.killpg(self.process.pid, number)

    def kill(self):
        self.tell(signal.SIGKILL)
        super().kill()

    def stand_still(self):
        self.tell(signal.SIGSTOP)
        self.is_still = self.is_running
        return self.is_still

    def go_on(self):
        if self.is_still:
            self.tell(signal.SIGCONT)
        self.is_still = False
