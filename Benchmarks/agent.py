"""What the agent costs: deliveries beside other download tools and beside the disk, and checking what is there. Run through
scripts/bench agent."""
import argparse
import http.client
import http.server
import json
import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import agent_bus
import agent_events
import agent_reading
from measuring import GIGABYTE, memory, peak_memory, processor_time, run, say, wake_ups
from reporting import Results, Target, row, show
from services import Daemon, Services, request

MEBIBYTE = 1 << 20
# A folder's package also holds its directory: a little less, so that both fit.
FOLDER_MARGIN = 1_500_000
FILE, FOLDER = "com.example.bench.file", "com.example.bench.folder"
CURL, ARIA, LIMIT = "curl + sha256sum + sync", "aria2c -x4", "write + fsync"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench agent")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this row; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--bytes", type=int, default=2_147_483_648, metavar="N", help="size of the packages")
    parser.add_argument("--images", type=int, default=2000, metavar="N", help="files in the folder")
    parser.add_argument("--files", type=int, default=65_535, metavar="N", help="files in the largest package")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="times each contender is measured")
    parser.add_argument("--cuts", type=int, default=20, metavar="N", help="connections that are cut in a delivery")
    parser.add_argument("--port-base", type=int, default=27080, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def package(arguments, product, length=None):
    """The file or folder that is published, made once."""
    path = arguments.work / ("folder" if product == FOLDER else f"{product}.cbz")
    if not path.exists():
        say(f"Making {product}")
        generate = [arguments.root / "content/generate", "package"]
        if product != FOLDER:
            run("python3", "-B", *generate, "--size", length or arguments.bytes, path)
        else:
            run("python3", "-B", *generate, "--size", arguments.bytes - FOLDER_MARGIN, "--files", arguments.images,
                "--product", product, path)
    return path


class Agent:
    """An agent with a state directory and an account of its own, which fetches over `server`."""

    def __init__(self, arguments, services, server=None, wrapper=(), **settings):
        self.arguments, self.services = arguments, services
        self.directory = arguments.work / "agent"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir()
        token = self.directory / "token"
        token.touch(mode=0o600)
        token.write_text(
            request(services.store_url + "/sandbox/v1/accounts", {"territory": "USA", "name": "Bench"})["token"])
        self.socket = self.directory / "agent.sock"
        self.daemon = Daemon(arguments.bin / "pullbox-agent", self.directory, {
            "state": str(self.directory / "state"), "server": server or services.server_url,
            "store": services.store_url, "accountTokenFile": str(token), "socket": str(self.socket)} | settings, wrapper)

    def pullbox(self, *words):
        return run(self.arguments.bin / "pullbox", *words, env=os.environ | {"PULLBOX_AGENT_SOCKET": str(self.socket)})

    def deliver(self, product):
        """Seconds from the purchase to the report of what is placed and durable."""
        start = time.monotonic()
        self.pullbox("buy", product, "--yes", "--wait")
        return time.monotonic() - start

    @property
    def processor(self):
        return processor_time([self.daemon.pid])

    @property
    def peak(self):
        return peak_memory(self.daemon.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.stop()
        shutil.rmtree(self.directory)


def settled(work):
    """What earlier runs left to be written must not be paid for by the next."""
    run("sync", "--file-system", work)


def with_processor_time(body):
    """Seconds that `body` takes, and those that the processes which it runs were on a processor."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, start = used(), time.monotonic()
    body()
    return time.monotonic() - start, used() - before


# ---- deliveries


def fetch_with_curl(arguments, services, terms, path):
    run("curl", "--silent", "--fail", "--noproxy", "*", "--header", f"Authorization: Bearer {terms['ticket']}",
        "-o", path, services.server_url + terms["contentURL"])
    if run("sha256sum", path).split()[0] != terms["digest"]:
        raise RuntimeError("curl's file is not what was published")
    run("sync", path)


def fetch_with_aria(arguments, services, terms, path):
    run("aria2c", "--quiet", "--no-conf", "--all-proxy=", "-x4", "-s4", "--file-allocation=falloc",
        f"--checksum=sha-256={terms['digest']}", f"--header=Authorization: Bearer {terms['ticket']}",
        "-d", path.parent, "-o", path.name, services.server_url + terms["contentURL"])
    run("sync", path)


def write_to_limit(arguments, services, terms, path):
    run("dd", f"if={services.blob(terms['digest'])}", f"of={path}", "bs=1M", "conv=fsync")


CONTENDERS = {CURL: fetch_with_curl, ARIA: fetch_with_aria, LIMIT: write_to_limit}


def deliveries(arguments, services, product):
    """Seconds, processor seconds, and the agent's peaks in MiB."""
    services.publish(product, package(arguments, product))
    names = ["pullbox", *CONTENDERS]
    seconds, processor, peaks = {name: [] for name in names}, {name: [] for name in names}, []
    path = arguments.work / "download"
    for _ in range(arguments.runs):
        settled(arguments.work)
        with Agent(arguments, services) as agent:
            before = agent.processor
            seconds["pullbox"].append(agent.deliver(product))
            processor["pullbox"].append(agent.processor - before)
            peaks.append(agent.peak / MEBIBYTE)
        for name, fetch in CONTENDERS.items():
            terms = services.buy(product)
            settled(arguments.work)
            elapsed, used = with_processor_time(lambda: fetch(arguments, services, terms, path))
            path.unlink()
            seconds[name].append(elapsed)
            processor[name].append(used)
        say(f"  {product}: " + ", ".join(f"{name} {seconds[name][-1]:.2f} s" for name in names))
    return seconds, processor, peaks


def delivery_rows(arguments, services, name, product, work, targets):
    seconds, processor, peaks = deliveries(arguments, services, product)
    tools = {peer: processor[peer] for peer in ("pullbox", CURL, ARIA)}
    return [row(name, f"{work}, bought to placed and durable", "s", seconds, targets, bytes=arguments.bytes),
            row(f"{name}-processor", f"{work}, processor time", "s", tools, [Target(CURL, 0.8), Target(ARIA, 0.8)]),
            row(f"{name}-peak", f"{work}, peak memory", "MiB", {"pullbox": peaks}, [Target(None, 48)])]


def row_file(arguments, services):
    return delivery_rows(arguments, services, "file", FILE, f"one file of {arguments.bytes / 2**30:.3g} GiB",
                         [Target(CURL, 0.45), Target(ARIA, 0.40), Target(LIMIT, 1.10)])


def row_folder(arguments, services):
    return delivery_rows(arguments, services, "folder", FOLDER, f"{arguments.images:,} images",
                         [Target(CURL, 0.30)])


# ---- checking


def row_check(arguments, services):
    services.publish(FILE, package(arguments, FILE))
    rates = []
    with Agent(arguments, services) as agent:
        agent.deliver(FILE)
        for _ in range(arguments.runs):
            before = agent.processor
            agent.pullbox("library", "--verify", FILE)
            rates.append(arguments.bytes / GIGABYTE / (agent.processor - before))
    return [row("check", f"checking a library of {arguments.bytes / 2**30:.3g} GiB, for a second of a processor", "GB",
                {"pullbox": rates}, [Target(None, 1.2, "at least")])]


# ---- connections that are cut


class CuttingProxy:
    """Passes connections on to a port, and cuts the one that has brought its share of the bytes from there."""

    def __init__(self, upstream, share, cuts):
        self.upstream, self.share, self.left = upstream, share, cuts
        self.passed = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.upstream))
            threading.Thread(target=self.pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, True), daemon=True).start()

    def pump(self, source, target, counts):
        try:
            while data := source.recv(65_536):
                target.sendall(data)
                if counts and self.is_due(len(data)):
                    break
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def is_due(self, count):
        with self.lock:
            before, self.passed = self.passed // self.share, self.passed + count
            if self.left == 0 or self.passed // self.share == before:
                return False
            self.left -= 1
            return True

    def close(self):
        self.listener.close()


def row_cuts(arguments, services):
    rows = []
    for length, bound in ((20 * MEBIBYTE, 1.05), (arguments.bytes, 1.01)):
        product = FILE if length == arguments.bytes else "com.example.bench.small"
        services.publish(product, package(arguments, product, length))
        proxy = CuttingProxy(arguments.port_base, length // (arguments.cuts + 1), arguments.cuts)
        try:
            with Agent(arguments, services, server=proxy.url) as agent:
                agent.deliver(product)
        finally:
            proxy.close()
        if proxy.left:
            raise RuntimeError(f"{proxy.left} of {arguments.cuts} connections were not cut")
        rows.append(row(f"cuts-{length}", f"received by needed, {arguments.cuts} cuts in {length / 2**30:.3g} GiB", "ratio",
                        {"pullbox": [proxy.passed / length]}, [Target(None, bound)]))
    return rows


# ---- a long history


FINISHED, WAITING, IDLE_SECONDS = 10_000, 1_000, 60
PURCHASED = "2026-11-01T00:00:00.000Z"


class BusyServices(http.server.ThreadingHTTPServer):
    """A store whose queue lists what the agent waits for, and a server that is busy for an hour."""

    daemon_threads = True

    def handle_error(self, *_):
        # The agent may have ended meanwhile.
        pass

    def __init__(self):
        listed = [{"id": f"2{number:015}", "originalId": f"2{number:015}", "product": f"com.example.p{number}",
                   "quantity": 1, "state": "purchased", "purchaseDate": PURCHASED}
                  for number in range(FINISHED + 1, FINISHED + WAITING + 1)]

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                is_queue = self.path.startswith("/store/v1/transactions")
                after = self.path.partition("after=")[2].partition("&")[0]
                body = {"transactions": [one for one in listed if one["id"] > after]} if is_queue else {
                    "type": "urn:pullbox:problem:unavailable", "title": "busy", "status": 503, "retryAfterSeconds": 3600}
                content = json.dumps(body).encode()
                self.send_response(200 if is_queue else 503)
                self.send_header("Content-Type", "application/json" if is_queue else "application/problem+json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def fill_history(database):
    """What years of purchases leave in an agent's database; the waiting downloads have an hour to go."""
    now = int(time.time() * 1000)
    ended, ids = range(1, FINISHED + 1), range(1, FINISHED + WAITING + 1)
    with sqlite3.connect(database) as connection:
        connection.executemany(
            "INSERT INTO transactions (id, product, store_state, step, tries, ended_at) VALUES (?, ?, 'purchased', ?, 0, ?)",
            [(f"2{n:015}", f"com.example.p{n}", "finished" if n in ended else "delivering", now if n in ended else None)
             for n in ids])
        connection.executemany(
            "INSERT INTO downloads (id, transaction_id, product, phase, state, reason, failures, priority, bytes_verified,"
            " bytes_received, created_at, ended_at, not_before) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?)",
            [(f"{n:016x}", f"2{n:015}", f"com.example.p{n}", "report" if n in ended else "grant",
              "finished" if n in ended else "waiting", "placed" if n in ended else "server-unavailable", now,
              now if n in ended else None, now + 3_600_000) for n in ids])
    connection.close()


def ask_agent(path, target):
    """Seconds until the answer is here, and the answer."""
    connection = http.client.HTTPConnection("agent")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    start = time.monotonic()
    connection.request("GET", target)
    answer = json.loads(connection.getresponse().read())
    seconds = time.monotonic() - start
    connection.close()
    return seconds, answer


def used_time(pid):
    """Seconds that a process was on a processor, with the threads that have ended, to a hundredth."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def row_history(arguments, _):
    busy = BusyServices()
    directory = arguments.work / "agent"
    starts, pages, processor, ups, anonymous = [], [], [], [], []
    try:
        for _ in range(arguments.runs):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            token = directory / "token"
            token.touch(mode=0o600)
            token.write_text("token")
            configuration = {"state": str(directory / "state"), "server": busy.url, "store": busy.url,
                             "accountTokenFile": str(token), "socket": str(directory / "agent.sock")}
            daemon = Daemon(arguments.bin / "pullbox-agent", directory, configuration)
            daemon.stop()
            fill_history(directory / "state/agent.sqlite")
            # The first start prunes what is more than it keeps.
            daemon.start(configuration)
            daemon.stop()
            begin = time.monotonic()
            daemon.start(configuration)
            starts.append(time.monotonic() - begin)
            for kind in ("downloads", "transactions"):
                after = ""
                while after is not None:
                    seconds, page = ask_agent(directory / "agent.sock", f"/v1/{kind}?limit=200{after}")
                    pages.append(seconds)
                    after = "&after=" + page["next"] if "next" in page else None
            time.sleep(5)
            before = used_time(daemon.pid)
            ups.append(wake_ups(daemon.pid, IDLE_SECONDS))
            processor.append((used_time(daemon.pid) - before) / IDLE_SECONDS * 100)
            anonymous.append(memory(daemon.pid, "RssAnon") / MEBIBYTE)
            daemon.stop()
    finally:
        busy.shutdown()
        shutil.rmtree(directory, ignore_errors=True)
    what = f"{FINISHED:,} finished and {WAITING:,} waiting downloads"
    return [row("history-start", f"{what}, start to ready", "s", {"pullbox": starts}, [Target(None, 0.5)]),
            row("history-pages", f"{what}, a page of 200", "s", {"pullbox": pages}, [Target(None, 0.05)]),
            row("history-processor", f"{what}, idle, of a processor", "%", {"pullbox": processor}, [Target(None, 0.5)]),
            row("history-wake-ups", f"{what}, idle, wake-ups a second", "1/s", {"pullbox": ups}, [Target(None, 0.5)]),
            row("history-memory", f"{what}, idle, RssAnon", "MiB", {"pullbox": anonymous}, [Target(None, 12)])]


# ---- hostile answers


class HostileServices(http.server.ThreadingHTTPServer):
    """Answers everything with as much JSON as the agent takes, of the shape that costs most to read."""

    daemon_threads = True
    # A little less than the agent's bound, and more than it.
    lengths = (3 * MEBIBYTE - 100, 33 * MEBIBYTE)

    def handle_error(self, *_):
        pass

    def __init__(self):
        answers = [b'{"transactions":[' + b"{}," * ((length - 20) // 3) + b"{}]}" for length in self.lengths]
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                content = answers[len(asked) % len(answers)]
                asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def row_hostile(arguments, _):
    hostile = HostileServices()
    directory = arguments.work / "agent"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    token = directory / "token"
    token.touch(mode=0o600)
    token.write_text("token")
    daemon = Daemon(arguments.bin / "pullbox-agent", directory, {
        "state": str(directory / "state"), "server": hostile.url, "store": hostile.url, "pollInterval": 1,
        "accountTokenFile": str(token), "socket": str(directory / "agent.sock")})
    try:
        deadline = time.monotonic() + 120
        while len(hostile.asked) < 6 and time.monotonic() < deadline:
            time.sleep(0.1)
        if len(hostile.asked) < 6:
            raise RuntimeError(f"the agent asked {len(hostile.asked)} times")
        peak = peak_memory(daemon.pid) / MEBIBYTE
    finally:
        daemon.stop()
        hostile.shutdown()
        shutil.rmtree(directory, ignore_errors=True)
    return [row("hostile", "answers as long as the agent takes, and longer ones, peak memory", "MiB", {"pullbox": [peak]},
                [Target(None, 96)])]


# ---- the largest package


MOST_SECTIONS = 1_000


def row_files(arguments, services):
    """The memory of both ends for a package of as many files and sections as there may be, and the lists of them."""
    product = "com.example.bench.most"
    tags = [f"part-{number:03}" for number in range(MOST_SECTIONS)]
    path = arguments.work / "most"
    if not path.exists():
        say(f"Making {product}")
        path.mkdir()
        (path / "product.json5").write_text(json.dumps({"id": product, "version": "1.0"}))
        for number in range(arguments.files):
            folder = path / tags[number * MOST_SECTIONS // arguments.files]
            folder.mkdir(exist_ok=True)
            (folder / f"{number:06}.txt").write_text(f"file {number}\n" * 20)
    words = [word for tag in tags for word in ("--section", f"{tag}={tag}/", "--section-policy", f"{tag}=required")]
    services.publish(product, path, *words)
    services.restart(logLevel="info")
    lists = {"files": [], "sections": []}
    with Agent(arguments, services) as agent:
        agent.deliver(product)
        reader = agent_reading.Reader(agent)
        for name, seconds in lists.items():
            for _ in range(1 + 10 * arguments.runs):
                seconds.append(1000 * reader.get(f"/v1/library/{product}/{name}")[0])
        agent.pullbox("library", "--verify", product)
        device = agent.peak / MEBIBYTE
    server = peak_memory(services.server.pid) / MEBIBYTE
    what = f"a package of {arguments.files:,} files in {MOST_SECTIONS:,} sections"
    return [row("files-agent", f"{what}, peak memory of the agent", "MiB", {"pullbox": [device]}, [Target(None, 96)]),
            row("files-server", f"{what}, peak memory of the server", "MiB", {"pullbox": [server]}, [Target(None, 96)]),
            # The first question reads the manifest, which is kept for those behind it: it has no target.
            row("files-list-first", f"{what}, the first list of the files", "ms", {"pullbox": lists["files"][:1]}, []),
            row("files-list", f"{what}, the list of the files", "ms", {"pullbox": lists["files"][1:]}, [Target(None, 50)]),
            row("files-sections", f"{what}, the list of the sections", "ms", {"pullbox": lists["sections"]},
                [Target(None, 50)])]


def row_reading(arguments, services):
    return agent_reading.rows(arguments, services, Agent, package)


def row_events(arguments, services):
    return agent_events.rows(arguments, services, Agent, package)


def row_bus(arguments, services):
    return agent_bus.bus_rows(arguments, services, Agent, package)


def row_beside(arguments, services):
    return agent_bus.beside_rows(arguments, services, Agent, package)


def row_idle(arguments, services):
    return agent_bus.idle_rows(arguments, services, Agent, package)


ROWS = {"file": row_file, "folder": row_folder, "check": row_check, "cuts": row_cuts, "history": row_history,
        "files": row_files, "hostile": row_hostile, "reading": row_reading, "events": row_events,
        "bus": row_bus, "beside": row_beside, "idle": row_idle}


def main():
    arguments = parse_arguments()
    results = Results(arguments.root / "Benchmarks/results/agent.json", "agent",
                      {"bytes": arguments.bytes, "images": arguments.images, "runs": arguments.runs})
    services = Services(arguments)
    try:
        for name in arguments.only or ROWS:
            for measured in ROWS[name](arguments, services):
                results.add(measured)
                show(measured)
    finally:
        services.stop()


if __name__ == "__main__":
    main()
