"""What several nodes on PostgreSQL and an object store do beside one, and one beside a server with a file. Run through
scripts/bench nodes."""
import argparse
import concurrent.futures
import contextlib
import itertools
import subprocess
import sys
import urllib.parse
from pathlib import Path

from bucket import Bucket, NoBucket
from fleet import Fleet, Store
from gate import ISSUE, WORK, purchase
from measuring import run, say, settle
from postgresql import Primary
from relays import PrimaryRelay, Recording, StoreRelay
from reporting import Extra, Median, Results, Target, row, show
from services import Services
from shares import NoShares, Share

LARGE = "com.example.bench.large"
KIBIBYTE, MEBIBYTE = 1 << 10, 1 << 20
# Devices by which a connection's statements have their plans.
WARM = 30
# Devices that want one package of one node.
CROWD = 100
PHASES = ["first", "content", "completion"]
RANGES = {"64k": ("warm ranges of 64 KiB", 64 * KIBIBYTE), "1m": ("warm ranges of 1 MiB", MEBIBYTE)}
NODES = 3
# A node's processor time of each at three beside at one; and of a first grant beside a server with SQLite.
SHARED_COST, FILE_COST = 1.1, 1.5
TRIPS = {"first": 8, "completion": 10}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench nodes")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this row; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="times that contenders take turns")
    parser.add_argument("--devices", type=int, default=1000, metavar="N", help="devices of each node in each turn")
    parser.add_argument("--seconds", type=float, default=8, metavar="N", help="how long ranges are asked for in each turn")
    parser.add_argument("--bytes", type=int, default=64 * MEBIBYTE, metavar="N", help="length of the large package")
    parser.add_argument("--share", type=float, default=12, metavar="PERCENT", help="of a processor that a node gets")
    parser.add_argument("--connections", type=int, default=32, metavar="N", help="clients of each node at once")
    parser.add_argument("--quick", action="store_true", help="one short turn of everything, to see that it works")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the samples here")
    parser.add_argument("--port-base", type=int, default=29580, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.pairs, arguments.devices, arguments.seconds, arguments.bytes = 1, 60, 1, 16 * MEBIBYTE
    return arguments


class Bench:
    def __init__(self, arguments, primary, bucket, running):
        self.arguments, self.primary, self.bucket, self.running = arguments, primary, bucket, running
        self.packages = {ISSUE: arguments.work / "issue.cbz", LARGE: arguments.work / f"large-{arguments.bytes}.cbz"}
        self.make_receipts()
        # Each turn takes devices that no turn before it had.
        self.devices = iter((arguments.work / "devices.tsv").read_text().splitlines(keepends=True))
        self.owners = (arguments.work / "owners.tsv").read_text().splitlines(keepends=True)
        self.store = Store(arguments)
        running.callback(self.store.stop)
        self.fleets = {}

    def make_receipts(self):
        """Devices with receipts of the sandbox store, and what it answers about each: made once, with both packages published."""
        arguments = self.arguments
        arguments.work.mkdir(parents=True, exist_ok=True)
        # A turn that warms up, and the others; at one node, at three, and at the one with a file.
        wanted = arguments.devices * (arguments.pairs + 1) * (NODES + 2) + 2 * arguments.pairs + 20
        # One after another, of the rows about PostgreSQL.
        wanted += (arguments.devices + WARM) * arguments.pairs
        for product, package in self.packages.items():
            if not package.exists():
                size = MEBIBYTE if product == ISSUE else arguments.bytes
                run("python3", "-B", arguments.root / "content/generate", "package", "--size", size, package)
        devices, owners, answers = (arguments.work / f"{name}.tsv" for name in ("devices", "owners", "answers"))
        made = {ISSUE: lines_of(devices), LARGE: lines_of(owners)}
        missing = [(file, product, number) for file, product, count in ((devices, ISSUE, wanted), (owners, LARGE, CROWD))
                   for number in range(made[product], count)]
        if not missing:
            return
        say(f"Making {len(missing):,} receipts")
        services = Services(arguments, logLevel="warning")
        try:
            for product, package in self.packages.items():
                services.publish(product, package)
            with open(answers, "a") as theirs, concurrent.futures.ThreadPoolExecutor(8) as pool:
                bought = pool.map(lambda one: (one, purchase(services.store_url, f"{one[1][-5:]}-{one[2]}", one[1])), missing)
                for (file, product, _), (device, receipt, answer) in bought:
                    with open(file, "a") as ours:
                        ours.write(f"{device}\t{product}\t{receipt}\n")
                    theirs.write(f"{receipt}\t{answer}\n")
        finally:
            services.stop()

    def fleet(self, name):
        """One node, three of them, or a server that shares nothing ("file"); each with records and packages of its own."""
        if name not in self.fleets:
            count, port = {"one": (1, 1), "three": (NODES, 2), "file": (1, 2 + NODES)}[name]
            shared = (self.primary, self.bucket) if name != "file" else (None, None)
            made = Fleet(self.arguments, name, count, self.arguments.port_base + port, self.store, *shared)
            self.fleets[name] = made
            self.running.callback(made.stop)
            for product, package in self.packages.items():
                made.publish(product, package)
            self.warm(made)
        return self.fleets[name]

    def warm(self, fleet):
        """Has each node's part of a turn played, and gives the planner the tables as they are then."""
        for _ in fleet.play(PHASES, self.files(fleet), self.arguments.connections):
            pass
        if fleet.database:
            self.primary.ask("VACUUM ANALYZE", fleet.database)
        settle([node.pid for node in fleet.nodes])
        fleet.hold()

    def files(self, fleet, count=None):
        """Files of new devices, one for each node."""
        files = []
        for node in fleet.nodes:
            file = self.arguments.work / f"{node.name}.tsv"
            file.write_text("".join(itertools.islice(self.devices, count or self.arguments.devices)))
            files.append(file)
        return files

    def fleets_in_turns(self, names):
        """Again and again, the order turned, so that none always follows the same one."""
        fleets = [self.fleet(name) for name in names]
        for pair in range(self.arguments.pairs):
            start = pair % len(fleets)
            yield fleets[start:] + fleets[:start]

    def tickets(self, fleet, count):
        """Where the large package is, and a file of tickets for it, each of a device of its own."""
        terms = [fleet.nodes[0].grant(line) for line in self.owners[:count]]
        fields = self.arguments.work / f"{fleet.name}.fields"
        fields.write_text("".join(f"Authorization: Bearer {one['ticket']}\n" for one in terms))
        return terms[0]["contentURL"], fields

    # ---- rows

    def row_grants(self):
        """First grants and completions: three nodes beside one, and one beside a server with SQLite."""
        found = {name: {phase: [] for phase in PHASES} for name in ("one", "three", "file")}
        for fleets in self.fleets_in_turns(found):
            turns = [fleet.play(PHASES, self.files(fleet), self.arguments.connections,
                                lambda: (self.primary.log_position(), self.primary.processor_times())) for fleet in fleets]
            for turn in zip(*turns, strict=True):
                for fleet, (phase, result) in zip(fleets, turn, strict=True):
                    found[fleet.name][phase].append(result)
        rows = []
        for phase in ("first", "completion"):
            results = {name: found[name][phase] for name in found}
            costs = {name: [one["cost"] * 1000 / one["requests"] for one in ones] for name, ones in results.items()}
            rates = {name: [one["requests"] / one["seconds"] for one in ones] for name, ones in results.items()}
            work = f"{WORK[phase]}, {self.arguments.connections} clients a node"
            rows += self.beside_one(phase, work, "ms", rates, costs, results={
                name: [{"p50": [each["p50"] for each in one["told"]], "late": round(one["late"], 3)} for one in ones]
                for name, ones in results.items()})
            rows.append(row(f"{phase}-file", work + ": a node's processor time", "ms",
                            {"pullbox": costs["one"], "with SQLite": costs["file"]},
                            [Target("with SQLite", FILE_COST)] if phase == "first" else []))
            log, times = zip(*(self.primarys_part(one) for one in results["one"]), strict=True)
            rows.append(row(f"{phase}-log", f"{WORK[phase]}: what the primary writes to its log", "KiB", {"pullbox": log},
                            [Median(None, 6.5)] if phase == "first" else []))
            rows.append(row(f"{phase}-primary", f"{WORK[phase]}: the primary's processor time", "ms", {"pullbox": times}, []))
        return rows

    @staticmethod
    def primarys_part(result):
        """KiB of its log and milliseconds of its processes that live, a request."""
        (start, before), _, (end, after) = result["seen"]
        return (end - start) / KIBIBYTE / result["requests"], Bench.used(before, after) * 1000 / result["requests"]

    @staticmethod
    def used(before, after):
        return sum(seconds - before.get(pid, 0) for pid, seconds in after.items())

    @staticmethod
    def beside_one(name, work, unit, rates, costs, **details):
        ours, peer = f"{NODES} nodes", "one node"
        return [
            row(f"{name}-rate", work, "1/s", {ours: rates["three"], peer: rates["one"]}, [Target(peer, 2.7, "at least")],
                ours=ours, **details),
            row(f"{name}-cost", work + ": a node's processor time", unit, {ours: costs["three"], peer: costs["one"]},
                [Target(peer, SHARED_COST)], ours=ours)]

    def row_ranges(self):
        """Of a package that each node has, or a server with a local directory."""
        names = ("one", "three", "file")
        found = {kind: {name: [] for name in names} for kind in RANGES}
        places = {}
        for fleets in self.fleets_in_turns(names):
            for kind, (_, length) in RANGES.items():
                for fleet in fleets:
                    if fleet.name not in places:
                        places[fleet.name] = self.tickets(fleet, 16)
                        fleet.load(*places[fleet.name], "--length", self.arguments.bytes, "--requests", 1)
                    found[kind][fleet.name].append(fleet.load(
                        *places[fleet.name], "--length", self.arguments.bytes, "--range", length, "--connections", 8,
                        "--seconds", self.arguments.seconds))
        rows = []
        for kind, (work, _) in RANGES.items():
            rates, costs = ({name: [one[member] for one in ones] for name, ones in found[kind].items()} for member in ("rate", "cost"))
            rows += self.beside_one(kind, work + ", 8 clients a node", "µs", rates, costs)
            rows.append(row(f"{kind}-file", work + ", 8 clients: a node's processor time", "µs",
                            {"pullbox": costs["one"], "local directory": costs["file"]}, [Target("local directory", 1.05)]))
        return rows

    def row_trips(self):
        """One device after another, through what counts the node's questions to PostgreSQL."""
        fleet = self.fleet("one")
        with self.relayed(fleet) as relay:
            fleet.nodes[0].restart(database=relay.url)
            found = {phase: [] for phase in TRIPS}
            for _ in range(10 + 2 * self.arguments.pairs):
                for phase, result in fleet.play(PHASES, self.files(fleet, 1), 1, lambda: (len(relay.waits), relay.statements)):
                    if phase in found:
                        (first, statements), (last, all_statements), (end, _) = result["seen"]
                        found[phase].append({"waits": relay.waits[first:last], "later": relay.waits[last:end],
                                             "statements": all_statements - statements})
        # What a node asks besides falls into some of them; the lowest has none of that.
        rows = []
        for (phase, most), samples in zip(TRIPS.items(), found.values(), strict=True):
            rows.append(row(f"{phase}-trips", f"{WORK[phase]}: round trips to PostgreSQL until the answer", "",
                            {"pullbox": [len(one["waits"]) for one in samples]}, [Median(None, most)],
                            lowest=min(samples, key=lambda one: len(one["waits"]))))
        return rows

    @contextlib.contextmanager
    def relayed(self, fleet):
        """Something between PostgreSQL and a node, which is to be started anew with its address."""
        directory = self.arguments.work / "relay"
        directory.mkdir(exist_ok=True)
        path = directory / self.primary.socket.name
        path.unlink(missing_ok=True)
        relay = PrimaryRelay(path, self.primary.socket)
        relay.url = self.primary.url(fleet.database, directory)
        try:
            yield relay
        finally:
            fleet.nodes[0].restart()
            fleet.hold()
            relay.close()

    def row_pipeline(self):
        """One first grant after another, and then the same statements by a C program, on a copy of the tables as they were before."""
        fleet = self.fleet("one")
        copy, file = f"{fleet.database}_copy", self.arguments.work / "grants.recording"
        samples = {"pullbox": [], "one pipeline": []}
        for _ in range(self.arguments.pairs):
            fleet.nodes[0].daemon.stop()
            self.primary.ask(f"DROP DATABASE IF EXISTS {copy}")
            self.primary.ask(f"CREATE DATABASE {copy} TEMPLATE {fleet.database}")
            with self.relayed(fleet) as relay:
                relay.recording = Recording()
                fleet.nodes[0].restart(database=relay.url)
                settle([fleet.nodes[0].pid])
                for count in (WARM, self.arguments.devices):
                    ((_, result),) = fleet.play(["first"], self.files(fleet, count), 1, self.primary.processor_times)
            before, _, after = result["seen"]
            samples["pullbox"].append(self.used(before, after) * 1000 / result["requests"])
            relay.recording.write(file)
            samples["one pipeline"].append(self.replay(copy, file) * 1000 / result["requests"])
        return [row("first-pipeline", "first grants, one after another: the primary's processor time", "ms", samples,
                    [Target("one pipeline", 1.4)])]

    def replay(self, database, file):
        """Seconds of a processor that the primary takes for the recorded grants."""
        program = subprocess.Popen(
            [self.arguments.work / "pipeline", "--database", self.primary.url(database), "--recording", file, "--warm", str(WARM)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        times = []
        for word in ("ready", "done"):
            if program.stdout.readline().strip() != word:
                raise RuntimeError("the recorded grants are not to be had again")
            times.append(self.primary.processor_times())
            program.stdin.write("go\n")
            program.stdin.flush()
        program.wait()
        return self.used(*times)

    def row_cold(self):
        """A whole package that the node has nothing of, into a file, beside the store's own answer to the same client. What is
        measured is time, and so the node is not held."""
        fleet = self.fleet("one")
        node = fleet.nodes[0]
        (name,) = [name for name in self.bucket.names("one/packages/") if self.length_of(name) == self.arguments.bytes]
        samples = {kind: {"pullbox": [], "curl from the store": []} for kind in ("whole", "first")}
        try:
            for pair in range(self.arguments.pairs + 1):
                turns = [("pullbox", self.fetch_cold), ("curl from the store", self.fetch_from_store)]
                for contender, fetch in turns[::-1] if pair % 2 else turns:
                    whole, first = fetch(node, name)
                    # The first brings the store's own caches up.
                    if pair > 0:
                        samples["whole"][contender].append(whole)
                        samples["first"][contender].append(first * 1000)
        finally:
            node.restart()
            fleet.hold()
        work = f"a cold package of {self.arguments.bytes // MEBIBYTE} MiB"
        peer = "curl from the store"
        return [row("cold", work + " to a file", "s", samples["whole"], [Target(peer, 1.25)]),
                row("cold-first", work + ": the first byte, beside the first MiB from the store", "ms", samples["first"],
                    [Extra(peer, 10)])]

    def fetch_cold(self, node, _):
        node.restart(cold=True)
        terms = node.grant(self.owners[0])
        settle([node.pid])
        url = urllib.parse.urljoin(node.url, terms["contentURL"])
        first, whole = self.curl(url, "--header", f"Authorization: Bearer {terms['ticket']}")
        return whole, first

    def fetch_from_store(self, _, name):
        address = self.bucket.address(name)
        _, whole = self.curl(address)
        _, first = self.curl(address, "--range", f"0-{MEBIBYTE - 1}")
        return whole, first

    def curl(self, url, *words):
        """Seconds until the first byte, and until the last."""
        told = run("curl", "--silent", "--fail", "--noproxy", "*", "--output", self.arguments.work / "fetched",
                   "--write-out", "%{time_starttransfer} %{time_total}", *words, url)
        return [float(one) for one in told.split()]

    def length_of(self, name):
        told = run("curl", "--silent", "--fail", "--noproxy", "*", "--range", "0-0", "--output", "/dev/null", "--dump-header", "-",
                   self.bucket.address(name))
        (line,) = [line for line in told.splitlines() if line.lower().startswith("content-range:")]
        return int(line.rpartition("/")[2])

    def row_crowd(self):
        """Devices that want one cold package of one node, which is not held: the bytes that the store sends it meanwhile."""
        fleet = self.fleet("one")
        node = fleet.nodes[0]
        store = urllib.parse.urlsplit(self.bucket.endpoint)
        if store.scheme != "http":
            say("  crowd: what a store sends by TLS is not counted")
            return []
        relay = StoreRelay(store.hostname, store.port or 80)
        samples = []
        try:
            for _ in range(self.arguments.pairs):
                node.restart(cold=True, s3=self.bucket.settings(relay.url))
                path, fields = self.tickets(fleet, CROWD)
                settle([node.pid])
                before = relay.returned
                fleet.load(path, fields, "--length", self.arguments.bytes, "--connections", CROWD, "--requests", CROWD)
                samples.append((relay.returned - before) / MEBIBYTE)
        finally:
            node.restart()
            fleet.hold()
            relay.close()
        length = "the package's length"
        return [row("crowd", f"{CROWD} devices that want one cold package of one node: read from the store", "MiB",
                    {"pullbox": samples, length: [self.arguments.bytes / MEBIBYTE] * len(samples)}, [Target(length, 1.05)])]


def lines_of(file):
    return file.read_text().count("\n") if file.exists() else 0


ROWS = {"grants": Bench.row_grants, "ranges": Bench.row_ranges, "trips": Bench.row_trips, "pipeline": Bench.row_pipeline,
        "cold": Bench.row_cold, "crowd": Bench.row_crowd}


def main():
    arguments = parse_arguments()
    path = arguments.results or arguments.root / "Benchmarks/results/nodes.json"
    try:
        # Before anything is started.
        Share("trial", arguments.share).remove()
        bucket = Bucket()
    except (NoShares, NoBucket) as error:
        sys.exit(f"bench nodes: {error}")
    results = Results(path, "nodes", {name: getattr(arguments, name) for name in
                                      ("pairs", "devices", "seconds", "bytes", "share", "connections")})
    with contextlib.ExitStack() as running:
        primary = running.enter_context(Primary())
        running.enter_context(bucket)
        bench = Bench(arguments, primary, bucket, running)
        for name in arguments.only or ROWS:
            for measured in ROWS[name](bench):
                results.add(measured)
                show(measured)


if __name__ == "__main__":
    main()
