"""What a large catalog costs: lookups, entitlements, feeds, an import, devices that wait for a release. Run through scripts/bench
commerce."""
import argparse
import base64
import hashlib
import hmac
import http.client
import json
import random
import resource
import select
import shutil
import socket
import sqlite3
import threading
import time
from pathlib import Path

from measuring import memory, peak_memory, processor_time, run, say
from reporting import Results, Target, row, show
from services import Daemon, Services, request

ROWS = ["questions", "pure", "import", "waiting"]
PRODUCTS, CUSTOMERS, TRANSACTIONS = 1_000_000, 1_000_000, 5_000_000
# A publication has so many products, one of them its subscription.
SERIES = 100
HEAVY, HEAVY_TRANSACTIONS = 20, 200
DAY = 86_400_000
ISSUE = "com.example.bench.issue"
FIRST = 1_000_000_000_000_000


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench commerce")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--scale", type=float, default=1.0, metavar="PART",
                        help="part of 1,000,000 products and customers, 5,000,000 transactions, an import of 100,000 products and "
                        "5,000 devices that wait")
    parser.add_argument("--questions", type=int, default=2000, metavar="N", help="questions of each kind")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="times the questions and the history are measured")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the samples here")
    parser.add_argument("--port-base", type=int, default=29280, metavar="PORT", help="first of the ports used")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def percentile(samples, part=0.99):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]


# ---- what is there


class Catalog:
    """A server on a state with part of the numbers, and devices whose proofs it knows."""

    def __init__(self, arguments, scale, place, waiting=0):
        self.products, self.customers = max(SERIES * 10, int(PRODUCTS * scale)), max(1000, int(CUSTOMERS * scale))
        self.series, self.waiting = self.products // SERIES, waiting
        self.arguments = argparse.Namespace(**vars(arguments))
        self.arguments.port_base += place * 40
        self.arguments.work = arguments.work / f"catalog-{scale:g}-{waiting}"
        shutil.rmtree(self.arguments.work, ignore_errors=True)
        self.services = Services(self.arguments, logLevel="warning", limits=unlimited())
        package = self.arguments.work / "issue.cbz"
        run("python3", "-B", arguments.root / "content/generate", "package", "--size", 1 << 20, package)
        self.package = package
        self.services.publish(ISSUE, package)
        self.proofs = [self.proof(f"heavy-{n}") for n in range(HEAVY)]
        for proof in self.proofs:
            self.entitlements(proof)
        self.services.server.stop()
        say(f"Making {self.products:,} products, {self.customers:,} customers and {self.customers * 5:,} transactions")
        self.fill(self.services.state / "server.db")
        self.services.server.start(self.services.base | {"logLevel": "warning", "limits": unlimited()})
        keys = json.loads((self.services.state / "ticket-keys.json").read_text())["keys"]
        self.secret, self.key = bytes.fromhex(keys[0]["secret"]), keys[0]["id"]
        self.port = self.arguments.port_base

    def proof(self, device):
        store = self.services.store_url
        token = request(store + "/sandbox/v1/accounts", {"territory": "USA", "name": device})["token"]
        request(store + "/store/v1/purchases", {"product": ISSUE, "device": device}, token)
        receipt = request(store + f"/store/v1/receipt?device={device}", token=token)["receipt"]
        return {"receipt": receipt, "device": {"id": device}}

    def entitlements(self, proof):
        return request(self.services.server_url + "/v1/entitlements", proof)

    def fill(self, database):
        """Rows as the server writes them. Each customer subscribes to a publication and has bought four issues; those of the proofs
        have a hundred periods and a hundred issues of two publications."""
        now = int(time.time() * 1000)
        connection = sqlite3.connect(database, isolation_level=None)
        ask = connection.execute
        ask("PRAGMA synchronous = OFF")
        ask("BEGIN")
        revision = ask("UPDATE catalogue_state SET revision = revision + 1, changed = ? RETURNING revision", (now,)).fetchall()[0][0]
        numbers = "WITH RECURSIVE counting (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counting WHERE n + 1 < {}) "
        issue = """json_object('id', 'com.example.bench.s' || (n / 100) || '.i' || (n % 100),
          'localizations', json('{"en-US":{"description":"Made for a benchmark","title":"An issue"}}'),
          'prices', json('{"USA":{"amount":"2.99","currency":"USD"}}'), 'type', 'non-consumable',
          'publication', 'com.example.bench.s' || (n / 100),
          'publicationDate', strftime('%Y-%m-%dT00:00:00.000Z', 1735689600 + (n % 100) * 604800, 'unixepoch'))"""
        subscription = """json_object('id', 'com.example.bench.s' || (n / 100) || '.i0',
          'localizations', json('{"en-US":{"description":"Made for a benchmark","title":"Monthly"}}'),
          'prices', json('{"USA":{"amount":"1.99","currency":"USD"}}'), 'type', 'auto-renewable-subscription',
          'publication', 'com.example.bench.s' || (n / 100), 'period', 'P1M')"""
        ask(numbers.format(self.products) + f"""
          INSERT INTO products (id, document, type, publication, created, changed, revision)
          SELECT 'com.example.bench.s' || (n / 100) || '.i' || (n % 100),
            CASE WHEN n % 100 = 0 THEN {subscription} ELSE {issue} END,
            CASE WHEN n % 100 = 0 THEN 'auto-renewable-subscription' ELSE 'non-consumable' END,
            'com.example.bench.s' || (n / 100), ?1, ?1, ?2 FROM counting""", (now, revision))
        ask(numbers.format(self.products) + """
          INSERT INTO versions (product, version, state, digest, length, manifest_digest, pieces, files, created, released,
            ordering, percentage)
          SELECT 'com.example.bench.s' || (n / 100) || '.i' || (n % 100), '1.0', 'released', one.digest, one.length,
            one.manifest_digest, one.pieces, one.files, ?1, ?1, one.ordering, 100
          FROM counting JOIN versions AS one ON one.product = ?2 WHERE n % 100 <> 0""", (now, ISSUE))
        # Those who wait subscribe to the first publication.
        series = f"CASE WHEN n < {self.waiting} THEN 0 ELSE n % {self.series} END"
        ask(numbers.format(self.customers) + """
          INSERT INTO customer_devices (customer, device, first_seen, last_seen)
          SELECT CAST(printf('%016d', n) AS BLOB), 'bench-' || n, ?1, ?1 FROM counting""", (now,))
        ask(numbers.format(self.customers) + """
          INSERT INTO feeds (device, store, environment, customer, epoch, sequence, used)
          SELECT 'bench-' || n, 'sandbox', 'Sandbox', CAST(printf('%016d', n) AS BLOB), 1, 0, ?1 FROM counting""", (now,))
        columns = """INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, expires,
          quantity, customer) SELECT 'sandbox', 'Sandbox', """
        ask(numbers.format(self.customers) + columns + f"""CAST({FIRST} + n * 5 AS TEXT), ?1, CAST({FIRST} + n * 5 AS TEXT),
          'com.example.bench.s' || {series} || '.i0', ?1 - {DAY}, ?1 + {29 * DAY}, 1, CAST(printf('%016d', n) AS BLOB)
          FROM counting""", (now,))
        ask(numbers.format(self.customers * 4) + columns + f"""CAST({FIRST} + n / 4 * 5 + 1 + n % 4 AS TEXT), ?1,
          CAST({FIRST} + n / 4 * 5 + 1 + n % 4 AS TEXT),
          'com.example.bench.s' || ((n * 7919) % {self.series}) || '.i' || (1 + (n * 31) % 99), ?1 - {90 * DAY}, NULL, 1,
          CAST(printf('%016d', n / 4) AS BLOB) FROM counting""", (now,))
        for place, (customer,) in enumerate(ask("""SELECT DISTINCT transactions.customer FROM transactions
            JOIN customer_devices USING (customer) WHERE device GLOB 'heavy-*' LIMIT ?""", (HEAVY,)).fetchall()):
            first = FIRST * 2 + 900_000_000_000 + place * 1000
            for n in range(HEAVY_TRANSACTIONS - 1):
                renews, start = n < 100, now - (100 - n) * 30 * DAY + DAY if n < 100 else now - 400 * DAY
                ask(columns + "?, ?, ?, ?, ?, ?, 1, ?", (
                    str(first + n), now, str(first if renews else first + n),
                    f"com.example.bench.s{(place * 2 + (n >= 150)) % self.series}.i{0 if renews else n - 99}", start,
                    start + 30 * DAY if renews else None, customer))
        ask("COMMIT")
        ask("PRAGMA analysis_limit = 400")
        ask("ANALYZE")
        connection.close()

    def feed(self, number, device):
        """The token of the feed, as the server seals them (Sources/DeliveryService/Tickets/FeedToken.swift)."""
        tag = hashlib.sha256(device.encode()).digest()[:8]
        head = bytes([129]) + self.key.to_bytes(4) + (int(time.time()) + 864_000).to_bytes(8) + number.to_bytes(8) + tag
        code = hmac.new(self.secret, head, hashlib.sha256).digest()[:16]
        return base64.urlsafe_b64encode(head + code).decode()

    def read_only(self):
        return sqlite3.connect(f"file:{self.services.state / 'server.db'}?mode=ro", uri=True)

    def stop(self):
        self.services.stop()
        shutil.rmtree(self.arguments.work, ignore_errors=True)


def unlimited():
    """One address asks for all devices."""
    return {"bodiesPerGrant": 100_000, "bodiesPerDevice": 100_000, "ratePerGrant": "1024GiB", "ratePerDevice": "1024GiB",
            "burst": "8192GiB"}


class Client:
    """One connection that is kept."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, path, body=None, token=None):
        headers = {"Content-Type": "application/json"} if body else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.connection.request("POST" if body else "GET", path, body, headers)
        response = self.connection.getresponse()
        data = response.read()
        if response.status not in (200, 304):
            raise RuntimeError(f"{path}: {response.status} {data[:300]}")
        return data


def timed(work, count):
    samples = []
    for number in range(count):
        begun = time.perf_counter()
        work(number)
        samples.append((time.perf_counter() - begun) * 1000)
    return samples


# ---- rows


def questions(arguments, scale, place):
    """The 99th of a hundred answers of each kind, in milliseconds, of the server and of a loop over the same database."""
    catalog = Catalog(arguments, scale, place)
    found = {}
    try:
        client, generator = Client(catalog.port), random.Random(1)
        database = catalog.read_only()

        def some():
            return f"com.example.bench.s{generator.randrange(catalog.series)}.i{generator.randrange(1, SERIES)}"

        def rows(sql, *values):
            return database.execute(sql, values).fetchall()

        customers = [rows("SELECT DISTINCT customer FROM customer_devices WHERE device = ?", f"heavy-{n}")[0][0] for n in range(HEAVY)]
        bodies = [json.dumps(proof) for proof in catalog.proofs]
        numbers = [(n, *rows("SELECT number FROM feeds WHERE device = ?", f"bench-{n}")[0])
                   for n in generator.sample(range(catalog.customers), 200)]
        feeds = [(f"/v1/feed?device=bench-{n}&wait=0", catalog.feed(number, f"bench-{n}"), number) for n, number in numbers]
        cursors = [json.loads(client.ask(path, token=token))["cursor"] for path, token, _ in feeds]
        kinds = {
            "lookup": (lambda n: client.ask(f"/v1/products?id={some()}&territory=USA"),
                       lambda n: rows("""SELECT document FROM products JOIN versions ON product = id
                         WHERE id = ? AND state = 'released'""", some())),
            "entitlements": (lambda n: client.ask("/v1/entitlements", bodies[n % HEAVY]),
                             lambda n: rows("SELECT * FROM transactions WHERE customer = ? ORDER BY purchased DESC LIMIT 1000",
                                            customers[n % HEAVY])),
            "feed": (lambda n: client.ask(feeds[n % 200][0] + f"&after={cursors[n % 200]}", token=feeds[n % 200][1]),
                     lambda n: (rows("SELECT * FROM feeds WHERE number = ?", feeds[n % 200][2]),
                                rows("SELECT * FROM feed_items WHERE feed = ?", feeds[n % 200][2]))),
        }
        for kind, (ours, theirs) in kinds.items():
            timed(ours, 50)
            found[kind] = ([], [])
            for _ in range(arguments.runs):
                found[kind][0].append(percentile(timed(ours, arguments.questions)))
                found[kind][1].append(percentile(timed(theirs, arguments.questions)))
        database.close()
        say(f"{catalog.products:,} products: {memory(catalog.services.server.pid, 'VmRSS') / 2**20:.0f} MiB")
    finally:
        catalog.stop()
    return found


def ask_questions(results, arguments):
    large, small = questions(arguments, arguments.scale, 0), questions(arguments, arguments.scale / 100, 1)
    names = {"lookup": "a product looked up", "entitlements": f"entitlements of a customer with {HEAVY_TRANSACTIONS} transactions",
             "feed": "the feed of a device, nothing new"}
    for kind, (ours, theirs) in large.items():
        results.add(row(kind, f"{names[kind]}, the 99th of a hundred answers", "ms",
                        {"pullbox": ours, "a hundredth": small[kind][0], "bare SQLite": theirs},
                        [Target(None, 5), Target("a hundredth", 2)]))


def pure(results, arguments):
    samples = {}
    for line in run(arguments.bin / "CommerceBenchmark", arguments.runs).splitlines():
        name, microseconds = line.split()
        samples.setdefault(int(name), []).append(float(microseconds))
    for count, values in samples.items():
        results.add(row(f"history-{count}", f"a history of {count} transactions judged, its catalog given", "µs a transaction",
                        {"pullbox": values}, [Target(None, 20)]))


def import_products(results, arguments):
    count = max(100, int(100_000 * arguments.scale))
    local = argparse.Namespace(**vars(arguments))
    local.port_base, local.work = arguments.port_base + 80, arguments.work / "import"
    shutil.rmtree(local.work, ignore_errors=True)
    services = Services(local, logLevel="warning")
    try:
        path = local.work / "products.csv"
        with open(path, "w") as file:
            file.write("id,type,publication,publicationDate,title:en-US,description:en-US,price:USA,price:FRA\n")
            for n in range(count):
                file.write(f"com.example.bench.s{n // 100}.i{n % 100},non-consumable,com.example.bench.s{n // 100},"
                           f"2026-01-01T00:00:00Z,Issue {n},Made for a benchmark,2.99 USD,2.99 EUR\n")
        begun = time.monotonic()
        services.pullbox("import", path)
        seconds = time.monotonic() - begun
        results.add(row("import", f"{count:,} products imported", "s", {"pullbox": [seconds]}, [Target(None, 60)]))
        results.add(row("import-memory", "the server's memory at the end, at its peak", "MiB",
                        {"pullbox": [peak_memory(services.server.pid) / 2**20]}, [Target(None, 128)]))
    finally:
        services.stop()
        shutil.rmtree(local.work, ignore_errors=True)


class Waiter:
    """A connection on which a device asks for its feed."""

    def __init__(self, catalog, number, feed):
        self.device, self.token = f"bench-{number}", catalog.feed(feed, f"bench-{number}")
        self.socket = socket.create_connection(("127.0.0.1", catalog.port))

    def send(self, cursor=None):
        after = f"&after={cursor}&wait=300" if cursor else "&wait=0"
        self.socket.sendall((f"GET /v1/feed?device={self.device}{after} HTTP/1.1\r\nHost: bench\r\n"
                             f"Authorization: Bearer {self.token}\r\n\r\n").encode())

    def receive(self):
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.socket.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields[b"content-length"])
        while len(body) < length:
            body += self.socket.recv(65536)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        return json.loads(body)


def waiting(results, arguments):
    count = max(50, int(5000 * arguments.scale))
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    catalog = Catalog(arguments, min(arguments.scale, 0.01), 3, waiting=count)
    try:
        database = catalog.read_only()
        numbers = dict(database.execute("SELECT CAST(substr(device, 7) AS INTEGER), number FROM feeds WHERE device GLOB 'bench-*'"))
        database.close()
        pid = catalog.services.server.pid
        waiters = [Waiter(catalog, n, numbers[n]) for n in range(count)]
        cursors = []
        for waiter in waiters:
            waiter.send()
            cursors.append(waiter.receive()["cursor"])
        time.sleep(2)
        before = memory(pid, "RssAnon")
        for waiter, cursor in zip(waiters, cursors, strict=True):
            waiter.send(cursor)
        time.sleep(2)
        each = (memory(pid, "RssAnon") - before) / count / 1024
        results.add(row("waiting-memory", f"{count:,} devices that wait in the feed, memory of each beyond its connection", "KiB",
                        {"pullbox": [each]}, [Target(None, 4)], extrapolated=f"100,000 devices: {each * 100_000 / 1024:.0f} MiB"))
        used = processor_time([pid])
        time.sleep(10)
        results.add(row("waiting-processor", "the server's processor time meanwhile, nothing happening", "ms a second",
                        {"pullbox": [(processor_time([pid]) - used) * 100]}, []))
        product = "com.example.bench.s0.new"
        catalog.services.operator(f"/v1/operator/products/{product}", {
            "publication": "com.example.bench.s0",
            "publicationDate": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())}, "PUT")
        catalog.services.pullbox("publish", catalog.package, "--product", product, "--version", "1.0")
        catalog.services.operator(f"/v1/operator/products/{product}/versions/1.0/approve", {}, "POST")
        calm, others = Client(catalog.port), []
        lookup = lambda n: calm.ask(f"/v1/products?id=com.example.bench.s{n % 10}.i7&territory=USA")
        quiet = percentile(timed(lookup, 500))
        done = threading.Event()

        def ask_meanwhile():
            while not done.is_set():
                others.extend(timed(lookup, 1))

        thread = threading.Thread(target=ask_meanwhile)
        poll = select.epoll()
        for waiter in waiters:
            poll.register(waiter.socket, select.EPOLLIN | select.EPOLLONESHOT)
        begun = time.monotonic()
        catalog.services.operator(f"/v1/operator/products/{product}/versions/1.0/release", {}, "POST")
        thread.start()
        told, left = [], count
        by_file = {waiter.socket.fileno(): waiter for waiter in waiters}
        while left and time.monotonic() < begun + 120:
            for file, _ in poll.poll(1):
                answer = by_file[file].receive()
                if any(entry["product"] == product for entry in answer["entries"]):
                    told.append(time.monotonic() - begun)
                left -= 1
        done.set()
        thread.join()
        if len(told) < count:
            raise RuntimeError(f"{len(told)} of {count} devices were told")
        results.add(row("waiting-release", f"a release told to {count:,} devices that wait, to the last", "s",
                        {"pullbox": [max(told)]}, [Target(None, 2)],
                        extrapolated=f"entries of 100,000 subscribers: {max(told) / count * 100_000:.1f} s"))
        results.add(row("waiting-others", "a product looked up meanwhile, the 99th of a hundred answers", "ms",
                        {"pullbox": [percentile(others)], "calm": [quiet]}, [Target("calm", 2)]))
        for waiter in waiters:
            waiter.socket.close()
    finally:
        catalog.stop()


def main():
    arguments = parse_arguments()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = Results(arguments.results or arguments.root / "Benchmarks/results/commerce.json", "commerce",
                      {"scale": arguments.scale, "questions": arguments.questions, "runs": arguments.runs})
    work = {"questions": ask_questions, "pure": pure, "import": import_products, "waiting": waiting}
    for name in arguments.only or ROWS:
        work[name](results, arguments)
    for one in results.rows:
        show(one)


if __name__ == "__main__":
    main()
