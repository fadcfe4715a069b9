"""What several nodes on PostgreSQL and an object store do beside one, and one beside a server with a file. Run through
scripts/bench nodes."""
import argparse
import concurrent.futures
import contextlib
import itertools
import sys
from pathlib import Path

from bucket import Bucket, NoBucket
from fleet import PHASES, Fleet, Store
from gate import ISSUE, WORK, purchase
from measuring import run, say, settle
from nodes_primary import TRIP_DEVICES, WARM, row_pipeline, row_polls, row_trips
from nodes_store import CROWD, row_cold, row_crowd
from postgresql import Primary
from reporting import Median, Results, Target, row, show
from services import Services
from shares import NoShares, Share

LARGE = "com.example.bench.large"
KIBIBYTE, MEBIBYTE = 1 << 10, 1 << 20
RANGES = {"64k": ("warm ranges of 64 KiB", 64 * KIBIBYTE), "1m": ("warm ranges of 1 MiB", MEBIBYTE)}
NODES = 3
# A node's processor time of each at three beside at one; and of a first grant beside a server with SQLite.
SHARED_COST, FILE_COST = 1.1, 1.5


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench nodes")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this row; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--pairs", type=int, metavar="N", help="times that contenders take turns (5)")
    parser.add_argument("--devices", type=int, metavar="N", help="devices of each node in each turn (1,000)")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long ranges are asked for in each turn (8)")
    parser.add_argument("--bytes", type=int, metavar="N", help="length of the large package (64 MiB)")
    parser.add_argument("--share", type=float, default=12, metavar="PERCENT", help="of a processor that a node gets")
    parser.add_argument("--connections", type=int, default=32, metavar="N", help="clients of each node at once")
    parser.add_argument("--quick", action="store_true", help="one short turn of what is not said otherwise, to see that all works")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the samples here")
    parser.add_argument("--port-base", type=int, default=29580, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    usual = (1, 60, 1, 16 * MEBIBYTE) if arguments.quick else (5, 1000, 8, 64 * MEBIBYTE)
    for name, value in zip(("pairs", "devices", "seconds", "bytes"), usual, strict=True):
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
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
        wanted = arguments.devices * (arguments.pairs + 1) * (NODES + 2) + 2 * (TRIP_DEVICES + 10)
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
        terms = [fleet.nodes[0].grant(line)["download"] for line in self.owners[:count]]
        fields = self.arguments.work / f"{fleet.name}.fields"
        fields.write_text("".join(f"Authorization: Bearer {one['ticket']}\n" for one in terms))
        return terms[0]["contentURL"], fields

    # ---- rows

    def row_grants(self):
        """First grants and completions: three nodes beside one, and one beside a server with SQLite."""
        found = {name: {phase: [] for phase in PHASES} for name in ("one", "three", "file")}
        for fleets in self.fleets_in_turns(found):
            turns = [fleet.play(PHASES, self.files(fleet), self.arguments.connections,
                                lambda database=fleet.database: self.primarys_state(database)) for fleet in fleets]
            for turn in zip(*turns, strict=True):
                for fleet, (phase, result) in zip(fleets, turn, strict=True):
                    found[fleet.name][phase].append(result)
        rows = []
        for phase in ("first", "completion"):
            results = {name: found[name][phase] for name in found}
            costs = {name: [one["cost"] * 1000 / one["requests"] for one in ones] for name, ones in results.items()}
            rates = {name: [one["requests"] / one["seconds"] for one in ones] for name, ones in results.items()}
            work = f"{WORK[phase]}, {self.arguments.connections} clients a node"
            rows += self.beside_one(phase, work, "ms", rates, costs, p50={
                name: [[each["p50"] for each in one["told"]] for one in ones]
                for name, ones in results.items()})
            rows.append(row(f"{phase}-file", work + ": one node's processor time", "ms",
                            {"pullbox": costs["one"], "with SQLite": costs["file"]},
                            [Target("with SQLite", FILE_COST)] if phase == "first" else []))
            log, times = zip(*(primarys_part(one) for one in results["one"]), strict=True)
            rows.append(row(f"{phase}-log", f"{WORK[phase]}: what the primary writes to its log", "KiB", {"pullbox": log},
                            [Median(None, 6.5)] if phase == "first" else []))
            rows.append(row(f"{phase}-primary", f"{WORK[phase]}: the primary's processor time", "ms", {"pullbox": times}, []))
        sizes = [(last["seen"][2][2] - first["seen"][0][2]) / KIBIBYTE / first["requests"]
                 for first, last in zip(found["one"]["first"], found["one"]["completion"], strict=True)]
        return rows + [row("size", "a grant that is completed: what the tables grow by", "KiB", {"pullbox": sizes}, [])]

    def primarys_state(self, database):
        """What its log has had, what its processes have used, and the length of the database, if it has it."""
        return self.primary.log_position(), self.primary.processor_times(), self.primary.size(database) if database else 0

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
            rows.append(row(f"{kind}-file", work + ", 8 clients: one node's processor time", "µs",
                            {"pullbox": costs["one"], "local directory": costs["file"]}, [Target("local directory", 1.05)]))
        return rows

def primarys_part(result):
    """KiB of its log and milliseconds of its processes that live, a request."""
    (start, before, _), _, (end, after, _) = result["seen"]
    return (end - start) / KIBIBYTE / result["requests"], Primary.used(before, after) * 1000 / result["requests"]


def lines_of(file):
    return file.read_text().count("\n") if file.exists() else 0


ROWS = {"grants": Bench.row_grants, "ranges": Bench.row_ranges, "trips": row_trips, "pipeline": row_pipeline,
        "polls": row_polls, "cold": row_cold, "crowd": row_crowd}


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
