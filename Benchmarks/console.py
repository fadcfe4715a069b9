"""What the console takes where much was delivered: Today and a customer's pages, as a browser without a script asks for them. A row of
catalogue.py."""
import argparse
import http.client
import json
import shutil
import sqlite3
import statistics
import time
import urllib.parse
import zipfile

from measuring import memory, say, settle
from reporting import Median, row
from services import Services

GRANTS, NODES, STEPS = 1_000_000, 10, 3
# Purchases of a usual customer, and of the one who bought most.
PURCHASES, MOST = 4, 2_000
# The days over which all of it was bought.
DAYS = 1_000
PRODUCTS, PRODUCT = 20, "com.example.bench.delivered"
DAY = 86_400_000


class Deliveries:
    """A server whose database has the grants, each with its steps, and the bytes that ten nodes have sent for it: ten million deliveries of a
    million grants. Of a hundred grants 90 are finished, 4 completed, 5 open and one revoked."""

    # Another one makes the data anew.
    LAYOUT = 1
    SETTINGS = {"logLevel": "warning", "console": "everywhere", "unlimitedAddresses": ["127.0.0.0/8"]}

    def __init__(self, arguments):
        self.grants = max(10_000, int(GRANTS * arguments.scale))
        self.arguments = argparse.Namespace(**vars(arguments))
        self.arguments.work = self.work = arguments.work / f"deliveries-{arguments.scale:g}"
        made = self.work / "made.json"
        facts = json.loads(made.read_text()) if made.exists() else {}
        if facts.get("layout") != self.LAYOUT:
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir(parents=True)
            self.make()
            made.write_text(json.dumps({"layout": self.LAYOUT}))
        self.services = Services(self.arguments, **self.SETTINGS)
        self.pid = self.services.server.pid

    def make(self):
        services = Services(self.arguments, **self.SETTINGS)
        try:
            package = self.work / "issue.cbz"
            with zipfile.ZipFile(package, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr("page-1.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(range(256)) * 256)
            for number in range(PRODUCTS):
                services.publish(f"{PRODUCT}{number}", package)
            package.unlink()
            # One grant as the server makes it, after which the others are made.
            services.buy(f"{PRODUCT}0", "model")
        finally:
            services.stop()
        begun = time.monotonic()
        self.fill(services.state / "server.db", int(time.time() * 1000))
        say(f"{self.grants:,} grants were made, and {self.grants * NODES:,} deliveries, in {time.monotonic() - begun:.0f} s")

    def fill(self, database, now):
        """Rows as the server writes them, in the order of time. Customer and device of a grant follow from its number."""
        connection = sqlite3.connect(database, isolation_level=None)
        ask = connection.execute
        connection.create_function("customer_name", 1, lambda number: (4096 + number).to_bytes(16, "big"), deterministic=True)
        ask("PRAGMA synchronous = OFF")
        ask("PRAGMA cache_size = -1000000")
        ask("BEGIN")
        names = {"count": self.grants, "now": now, "step": DAYS * DAY // self.grants, "most": min(MOST, self.grants // PURCHASES),
                 "each": PURCHASES, "products": PRODUCTS, "product": PRODUCT}
        ask("""CREATE TEMP TABLE made AS
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)
            SELECT i, CAST(4000000000000000 + i AS TEXT) AS bought, :product || (i % :products) AS product, :now - (:count - i) * :step AS at,
              -- The first customer's are spread over all that was bought.
              CASE WHEN i % (:count / :most) = 0 THEN 0 ELSE 1 + i / :each END AS customer,
              CASE WHEN i % 100 < 90 THEN 'finished' WHEN i % 100 < 94 THEN 'completed' WHEN i % 100 < 99 THEN 'granted'
                ELSE 'revoked/granted' END AS state
            FROM n""", names)
        ask("""INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, quantity, price, currency,
              account, territory, customer)
            SELECT 'sandbox', 'Sandbox', bought, at, bought, product, at, 1, '2.99', 'USD', 'user-' || customer, 'USA',
              customer_name(customer) FROM made""")
        ask("""INSERT OR IGNORE INTO customer_devices (customer, device, first_seen, last_seen, granted)
            SELECT customer_name(customer), 'device-' || customer, at, at, 1 FROM made""")
        first, = ask("SELECT max(number) + 1 FROM grants").fetchone()
        names = {"first": first}
        ask("""INSERT INTO grants (number, id, store, environment, transaction_id, product, version, device, digest, length, manifest_digest,
              state, created, revoked_by, placed, handle)
            SELECT :first + i, substr(lower(hex(randomblob(64))), 1, length(model.id)), 'sandbox', 'Sandbox', bought, made.product, '1.0',
              'device-' || customer, model.digest, model.length, model.manifest_digest, made.state, at,
              CASE WHEN made.state LIKE 'revoked%' THEN 'operator' END,
              CASE WHEN made.state IN ('finished', 'completed') THEN at + 60000 END, randomblob(16)
            FROM made, (SELECT id, digest, length, manifest_digest FROM grants WHERE device = 'model' LIMIT 1) AS model ORDER BY i""", names)
        for step, states in (("granted", None), ("completed", "('completed', 'finished')"), ("finished", "('finished')")):
            ask(f"""INSERT INTO grant_events (grant_number, state, at)
                SELECT :first + i, '{step}', at FROM made {f"WHERE state IN {states}" if states else ""} ORDER BY i""", names)
        ask("""INSERT INTO delivered_bytes (grant_number, node, bytes, last)
            WITH RECURSIVE node (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM node WHERE n < :nodes)
            SELECT :first + i, n, 6553, at + n * 1000 FROM made, node ORDER BY i, n""", names | {"nodes": NODES})
        ask("DROP TABLE made")
        ask("COMMIT")
        ask("ANALYZE")
        connection.close()

    def stop(self):
        self.services.stop()


class Browser:
    """A browser without a script, with one connection and the cookie of a session."""

    def __init__(self, port, key):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.fields = {"Accept-Language": "en", "Accept-Encoding": "gzip"}
        body = urllib.parse.urlencode({"key": key})
        self.connection.request("POST", "/console/sign-in", body, {
            "Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"})
        response = self.connection.getresponse()
        response.read()
        cookie = response.headers["Set-Cookie"]
        if response.status != 303 or not cookie:
            raise RuntimeError(f"signing in: {response.status}")
        self.fields["Cookie"] = cookie.split(";")[0]

    def get(self, path):
        """The bytes of the page, as they are sent, and the milliseconds until their last one."""
        begun = time.perf_counter()
        self.connection.request("GET", path, headers=self.fields)
        response = self.connection.getresponse()
        data = response.read()
        took = (time.perf_counter() - begun) * 1000
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {data[:300]}")
        return data, took


def percentile(samples, part=0.99):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]


def console(results, arguments):
    deliveries = Deliveries(arguments)
    try:
        count = min(200, arguments.questions)
        browser = Browser(arguments.port_base, deliveries.services.key)
        usual = deliveries.grants // 2 + 1
        pages = {
            "today": ("Today", lambda n: "/console/"),
            "customer": (f"the page of a customer of {PURCHASES} purchases, by a transaction", lambda n:
                         f"/console/customers?transaction={4_000_000_000_000_000 + usual + n * PURCHASES + 1}&product={PRODUCT}0"),
            "customer-user": ("the same, by an application's user", lambda n:
                              f"/console/customers?account=user-{1 + (usual + n * PURCHASES + 1) // PURCHASES}"),
            "customer-most": (f"the page of the customer of {MOST:,} purchases, by the device", lambda n:
                              f"/console/customers?device=device-0&product={PRODUCT}0"),
            "customer-user-most": ("the same, by an application's user", lambda n: "/console/customers?account=user-0"),
            "deliveries": ("the first page of the deliveries", lambda n: "/console/deliveries")}
        for name, (work, path) in pages.items():
            settle([deliveries.pid])
            samples, lengths = [], []
            for run_number in range(arguments.runs):
                took = []
                for number in range(count):
                    data, one = browser.get(path(run_number * count + number))
                    took.append(one)
                    lengths.append(len(data))
                samples.append(percentile(took))
            targets = [Median(None, 50)] if name in ("today", "customer", "customer-user") else []
            results.add(row(
                f"console-{name}", f"{work}, the 99th of a hundred answers; {deliveries.grants:,} grants, {deliveries.grants * NODES:,} deliveries",
                "ms", {"pullbox": samples}, targets, requests=count, bytes=round(statistics.median(lengths))))
        say(f"{deliveries.grants:,} grants: {memory(deliveries.pid, 'VmRSS') / 1024 ** 2:.0f} MiB")
    finally:
        deliveries.stop()
