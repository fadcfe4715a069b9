"""Nodes on one database and one object store, with the payment store that they ask."""

import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import threading
import time

from node_clients import Node, Wire, ask
from node_engines import Ceph, Failure, ObjectStore, PostgreSQL, Process, until
from node_faults import SmallDisk, StoreProxy, WallClock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
READY_SECONDS = 60
# As much as the tables and the log of a check need, and little enough to be filled.
DISK_MEBIBYTES = 1536


def add_options(parser):
    """The options of every check that starts nodes."""
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--transcript", required=True, type=pathlib.Path)
    parser.add_argument("--port-base", required=True, type=int)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(time.time()))


def end_in_order():
    """Lets SIGTERM end this process as a failure does: what it has started ends with it."""
    def end(*_):
        sys.exit("ended by SIGTERM")

    signal.signal(signal.SIGTERM, end)


def why_not(faults=()):
    if "clock" in faults and not WallClock.is_available():
        return "there is no C compiler for what sets a node's clock"
    if "disk" in faults and not SmallDisk.is_available():
        return "only root can mount the disk that is to be full"
    if not PostgreSQL.find():
        return "Debian's postgresql-15 is not installed"
    if not os.environ.get("PULLBOX_TEST_S3_ENDPOINT") and not Ceph.is_installed():
        return "neither is Ceph installed (ceph-mon, ceph-osd, radosgw), nor does PULLBOX_TEST_S3_ENDPOINT name an object store"
    return None


class Cluster:
    """A database, an object store, a payment store and the nodes."""

    def __init__(self, options, transcript, settings, store_settings=None):
        self.options, self.transcript = options, transcript
        self.settings, self.store_settings = settings, store_settings or {}
        self.key, credential = secrets.token_hex(24), secrets.token_hex(24)
        self.nodes, self.wires, self.shop, self.database, self.objects, self.proxy = [], [], None, None, None, None
        self.faults = getattr(options, "faults", ())
        self.over = threading.Event()
        threading.Thread(target=self.look_after_nodes, daemon=True).start()
        try:
            make_disk = (lambda path: SmallDisk(path, DISK_MEBIBYTES)) if "disk" in self.faults else None
            self.database = PostgreSQL(options.port_base + 30, make_disk)
            self.objects = object_store(options)
            if "answers" in self.faults:
                self.proxy = StoreProxy(options.port_base + 12, self.objects.endpoint, options.seed)
                self.proxy.start()
            self.start(credential)
        except BaseException:
            self.remove()
            raise

    def start(self, credential):
        base, work = self.options.port_base, self.options.work
        self.store_port = base + 10
        shop = work / "shop.json5"
        shop.touch(mode=0o600)
        shop.write_text(json.dumps({
            "listen": [f"127.0.0.1:{self.store_port}"], "state": str(work / "shop"), "catalog": f"http://127.0.0.1:{base + 11}",
            "serverCredential": credential}))
        self.shop = Process("shop", [self.options.bin / "pullbox-sandbox", "--config", shop], work / "shop.log")
        self.shop.start()
        # What stands before the nodes where the payment store asks for the catalog.
        self.wires.append(Wire(base + 11, lambda: [node.port for node in self.nodes], self.options.seed))
        self.wires[0].start()
        configuration = {
            "packages": f"s3://{self.objects.bucket}/nodes-{secrets.token_hex(4)}",
            "s3": {"endpoint": (self.proxy or self.objects).endpoint, "accessKeyFile": str(self.objects.key_file), "pathStyle": True},
            "operatorKey": self.key, "unlimitedAddresses": ["127.0.0.0/8"],
            "stores": [{
                "name": "sandbox", "kind": "pullbox", "bundles": ["com.example.pullbox"], "credential": credential,
                "addresses": {"sandbox": f"http://127.0.0.1:{self.store_port}"}, "allowSandbox": True, "deviceLimit": 100_000,
            } | self.store_settings]} | self.settings
        for number in range(self.options.nodes):
            name = f"node{number + 1}"
            (work / name).mkdir(parents=True)
            node = Node(name, self.options.bin / "pullbox-server", work / name, base + number, configuration | {
                "database": self.database_url(number)}, WallClock(work / name) if "clock" in self.faults else None)
            self.nodes.append(node)
            node.start()
            # The first one makes the tables.
            self.await_ready([node])

    def database_url(self, number):
        """The socket, or a port of the node's own, where its way to the database can be cut."""
        if "network" not in self.faults:
            return self.database.url
        port = self.options.port_base + 20 + number
        wire = Wire(port, lambda: [self.database.port])
        self.wires.append(wire)
        wire.start()
        return f"postgresql://pullbox@127.0.0.1:{port}/postgres"

    def look_after_nodes(self):
        while not self.over.wait(1):
            for node in self.nodes:
                node.look_after(self.transcript)

    def await_ready(self, nodes=None):
        for node in nodes or self.nodes:
            until(READY_SECONDS, f"{node.name} is ready", node.is_ready)

    def operator(self, method, path, body=None, node=None):
        """What a node answers to an operator; fails with any other answer than a good one."""
        node = node or self.nodes[0]
        answer = ask(node.port, method, path, body, self.key)
        if answer.status >= 300:
            raise Failure(f"{method} {path} at {node.name}: {answer.status} {answer.body.decode(errors='replace')[:400]}")
        return json.loads(answer.body) if answer.body else None

    def pages(self, path, node):
        """All rows of an operator's list."""
        rows, after = [], None
        while True:
            page = self.operator("GET", path + (f"&after={after}" if after else ""), node=node)
            rows += page["items"]
            after = page.get("next")
            if not after:
                return rows

    def publish(self, node, package, product, version, *words):
        environment = os.environ | {
            "PULLBOX_SERVER": f"http://127.0.0.1:{node.port}", "PULLBOX_OPERATOR_KEY": self.key,
            "XDG_STATE_HOME": str(self.options.work / "publisher")}
        return subprocess.run(
            [self.options.bin / "pullbox", "publish", package, "--product", product, "--version", version, "--patience", "20s", *words],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def remove(self):
        """Ends everything, whatever state it is in."""
        self.over.set()
        for wire in [*self.wires, self.proxy]:
            if wire:
                wire.stop()
        for process in [*self.nodes, self.shop]:
            if process:
                process.kill()
        for engine in (self.objects, self.database):
            if engine:
                engine.remove()


def object_store(options):
    endpoint = os.environ.get("PULLBOX_TEST_S3_ENDPOINT")
    if endpoint:
        return ObjectStore(endpoint, os.environ["PULLBOX_TEST_S3_BUCKET"], os.environ["PULLBOX_TEST_S3_KEY_FILE"])
    return Ceph(options.port_base + 100)
