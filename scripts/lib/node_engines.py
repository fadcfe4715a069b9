"""What nodes share, started for a check and ended with it: Debian's PostgreSQL, and a Ceph cluster with its S3 gateway."""

import contextlib
import grp
import hashlib
import os
import pathlib
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_SECONDS = 60


class Failure(Exception):
    """Something is not as it has to be; its text is a sentence."""


def until(seconds, what, question, pause=0.1):
    """What `question` answers once that is true."""
    end = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(pause)
    return answer


def run(*command, **options):
    """What a command prints on standard output; fails with all of it."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        raise Failure(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def answers(port):
    """Whether something listens at a port of this machine."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Process:
    """A process of the check: started, killed, started again, with its output in a file."""

    def __init__(self, name, command, log, environment=None):
        self.name, self.command, self.log, self.environment = name, [str(part) for part in command], log, environment
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=True)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.is_running:
            self.process.kill()
            self.process.wait()

    def stop(self, seconds=30):
        """SIGTERM, and SIGKILL when it does not help; the exit code."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return None if self.process is None else self.process.returncode

    def tail(self):
        return pathlib.Path(self.log).read_text(errors="replace")[-2000:]


class PostgreSQL:
    """A server of its own, on a Unix socket and a port of this machine; its account is Debian's where this process is root's."""

    def __init__(self, port, make_disk=None):
        self.port = port
        # The path of a socket has to be short.
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="pullbox-pg-"))
        # Nil, or what the whole of it lies on.
        self.disk = make_disk(self.place) if make_disk else None
        self.account = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            os.chown(self.place, entry.pw_uid, entry.pw_gid)
            groups = [group.gr_gid for group in grp.getgrall() if "postgres" in group.gr_mem]
            self.account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}
        self.binaries = self.find()
        run(self.binaries / "initdb", "-D", "data", "-U", "pullbox", "-E", "UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync",
            cwd=self.place, **self.account)
        self.url = f"postgresql:///postgres?host={self.place}&port={port}&user=pullbox"
        self.start()

    @staticmethod
    def find():
        """The directory of the newest version's programs, 15 or later; nil where there is none."""
        found = [path for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
        versions = sorted(((int(path.parent.name), path) for path in found if path.parent.name.isdigit()), reverse=True)
        return versions[0][1] if versions and versions[0][0] >= 15 else None

    def control(self, *words):
        # Not with pipes: the server would hold them open.
        with open(self.place / "control.log", "a") as log:
            done = subprocess.run(
                [self.binaries / "pg_ctl", "-D", self.place / "data", *words], cwd=self.place, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, **self.account)
        return done.returncode

    def start(self):
        settings = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.place} -c max_connections=200 -c fsync=off"
        if self.control("-w", "-t", str(START_SECONDS), "-l", str(self.place / "log"), "-o", settings, "start"):
            raise Failure(f"PostgreSQL does not start: {(self.place / 'log').read_text()[-2000:]}")

    @property
    def is_running(self):
        return self.control("status") == 0

    def kill(self):
        """The end without a word: connections break, and what is not committed is undone at the next start."""
        self.control("-m", "immediate", "stop")

    def ask(self, statement):
        """The rows of an answer, each a list of texts."""
        printed = run(self.binaries / "psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-d", self.url, "-c",
                      statement)
        return [line.split("\x1f") for line in printed.splitlines()]

    def remove(self):
        self.kill()
        if self.disk:
            self.disk.remove()
        shutil.rmtree(self.place, ignore_errors=True)


class ObjectStore:
    """A bucket that exists already: its endpoint and the file of its key. Nothing of it can be killed."""

    def __init__(self, endpoint, bucket, key_file):
        self.endpoint, self.bucket, self.key_file = endpoint, bucket, key_file
        self.victims = {}

    def remove(self):
        pass


class Ceph(ObjectStore):
    """A cluster on this machine: a monitor, storage daemons each in a file of its own, and the S3 gateway. Ports are `base` and up."""

    NEEDED = ("ceph", "ceph-mon", "ceph-osd", "ceph-authtool", "monmaptool", "radosgw", "radosgw-admin")

    @staticmethod
    def is_installed():
        return all(shutil.which(name) for name in Ceph.NEEDED)

    def __init__(self, base, storage_daemons=3):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="pullbox-ceph-"))
        super().__init__(f"http://127.0.0.1:{base}", "pullbox", self.place / "key")
        self.storage_daemons = storage_daemons
        self.base, self.conf, self.daemons = base, self.place / "ceph.conf", {}
        try:
            self.start()
        except BaseException:
            self.remove()
            raise

    def start(self):
        self.conf.write_text(self.configuration())
        self.make_monitor()
        for number in range(self.storage_daemons):
            self.make_storage(number)
        until(START_SECONDS, "Ceph's storage daemons are up", lambda: self.storage_up() == self.storage_daemons, 0.5)
        keyring = self.place / "client.rgw.keyring"
        self.ceph("auth", "get-or-create", "client.rgw", "mon", "allow rw", "osd", "allow rwx", "-o", keyring)
        self.spawn("rgw", "radosgw", "-c", self.conf, "-n", "client.rgw", "-f")
        until(START_SECONDS, "the gateway listens", lambda: answers(self.base))
        access, secret = "pullbox", secrets.token_hex(20)
        run("radosgw-admin", "--admin-socket=", "-c", self.conf, "-n", "client.rgw", "user", "create", "--uid", "pullbox",
            "--display-name", "pullbox", "--access-key", access, "--secret-key", secret)
        self.key_file.touch(mode=0o600)
        self.key_file.write_text(f"{access}\n{secret}\n")
        self.make_bucket(access, secret)
        self.victims = {name: daemon for name, daemon in self.daemons.items() if name != "mon"}

    def configuration(self):
        """Replicated over the daemons, two of three of which suffice; one machine is one failure domain here."""
        return re.sub(r"(?m)^ +", "", f"""\
            [global]
            fsid = {self.fsid()}
            mon host = v2:127.0.0.1:{self.base + 1}
            mon initial members = a
            public addr = 127.0.0.1
            cluster addr = 127.0.0.1
            ms bind msgr1 = false
            ms bind port min = {self.base + 20}
            ms bind port max = {self.base + 80}
            keyring = {self.place}/$name.keyring
            run dir = {self.place}/run
            admin socket =
            crash dir = {self.place}/crash
            log file =
            log to stderr = true
            mon cluster log file =
            osd crush chooseleaf type = 0
            osd pool default size = {self.storage_daemons}
            osd pool default min size = {min(self.storage_daemons, 2)}
            mon allow pool size one = true
            osd pool default pg num = 8
            osd pool default pgp num = 8
            osd pool default pg autoscale mode = off
            mon max pg per osd = 1000
            mon osd min down reporters = 1
            auth allow insecure global id reclaim = false
            [mon]
            mon data = {self.place}/mon
            mon data avail warn = 2
            mon data avail crit = 1
            [osd]
            osd data = {self.place}/osd$id
            osd objectstore = bluestore
            osd memory target = 939524096
            bluestore block create = true
            bluestore block size = {8 << 30}
            osd heartbeat interval = 2
            osd heartbeat grace = 6
            [client.rgw]
            rgw frontends = beast endpoint=127.0.0.1:{self.base} tcp_nodelay=1
            rgw data = {self.place}/rgw
            rgw enable usage log = false
            rgw enable ops log = false
            """)

    def fsid(self):
        file = self.place / "fsid"
        if not file.exists():
            file.write_text(pathlib.Path("/proc/sys/kernel/random/uuid").read_text())
            for name in ("run", "crash", "rgw", "mon"):
                (self.place / name).mkdir()
        return file.read_text().strip()

    def ceph(self, *words):
        return run("ceph", "-c", self.conf, "--connect-timeout", 30, *words)

    def spawn(self, name, *command):
        self.daemons[name] = Process(name, command, self.place / f"{name}.log")
        self.daemons[name].start()

    def make_monitor(self):
        ring, admin, chart = (self.place / name for name in ("mon.keyring", "client.admin.keyring", "monmap"))
        run("ceph-authtool", "--create-keyring", ring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        run("ceph-authtool", "--create-keyring", admin, "--gen-key", "-n", "client.admin", "--cap", "mon", "allow *", "--cap", "osd",
            "allow *", "--cap", "mgr", "allow *")
        run("ceph-authtool", ring, "--import-keyring", admin)
        run("monmaptool", "--create", "--clobber", "--fsid", self.fsid(), "--addv", "a", f"[v2:127.0.0.1:{self.base + 1}]", chart)
        run("ceph-mon", "-c", self.conf, "--mkfs", "-i", "a", "--monmap", chart, "--keyring", ring)
        self.spawn("mon", "ceph-mon", "-c", self.conf, "-i", "a", "-f")
        until(START_SECONDS, "the monitor listens", lambda: answers(self.base + 1))

    def make_storage(self, number):
        identifier = pathlib.Path("/proc/sys/kernel/random/uuid").read_text().strip()
        (self.place / f"osd{number}").mkdir()
        self.ceph("osd", "new", identifier, number)
        self.ceph("auth", "get-or-create", f"osd.{number}", "mon", "allow profile osd", "mgr", "allow profile osd", "osd", "allow *",
                  "-o", self.place / f"osd.{number}.keyring")
        run("ceph-osd", "-c", self.conf, "-i", number, "--mkfs", "--osd-uuid", identifier)
        self.spawn(f"osd{number}", "ceph-osd", "-c", self.conf, "-i", number, "-f")

    def storage_up(self):
        found = re.search(r'"num_up_osds": ?(\d+)', self.ceph("osd", "stat", "-f", "json"))
        return int(found.group(1)) if found else 0

    def make_bucket(self, access, secret):
        """By curl, which signs; a bucket in the path needs no name of its own in DNS."""
        settings = f'user = "{access}:{secret}"\n'
        run("curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--config", "-", "--aws-sigv4", "aws:amz:us-east-1:s3",
            "--header", f"x-amz-content-sha256: {hashlib.sha256().hexdigest()}", "--request", "PUT", f"{self.endpoint}/{self.bucket}",
            input=settings)

    def remove(self):
        for daemon in reversed(list(self.daemons.values())):
            daemon.kill()
        shutil.rmtree(self.place, ignore_errors=True)
