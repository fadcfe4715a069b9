"""Rows of scripts/bench nodes about what a node asks of its PostgreSQL."""
import concurrent.futures
import contextlib
import subprocess

from fleet import PHASES
from gate import WORK
from measuring import settle
from relays import PrimaryRelay, Recording
from reporting import Median, Target, row
from services import request

# Devices by which a connection's statements have their plans.
WARM = 30
# Round trips at most.
TRIPS = {"first": 8, "completion": 10}
TRIP_DEVICES = 40
# Waits of a first grant, as ``row_trips`` finds them.
WAITS = 6
# Devices that poll, and how often each does in a turn.
POLLERS, POLLS = 64, 4


def row_trips(bench):
    """One device after another, through what counts the node's questions to PostgreSQL."""
    fleet = bench.fleet("one")
    with relayed(bench, fleet) as relay:
        fleet.nodes[0].restart(database=relay.url)
        found = {phase: [] for phase in TRIPS}
        for _ in range(TRIP_DEVICES):
            for phase, result in fleet.play(PHASES, bench.files(fleet, 1), 1, lambda: (len(relay.waits), relay.statements)):
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
def relayed(bench, fleet):
    """Something between PostgreSQL and a node, which is to be started anew with its address."""
    directory = bench.arguments.work / "relay"
    directory.mkdir(exist_ok=True)
    path = directory / bench.primary.socket.name
    path.unlink(missing_ok=True)
    relay = PrimaryRelay(path, bench.primary.socket)
    relay.url = bench.primary.url(fleet.database, directory)
    try:
        yield relay
    finally:
        fleet.nodes[0].restart()
        fleet.hold()
        relay.close()


def row_pipeline(bench):
    """One first grant after another, and then the same statements by a C program, on a copy of the tables as they were before."""
    fleet = bench.fleet("one")
    copy, file = f"{fleet.database}_copy", bench.arguments.work / "grants.recording"
    samples, clients = {"pullbox": [], "one pipeline": []}, {"one wait": [], f"{WAITS} waits": []}
    for _ in range(bench.arguments.pairs):
        fleet.nodes[0].daemon.stop()
        bench.primary.ask(f"DROP DATABASE IF EXISTS {copy}")
        bench.primary.ask(f"CREATE DATABASE {copy} TEMPLATE {fleet.database}")
        with relayed(bench, fleet) as relay:
            relay.recording = Recording()
            fleet.nodes[0].restart(database=relay.url)
            settle([fleet.nodes[0].pid])
            for count in (WARM, bench.arguments.devices):
                ((_, result),) = fleet.play(["first"], bench.files(fleet, count), 1, bench.primary.processor_times)
        before, _, after = result["seen"]
        samples["pullbox"].append(bench.primary.used(before, after) * 1000 / result["requests"])
        relay.recording.write(file)
        for name, waits in (("one wait", 1), (f"{WAITS} waits", WAITS)):
            bench.primary.ask(f"DROP DATABASE IF EXISTS {copy}_run")
            bench.primary.ask(f"CREATE DATABASE {copy}_run TEMPLATE {copy}")
            used, own = replay(bench, f"{copy}_run", file, waits)
            clients[name].append(own * 1000 / result["requests"])
            if waits == 1:
                samples["one pipeline"].append(used * 1000 / result["requests"])
    return [row("first-pipeline", "first grants, one after another: the primary's processor time", "ms", samples,
                [Target("one pipeline", 1.4)]),
            row("first-client", "the same statements from C: its own processor time", "ms", clients, [])]


def replay(bench, database, file, waits):
    """Seconds of a processor that the primary, and the program itself, take for the recorded grants."""
    program = subprocess.Popen(
        [bench.arguments.work / "pipeline", "--database", bench.primary.url(database), "--recording", file, "--warm", str(WARM),
         "--waits", str(waits)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    times, own = [], []
    for word in ("ready", "done"):
        said = program.stdout.readline().split()
        if len(said) != 2 or said[0] != word:
            raise RuntimeError("the recorded grants are not to be had again")
        own.append(int(said[1]) / 1e6)
        times.append(bench.primary.processor_times())
        program.stdin.write("go\n")
        program.stdin.flush()
    program.wait()
    return bench.primary.used(*times), own[1] - own[0]


def row_polls(bench):
    """Devices that ask their node for news, of which there are none, and again as soon as they are answered."""
    fleet = bench.fleet("one")
    node = fleet.nodes[0]
    costs, times, waits = [], [], []
    with relayed(bench, fleet) as relay, concurrent.futures.ThreadPoolExecutor(POLLERS) as pool:
        node.restart(database=relay.url)
        pollers = [Poller(node, line) for line in bench.owners[:POLLERS]]
        for _ in range(2):
            list(pool.map(Poller.poll, pollers))
        settle([node.pid])
        for _ in range(bench.arguments.pairs):
            before, used, at_primary = len(relay.waits), fleet.processor_time(), bench.primary.processor_times()
            for _ in range(POLLS):
                list(pool.map(Poller.poll, pollers))
            count = POLLS * POLLERS
            costs.append((fleet.processor_time() - used) / count * 1e6)
            times.append(bench.primary.used(at_primary, bench.primary.processor_times()) / count * 1e6)
            waits.append((len(relay.waits) - before) / count)
    work = "a feed asked for again at its node, without news"
    return [row("poll-cost", work + ": the node's processor time", "µs", {"pullbox": costs}, []),
            row("poll-primary", work + ": the primary's processor time", "µs", {"pullbox": times}, []),
            row("poll-trips", work + ": round trips to PostgreSQL", "", {"pullbox": waits}, [])]


class Poller:
    def __init__(self, node, line):
        self.url, self.token, self.cursor = node.url, node.grant(line)["feed"]["token"], None
        self.device = line.split("\t", 1)[0]

    def poll(self):
        """Waits for a second where nothing is new."""
        after = f"&after={self.cursor}&wait=1" if self.cursor else "&wait=0"
        self.cursor = request(f"{self.url}/v1/feed?device={self.device}{after}", token=self.token)["cursor"]
