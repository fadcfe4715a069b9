"""The delivery plane beside its peers, row by row. Run through scripts/bench delivery.

Every row alternates between its contenders, each answering the same client for the same file, with one event loop or
worker. Processor time is what the kernel accounts to the server's threads, so that a busy machine disturbs it less than
wall time; latencies are the client's.
"""
import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import urllib.request
from pathlib import Path

import peers
import publish
from callgrind import Callgrind
from measuring import GIGABYTE, busy_processors, memory, place, processor_time, read_ahead, run, say, settle
from reporting import Extra, Median, Results, Target, row, show
from services import Services

HOT, COLD = "com.example.bench.hot", "com.example.bench.cold"
KIBIBYTE, MEBIBYTE = 1024, 1024 * 1024
# Ranges come from this much of the file: more than any processor's cache, and less than what evicts it.
SPAN = 256 * MEBIBYTE
CIPHERS = "TLS_AES_128_GCM_SHA256"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench delivery")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this row; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="times each contender is measured")
    parser.add_argument("--scale", type=float, default=1, metavar="X", help="factor on the length of every run")
    parser.add_argument("--quick", action="store_true", help="two pairs of short runs, for trying")
    parser.add_argument("--bytes", type=int, default=2_147_483_648, metavar="N", help="size of the package")
    parser.add_argument("--port-base", type=int, default=28080, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.pairs, arguments.scale = 2, 0.2
    return arguments


class Contender:
    """Whom the client asks: a name, a port, a path, and the processes that count."""

    def __init__(self, name, port, path, pids, fields=None):
        self.name, self.port, self.path, self.pids, self.fields = name, port, path, pids, fields

    def words(self):
        words = ["--port", self.port, "--path", self.path]
        return words + (["--fields", self.fields] if self.fields else [])


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.work = arguments.work
        self.running = contextlib.ExitStack()
        self.servers = {}
        with self.running:
            self.prepare()
            self.running = self.running.pop_all()

    # ---- who serves

    def prepare(self):
        self.services = Services(self.arguments, **SETTINGS)
        self.running.callback(self.services.stop)
        self.www = self.work / "www"
        self.www.mkdir(exist_ok=True)
        self.hot = self.share(HOT, self.arguments.bytes)
        self.warm(min(self.length(), SPAN))

    def share(self, product, length):
        """Publishes a package of that length, and gives the peers the very file that our server sends."""
        package = self.work / f"{product}.cbz"
        file = self.www / product
        if not file.exists():
            say(f"Making and publishing {product}, {length:,} bytes")
            run("python3", "-B", self.arguments.root / "content/generate", "package", "--size", length, package)
            self.services.publish(product, package)
            package.unlink()
            os.link(self.services.blob(self.services.buy(product)["digest"]), file)
        return file

    def warm(self, length):
        """Brings the beginning of the file into the page cache."""
        with open(self.hot, "rb", buffering=0) as file:
            while length > 0 and (count := len(file.read(MEBIBYTE))) > 0:
                length -= count

    def start(self, name, make):
        if name not in self.servers:
            self.servers[name] = make()
            self.running.callback(self.servers[name].stop)
        return self.servers[name]

    def port(self, offset):
        return self.arguments.port_base + 20 + offset

    def pullbox(self, product=HOT, grants=1, name="pullbox", more=""):
        """Our server; the connections take turns with that many grants. `more` is behind each ticket's field, with a tab."""
        fields = self.work / f"{product}-{grants}{'-more' if more else ''}.fields"
        terms = [self.services.buy(product, f"bench-{number}") for number in range(grants)]
        fields.write_text("".join(f"Authorization: Bearer {one['ticket']}{more}\n" for one in terms))
        return Contender(name, self.arguments.port_base, terms[0]["contentURL"], [self.services.server.pid], fields)

    def restart(self, contender, **settings):
        """Our server with these settings, once it has done what it does when it starts."""
        self.services.restart(**SETTINGS | settings)
        contender.pids = [self.services.server.pid]
        settle(contender.pids)

    def limit(self, ours):
        """Gets the same requests and answers with a head of the same length."""
        fields = self.work / "limit.fields"
        fields.write_text(self.head_fields(ours), newline="")
        server = self.start("limit", lambda: peers.Limit(self.port(0), self.work, fields, [self.hot]))
        return Contender("limit", server.port, "/0" + ours.path[2:], server.pids, ours.fields)

    def head_fields(self, ours):
        """Those of our answer to a range that the limit does not make itself."""
        ticket = ours.fields.read_text().split("\n", 1)[0].split("\t")[0].split(": ", 1)[1]
        request = urllib.request.Request(f"http://127.0.0.1:{ours.port}{ours.path}",
                                         headers={"Authorization": ticket, "Range": "bytes=0-0"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            # urllib asks for the connection to be closed.
            own = {"content-range", "content-length", "connection"}
            return "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items() if name.lower() not in own)

    def nginx(self, path, name="nginx", **settings):
        key, offset = settings.pop("key", "nginx"), settings.pop("offset", 1)
        server = self.start(key, lambda: peers.Nginx(key, self.port(offset), self.www, self.work, **settings))
        return Contender(name, server.port, path, server.pids)

    def plain_nginx(self, **settings):
        return self.nginx(f"/{HOT}", **settings)

    def secure_link(self, product=HOT, **settings):
        return self.nginx(peers.Nginx.secure_link(product), **{"name": "nginx secure_link"} | settings)

    def auth_request(self):
        """Asks the limit, which answers 204 to everything it does not know; both processes count."""
        backend = self.limit(self.pullbox())
        contender = self.nginx(
            f"/asked/{HOT}", name="nginx auth_request", key="nginx-asking", offset=2, backend=backend.port)
        contender.pids = contender.pids + backend.pids
        return contender

    def lighttpd(self):
        server = self.start("lighttpd", lambda: peers.Lighttpd(self.port(3), self.www, self.work))
        return Contender("lighttpd", server.port, f"/{HOT}", server.pids)

    # ---- the client

    def load(self, contender, *words, apart=True, warm=SPAN):
        """What the client tells, with the processor seconds that the server took. `apart`: server and client have a processor
        each, since what a request costs depends on whether they share one, which is otherwise the scheduler's choice. The
        first `warm` bytes of the package are read before: hosts of virtual machines have pages taken back that are not used,
        while there is memory to spare, and one sample would read from the device what the next finds in memory."""
        self.warm(min(self.length(), warm))
        processors = sorted(os.sched_getaffinity(0))
        apart = apart and len(processors) > 1
        place(contender.pids, {processors[0]} if apart else set(processors))
        alone = ["taskset", "-c", processors[1]] if apart else []
        before = processor_time(contender.pids)
        told = json.loads(run(*alone, self.work / "load", *contender.words(), *words))
        return told | {"processor": processor_time(contender.pids) - before}

    @contextlib.contextmanager
    def held(self, contender, kind, connections, *words):
        """Connections that are kept by a client in the background, idle or slow."""
        # They stand for other machines, and take no processor that server or measuring client want.
        priority = [] if kind == "pipeline" else ["nice", "-n", "19"]
        client = subprocess.Popen(
            [str(word) for word in (*priority, self.work / "load", *contender.words(), "--hold", kind,
                                    "--connections", connections, *words)], stdout=subprocess.PIPE, text=True)
        try:
            if client.stdout.readline() != "ready\n":
                raise RuntimeError(f"the {kind} connections ended")
            # At first the kernel takes as much for each of them as its buffers hold.
            settle(contender.pids)
            yield
            if client.poll() is not None:
                raise RuntimeError(f"the {kind} connections ended")
        finally:
            client.send_signal(signal.SIGTERM)
            client.wait(30)
            client.stdout.close()

    def length(self):
        return self.arguments.bytes

    def count(self, requests, connections):
        return max(connections, round(requests * self.arguments.scale))

    def alternate(self, contenders, measure):
        """A list of samples for each contender; the order turns, so that nobody always follows the same one."""
        samples = {contender.name: [] for contender in contenders}
        for pair in range(self.arguments.pairs):
            start = pair % len(contenders)
            for contender in contenders[start:] + contenders[:start]:
                samples[contender.name].append(measure(contender))
        return samples

    # ---- rows

    def ranges(self, name, work, length, connections, requests, contenders, targets):
        count = self.count(requests, connections)

        def measure(contender):
            told = self.load(contender, "--length", min(self.length(), SPAN), "--range", length,
                             "--connections", connections, "--requests", count)
            return told["processor"] / told["requests"] * 1e6

        return row(name, work, "µs of CPU a request", self.alternate(contenders, measure), targets,
                   connections=connections, requests=count)

    def row_4k(self):
        ours = self.pullbox(grants=64)
        contenders = [ours, self.limit(ours), self.lighttpd(), self.secure_link(), self.auth_request()]
        return self.ranges("4k", "4 KiB ranges, 64 connections", 4 * KIBIBYTE, 64, 60_000, contenders, [
            Target("lighttpd", 0.95), Target("limit", 1.1)])

    def row_64k(self):
        ours = self.pullbox(grants=64)
        contenders = [ours, self.limit(ours), self.lighttpd(), self.secure_link()]
        return self.ranges("64k", "64 KiB ranges, 64 connections", 64 * KIBIBYTE, 64, 50_000, contenders, [
            Target("lighttpd", 0.95), Target("limit", 1.1)])

    def row_everyday(self):
        """What production adds, as deploy/nginx/pullbox.conf sets it up: an access log, a proxy that names the client."""
        forwarded = "\tX-Forwarded-For: 2001:db8::4711\tX-Forwarded-Proto: https\tX-Forwarded-Host: pull.example"
        plain = self.pullbox(grants=64, name="pullbox, neither", more=forwarded)
        log, proxy = {"accessLog": str(self.work / "access.log")}, {"trustedProxies": ["127.0.0.1"]}
        rows = []
        count = self.count(60_000, 64)
        for name, work, settings, most in [("log", "an access log", log, 1.5), ("proxy", "a trusted proxy", proxy, 1.5),
                                           ("log-and-proxy", "both", log | proxy, 3)]:
            def measure(contender, settings=settings):
                self.restart(contender, **settings if contender.name == "pullbox" else {})
                # Not what a server does once after its start.
                for requests in (20_000, count):
                    told = self.load(contender, "--length", min(self.length(), SPAN), "--range", 4 * KIBIBYTE,
                                     "--connections", 64, "--requests", requests)
                return told["processor"] / told["requests"] * 1e6

            ours = Contender("pullbox", plain.port, plain.path, plain.pids, plain.fields)
            rows.append(row(name, f"4 KiB ranges, 64 connections, with {work}", "µs of CPU a request",
                            self.alternate([ours, plain], measure), [Extra("pullbox, neither", most)], requests=count))
        self.services.restart(**SETTINGS)
        return rows

    def row_refusals(self):
        """Without a ticket, and with one that was changed, beside what is served."""
        served = self.pullbox(grants=64, name="pullbox, served")
        # Of the right key, so that the code has to be computed: its last character is another one.
        ticket = served.fields.read_text().splitlines()[0]
        wrong = self.work / "wrong.fields"
        wrong.write_text(ticket[:-1] + ("A" if ticket[-1] != "A" else "B") + "\n")
        count = self.count(60_000, 64)
        rows = []
        for status, fields in [(401, None), (403, wrong)]:
            def measure(contender, status=status):
                words = ["--range", 4 * KIBIBYTE] + ([] if contender is served else ["--status", status])
                told = self.load(contender, "--length", min(self.length(), SPAN), "--connections", 64,
                                 "--requests", count, *words)
                return told["processor"] / told["requests"] * 1e6

            ours = Contender("pullbox", served.port, served.path, served.pids, fields)
            rows.append(row(f"refused-{status}", f"{status} to a range without a valid ticket, 64 connections",
                            "µs of CPU a request", self.alternate([ours, served], measure),
                            [Target("pullbox, served", 1.3)], requests=count))
        return rows

    def row_short(self):
        count = self.count(20_000, 8)

        def measure(contender):
            told = self.load(contender, "--length", min(self.length(), SPAN), "--range", 4 * KIBIBYTE,
                             "--connections", 8, "--requests", count, "--close")
            return told["processor"] / told["requests"] * 1e6

        return row("short", "4 KiB ranges, each on a connection of its own, 8 at once", "µs of CPU a request",
                   self.alternate([self.pullbox(grants=8), self.lighttpd(), self.secure_link()], measure),
                   [Target("nginx secure_link", 1.1)], requests=count)

    def row_pipelining(self):
        def measure(contender):
            with self.held(contender, "pipeline", 1, "--length", min(self.length(), SPAN), "--range", 4 * KIBIBYTE,
                           "--depth", 300):
                return self.latency(contender)

        return row("pipelining", "p99 of 64 KiB ranges, 1,000 a second, beside a client that pipelines 300 of 4 KiB", "µs",
                   self.alternate([self.pullbox(grants=32), self.secure_link()], measure),
                   [Target("nginx secure_link", 1.0)])

    def row_catalog(self):
        """Ranges of more than a loop remembers to be in memory."""
        ours = self.pullbox(grants=64)
        contenders = [ours, self.limit(ours), self.lighttpd()]
        count = self.count(50_000, 64)

        def measure(contender):
            told = self.load(contender, "--length", self.length(), "--range", 64 * KIBIBYTE, "--connections", 64,
                             "--requests", count, warm=self.length())
            return told["processor"] / told["requests"] * 1e6

        return row("catalog", "64 KiB ranges of the whole package, 64 connections", "µs of CPU a request",
                   self.alternate(contenders, measure), [Target("lighttpd", 0.95), Target("limit", 1.1)],
                   requests=count, bytes=self.length())

    def row_cold_cost(self):
        """Downloads from the disk alone: what a MiB costs the server that was not in memory."""
        cold = self.share(COLD, self.arguments.bytes // 2)
        length = cold.stat().st_size
        span = 64 * MEBIBYTE
        count = self.count(32, 8)

        def measure(contender):
            told = self.load(contender, "--length", length, "--range", span, "--connections", 8, "--requests", count,
                             "--cold", cold, apart=False, warm=0)
            return told["processor"] / (told["bytes"] / MEBIBYTE) * 1e6

        contenders = [self.pullbox(COLD, grants=8), self.secure_link(COLD, key="nginx-threads", offset=6,
                                                                     extra="aio threads;", name="nginx aio threads")]
        return row("cold-cost", "downloads from the disk, 8 at once", "µs of CPU a MiB",
                   self.alternate(contenders, measure), [Median(None, 200)], requests=count)

    def large(self, name, size, length, connections, requests):
        ours = self.pullbox(grants=connections)
        contenders = [ours, self.limit(ours), self.lighttpd(), self.plain_nginx(), self.secure_link()]
        return self.ranges(name, f"{size} ranges, {connections} connections", length, connections, requests, contenders, [
            Target("nginx", 0.95), Target("lighttpd", 0.9), Target("limit", 1.0)])

    def row_1m(self):
        return self.large("1m", "1 MiB", MEBIBYTE, 8, 5_000)

    def row_16m(self):
        return self.large("16m", "16 MiB", 16 * MEBIBYTE, 8, 320)

    def row_1m_32(self):
        return self.large("1m-32", "1 MiB", MEBIBYTE, 32, 5_000)

    def row_16m_32(self):
        return self.large("16m-32", "16 MiB", 16 * MEBIBYTE, 32, 320)

    def whole(self, name, clients, downloads):
        ours = self.pullbox(grants=clients)
        contenders = [ours, self.limit(ours), self.plain_nginx()]
        speeds = {contender.name: [] for contender in contenders}
        # Whole files: the scale can only make them fewer.
        count = max(clients, round(downloads * self.arguments.scale / clients) * clients)

        def measure(contender):
            told = self.load(contender, "--length", self.length(), "--connections", clients, "--requests", count,
                             warm=self.length())
            speeds[contender.name].append(told["bytes"] / told["seconds"] / 1e6)
            return told["processor"] / told["bytes"] * GIGABYTE

        costs = self.alternate(contenders, measure)
        title = f"whole file, {clients} client{'s' if clients > 1 else ''}"
        return [row(name, title, "s of CPU a GB", costs, [Target("nginx", 1.0)], downloads=count),
                row(name + "-speed", title + ", throughput", "MB/s", speeds, [Target("nginx", 1.0, "at least")],
                    downloads=count)]

    def row_whole_1(self):
        return self.whole("whole-1", 1, 4)

    def row_whole_8(self):
        return self.whole("whole-8", 8, 8)

    def row_tls(self):
        certificate, key = self.certificate()
        self.services.restart(**SETTINGS, tls={"listen": [f"127.0.0.1:{self.port(9)}"],
                                               "certificate": str(certificate), "key": str(key)})
        ours = self.pullbox(grants=64)
        ours.port = self.port(9)
        listen = (f"listen 127.0.0.1:{self.port(4)} ssl reuseport; ssl_certificate {certificate}; "
                  f"ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:a:1m;")
        theirs = self.secure_link(key="nginx-tls", offset=5, listen=listen, name="nginx with TLS")
        theirs.port = self.port(4)
        count = self.count(30_000, 64)

        def measure(contender):
            told = self.load(contender, "--length", min(self.length(), SPAN), "--range", 64 * KIBIBYTE,
                             "--connections", 64, "--requests", count, "--tls", "--ciphers", CIPHERS)
            return told["processor"] / told["requests"] * 1e6

        result = row("tls", "64 KiB ranges over TLS, 64 connections", "µs of CPU a request",
                     self.alternate([ours, theirs], measure), [Target("nginx with TLS", 0.55)], ciphers=CIPHERS,
                     requests=count)
        self.services.restart(**SETTINGS)
        return result

    def certificate(self):
        certificate, key = self.work / "certificate.pem", self.work / "key.pem"
        if not certificate.exists():
            run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", key, "-out", certificate, "-subj", "/CN=localhost", "-days", "30")
        return certificate, key

    def latency(self, contender, seconds=2.5):
        """The 99th percentile in microseconds of ranges that are due at a fixed rate, from when they are due."""
        told = self.load(contender, "--length", min(self.length(), SPAN), "--range", 64 * KIBIBYTE,
                         "--connections", 32, "--rate", 1000, "--seconds", max(1, seconds * self.arguments.scale),
                         apart=False)
        return told["p99"]

    def row_slow_readers(self):
        def measure(contender):
            with self.held(contender, "slow", 200, "--length", self.length(), "--drip", 65_536):
                return self.latency(contender)

        contenders = [self.pullbox(grants=200), self.secure_link()]
        return row("slow-readers", "p99 of 64 KiB ranges, 1,000 a second, beside 200 slow readers", "µs",
                   self.alternate(contenders, measure), [Target("nginx secure_link", 1.0)], readers=200)

    def row_cold(self):
        cold = self.share(COLD, self.arguments.bytes // 2)
        length = cold.stat().st_size
        streams = {"pullbox": self.pullbox(COLD, grants=8)}
        quiet = [self.pullbox(grants=32, name="pullbox alone")]
        busy = [self.pullbox(grants=32), self.secure_link(name="nginx"),
                self.secure_link(key="nginx-threads", offset=6, extra="aio threads;", name="nginx aio threads")]
        # What the machine leaves of the latency when another process serves the downloads: their clients, the device and
        # nginx's threads take the same processors.
        apart = self.pullbox(grants=32, name="pullbox, nginx streaming")
        streams["nginx"] = self.secure_link(COLD)
        streams["nginx aio threads"] = self.secure_link(COLD, key="nginx-threads")
        streams[apart.name] = streams["nginx aio threads"]

        def measure(contender):
            if contender.name not in streams:
                return self.latency(contender)
            # Eight readers of 32 MB/s each.
            with self.held(streams[contender.name], "slow", 8, "--length", length, "--range", 64 * MEBIBYTE,
                           "--cold", cold, "--drip", 32_000_000):
                return self.latency(contender)

        return row("cold", "p99 of hot 64 KiB ranges, 1,000 a second, beside 8 downloads from the disk", "µs",
                   self.alternate(busy + [apart] + quiet, measure), [Target("pullbox alone", 1.5)],
                   streams=8)

    def row_two_loops(self):
        def measure(contender):
            if contender.name.startswith("pullbox"):
                self.restart(contender, loops=2 if contender.name == "pullbox" else 1)
            told = self.load(contender, "--length", min(self.length(), SPAN), "--range", 64 * KIBIBYTE,
                             "--connections", 64, "--rate", 8000, "--seconds", max(1, 2.5 * self.arguments.scale),
                             apart=False)
            return told["processor"] / told["requests"] * 1e6

        ours = self.pullbox(grants=64)
        one = Contender("one loop", ours.port, ours.path, ours.pids, ours.fields)
        one.name = "pullbox, one loop"
        contenders = [ours, one, self.secure_link(name="nginx, two workers", key="nginx-2", offset=7, workers=2),
                      self.secure_link(name="nginx, one worker")]
        samples = self.alternate(contenders, measure)
        self.services.restart(**SETTINGS)
        return row("two-loops", "two loops, 64 KiB ranges, 8,000 a second, 64 connections", "µs of CPU a request",
                   samples, [Target("pullbox, one loop", 1.05)])

    def row_instructions(self):
        """Of the server alone, and 8 connections: what a request needs, whatever else the machine does."""
        ours = self.pullbox(grants=64)
        callgrind = Callgrind(self.arguments)
        server = self.services.server
        usual = server.executable
        server.stop()
        server.executable, server.wrapper = callgrind.executable, callgrind.wrapper
        samples = {}
        try:
            server.start(self.services.base | SETTINGS)
            for part in range(self.arguments.pairs + 1):
                for name, length in (("4 KiB", 4 * KIBIBYTE), ("64 KiB", 64 * KIBIBYTE)):
                    before = callgrind.instructions(server.pid)
                    told = json.loads(run(self.work / "load", *ours.words(), "--length", min(self.length(), SPAN),
                                          "--range", length, "--connections", 8, "--requests", 4000))
                    cost = (callgrind.instructions(server.pid) - before) / told["requests"] / 1000
                    # The first turn fills the memories of tickets and packages.
                    if part > 0:
                        samples.setdefault(name, []).append(cost)
        finally:
            server.stop()
            server.executable, server.wrapper = usual, ()
            server.start(self.services.base | SETTINGS)
        return row("instructions", "ranges, 8 connections: the server's instructions", "thousand", samples, [])

    def held_memory(self, name, work, kind, connections, target, *words):
        def measure(contender):
            if contender.name == "pullbox":
                self.services.server.stop()
                self.restart(contender)
            # What the first requests allocate is no connection's.
            self.load(contender, "--length", self.length(), "--range", 65_536, "--connections", 4, "--requests", 400)
            before = sum(memory(pid, "RssAnon") for pid in contender.pids)
            with self.held(contender, kind, connections, "--length", self.length(), *words):
                after = sum(memory(pid, "RssAnon") for pid in contender.pids)
            return (after - before) / connections

        theirs = self.secure_link()
        samples = {"pullbox": [], "nginx secure_link": []}
        ours = self.pullbox(grants=min(connections, 500))
        for _ in range(min(3, self.arguments.pairs)):
            samples["pullbox"].append(measure(ours))
            # A worker that has served as many before has the memory already.
            fresh = peers.Nginx("memory", self.port(8), self.www, self.work)
            try:
                samples["nginx secure_link"].append(
                    measure(Contender("nginx", fresh.port, theirs.path, fresh.pids)))
            finally:
                fresh.stop()
        return row(name, work, "bytes a connection", samples, [Target("nginx secure_link", target)],
                   connections=connections)

    def row_idle_memory(self):
        return self.held_memory("idle-memory", f"memory of an idle connection, {IDLE:,} of them", "idle", IDLE, 1.2,
                                "--range", 65_536)

    def row_slow_memory(self):
        return self.held_memory("slow-memory", f"memory of a slow download, {SLOW:,} of them", "slow", SLOW, 1.2,
                                "--drip", 8192)

    def row_crowd(self):
        """Honest clients beside idle and slow ones."""
        calm = self.pullbox(grants=32, name="pullbox, calm")
        beside = [self.pullbox(grants=32), self.secure_link()]
        ours = self.pullbox(grants=500)

        def measure(contender):
            if contender is calm:
                return self.latency(contender)
            crowd = ours if contender.name == "pullbox" else contender
            with (self.held(crowd, "idle", IDLE, "--length", self.length(), "--range", 65_536),
                  self.held(crowd, "slow", SLOW, "--length", self.length(), "--drip", 8192)):
                return self.latency(contender)

        return row("crowd", f"p99 of 64 KiB ranges, 1,000 a second, beside {IDLE:,} idle and {SLOW:,} slow connections", "µs",
                   self.alternate([*beside, calm], measure), [Target("pullbox, calm", 1.5)], idle=IDLE, slow=SLOW)

    def row_upload(self):
        """The package itself, sent to a server that answers when it is durable."""
        with publish.upload_peers(self.arguments, self.services, self.port(10)) as peers_of_upload:
            samples = publish.upload_samples(self.arguments, peers_of_upload, self.hot)
        return row("upload", f"upload of {self.length() / 2**30:.3g} GiB, durable", "s", samples,
                   [Target("nginx DAV + sync", 1.0)], bytes=self.length())

    def run(self, names):
        results = Results(self.arguments.root / "Benchmarks/results/delivery.json", "delivery",
                          {"pairs": self.arguments.pairs, "scale": self.arguments.scale, "bytes": self.arguments.bytes,
                           "readAheadKiB": read_ahead(self.work)})
        for name in names:
            before = others_busy()
            measured = getattr(self, "row_" + name.replace("-", "_"))()
            others = round(max(before, others_busy()), 3)
            for one in measured if isinstance(measured, list) else [measured]:
                show(one)
                if others > QUIET:
                    say(f"  not recorded: others took {others:.0%} of a processor")
                else:
                    results.add(one | {"others": others})


def others_busy():
    """How much of a processor others take while this waits; what a row has left to be done may take some seconds."""
    for _ in range(5):
        if (busy := busy_processors()) <= QUIET:
            break
    return busy


# A row is recorded only while others take at most this much of a processor.
QUIET = 0.05
# One loop beside one worker; the other processor is the client's.
SETTINGS = {"loops": 1, "maximumConnections": 16_384, "logLevel": "warning", "ticketLifetime": "12h"}
# Connections beside which honest clients are served.
IDLE, SLOW = 10_000, 2_000
ROWS = ["4k", "64k", "1m", "16m", "1m-32", "16m-32", "whole-1", "whole-8", "tls", "everyday", "refusals", "short",
        "pipelining", "catalog", "slow-readers", "cold", "cold-cost", "idle-memory", "slow-memory", "crowd", "two-loops", "upload",
        "instructions"]


def main():
    arguments = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    bench = Bench(arguments)
    with bench.running:
        bench.run(arguments.only or ROWS)


if __name__ == "__main__":
    main()
