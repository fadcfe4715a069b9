"""What the gate costs: grants, completions, lists and a release day. Run through scripts/bench gate."""
import argparse
import concurrent.futures
import json
import os
import resource
import shutil
import statistics
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from attackers import LOCALES, Attackers
from callgrind import Callgrind
from measuring import memory, processor_time, run, say
from peers import Nginx
from reporting import Median, Results, Target, row, show
from services import Daemon, Services, request

# Devices of a run under callgrind.
INSTRUCTION_DEVICES = 200
# Grants that share a commit.
FLOOR_BATCHES = [1, 4, 8, 16]
ISSUE = "com.example.bench.issue"
MEBIBYTE = 1 << 20
PHASES = ["first", "repeat", "content", "completion", "renewal"]
# Rate at least, and processor time of the server in milliseconds at most.
TARGETS = {"first": (2000, 0.35), "repeat": (5000, 0.12), "completion": (2000, 0.35)}
WORK = {"first": "first grants", "repeat": "repeated grants, the verdict cached", "completion": "completions, the store's finish included",
        "renewal": "tickets renewed by the device's key"}
LISTS = {
    "all": "", "by product": f"product={ISSUE}", "by state": "state=finished", "by product and state": f"product={ISSUE}&state=granted",
    "by transaction": "transaction=1000000000000777", "by device": "device=device-777", "by product and version": f"product={ISSUE}&version=1.0"}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench gate")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this row; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="times the rates are measured")
    parser.add_argument("--devices", type=int, default=6000, metavar="N", help="devices of all runs together")
    parser.add_argument("--day", type=int, default=20_000, metavar="N", help="devices of the release day")
    parser.add_argument("--grants", type=int, action="append", metavar="N",
                        help="grants that are there before; may be repeated (10,000, 1,000,000 and 5,000,000)")
    parser.add_argument("--connections", type=int, default=32, metavar="N", help="clients at once")
    parser.add_argument("--without", action="append", default=[], choices=PHASES, metavar="PHASE",
                        help="leave a phase out: an earlier server may not know it")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the samples here")
    parser.add_argument("--port-base", type=int, default=29080, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- what the devices have


def make_receipts(arguments, count):
    """Devices with receipts of the sandbox store, and what it answers about each: made once, with the issue published."""
    devices, answers = arguments.work / "devices.tsv", arguments.work / "answers.tsv"
    made = devices.read_text().count("\n") if devices.exists() else 0
    if made >= count:
        return
    arguments.work.mkdir(parents=True, exist_ok=True)
    services = Services(arguments, logLevel="warning")
    try:
        package = arguments.work / "issue.cbz"
        if not package.exists():
            run("python3", "-B", arguments.root / "content/generate", "package", "--size", MEBIBYTE, package)
        services.publish(ISSUE, package)
        say(f"Making {count - made:,} receipts")
        with open(devices, "a") as ours, open(answers, "a") as theirs, concurrent.futures.ThreadPoolExecutor(8) as pool:
            for device, receipt, answer in pool.map(lambda n: purchase(services.store_url, f"device-{n}"), range(made, count)):
                ours.write(f"{device}\t{ISSUE}\t{receipt}\n")
                theirs.write(f"{receipt}\t{answer}\n")
    finally:
        services.stop()
    # The state with the issue and without a grant.
    run("cp", "-a", services.state, arguments.work / "pristine")


def purchase(store, device, product=ISSUE):
    token = request(store + "/sandbox/v1/accounts", {"territory": "USA", "name": device})["token"]
    request(store + "/store/v1/purchases", {"product": product, "device": device}, token)
    receipt = request(store + f"/store/v1/receipt?device={device}", token=token)["receipt"]
    answer = request(store + "/verifyReceipt", {"receipt-data": receipt})
    return device, receipt, json.dumps(answer, separators=(",", ":"))


def state_with(arguments, grants):
    """A state directory with so many grants, half of them of the issue."""
    directory = arguments.work / f"state-{grants}"
    if not directory.exists():
        unfinished = directory.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        run("cp", "-a", arguments.work / "pristine", unfinished)
        if grants > 0:
            say(f"Making {grants:,} grants")
            run("python3", "-B", arguments.root / "Benchmarks/state.py", unfinished / "server.db", "--grants", grants,
                "--bestseller", ISSUE)
        unfinished.rename(directory)
    return directory


# ---- what is measured


class Gate:
    """A server on a copy of a state, beside a store that costs nothing."""

    def __init__(self, arguments, grants, executable=None, wrapper=(), place=0, **settings):
        self.arguments = arguments
        directory = arguments.work / f"services/server{place or ''}"
        self.state = arguments.work / f"state{place or ''}"
        shutil.rmtree(self.state, ignore_errors=True)
        run("cp", "-a", "--reflink=auto", state_with(arguments, grants), self.state)
        run("sync", "--file-system", self.state)
        self.key = Services.secret(arguments.work / "services", "operator-key")
        self.port = arguments.port_base + place
        store = self.port + 10
        self.url, self.store_url = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{store}"
        self.store = subprocess.Popen(
            [arguments.work / "store", "--port", str(store), "--answers", arguments.work / "answers.tsv"],
            stdout=subprocess.PIPE)
        self.store.stdout.readline()
        self.server = Daemon(executable or arguments.bin / "pullbox-server", directory, {
            "listen": [f"127.0.0.1:{self.port}"], "state": str(self.state), "operatorKey": self.key,
            "store": {"url": self.store_url, "credential": Services.secret(arguments.work / "services", "store-credential")},
            "logLevel": "warning"} | settings, wrapper)

    def counts(self):
        return request(self.store_url + "/counts")

    def ask(self, path):
        """Seconds of one request by an operator."""
        begun = time.monotonic()
        headers = {"Authorization": f"Bearer {self.key}"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=120) as response:
            body = response.read()
        return time.monotonic() - begun, body

    def play(self, phases, devices, connections, cost=lambda pid: processor_time([pid])):
        """Phase after phase, as each is asked for: what the devices measured of it, with the server's cost and the store's counts."""
        process = subprocess.Popen(
            [self.arguments.work / "gate", "--port", str(self.port), "--devices", devices, "--phases", ",".join(phases),
             "--connections", str(connections)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = process.stdout.readline()
        for phase in phases:
            if ready.strip() != phase:
                raise RuntimeError(f"the devices ended before {phase}")
            before, asked = cost(self.server.pid), self.counts()
            process.stdin.write("go\n")
            process.stdin.flush()
            result = json.loads(process.stdout.readline() or "{}")
            if not result:
                raise RuntimeError(f"the devices ended in {phase}")
            result["cost"] = cost(self.server.pid) - before
            result["asked"] = {name: count - asked[name] for name, count in self.counts().items()}
            # The next one's requests are written before another server is measured.
            ready = process.stdout.readline()
            yield phase, result
        process.wait()

    def play_day(self, lines):
        """All devices at once, in as many processes as the limit of descriptors asks for."""
        room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100
        processes = []
        for start in range(0, len(lines), room):
            file = self.arguments.work / f"day-{start}.tsv"
            file.write_text("".join(lines[start:start + room]))
            processes.append(subprocess.Popen(
                [self.arguments.work / "gate", "--port", str(self.port), "--devices", file, "--phases", "day",
                 "--address", str(start)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for process in processes:
            process.stdout.readline()
        before = processor_time([self.server.pid])
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [json.loads(process.stdout.readline() or "{}") for process in processes]
        if not all(results):
            raise RuntimeError("the devices ended before the day")
        whole = {name: sum(result[name] for result in results) for name in ("requests", "refused", "withoutRetryAfter", "dropped")}
        return whole | {name: max(result[name] for result in results) for name in ("seconds", "mostRepeats")} | {
            "processor": processor_time([self.server.pid]) - before}

    def stop(self):
        self.server.stop()
        self.store.terminate()
        self.store.wait()


def slices(arguments):
    """The devices in as many files as there are runs."""
    lines = (arguments.work / "devices.tsv").read_text().splitlines(keepends=True)[:arguments.devices]
    size = len(lines) // arguments.runs
    files = []
    for index in range(arguments.runs):
        file = arguments.work / f"devices-{index}.tsv"
        file.write_text("".join(lines[index * size:(index + 1) * size]))
        files.append(file)
    return files


def check_calls(phase, result):
    """What the server has to tell its store beside what is measured would be measured with it."""
    finishes, expected = result["asked"]["finishes"], result["requests"] if phase == "completion" else 0
    if finishes > expected:
        raise RuntimeError(f"{finishes} calls of the store were made in {phase}, where {expected} belong to it")


def row_rates(arguments):
    make_receipts(arguments, arguments.devices)
    sizes = arguments.grants or [10_000, 1_000_000, 5_000_000]
    rows = []
    # A server by itself, and then beside those with more: what the processors keep of one the others displace.
    alone = play_in_turns(arguments, sizes[:1])
    for phase, samples in alone.items():
        least, most = TARGETS.get(phase, (None, None))
        name = f"{WORK[phase]}, {arguments.connections} clients, {sizes[0]:,} grants before"
        rates, costs, details = samples[sizes[0]]
        rows.append(row(f"{phase}-rate-{sizes[0]}", name, "1/s", {"pullbox": rates},
                        [Target(None, least, "at least")] if least else [], details=details))
        # A processor whose other half has work of other machines is slower for moments.
        rows.append(row(f"{phase}-cost-{sizes[0]}", name + ": the server's processor time", "ms", {"pullbox": costs},
                        [Median(None, most)] if most else []))
    for phase, samples in (play_in_turns(arguments, sizes) if len(sizes) > 1 else {}).items():
        for grants in sizes[1:]:
            name = f"{WORK[phase]}, {arguments.connections} clients, {grants:,} grants before"
            rates, costs, details = samples[grants]
            peer = f"with {sizes[0]:,}"
            rows.append(row(f"{phase}-rate-{grants}", name, "1/s", {"pullbox": rates, peer: samples[sizes[0]][0]},
                            [Target(peer, 0.7, "at least")], details=details))
            rows.append(row(f"{phase}-cost-{grants}", name + ": the server's processor time", "ms",
                            {"pullbox": costs, peer: samples[sizes[0]][1]}, []))
    return rows


def play_in_turns(arguments, sizes):
    """Servers on states of these sizes, measured in turns, phase by phase, since the machine's speed changes: by phase and size the rates,
    the processor times in milliseconds, and what else the devices saw."""
    phases = [phase for phase in PHASES if phase not in arguments.without]
    found = {phase: {grants: ([], [], []) for grants in sizes} for phase in phases if phase != "content"}
    gates = {}
    try:
        for place, grants in enumerate(sizes):
            # One address asks for all devices: it may ask as often as it can.
            gates[grants] = Gate(arguments, grants, place=place, unlimitedAddresses=["127.0.0.0/8"])
        for file in slices(arguments):
            for turn in zip(*(gate.play(phases, file, arguments.connections) for gate in gates.values()), strict=True):
                for grants, (phase, result) in zip(sizes, turn, strict=True):
                    check_calls(phase, result)
                    if phase == "content":
                        continue
                    rates, costs, details = found[phase][grants]
                    rates.append(result["requests"] / result["seconds"])
                    costs.append(result["cost"] * 1000 / result["requests"])
                    details.append({key: result[key] for key in ("p50", "p99", "asked", "refused")})
        for grants, gate in gates.items():
            say(f"  {grants:,} grants: server's peak memory {memory(gate.server.pid, 'VmHWM') / MEBIBYTE:.0f} MiB")
    finally:
        for gate in gates.values():
            gate.stop()
    return found


def row_instructions(arguments):
    """Instructions of the server a request, without the kernel's: these are the same beside other work."""
    make_receipts(arguments, arguments.devices)
    callgrind = Callgrind(arguments)
    file = arguments.work / "few.tsv"
    lines = (arguments.work / "devices.tsv").read_text().splitlines(keepends=True)
    phases = [phase for phase in PHASES if phase not in arguments.without]
    costs = {}
    gate = Gate(arguments, 10_000, callgrind.executable, callgrind.wrapper, unlimitedAddresses=["127.0.0.0/8"])
    try:
        # The first fills the caches.
        for part in range(arguments.runs + 1):
            file.write_text("".join(lines[part * INSTRUCTION_DEVICES:(part + 1) * INSTRUCTION_DEVICES]))
            for phase, result in gate.play(phases, file, 8, cost=callgrind.instructions):
                if part > 0:
                    costs.setdefault(phase, []).append(result["cost"] / result["requests"] / 1000)
    finally:
        gate.stop()
    return [row(f"{phase}-instructions", f"{WORK[phase]}, 8 clients: the server's instructions", "thousand", {"pullbox": samples}, [])
            for phase, samples in costs.items() if phase in WORK]


def row_floor(arguments):
    """What a grant cannot do without: SQLite's share, by the rows that one writes and nothing else, with so many in a commit."""
    make_receipts(arguments, arguments.devices)
    rows = []
    for batch in FLOOR_BATCHES:
        samples = {"sqlite": [], "with its usual file system": []}
        for _ in range(arguments.runs):
            for contender, words in zip(samples, ([], ["--plain"]), strict=True):
                directory = arguments.work / "floor"
                shutil.rmtree(directory, ignore_errors=True)
                run("cp", "-a", "--reflink=auto", state_with(arguments, 10_000), directory)
                told = run(arguments.work / "rows", "--database", directory / "server.db", "--grants", 2000, "--batch", batch,
                           "--product", ISSUE, *words)
                samples[contender].append(json.loads(told)["microseconds"] / 1000)
        rows.append(row(f"floor-{batch}", f"a first grant's rows by SQLite alone, {batch} in a commit: processor time", "ms",
                        samples, []))
    return rows


def row_lists(arguments):
    make_receipts(arguments, arguments.devices)
    rows = []
    for grants in arguments.grants or [5_000_000]:
        gate = Gate(arguments, grants)
        try:
            for name, query in LISTS.items():
                first, hundredth = list_times(gate, query)
                rows.append(row(f"list-{name.replace(' ', '-')}-{grants}", f"deliveries {name}, first and hundredth page, {grants:,} grants",
                                "ms", {"pullbox": [first * 1000, hundredth * 1000]}, [Target(None, 50)]))
            gate.ask("/metrics")
            times = [gate.ask("/metrics")[0] * 1000 for _ in range(5)]
            rows.append(row(f"metrics-{grants}", f"/metrics, {grants:,} grants", "ms", {"pullbox": times}, [Target(None, 20)]))
        finally:
            gate.stop()
    return rows


def list_times(gate, query):
    """Seconds of the first page and of the hundredth, or of the last where there are fewer; each the median of three."""
    path = "/v1/operator/deliveries?limit=50" + ("&" + query if query else "")
    first = statistics.median(gate.ask(path)[0] for _ in range(3))
    page = path
    for _ in range(99):
        after = json.loads(gate.ask(page)[1]).get("next")
        if after is None:
            break
        page = f"{path}&after={after}"
    return first, statistics.median(gate.ask(page)[0] for _ in range(3))


def row_day(arguments):
    make_receipts(arguments, max(arguments.day, arguments.devices))
    lines = (arguments.work / "devices.tsv").read_text().splitlines(keepends=True)[:arguments.day]
    gate = Gate(arguments, 10_000)
    try:
        result = gate.play_day(lines)
        peak = memory(gate.server.pid, "VmHWM") / MEBIBYTE
    finally:
        gate.stop()
    say(f"  {json.dumps(result)}; peak memory {peak:.0f} MiB")
    name = f"release day: {len(lines):,} devices, one issue of 1 MiB each, all at once"
    return [row("day", name + ", until the last has finished", "s", {"pullbox": [result["seconds"]]}, [Target(None, 60)], details=result),
            row("day-repeats", name + ", most repetitions of one request", "", {"pullbox": [result["mostRepeats"]]}, [Target(None, 5)]),
            row("day-without-retry-after", name + ", refusals without Retry-After", "", {"pullbox": [result["withoutRetryAfter"]]},
                [Target(None, 0)]),
            row("day-memory", name + ", the server's peak memory", "MiB", {"pullbox": [peak]}, [Target(None, 128)])]


def row_attack(arguments):
    """What honest clients wait for their answers, beside all attackers, without them, and while they attack another server of
    the same machine: what that costs the honest is the processors that all of them share. The same of nginx, which has the bytes
    and the answer as files."""
    make_receipts(arguments, arguments.devices)
    settings = {"unlimitedAddresses": ["127.0.0.1/32"], "maximumConnections": 12_000}
    gate, other = Gate(arguments, 10_000, **settings), Gate(arguments, 10_000, place=1, **settings)
    files = arguments.work / "attacked-files"
    files.mkdir(exist_ok=True)
    nginx = Nginx("attacked", arguments.port_base + 2, files, arguments.work, workers=2)
    try:
        device, product, receipt = (arguments.work / "devices.tsv").read_text().splitlines()[0].split("\t")
        terms = request(gate.url + "/v1/grants", {"receipt": receipt, "product": product, "device": {"id": device}})["download"]
        fields = arguments.work / "attack.fields"
        fields.write_text(f"Authorization: Bearer {terms['ticket']}\n")
        catalog = f"/v1/products?id={product}"
        answer = gate.ask(catalog)[1]
        shutil.copy(arguments.work / "issue.cbz", files / "issue.cbz")
        (files / "answer.json").write_bytes(answer)
        # Each is due at a fixed rate: content on four connections, which a grant may have, and what is for sale.
        loads = {
            "ranges of 64 KiB": ["--length", MEBIBYTE, "--range", 64 << 10, "--connections", 4, "--rate", 100],
            "questions about a product": ["--length", len(answer), "--connections", 8, "--rate", 200]}
        ours = {"ranges of 64 KiB": ["--path", terms["contentURL"], "--fields", fields],
                "questions about a product": ["--path", catalog]}
        theirs = {"ranges of 64 KiB": ["--path", "/issue.cbz"], "questions about a product": ["--path", "/answer.json"]}
        seconds = 10
        used = {"server, calm": [], "server, attacked": [], "attackers": []}

        def measure(port=gate.port, places=ours):
            clients = [subprocess.Popen([str(word) for word in (
                arguments.work / "load", "--port", port, "--seconds", seconds, *words, *places[name])],
                                        stdout=subprocess.PIPE, text=True) for name, words in loads.items()]
            told = [json.loads(client.communicate()[0] or "{}") for client in clients]
            if not all(told):
                raise RuntimeError("an honest client met an answer that it did not expect")
            return {name: one["p99"] / 1000 for name, one in zip(loads, told, strict=True)}

        def share(pids, name, body):
            """What `body` answers; the processor time that the processes took meanwhile is noted, in percent of one processor."""
            begun, before = time.monotonic(), processor_time(pids)
            answer = body()
            used[name].append(round((processor_time(pids) - before) / (time.monotonic() - begun) * 100, 1))
            return answer

        samples = {name: [] for name in ("pullbox", "calm", "another server attacked", "nginx attacked", "nginx calm")}
        statuses, surprises, asking = {}, 0, arguments.work / "attack"
        measure()
        for _ in range(arguments.runs):
            rate = LOCALES / seconds / arguments.runs
            samples["calm"].append(share([gate.server.pid], "server, calm", measure))
            samples["nginx calm"].append(measure(nginx.port, theirs))
            with Attackers(asking, other.port, product, rate):
                samples["another server attacked"].append(measure())
            with Attackers(asking, nginx.port, product, rate):
                samples["nginx attacked"].append(measure(nginx.port, theirs))
            with Attackers(asking, gate.port, product, rate) as attackers:
                pids = [os.getpid(), attackers.process.pid]
                samples["pullbox"].append(share([gate.server.pid], "server, attacked", lambda: share(pids, "attackers", measure)))
            surprises += attackers.unannounced() + attackers.without_retry_after
            for status, count in attackers.statuses.items():
                statuses[status] = statuses.get(status, 0) + count
        peak = memory(gate.server.pid, "VmHWM") / MEBIBYTE
    finally:
        nginx.stop()
        other.stop()
        gate.stop()
    say(f"  the attackers were answered {statuses}; peak memory {peak:.0f} MiB; percent of a processor: {used}")
    name = "10,000 silent connections, 200 half-sent bodies, 50,000 locales and 100 wrong keys a second"
    rows = [row(f"attack-p99-{index}", f"p99 of {load} beside {name}", "ms",
                {contender: [one[load] for one in ones] for contender, ones in samples.items()},
                [Target("calm", 1.5)], processor=used)
            for index, load in enumerate(loads)]
    return rows + [
        row("attack-surprises", f"{name}: answers 5xx that are not announced, or 503 without Retry-After", "",
            {"pullbox": [surprises]}, [Target(None, 0)], statuses=statuses),
        row("attack-memory", f"{name}: the server's peak memory", "MiB", {"pullbox": [peak]}, [Target(None, 128)])]


def row_bookkeeping(arguments):
    """5,000 downloads that live: the processor time that the database's threads take of one processor."""
    make_receipts(arguments, max(5000, arguments.devices))
    lines = (arguments.work / "devices.tsv").read_text().splitlines(keepends=True)[:5000]
    file = arguments.work / "live.tsv"
    file.write_text("".join(lines))
    gate = Gate(arguments, 10_000)
    try:
        for _ in gate.play(["first"], file, arguments.connections):
            pass
        ended, shares = threading.Event(), []
        # Each device takes its package again and again, for some twelve of the times when counts are written down.
        phases = ["repeat"] + ["content"] * 48

        def watch():
            while not ended.is_set():
                before = thread_time(gate.server.pid, "sqlite")
                if not ended.wait(5):
                    shares.append((thread_time(gate.server.pid, "sqlite") - before) / 5 * 100)

        watcher = threading.Thread(target=watch)
        process = subprocess.Popen(
            [arguments.work / "gate", "--port", str(gate.port), "--devices", file, "--phases", ",".join(phases),
             "--connections", str(arguments.connections)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for phase in range(len(phases)):
            process.stdout.readline()
            if phase == 1:
                watcher.start()
            process.stdin.write("go\n")
            process.stdin.flush()
            process.stdout.readline()
        ended.set()
        watcher.join()
        process.wait()
    finally:
        gate.stop()
    return [row("bookkeeping", "bookkeeping of 5,000 live downloads, of one processor", "%", {"pullbox": shares}, [Target(None, 3)])]


def thread_time(pid, name):
    """Seconds that the threads with names that begin so have run."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


ROWS = {"rates": row_rates, "instructions": row_instructions, "floor": row_floor, "lists": row_lists, "day": row_day, "attack": row_attack, "bookkeeping": row_bookkeeping}


def main():
    arguments = parse_arguments()
    # A day takes a descriptor a device on both sides.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    path = arguments.results or arguments.root / "Benchmarks/results/gate.json"
    results = Results(path, "gate", {"runs": arguments.runs, "devices": arguments.devices, "day": arguments.day,
                                     "connections": arguments.connections})
    for name in arguments.only or ROWS:
        for measured in ROWS[name](arguments):
            results.add(measured)
            show(measured)


if __name__ == "__main__":
    main()
