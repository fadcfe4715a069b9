"""Servers that share their records in PostgreSQL and their packages in an object store, and one that shares nothing."""
import json
import os
import shutil
import subprocess
import urllib.parse

from measuring import processor_time, run, wait_until
from services import Daemon, Services, request
from shares import Share

# What devices do, one phase after the other.
PHASES = ["first", "content", "completion"]
# What one address and one device ask for here, many do elsewhere: accounted for as always, but never refused.
SETTINGS = {
    "logLevel": "warning", "unlimitedAddresses": ["127.0.0.0/8"],
    "limits": {"bodiesPerGrant": 100_000, "bodiesPerDevice": 100_000, "ratePerGrant": "1024GiB", "ratePerDevice": "1024GiB",
               "burst": "8192GiB"}}


class Store:
    """A payment store that costs nothing."""

    def __init__(self, arguments):
        port = arguments.port_base + 10
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [arguments.work / "store", "--port", str(port), "--answers", arguments.work / "answers.tsv"], stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def counts(self):
        return request(self.url + "/counts")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Node:
    """A server with a state directory of its own, held to a share of a processor but where it is let go."""

    def __init__(self, arguments, name, port, settings):
        self.name, self.port, self.settings = name, port, settings
        self.url = f"http://127.0.0.1:{port}"
        self.state = arguments.work / "nodes" / name / "state"
        shutil.rmtree(self.state.parent, ignore_errors=True)
        self.share = Share(name, arguments.share)
        self.daemon = None
        self.base = {"listen": [f"127.0.0.1:{port}"], "state": str(self.state), "node": name} | SETTINGS | settings
        try:
            self.daemon = Daemon(arguments.bin / "pullbox-server", self.state.parent, self.base)
        except BaseException:
            self.share.remove()
            raise

    @property
    def pid(self):
        return self.daemon.pid

    def restart(self, *, cold=False, **settings):
        """With these settings, not held, and `cold` with nothing of any package."""
        self.daemon.stop()
        if cold:
            shutil.rmtree(self.state / "cache")
        self.daemon.start(self.base | settings)

    def hold(self):
        self.share.hold(self.pid)

    def stop(self):
        if self.daemon:
            self.daemon.stop()
        self.share.remove()

    def grant(self, line):
        """The answer to a device's first question, or to the same again."""
        device, product, receipt = line.rstrip("\n").split("\t")
        return request(self.url + "/v1/grants", {"receipt": receipt, "product": product, "device": {"id": device}})


class Fleet:
    """Nodes that share their records and packages; with a `primary` and a `bucket` of None, one that shares nothing."""

    def __init__(self, arguments, name, count, first_port, store, primary, bucket):
        self.arguments, self.name, self.store = arguments, name, store
        self.nodes = []
        directory = arguments.work / "services"
        self.key = Services.secret(directory, "operator-key")
        settings = {"operatorKey": self.key, "store": {
            "url": store.url, "credential": Services.secret(directory, "store-credential"), "deviceLimit": 100_000}}
        self.database = None
        if primary:
            self.database = f"fleet_{name}"
            primary.ask(f"CREATE DATABASE {self.database}")
            settings |= {"database": primary.url(self.database), "packages": bucket.location(name), "s3": bucket.settings()}
        try:
            for number in range(count):
                self.nodes.append(Node(arguments, f"{name}-{number + 1}", first_port + number, settings))
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for node in self.nodes:
            node.stop()

    def publish(self, product, package):
        """At the first node; the others know of it when this returns."""
        environment = os.environ | {
            "PULLBOX_SERVER": self.nodes[0].url, "PULLBOX_OPERATOR_KEY": self.key,
            "XDG_STATE_HOME": str(self.arguments.work / "publisher" / self.name)}
        run(self.arguments.bin / "pullbox", "publish", package, "--product", product, "--version", "1.0", "--release",
            env=environment)
        for node in self.nodes:
            wait_until(lambda url=node.url: request(f"{url}/v1/products?id={urllib.parse.quote(product)}")["products"],
                       f"{node.name} knowing {product}")

    def hold(self):
        for node in self.nodes:
            node.hold()

    def processor_time(self):
        return processor_time([node.pid for node in self.nodes])

    def play(self, phases, files, connections, observe=None):
        """Phase after phase, as each is asked for: the devices of a file for each node, at all nodes at once. What they
        measured together, what the nodes used, and what `observe` told before and behind."""
        gates = [subprocess.Popen(
            [self.arguments.work / "gate", "--port", str(node.port), "--devices", file, "--phases", ",".join(phases),
             "--connections", str(connections)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for node, file in zip(self.nodes, files, strict=True)]
        ready = [gate.stdout.readline() for gate in gates]
        for phase in phases:
            if any(line.strip() != phase for line in ready):
                raise RuntimeError(f"the devices ended before {phase}")
            finishes, seen, used = self.store.counts()["finishes"], observe and observe(), self.processor_time()
            for gate in gates:
                gate.stdin.write("go\n")
                gate.stdin.flush()
            told = [json.loads(gate.stdout.readline() or "{}") for gate in gates]
            if not all(told):
                raise RuntimeError(f"the devices ended in {phase}")
            count = sum(one["requests"] for one in told)
            answers_seen = observe and observe()
            if phase == "completion":
                self.wait_for_finishes(finishes + count)
            result = {
                "requests": count, "seconds": max(one["seconds"] for one in told), "told": told,
                "cost": self.processor_time() - used, "seen": [seen, answers_seen, observe and observe()]}
            # The next one's requests are written before others are measured.
            ready = [gate.stdout.readline() for gate in gates]
            yield phase, result
        for gate in gates:
            gate.wait()

    def wait_for_finishes(self, count):
        """The store's part of a completion may follow the answer."""
        wait_until(lambda: self.store.counts()["finishes"] >= count, "the store's hearing of all completions")

    def load(self, path, fields, *words):
        """Requests to all nodes at once: how many a second, and what each cost the nodes, in microseconds of a processor."""
        used = self.processor_time()
        loads = [subprocess.Popen(
            [str(word) for word in (self.arguments.work / "load", "--port", node.port, "--path", path, "--fields", fields, *words)],
            stdout=subprocess.PIPE, text=True) for node in self.nodes]
        told = [json.loads(load.communicate()[0] or "{}") for load in loads]
        if not all(told):
            raise RuntimeError(f"a client of {self.name} met an answer that it did not expect")
        requests = sum(one["requests"] for one in told)
        return {"rate": sum(one["requests"] / one["seconds"] for one in told),
                "cost": (self.processor_time() - used) / requests * 1e6}
