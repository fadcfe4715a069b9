"""What is recorded, and what has to run beside it: a payment store, a delivery server, and one that is started on what a power cut has left."""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import types
import uuid

from node_clients import Reader, Transcript, ask
from node_engines import Failure, Process, run, until
from power_recording import Recorded

PRELOAD = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests/Preload/nextboot.c"
READY_SECONDS = 120
PRODUCTS = ("com.example.power.one", "com.example.power.two", "com.example.power.three")
KEY, CREDENTIAL = "operator-key-of-a-power-cut", "credential-of-a-power-cut"
MEDIA = "application/offset+octet-stream"


def content_of(name, length=150_000):
    return random.Random(name).randbytes(length)


class Desk:
    """An operator of the delivery server."""

    def __init__(self, port):
        self.port = port

    def ask(self, method, path, body=None, headers=None, accept=(200, 201, 202, 204)):
        answer = ask(self.port, method, path, body, KEY, headers)
        if answer.status not in accept:
            raise Failure(f"{method} {path}: {answer.status} {answer.body.decode(errors='replace')[:300]}")
        return answer

    def json(self, method, path, body=None, **words):
        answer = self.ask(method, path, body, **words)
        return json.loads(answer.body) if answer.body else None

    def describe(self, product):
        self.json("PUT", f"/v1/operator/products/{product}", {
            "type": "non-consumable", "localizations": {"en-US": {"title": product, "description": "It outlives a power cut."}},
            "prices": {"USA": {"amount": "2.99", "currency": "USD"}}})

    def begin(self, length):
        answer = self.ask("POST", "/v1/operator/uploads", b"", {"Tus-Resumable": "1.0.0", "Upload-Length": str(length)})
        return answer.headers["Location"]

    def send(self, location, offset, data, headers=None):
        """The offset afterwards."""
        answer = self.ask("PATCH", location, data, {
            "Tus-Resumable": "1.0.0", "Upload-Offset": str(offset), "Content-Type": MEDIA} | (headers or {}))
        return int(answer.headers["Upload-Offset"])

    def offset(self, location):
        """Nil where the upload is gone."""
        answer = self.ask("HEAD", location, headers={"Tus-Resumable": "1.0.0"}, accept=(200, 204, 404, 410))
        return int(answer.headers["Upload-Offset"]) if answer.status < 300 else None

    def make(self, product, version, location):
        return self.json("POST", f"/v1/operator/products/{product}/versions", {"upload": location, "version": version})

    def take(self, step, product, version, body=None):
        return self.json("POST", f"/v1/operator/products/{product}/versions/{version}/{step}", body)

    def versions(self, product):
        return self.json("GET", f"/v1/operator/products/{product}/versions")["items"]

    def publish(self, product, version, data):
        self.describe(product)
        location = self.begin(len(data))
        self.send(location, 0, data)
        self.make(product, version, location)
        for step in ("submit", "approve", "release"):
            self.take(step, product, version)


class House:
    """The payment store runs all the time, and so does a delivery server where it is not the one that is recorded."""

    def __init__(self, options):
        self.options, self.work, self.port, self.shop_port = options, options.work, options.port_base, options.port_base + 1
        self.boot = self.work / "boot"
        self.boot.write_text(f"{uuid.uuid4()}\n")
        self.preload = self.work / "nextboot.so"
        run("cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", self.preload, PRELOAD)
        self.transcript = Transcript(self.work / "transcript")
        self.desk, self.node = Desk(self.port), types.SimpleNamespace(port=self.port, name="server", is_aside=False)
        self.shop, self.shelf, self.prepared = None, None, self.work / "prepared"
        self.configurations()

    def configurations(self):
        files = {
            "shop": {"listen": [f"127.0.0.1:{self.shop_port}"], "state": str(self.work / "shop"),
                     "catalog": f"http://127.0.0.1:{self.port}", "serverCredential": CREDENTIAL},
            "server": {"listen": [f"127.0.0.1:{self.port}"], "state": str(self.prepared), "operatorKey": KEY,
                       "unlimitedAddresses": ["127.0.0.0/8"], "stores": [{
                           "name": "sandbox", "kind": "pullbox", "bundles": ["com.example.pullbox"], "credential": CREDENTIAL,
                           "addresses": {"sandbox": f"http://127.0.0.1:{self.shop_port}"}, "allowSandbox": True, "deviceLimit": 1000}]}}
        for name, document in files.items():
            (self.work / f"{name}.json5").touch(mode=0o600)
            (self.work / f"{name}.json5").write_text(json.dumps(document))

    def environment(self, is_plain=False, is_next=False):
        """For a program that runs later than a power cut, or with SQLite's own file system."""
        more = {"NEXTBOOT_FILE": str(self.boot)} if is_next else {}
        return os.environ | more | ({"NEXTBOOT_PLAIN_LOG": "1"} if is_plain else {}) | (
            {"LD_PRELOAD": str(self.preload)} if is_plain or is_next else {})

    def server_command(self, state):
        return [self.options.bin / "pullbox-server", "--config", self.work / "server.json5", "--state", state, "--ready-file", self.ready_file,
                "--log-level", "warning"]

    @property
    def ready_file(self):
        return self.work / "server.ready"

    def is_server_ready(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.ready_file.exists() and ask(self.port, "GET", "/readyz").status == 200
        return False

    def is_shop_ready(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return ask(self.shop_port, "GET", "/store/v1/products").status < 500
        return False

    def begin(self):
        self.shop = Process("shop", [self.options.bin / "pullbox-sandbox", "--config", self.work / "shop.json5"], self.work / "shop.log")
        self.shop.start()
        until(READY_SECONDS, "the store is ready", self.is_shop_ready, 0.05)
        with self.serving(self.prepared):
            for product in PRODUCTS[:2]:
                self.desk.publish(product, "1.0", content_of(product))

    @contextlib.contextmanager
    def serving(self, state, is_next=False, stops=True):
        """A delivery server on a state directory."""
        self.ready_file.unlink(missing_ok=True)
        server = Process("server", self.server_command(state), self.work / "server.log", self.environment(is_next=is_next))
        server.start()

        def is_ready():
            if not server.is_running:
                raise Failure(f"the server ended with {server.process.returncode}: {(self.work / 'server.log').read_text()[-500:]}")
            return self.is_server_ready()
        try:
            until(READY_SECONDS, "the server is ready", is_ready, 0.01)
            yield server
        finally:
            if stops:
                server.stop()
            server.kill()

    @contextlib.contextmanager
    def recording(self, state, log, is_plain=False):
        """The same under strace."""
        self.ready_file.unlink(missing_ok=True)
        recorded = Recorded(self.server_command(state), log, self.environment(is_plain))
        recorded.start()
        try:
            recorded.await_ready(self.is_server_ready)
            yield recorded
            recorded.end()
        finally:
            recorded.end(signal.SIGKILL)

    def copy(self, target):
        shutil.copytree(self.prepared, target, symlinks=True, ignore=shutil.ignore_patterns("*-shm"))
        return target

    def reader(self, name):
        reader = Reader([self.node], self.shop_port, self.transcript, self.options.seed, name)
        reader.open()
        return reader

    def account(self, name):
        answer = ask(self.shop_port, "POST", "/sandbox/v1/accounts", {"territory": "USA", "name": name})
        return json.loads(answer.body)

    def check(self, state):
        """What `pullbox-server check` says of a state directory, nil where all is well."""
        process = Process("check", [self.options.bin / "pullbox-server", "check", "--config", self.work / "server.json5", "--state", state],
                          self.work / "check.log", self.environment(is_next=True))
        process.start()
        code = process.process.wait(READY_SECONDS)
        return None if code == 0 else f"pullbox-server check ended with {code}: {(self.work / 'check.log').read_text()[-400:]}"

    def end(self):
        if self.shop:
            self.shop.kill()


def sha256(data):
    return hashlib.sha256(data).hexdigest()
