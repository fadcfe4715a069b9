"""A server, its stores and an agent whose secrets are known, with all that they write in one directory (check-secrets)."""

import json
import os
import pathlib
import resource
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from node_clients import ask
from node_engines import Failure, PostgreSQL, run, until
from secret_marks import Marks
from secret_peers import Bucket, Wire

READY_SECONDS, COMMAND_SECONDS = 60, 60
BUNDLE, ISSUER = "com.example.pullbox", "57246542-96fe-1a63-e053-0824d011072a"
# Not searched: wrong configurations are what the check has written itself.
NOT_SEARCHED = ("config/wrong/",)


class Daemon:
    """A daemon with its log, its ready file and its configuration by one name."""

    def __init__(self, house, name, program, *words, configured=True):
        self.house, self.name = house, name
        self.ready = house.work / f"run/{name}.ready"
        config = ["--config", house.work / f"config/{name}.json5"] if configured else []
        self.command = [str(word) for word in (house.bin / program, *config, "--ready-file", self.ready, "--log-level", "debug", *words)]
        self.process = None

    def start(self):
        self.ready.unlink(missing_ok=True)
        with open(self.house.work / f"logs/{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.house.work / "cwd",
                env=self.house.environment, start_new_session=True, preexec_fn=allow_cores)
        self.house.daemons.append(self)

        def is_ready():
            if self.process.poll() is not None:
                raise Failure(f"{self.name} ended with {self.process.returncode}: {self.tail()}")
            return self.ready.exists()

        until(READY_SECONDS, f"{self.name} is ready", is_ready)
        self.house.show_process(self.name, self.process.pid)

    def tail(self):
        return (self.house.work / f"logs/{self.name}.log").read_text(errors="replace")[-1500:]

    def end(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process and self.process.returncode

    def again(self):
        self.end()
        self.start()


def allow_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)


class House:
    """The directory, the secrets in it, and the ports."""

    def __init__(self, options):
        self.bin, self.project, self.work, self.base = options.bin.resolve(), options.project.resolve(), options.work.resolve(), options.port_base
        for name in ("config", "secrets", "state", "logs", "outputs", "answers", "metrics", "processes", "run", "cwd", "cores", "home", "temporary"):
            (self.work / name).mkdir(parents=True, mode=0o700)
        # The path of a Unix socket is short.
        self.sockets = pathlib.Path(tempfile.mkdtemp(prefix="pullbox-secrets-"))
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.work / "home"), "TMPDIR": str(self.work / "temporary"), "LC_ALL": "C.UTF-8",
            # As the units have it: a tracer would hold a process that crashes.
            "SWIFT_BACKTRACE": "enable=no"}
        self.marks, self.daemons, self.children, self.database, self.counter = Marks(), [], {}, None, 0
        self.left_out, self.cores = [], 0
        self.over = threading.Event()
        threading.Thread(target=self.watch_children, daemon=True).start()

    def port(self, offset):
        return self.base + offset

    def url(self, offset):
        return f"http://127.0.0.1:{self.port(offset)}"

    # ---- secrets and files ---------------------------------------------------------------------------------------------

    def secret(self, name, holders, odd=""):
        """A new text of 192 bits; `odd` are characters that addresses write otherwise."""
        return self.marks.add(name, secrets.token_hex(12) + odd + secrets.token_hex(12), holders)

    def file(self, path, text, mode=0o600):
        path = self.work / path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=mode)
        path.write_text(text)
        return path

    def configure(self, name, settings):
        self.file(f"config/{name}.json5", json.dumps(settings, indent=1))

    def generate_key(self, path, *algorithm):
        run("openssl", "genpkey", "-algorithm", *algorithm, "-out", self.work / path)
        (self.work / path).chmod(0o600)
        return (self.work / path).read_text()

    # ---- what is done --------------------------------------------------------------------------------------------------

    def command(self, name, *words, environment=None, codes=None, seconds=COMMAND_SECONDS):
        """Runs a program of the house to its end; its output becomes a place. Fails for other exit codes than `codes`, if any are named."""
        self.counter += 1
        words = [str(word) for word in words]
        try:
            done = subprocess.run(
                [str(self.bin / words[0]), *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                cwd=self.work / "cwd", env=self.environment | (environment or {}), timeout=seconds)
            code, printed = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, printed = None, late.stdout or b""
        self.file(f"outputs/{self.counter:03}-{name}.txt", "").write_bytes(printed + f"\nexit code {code}\n".encode())
        if codes is not None and code not in codes:
            raise Failure(f"{name} ended with {code}: {printed.decode(errors='replace')[-1500:]}")
        return printed.decode(errors="replace")

    def request(self, offset, method, path, body=None, token=None, headers=None, keeps=True):
        """One request; the answer becomes a place unless it gives the secret to who asks for it."""
        answer = ask(self.port(offset), method, path, body, token, headers)
        if keeps:
            self.keep_answer(f"{answer.status}\n{answer.headers}\n".encode() + answer.body)
        return answer

    def keep_answer(self, data):
        self.counter += 1
        self.file(f"answers/{self.counter:03}.txt", "").write_bytes(data)

    def keep_metrics(self, name, offset):
        self.file(f"metrics/{name}.txt", "").write_bytes(ask(self.port(offset), "GET", "/metrics").body)

    # ---- what the kernel shows -----------------------------------------------------------------------------------------

    def show_process(self, name, process):
        """Keeps command line and environment as other processes see them now."""
        for kind in ("cmdline", "environ"):
            data = pathlib.Path(f"/proc/{process}/{kind}").read_bytes()
            self.file(f"processes/{name}.{kind}", "").write_bytes(data.replace(b"\0", b"\n"))

    def shows_after(self, name, command, secret, environment=None):
        """Runs a command with a secret among its options until its command line shows it no more, and keeps what it shows then."""
        process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.work / "cwd", env=self.environment | (environment or {}))
        line, end = pathlib.Path(f"/proc/{process.pid}/cmdline"), time.monotonic() + 5
        try:
            while time.monotonic() < end and process.poll() is None and secret.encode() in line.read_bytes():
                time.sleep(0.02)
            if process.poll() is not None:
                raise Failure(f"{name} ended before its command line could be looked at")
            self.show_process(name, process.pid)
        finally:
            process.kill()
            process.wait()

    def watch_children(self):
        """Notes every process that a daemon of the house starts."""
        while not self.over.wait(0.05):
            owners = {str(daemon.process.pid): daemon.name for daemon in list(self.daemons) if daemon.process}
            for entry in os.scandir("/proc"):
                if not entry.name.isdigit() or entry.name in self.children:
                    continue
                try:
                    status = pathlib.Path(entry.path, "stat").read_text()
                    parent = status.rpartition(")")[2].split()[1]
                    if parent in owners:
                        self.children[entry.name] = owners[parent]
                        owners[entry.name] = owners[parent]
                        self.show_process(f"started-by-{owners[parent]}-{entry.name}", entry.name)
                except OSError:
                    continue

    def keep_core(self, name):
        """Moves the core that a program has just left to where it is searched. Fails where there is none, or where others may read it."""
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if pattern.startswith(("|", "/")):
            self.left_out.append(f"the core of {name}: the kernel gives it to '{pattern}'")
            return
        cores = [path for path in (self.work / "cwd").iterdir() if path.name.startswith(pattern.partition("%")[0])]
        if not cores:
            raise Failure(f"{name} was ended by SIGABRT and has left no core")
        if cores[0].stat().st_mode & 0o077:
            raise Failure(f"others than its owner may read the core of {name}")
        cores[0].rename(self.work / "cores" / name)
        self.cores += 1

    # ---- the places ----------------------------------------------------------------------------------------------------

    def places(self):
        """Every file of the directory, with what the object store keeps in files of its own."""
        for number, content in enumerate(self.bucket.objects.values()):
            self.file(f"bucket/{number}", "").write_bytes(content)
        return sorted(
            path for path in self.work.rglob("*")
            if path.is_file() and not path.is_symlink() and not str(path.relative_to(self.work)).startswith(NOT_SEARCHED))

    def leaks(self):
        """What is where it must not be."""
        return [
            leak for path in self.marks.suspects(self.places())
            for leak in self.marks.search(str(path.relative_to(self.work)), self.content(path))]

    def content(self, path):
        """Of the memory of a process, the pieces of secrets alone: that there are others is no leak."""
        return self.marks.extract(path) if path.parent.name == "cores" else path.read_bytes()

    def end(self):
        self.over.set()
        for daemon in reversed(self.daemons):
            daemon.end()
        if self.database:
            self.database.remove()
        shutil.rmtree(self.sockets, ignore_errors=True)


class Ground(House):
    """The house with the stores, the server, the agent and a second server configured, of which none runs yet."""

    def __init__(self, options):
        super().__init__(options)
        self.wires = [Wire("server", self.port(20), self.port(0)), Wire("store", self.port(21), self.port(10)), Wire("apple", self.port(22), self.port(11))]
        self.bucket = Bucket(self.port(40), "comics")
        self.plant()
        self.configure_stores()

    def plant(self):
        """The secrets that someone chooses; those that the programs make are found later."""
        files = ("config/server.json5", "config/leaking.json5")
        in_server = dict.fromkeys(files, "the server's configuration")
        self.operator_key = self.secret("the operator key", in_server)
        self.named_key = self.secret("a named operator key", in_server)
        self.filed_key = self.secret("an operator key of the key file", {"secrets/operators": "the file of operator keys"})
        # No program knows it: it is offered and refused.
        self.wrong_key = self.secret("a wrong key", {"config/wrong/*": "offered by the check"}, "/+=")
        self.marks.all[-1].is_seen = True
        self.credential = self.secret("the store credential", in_server | {"config/store.json5": "the store's configuration"})
        self.control_key = self.secret("the control key of the store", {"config/store.json5": "the store's configuration"})
        self.shared_secret = self.secret("the shared secret of Apple's store", {
            "config/apple.json5": "the store's configuration", "secrets/apple-shared-secret": "the server's file of it"}, "&=?/+")
        self.bucket_secret = self.secret("the secret key of the object store", {"secrets/bucket.key": "the file of the key"}, "/+")
        self.bucket_token = self.secret("the session token of the object store", {"secrets/bucket.key": "the file of the key"}, "/+==")
        self.node_key = self.secret("the operator key of the second server", {"config/node.json5": "the server's configuration"})
        self.node_credential = self.secret("the store credential of the second server", {"config/node.json5": "the server's configuration"})
        self.password = self.secret("the password of the database", {"config/node.json5": "the server's configuration"}, "~:!")
        self.file("secrets/operators", "{name: 'bob', scopes: ['review'], key: '%s'}\n" % self.filed_key)
        self.file("secrets/apple-shared-secret", self.shared_secret + "\n")
        self.file("secrets/bucket.key", f"comics-key\n{self.bucket_secret}\n{self.bucket_token}\n")
        self.marks.add_key("the TLS key", self.generate_key("secrets/tls.key", "RSA"), {"secrets/tls.key": "the file of the key"})
        run("openssl", "req", "-x509", "-key", self.work / "secrets/tls.key", "-subj", "/CN=localhost", "-days", "2", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", self.work / "secrets/tls.pem")

    def configure_stores(self):
        common = {"catalog": self.url(0), "bundle": BUNDLE, "apiIssuer": ISSUER, "notificationURL": self.url(0) + "/v1/notifications/apple"}
        self.configure("store", common | {
            "listen": [f"127.0.0.1:{self.port(10)}"], "state": str(self.work / "state/store"), "serverCredential": self.credential,
            "controlKey": self.control_key, "googleNotificationURL": self.url(0) + "/v1/notifications/google",
            "googleTokenURL": self.url(21) + "/token"})
        self.configure("apple", common | {
            "listen": [f"127.0.0.1:{self.port(11)}"], "state": str(self.work / "state/apple"), "sharedSecret": self.shared_secret})

    def server_settings(self):
        apple = self.work / "state/apple"
        return {
            "listen": [f"127.0.0.1:{self.port(0)}"], "state": str(self.work / "state/server"), "console": "everywhere",
            "tls": {"listen": [f"127.0.0.1:{self.port(1)}"], "certificate": str(self.work / "secrets/tls.pem"),
                    "key": str(self.work / "secrets/tls.key")},
            "operatorKey": self.operator_key, "operatorKeyFile": str(self.work / "secrets/operators"),
            "operatorKeys": [{"name": "ada", "key": self.named_key, "scopes": ["read", "publish"]}],
            "accessLog": str(self.work / "logs/access.log"), "unlimitedAddresses": ["127.0.0.0/8"],
            "stores": [
                {"name": "sandbox", "kind": "pullbox", "bundles": [BUNDLE], "credential": self.credential,
                 "addresses": {"sandbox": self.url(21)}, "roots": [str(self.work / "state/store/pki/signed-data-root.pem")]},
                {"name": "apple", "kind": "apple", "bundles": [BUNDLE], "sharedSecretFile": str(self.work / "secrets/apple-shared-secret"),
                 "addresses": {"sandbox": self.url(22), "api": {"sandbox": self.url(22)}}, "allowSandbox": True,
                 "roots": [str(apple / "pki/signed-data-root.pem")], "issuer": ISSUER,
                 "keyId": self.apple_key.stem.removeprefix("AuthKey_"), "keyFile": str(self.apple_key)},
                {"name": "google", "kind": "google", "bundles": [BUNDLE], "keyFile": str(self.google_key), "allowSandbox": True,
                 "addresses": {"play": self.url(21), "keys": self.url(21) + "/oauth2/v3/certs"},
                 "notificationAudience": self.url(0) + "/v1/notifications/google",
                 "notificationAccount": "push@sandbox-store.iam.gserviceaccount.com"},
            ]}

    def node_settings(self, url):
        """A server on PostgreSQL and an object store."""
        return {
            "listen": [f"127.0.0.1:{self.port(4)}"], "state": str(self.work / "state/node"), "node": "node", "database": url,
            "databaseWriters": 2, "databaseReaders": 1, "operatorKey": self.node_key,
            "packages": "s3://comics/node", "cache": {"directory": str(self.work / "state/cache")},
            "s3": {"endpoint": self.bucket.endpoint, "accessKeyFile": str(self.work / "secrets/bucket.key"), "pathStyle": True},
            "stores": [{"name": "sandbox", "kind": "pullbox", "bundles": [BUNDLE], "credential": self.node_credential,
                        "addresses": {"sandbox": self.url(21)}}]}

    def start_database(self):
        """PostgreSQL that asks for the password; nil where it is not installed."""
        if not PostgreSQL.find():
            return None
        self.database = PostgreSQL(self.port(30))
        self.database.ask(f"CREATE ROLE comics LOGIN PASSWORD '{self.password}'")
        for name in ("comics", "restored"):
            self.database.ask(f"CREATE DATABASE {name} OWNER comics TEMPLATE template0")
        access = self.database.place / "data/pg_hba.conf"
        access.write_text("host all comics 127.0.0.1/32 scram-sha-256\n" + access.read_text())
        self.database.ask("SELECT pg_reload_conf()")
        return f"postgresql://comics:{self.password.replace(':', '%3A')}@127.0.0.1:{self.port(30)}/comics"
