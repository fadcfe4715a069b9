"""The programs that scripts/torture runs: two payment stores, one delivery server or several, four agents of two customers; and what leads
them to each other."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time

from node_clients import Wire, ask
from node_cluster import object_store
from node_engines import Failure, PostgreSQL, until
from node_faults import SmallDisk
from torture_program import Edge, Program, executable
from torture_relay import Relay

READY_SECONDS = 60
BUNDLE = "com.example.pullbox"
ISSUER = "6f1d1c8e-7a0b-4c53-9d55-0f4f3f3a2b10"
# Two customers of the first store with two devices each.
OWNERS = {"ada1": "ada", "ada2": "ada", "bob1": "bob", "bob2": "bob"}
LIBRARY_MEBIBYTES, STATE_MEBIBYTES = 96, 2048
# How long a ticket opens its content, how often stores are asked about what is being sent, and what a month of subscriptions takes.
TICKET_SECONDS, POLL_SECONDS, MONTH = 15, 1, "30s"
# Whose requests go through an nginx, and the address from which it asks.
BEHIND_EDGE, EDGE_ADDRESS = ("ada1", "bob1"), "127.0.0.2"
# One that waits longer for an answer is given up by its client.
CALL_SECONDS = 30


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("agent", timeout=CALL_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def rows(path, statement, *values):
    """What a database in a file holds, read beside whoever writes to it."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as database:
        database.row_factory = sqlite3.Row
        return database.execute(statement, values).fetchall()


def state_in(directory, options):
    """The place of a state directory, and the disk on which it lies; nil where this process may mount none."""
    if not options.has_disks:
        return directory / "state", None
    (directory / "disk").mkdir()
    return directory / "disk/state", SmallDisk(directory / "disk", STATE_MEBIBYTES)


class Store(Program):
    """A payment store; `kind` is what the delivery server takes it for."""

    def __init__(self, kind, options, port, catalog_port, notify_port):
        directory = options.work / kind
        directory.mkdir()
        self.kind, self.port = kind, port
        self.state, disk = state_in(directory, options)
        self.records = self.state / "store.sqlite"
        base = f"http://127.0.0.1:{notify_port}"
        told = (["--notification-url", base + "/v1/notifications/apple"] if kind == "apple" else
                ["--google-notification-url", base + "/v1/notifications/google"])
        super().__init__(kind, [
            executable(options, "pullbox-sandbox"), "--listen", f"127.0.0.1:{port}", "--state", self.state, "--bundle", BUNDLE,
            "--catalog", f"http://127.0.0.1:{catalog_port}", "--log-level", "info", *told], directory)
        self.equip(options, directory, self.state)
        self.disk = disk
        self.audience = base + "/v1/notifications/google"

    def entry(self):
        """The entry of `stores` at the delivery server."""
        here = f"http://127.0.0.1:{self.port}"
        common = {"name": self.kind, "kind": self.kind, "bundles": [BUNDLE], "allowSandbox": True, "deviceLimit": 1000}
        if self.kind == "google":
            return common | {
                "keyFile": str(self.state / "google-service-account.json"), "notificationAudience": self.audience,
                "notificationAccount": "push@sandbox-store.iam.gserviceaccount.com",
                "addresses": {"play": here, "keys": here + "/oauth2/v3/certs"}}
        key = next(self.state.glob("AuthKey_*.p8"))
        return common | {
            "issuer": ISSUER, "keyId": key.stem.removeprefix("AuthKey_"), "keyFile": str(key),
            "roots": [str(self.state / "pki/signed-data-root.pem")], "addresses": {"sandbox": here, "api": {"sandbox": here}}}

    def call(self, method, path, body=None, token=None, headers=None, accept=(200, 201, 204)):
        answer = ask(self.port, method, path, body, token, headers)
        if answer.status not in accept:
            raise Failure(f"{method} {path} at the store {self.kind}: {answer.status} {answer.body.decode(errors='replace')[:400]}")
        return json.loads(answer.body) if answer.body else None

    def rows(self, statement, *values):
        return rows(self.records, statement, *values)


class Agent(Program):
    """The agent of one device. Its library lies on a small disk of its own, where this process may mount one."""

    def __init__(self, name, options, relay_port, store, account):
        directory = options.work / name
        directory.mkdir()
        self.owner, self.account, self.store, self.state = OWNERS[name], account, store, directory / "state"
        self.volume, self.socket = directory / "volume", directory / "socket"
        self.volume.mkdir()
        disk = None
        if options.has_disks:
            (directory / "disk").mkdir()
            disk = SmallDisk(directory / "disk", LIBRARY_MEBIBYTES)
        self.records, self.library = self.state / "agent.sqlite", self.volume / "library"
        token, file = directory / "token", directory / "config.json5"
        for path in (token, file):
            path.touch(mode=0o600)
        token.write_text(account["token"] + "\n")
        file.write_text(json.dumps({
            "state": str(self.state), "library": str(self.library), "server": f"http://127.0.0.1:{relay_port}",
            "store": f"http://127.0.0.1:{store.port}", "storeName": store.kind, "accountTokenFile": str(token),
            "socket": str(self.socket), "pollInterval": 1, "conditionSources": ["none"], "bus": "none", "spaceReserve": "1MiB"}))
        super().__init__(name, [executable(options, "pullbox-agent"), "--config", file], directory)
        self.equip(options, directory, self.state, ("/library/", "/downloads/"))
        self.disk = disk
        if disk:
            self.plug()

    @property
    def device(self):
        return (self.state / "device-id").read_text().strip()

    def call(self, method, path, body=None, headers=None):
        """Status and document. Throws OSError and HTTPException where it does not answer."""
        connection = UnixConnection(self.socket)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json"} | (headers or {}))
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        finally:
            connection.close()

    def rows(self, statement, *values):
        return rows(self.records, statement, *values)

    def plug(self):
        """The disk is where the library is looked for."""
        subprocess.run(["mount", "--bind", str(self.disk.path), str(self.volume)], check=True)

    def unplug(self):
        """The disk goes, whoever uses it."""
        subprocess.run(["umount", "--lazy", str(self.volume)], check=True)

    def remove(self):
        if self.disk:
            subprocess.run(["umount", "--lazy", str(self.volume)], check=False, stderr=subprocess.DEVNULL)
        super().remove()


class Server(Program):
    """A delivery server: the only one, on SQLite, or a node."""

    def __init__(self, name, options, port, configuration):
        directory = options.work / name
        directory.mkdir()
        self.port, self.configuration = port, directory / "config.json5"
        self.state, disk = state_in(directory, options)
        self.records = self.state / "server.db"
        self.configuration.touch(mode=0o600)
        self.configuration.write_text(json.dumps(configuration | {
            "node": name, "listen": [f"127.0.0.1:{port}"], "state": str(self.state)}))
        super().__init__(name, [executable(options, "pullbox-server"), "--config", self.configuration], directory)
        self.equip(options, directory, self.state, ("/blobs/", "/incoming/"))
        self.disk = disk

    def is_ready(self):
        if not super().is_ready():
            return False
        try:
            return ask(self.port, "GET", "/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False


class System:
    """All of it. `options` has bin, work, port_base, nodes, seed, has_disks and has_compiler."""

    def __init__(self, options, transcript):
        self.options, self.transcript, self.key = options, transcript, secrets.token_hex(24)
        self.nodes, self.agents, self.relays, self.stores, self.wires = [], {}, {}, {}, []
        self.database = self.objects = self.edge = None
        try:
            self.begin()
        except BaseException:
            self.remove()
            raise

    def begin(self):
        base, options = self.options.port_base, self.options
        catalog = Wire(base + 12, lambda: [node.port for node in self.nodes], options.seed)
        catalog.start()
        self.wires.append(catalog)
        for place, kind in enumerate(("apple", "google")):
            self.relays[kind] = Relay(kind, base + 13 + place, self.node_port)
            self.stores[kind] = Store(kind, options, base + 10 + place, base + 12, base + 13 + place)
            self.stores[kind].start()
        for store in self.stores.values():
            until(READY_SECONDS, f"{store.name} is ready", store.is_ready, 0.02)
        self.stores["apple"].call("PUT", "/sandbox/v1/time", {"month": MONTH, "renewals": 6})
        self.stores["google"].call("PUT", "/sandbox/v1/time", {"month": "1h", "renewals": 6})
        self.start_nodes()
        accounts = {owner: self.stores["apple"].call("POST", "/sandbox/v1/accounts", {"territory": "USA", "name": owner})
                    for owner in sorted(set(OWNERS.values()))}
        self.start_edge()
        for place, name in enumerate((*OWNERS, "gina")):
            through_edge = self.edge and name in BEHIND_EDGE
            self.relays[name] = Relay(name, base + 15 + place, (lambda: self.edge.port) if through_edge else self.node_port)
        for name, owner in OWNERS.items():
            self.agents[name] = Agent(name, options, self.relays[name].port, self.stores["apple"], accounts[owner])
        for relay in self.relays.values():
            relay.start()
        for agent in self.agents.values():
            agent.start()
        for agent in self.agents.values():
            until(READY_SECONDS, f"{agent.name} is ready", agent.is_ready, 0.02)

    def start_nodes(self):
        options = self.options
        configuration = {
            "operatorKey": self.key, "unlimitedAddresses": ["127.0.0.0/8"], "ticketLifetime": f"{TICKET_SECONDS}s",
            "refundPoll": f"{POLL_SECONDS}s", "stores": [store.entry() for store in self.stores.values()],
            "trustedProxies": [EDGE_ADDRESS], "logLevel": "info", "scrubRate": "256MiB"}
        if options.nodes == 1:
            configuration["accelRedirectPrefix"] = "/pullbox-blobs/"
        if options.nodes > 1:
            self.database = PostgreSQL(options.port_base + 30)
            self.objects = object_store(options)
            configuration |= {
                "database": self.database.url, "packages": f"s3://{self.objects.bucket}/torture-{secrets.token_hex(4)}",
                "s3": {"endpoint": self.objects.endpoint, "accessKeyFile": str(self.objects.key_file), "pathStyle": True}}
        for number in range(options.nodes):
            node = Server(f"node{number + 1}", options, options.port_base + number, configuration)
            self.nodes.append(node)
            node.start()
            # The first one makes the tables.
            until(READY_SECONDS, f"{node.name} is ready", node.is_ready, 0.02)

    def start_edge(self):
        """Between half of the devices and the servers, where it is installed."""
        if Edge.is_available():
            self.edge = Edge(self.options, self.options.port_base + 24, self.nodes, EDGE_ADDRESS)
            self.edge.start()
            until(READY_SECONDS, "nginx listens", self.edge.is_ready, 0.02)

    def node_port(self):
        """Where a balancer would send a request: any that runs, by turns."""
        running = [node for node in self.nodes if node.is_running and not node.is_still] or self.nodes
        return running[time.monotonic_ns() // 1_000_000 % len(running)].port

    @property
    def programs(self):
        return [*self.stores.values(), *self.nodes, *([self.edge] if self.edge else []), *self.agents.values()]

    def program(self, name):
        """Nil where there is none of this name: an edge is not installed everywhere."""
        return next((one for one in self.programs if one.name == name), None)

    def operator(self, method, path, body=None, headers=None, accept=(200, 201, 202, 204)):
        answer = ask(self.node_port(), method, path, body, self.key, headers)
        if answer.status not in accept:
            raise Failure(f"{method} {path}: {answer.status} {answer.body.decode(errors='replace')[:400]}")
        return json.loads(answer.body) if answer.body else None

    def pullbox(self, *words, seconds=60):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PULLBOX_")} | {
            "PULLBOX_SERVER": f"http://127.0.0.1:{self.node_port()}", "PULLBOX_OPERATOR_KEY": self.key,
            "XDG_STATE_HOME": str(self.options.work / "publisher")}
        return subprocess.run([str(word) for word in (self.options.bin / "pullbox", *words)], env=environment, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def maintain(self, *words):
        """A command of the server's program for one that does not run."""
        node = self.nodes[0]
        done = subprocess.run([str(word) for word in (node.command[0], *words, "--config", node.configuration)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if done.returncode:
            raise Failure(f"pullbox-server {words[0]} ended with {done.returncode}: {done.stdout[-600:]}")
        return done.stdout

    def rows(self, statement):
        """Rows of the delivery server's records, each by the names of its columns."""
        if not self.database:
            return rows(self.nodes[0].records, statement)
        names = re.findall(r"\bAS (\w+)", statement)
        return [dict(zip(names, row)) for row in self.database.ask(statement)]

    def hexadecimal(self, column):
        return f"encode({column}, 'hex')" if self.database else f"lower(hex({column}))"

    def await_ready(self):
        for one in self.programs:
            until(READY_SECONDS, f"{one.name} is ready", one.is_ready, 0.02)

    def end(self):
        """Ends all programs; what they keep stays."""
        for link in [*self.relays.values(), *self.wires]:
            link.stop()
        for one in reversed(self.programs):
            one.kill()

    def remove(self):
        self.end()
        for one in self.programs:
            one.remove()
        for engine in (self.objects, self.database):
            if engine:
                engine.remove()

    def discard(self):
        shutil.rmtree(self.options.work, ignore_errors=True)


def new_directory():
    """Its path is short, since those of sockets have to be."""
    return pathlib.Path(tempfile.mkdtemp(prefix="torture-", dir=os.environ.get("TMPDIR", "/tmp")))
