"""What a large catalog costs: lookups, entitlements, feeds, an import, devices that wait for a release. Run through scripts/bench
commerce."""
import argparse
import base64
import hashlib
import hmac
import http.client
import json
import multiprocessing
import random
import resource
import select
import shutil
import socket
import sqlite3
import time
import urllib.request
from pathlib import Path

from measuring import memory, peak_memory, processor_time, run, say
from reporting import Results, Target, row, show
from services import Services, request

ROWS = ["data", "questions", "pure", "import", "waiting"]
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
    parser.add_argument("--waiting", type=int, metavar="N", help="devices that wait, in place of 5,000 times the scale")
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
    """A server on a state with part of the numbers, and devices whose proofs it knows. What was made is kept, and used again."""

    # Another one makes the data anew.
    LAYOUT = 1
    # A subscription that was made longer ago may have ended.
    LIFETIME = 20 * DAY

    def __init__(self, arguments, scale, place, **settings):
        self.products, self.customers = max(SERIES * 10, int(PRODUCTS * scale)), max(1000, int(CUSTOMERS * scale))
        self.series, self.subscribers = self.products // SERIES, self.customers // 10
        self.arguments = argparse.Namespace(**vars(arguments))
        self.arguments.port_base += place * 40
        self.arguments.work = arguments.work / f"catalog-{scale:g}"
        self.package, made = self.arguments.work / "issue.cbz", self.arguments.work / "made.json"
        self.settings = {"logLevel": "warning", "limits": unlimited(), "unlimitedAddresses": ["127.0.0.0/8"]} | settings
        now = int(time.time() * 1000)
        facts = json.loads(made.read_text()) if made.exists() else {}
        if facts.get("layout") != self.LAYOUT or facts["made"] < now - self.LIFETIME:
            shutil.rmtree(self.arguments.work, ignore_errors=True)
            facts = {"layout": self.LAYOUT, "made": now, "proofs": self.make(now)}
            made.write_text(json.dumps(facts))
        self.proofs = facts["proofs"]
        begun = time.monotonic()
        self.services = Services(self.arguments, **self.settings)
        say(f"The server began with {self.products:,} products in {time.monotonic() - begun:.1f} s")
        keys = json.loads((self.services.state / "ticket-keys.json").read_text())["keys"]
        self.secret, self.key = bytes.fromhex(keys[0]["secret"]), keys[0]["id"]
        self.port = self.arguments.port_base

    def make(self, now):
        """Answers the proofs of the customers who have bought much."""
        self.services = Services(self.arguments, **self.settings)
        try:
            run("python3", "-B", self.arguments.root / "content/generate", "package", "--size", 1 << 20, self.package)
            self.services.publish(ISSUE, self.package)
            proofs = [self.proof(f"heavy-{n}") for n in range(HEAVY)]
            for proof in proofs:
                request(self.services.server_url + "/v1/entitlements", proof)
        finally:
            self.services.stop()
        begun = time.monotonic()
        self.fill(self.services.state / "server.db", now)
        say(f"{self.products:,} products, {self.customers:,} customers and {self.customers * 5:,} transactions were made in "
            f"{time.monotonic() - begun:.0f} s")
        return proofs

    def proof(self, device):
        store = self.services.store_url
        token = request(store + "/sandbox/v1/accounts", {"territory": "USA", "name": device})["token"]
        request(store + "/store/v1/purchases", {"product": ISSUE, "device": device}, token)
        receipt = request(store + f"/store/v1/receipt?device={device}", token=token)["receipt"]
        return {"receipt": receipt, "device": {"id": device}}

    def fill(self, database, now):
        """Rows as the server writes them. Each customer subscribes to a publication, every tenth to the first one, and has bought four
        issues; those of the proofs have a hundred periods and a hundred issues of two publications."""
        connection = sqlite3.connect(database, isolation_level=None)
        ask = connection.execute
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1048576", "temp_store = MEMORY",
                       "locking_mode = EXCLUSIVE"):
            ask("PRAGMA " + pragma)
        ask("BEGIN")
        # Indexes and triggers are made anew when the rows are there, which is faster.
        bulk = ("products", "versions", "customer_devices", "feeds", "transactions")
        laid_aside = ask("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('index', 'trigger') "
                         f"AND tbl_name IN {bulk} ORDER BY type, name").fetchall()
        for kind, name, _ in laid_aside:
            ask(f"DROP {kind} {name}")
        heavy = [customer for customer, in ask(
            "SELECT DISTINCT customer FROM customer_devices WHERE device GLOB 'heavy-*' ORDER BY device").fetchall()]
        revision = ask("UPDATE catalogue_state SET revision = revision + 1, changed = ? RETURNING revision", (now,)).fetchall()[0][0]
        numbers = "WITH RECURSIVE counting (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counting WHERE n + 1 < {}) "
        issue = f"""json_object('id', 'com.example.bench.s' || (n / 100) || '.i' || (n % 100),
          'localizations', json('{{"en-US":{{"description":"Made for a benchmark","title":"An issue"}}}}'),
          'prices', json('{{"USA":{{"amount":"2.99","currency":"USD"}}}}'), 'type', 'non-consumable',
          'publication', 'com.example.bench.s' || (n / 100),
          'publicationDate', strftime('%Y-%m-%dT00:00:00.000Z', {now // 1000} - (100 - n % 100) * 604800, 'unixepoch'))"""
        subscription = """json_object('id', 'com.example.bench.s' || (n / 100) || '.i0',
          'localizations', json('{"en-US":{"description":"Made for a benchmark","title":"Monthly"}}'),
          'prices', json('{"USA":{"amount":"1.99","currency":"USD"}}'), 'type', 'auto-renewable-subscription',
          'publication', 'com.example.bench.s' || (n / 100), 'period', 'P1M')"""
        ask(numbers.format(self.products) + f"""
          INSERT INTO products (id, document, type, publication, created, changed, revision)
          SELECT 'com.example.bench.s' || (n / 100) || '.i' || (n % 100),
            CASE WHEN n % 100 = 0 THEN {subscription} ELSE {issue} END,
            CASE WHEN n % 100 = 0 THEN 'auto-renewable-subscription' ELSE 'non-consumable' END,
            'com.example.bench.s' || (n / 100), ?1, ?1, ?2 FROM counting ORDER BY 1""", (now, revision))
        ask(numbers.format(self.products) + """
          INSERT INTO versions (product, version, state, digest, length, manifest_digest, pieces, files, created, released,
            ordering, percentage)
          SELECT 'com.example.bench.s' || (n / 100) || '.i' || (n % 100), '1.0', 'released', one.digest, one.length,
            one.manifest_digest, one.pieces, one.files, ?1, ?1, one.ordering, 100
          FROM counting JOIN versions AS one ON one.product = ?2 WHERE n % 100 <> 0 ORDER BY 1""", (now, ISSUE))
        ask(numbers.format(self.customers) + """
          INSERT INTO customer_devices (customer, device, first_seen, last_seen)
          SELECT CAST(printf('%016d', n) AS BLOB), 'bench-' || n, ?1, ?1 FROM counting""", (now,))
        ask(numbers.format(self.customers) + """
          INSERT INTO feeds (device, store, environment, customer, epoch, sequence, used)
          SELECT 'bench-' || n, 'sandbox', 'Sandbox', CAST(printf('%016d', n) AS BLOB), 1, 0, ?1 FROM counting""", (now,))
        columns = """INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, expires,
          quantity, customer) SELECT 'sandbox', 'Sandbox', """
        ask(numbers.format(self.customers * 5) + columns + f"""CAST({FIRST} + n AS TEXT), ?1, CAST({FIRST} + n AS TEXT),
          'com.example.bench.s' || CASE WHEN n % 5 = 0 THEN CASE WHEN n / 5 < {self.subscribers} THEN 0 ELSE n / 5 % {self.series} END
            || '.i0' ELSE (n * 7919) % {self.series} || '.i' || (1 + (n * 31) % 99) END,
          ?1 - CASE WHEN n % 5 = 0 THEN {DAY} ELSE {90 * DAY} END, CASE WHEN n % 5 = 0 THEN ?1 + {29 * DAY} END, 1,
          CAST(printf('%016d', n / 5) AS BLOB) FROM counting""", (now,))
        for place, customer in enumerate(heavy):
            first = FIRST * 2 + 900_000_000_000 + place * 1000
            for n in range(HEAVY_TRANSACTIONS - 1):
                renews, start = n < 100, now - (100 - n) * 30 * DAY + DAY if n < 100 else now - 400 * DAY
                ask(columns + "?, ?, ?, ?, ?, ?, 1, ?", (
                    str(first + n), now, str(first if renews else first + n),
                    f"com.example.bench.s{(place * 2 + (n >= 150)) % self.series}.i{0 if renews else n - 99}", start,
                    start + 30 * DAY if renews else None, customer))
        for _, _, sql in laid_aside:
            ask(sql)
        ask("COMMIT")
        ask("PRAGMA analysis_limit = 400")
        ask("ANALYZE")
        ask("PRAGMA locking_mode = NORMAL")
        ask("PRAGMA journal_mode = WAL")
        connection.close()

    def feed(self, number, device):
        """The token of the feed, as the server seals them (Sources/ContentDelivery/Tickets/FeedToken.swift)."""
        customer = f"{int(device.split('-')[1]):016d}"
        tags = b"".join(hashlib.sha256(name.encode()).digest()[:8] for name in (device, customer))
        head = bytes([130]) + self.key.to_bytes(4) + (int(time.time()) + 864_000).to_bytes(8) + number.to_bytes(8) + tags
        code = hmac.new(self.secret, head, hashlib.sha256).digest()[:16]
        return base64.urlsafe_b64encode(head + code).decode().rstrip("=")

    def read_only(self):
        return sqlite3.connect(f"file:{self.services.state / 'server.db'}?mode=ro", uri=True)

    def stop(self):
        self.services.stop()


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


def data(_results, arguments):
    """Makes what is missing of the data that the other rows ask, which PULLBOX_BENCH_DIR keeps."""
    for place, part in enumerate((arguments.scale, arguments.scale / 100)):
        Catalog(arguments, part, place).stop()


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
        self.device, self.token, self.data = f"bench-{number}", catalog.feed(feed, f"bench-{number}"), b""
        # The ports of one address do not suffice for many.
        self.socket = socket.create_connection(("127.0.0.1", catalog.port), source_address=(f"127.0.1.{number % 100 + 1}", 0))

    def send(self, cursor=None):
        after = f"&after={cursor}&wait=300" if cursor else "&wait=0"
        self.socket.sendall((f"GET /v1/feed?device={self.device}{after} HTTP/1.1\r\nHost: bench\r\n"
                             f"Authorization: Bearer {self.token}\r\n\r\n").encode())

    def take(self):
        """What has arrived; false at the end of the connection."""
        part = self.socket.recv(65536)
        self.data += part
        return bool(part)

    def is_answered(self):
        head, end, body = self.data.partition(b"\r\n\r\n")
        if not end:
            return False
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        return len(body) >= int(fields[b"content-length"])

    def answer(self):
        head, _, body = self.data.partition(b"\r\n\r\n")
        self.data = b""
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode() + body.decode()[:300])
        return json.loads(body)

    def receive(self):
        while not self.is_answered():
            if not self.take():
                raise RuntimeError("the server has closed the connection")
        return self.answer()


def look_up(port, series, ended, samples):
    """Products one after the other until `ended`; milliseconds of each."""
    client, generator, found = Client(port), random.Random(3), []
    while not ended.is_set():
        begun = time.perf_counter()
        client.ask(f"/v1/products?id=com.example.bench.s{generator.randrange(series)}.i{generator.randrange(1, SERIES)}&territory=USA")
        found.append((time.perf_counter() - begun) * 1000)
    samples.put(found)


class Lookups:
    """What others ask meanwhile, in a process of its own: what it waits for is the server, not this one."""

    def __init__(self, catalog):
        self.ended, self.samples = multiprocessing.Event(), multiprocessing.SimpleQueue()
        self.process = multiprocessing.Process(
            target=look_up, args=(catalog.port, catalog.series, self.ended, self.samples), daemon=True)
        self.process.start()

    def end(self):
        self.ended.set()
        found = self.samples.get()
        self.process.join()
        return found


def quiet(catalog, seconds=16):
    """The server's processor time and its questions to its database a second, while it is left alone: longer than the pause between two
    looks for changes of another process."""
    def questions():
        address = urllib.request.Request(catalog.services.server_url + "/metrics", headers={
            "Authorization": f"Bearer {catalog.services.key}"})
        with urllib.request.urlopen(address, timeout=60) as page:
            lines = page.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("pullbox_database_wait_seconds_count"))

    # What the page of metrics asks for itself is not counted.
    first, second = questions(), questions()
    used = processor_time([catalog.services.server.pid])
    time.sleep(seconds)
    used = processor_time([catalog.services.server.pid]) - used
    return used / seconds * 1000, (questions() - second - (second - first)) / seconds


def waiting(results, arguments):
    count = arguments.waiting or max(50, int(5000 * arguments.scale))
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    catalog = Catalog(arguments, arguments.scale, 0, maximumConnections=count + 200, maximumConnectionsPerAddress=0)
    try:
        database = catalog.read_only()
        numbers = dict(database.execute(
            "SELECT CAST(substr(device, 7) AS INTEGER), number FROM feeds WHERE device IN "
            f"({', '.join(repr(f'bench-{n}') for n in range(count))})"))
        database.close()
        # The first answer comes when the catalog is in memory.
        Client(catalog.port).ask(f"/v1/products?id={ISSUE}")
        pid, alone = catalog.services.server.pid, quiet(catalog)
        waiters = [Waiter(catalog, n, numbers[n]) for n in range(count)]
        cursors = []
        for waiter in waiters:
            waiter.send()
            cursors.append(waiter.receive()["cursor"])
        time.sleep(2)
        before = memory(pid, "RssAnon")
        for place, (waiter, cursor) in enumerate(zip(waiters, cursors, strict=True)):
            waiter.send(cursor)
            # Devices do not come all at once: a server refuses to let more than 256 requests wait for a thread.
            if place % 50 == 49:
                time.sleep(0.05)
        time.sleep(2)
        each = (memory(pid, "RssAnon") - before) / count / 1024
        results.add(row("waiting-memory", f"{count:,} devices that wait in the feed, memory of each beyond its connection", "KiB",
                        {"pullbox": [each]}, [Target(None, 4)], extrapolated=f"100,000 devices: {each * 100_000 / 1024:.0f} MiB"))
        used, asked = quiet(catalog)
        results.add(row("waiting-processor", "the server's processor time meanwhile, nothing happening", "ms a second",
                        {"pullbox": [used], "none wait": [alone[0]]}, []))
        results.add(row("waiting-questions", "its questions to the database meanwhile", "a second",
                        {"pullbox": [asked], "none wait": [alone[1]]}, []))
        lookups = Lookups(catalog)
        time.sleep(3)
        calm = percentile(lookups.end())
        product = f"com.example.bench.s0.new{int(time.time())}"
        catalog.services.operator(f"/v1/operator/products/{product}", {
            "publication": "com.example.bench.s0",
            "publicationDate": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())}, "PUT")
        catalog.services.pullbox("publish", catalog.package, "--product", product, "--version", "1.0")
        catalog.services.operator(f"/v1/operator/products/{product}/versions/1.0/approve", {}, "POST")
        poll = select.epoll()
        for waiter in waiters:
            poll.register(waiter.socket, select.EPOLLIN)
        by_file = {waiter.socket.fileno(): waiter for waiter in waiters}
        lookups = Lookups(catalog)
        time.sleep(0.3)
        used, begun = processor_time([pid]), time.monotonic()
        catalog.services.operator(f"/v1/operator/products/{product}/versions/1.0/release", {}, "POST")
        told, last = 0, begun
        while told < count and time.monotonic() < begun + 120:
            for file, _ in poll.poll(1):
                by_file[file].take()
                if by_file[file].is_answered():
                    told, last = told + 1, time.monotonic()
                    poll.unregister(file)
        seconds, used = last - begun, processor_time([pid]) - used
        others = lookups.end()
        answers = [waiter.answer() for waiter in waiters if waiter.is_answered()]
        heard = sum(any(entry["product"] == product for entry in answer["entries"]) for answer in answers)
        if heard < count:
            raise RuntimeError(f"{heard} of {count} devices were told")
        results.add(row("waiting-release", f"a release to a publication with {catalog.subscribers:,} subscribers, of whom {count:,} wait: "
                        "to the last of these", "s", {"pullbox": [seconds]}, [Target(None, 2)],
                        extrapolated=f"100,000 that wait: {seconds / count * 100_000:.1f} s; the server's processor time, "
                        f"that of the lookups among it: {used / count * 1e6:.0f} µs a device"))
        results.add(row("waiting-others", "a product looked up meanwhile, the 99th of a hundred answers", "ms",
                        {"pullbox": [percentile(others)], "calm": [calm]}, [Target("calm", 2)]))
        for waiter in waiters:
            waiter.socket.close()
    finally:
        catalog.stop()


def main():
    arguments = parse_arguments()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = Results(arguments.results or arguments.root / "Benchmarks/results/commerce.json", "commerce",
                      {"scale": arguments.scale, "questions": arguments.questions, "runs": arguments.runs})
    work = {"data": data, "questions": ask_questions, "pure": pure, "import": import_products, "waiting": waiting}
    for name in arguments.only or ROWS:
        work[name](results, arguments)
    for one in results.rows:
        show(one)


if __name__ == "__main__":
    main()
