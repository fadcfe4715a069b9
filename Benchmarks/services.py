"""A sandbox store and a delivery server for the benchmarks that need no agent."""
import json
import os
import secrets
import signal
import subprocess
import urllib.request

from measuring import run, wait_until


def request(url, body=None, token=None, method=None):
    """The JSON that an address answers."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data, headers, method=method), timeout=60) as response:
        return json.load(response)


def buy(store, server, product, device="bench"):
    """A grant for a reader without an agent: where the bytes are, and their ticket."""
    token = request(store + "/sandbox/v1/accounts", {"territory": "USA", "name": "Bench"})["token"]
    request(store + "/store/v1/purchases", {"product": product, "device": device}, token)
    receipt = request(store + f"/store/v1/receipt?device={device}", token=token)["receipt"]
    body = {"receipt": receipt, "product": product, "device": {"id": device}}
    return request(server + "/v1/grants", body)["download"]


class Daemon:
    """A process of ours with its configuration, until it is stopped; `wrapper` is a command that runs it."""

    def __init__(self, executable, directory, configuration, wrapper=()):
        directory.mkdir(parents=True, exist_ok=True)
        self.executable, self.directory, self.wrapper = executable, directory, wrapper
        self.start(configuration)

    def start(self, configuration):
        self.configuration = configuration
        ready = self.directory / "ready"
        ready.unlink(missing_ok=True)
        file = self.directory / "config.json5"
        file.touch(mode=0o600)
        file.write_text(json.dumps(configuration))
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, self.executable, "--config", file, "--ready-file", ready], stderr=log, stdout=log)
        wait_until(lambda: ready.exists() or self.process.poll() is not None, f"{self.executable.name} answering")
        if not ready.exists():
            raise RuntimeError((self.directory / "log").read_text()[-4000:])

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


class Services:
    """Store and server, with products of one version each."""

    def __init__(self, arguments, **settings):
        self.arguments = arguments
        directory = arguments.work / "services"
        self.server_url = f"http://127.0.0.1:{arguments.port_base}"
        self.store_url = f"http://127.0.0.1:{arguments.port_base + 10}"
        self.key = self.secret(directory, "operator-key")
        credential = self.secret(directory, "store-credential")
        self.store = Daemon(arguments.bin / "pullbox-sandbox", directory / "store", {
            "listen": [f"127.0.0.1:{arguments.port_base + 10}"], "state": str(directory / "store/state"),
            "catalog": self.server_url, "serverCredential": credential})
        self.base = {
            "listen": [f"127.0.0.1:{arguments.port_base}"], "state": str(directory / "server/state"),
            "operatorKey": self.key, "store": {"url": self.store_url, "credential": credential, "deviceLimit": 100_000},
            # One grant and one device are the whole load here: accounted for as always, but never refused.
            "limits": {"bodiesPerGrant": 100_000, "bodiesPerDevice": 100_000, "ratePerGrant": "1024GiB",
                       "ratePerDevice": "1024GiB", "burst": "8192GiB"}}
        self.state = directory / "server/state"
        try:
            self.server = Daemon(arguments.bin / "pullbox-server", directory / "server", self.base | settings)
        except BaseException:
            self.store.stop()
            raise

    @staticmethod
    def secret(directory, name):
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / name
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_hex(24))
        return path.read_text()

    def restart(self, **settings):
        """The server anew, with these settings and a fresh peak of memory."""
        if self.server.process.poll() is None and self.server.configuration == self.base | settings:
            return
        self.server.stop()
        self.server.start(self.base | settings)

    def operator(self, path, body=None, method=None):
        return request(self.server_url + path, body, self.key, method)

    def pullbox(self, *words):
        environment = os.environ | {
            "PULLBOX_SERVER": self.server_url, "PULLBOX_OPERATOR_KEY": self.key,
            "XDG_STATE_HOME": str(self.arguments.work / "publisher")}
        return run(self.arguments.bin / "pullbox", *words, env=environment)

    def publish(self, product, package, *words):
        """Once, with further words of the command; a state directory that is used again has it."""
        done = self.arguments.work / f"{product}.published"
        if not done.exists():
            self.pullbox("publish", package, "--product", product, "--version", "1.0", "--release", *words)
            done.touch()

    def buy(self, product, device="bench"):
        return buy(self.store_url, self.server_url, product, device)

    def blob(self, digest):
        return self.state / "blobs" / digest[:2] / digest[2:]

    def stop(self):
        self.server.stop()
        self.store.stop()
