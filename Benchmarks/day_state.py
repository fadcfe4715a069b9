"""The server of a simulated day with its store: what there is before the day begins, and how both are started.

Devices, their customers and subscriptions, and the grants of slow readers are written by SQL, as the server writes such rows.
Purchases are made at the store, as the day goes on.
"""
import base64
import hashlib
import hmac
import http.client
import json
import os
import secrets
import shutil
import sqlite3
import time
import urllib.error

from measuring import run, say
from services import Daemon, request

SINGLES = 50
PACKAGE, LONG = 1 << 20, 64 << 20
FIRST, LONG_PRODUCT = "com.example.day.single0", "com.example.day.long"
PUBLICATION, MONTHLY = "com.example.day.weekly", "com.example.day.weekly.monthly"
BUNDLE = "com.example.pullbox"
DAY = 86_400_000
# What the product has of its own deadlines, which are the network's and not the day's: with a quick clock they are set that much longer.
HEAD_DEADLINE, IDLE_DEADLINE, SEND_RATE, RECEIVE_RATE, STORE_PATIENCE = 15, 60, 1024, 256, 2


def document(product, **members):
    """What a publisher says of a product."""
    return {"id": product, "type": "non-consumable", "localizations": {"en-US": {"title": "An issue", "description": "Made for a benchmark"}},
            "prices": {"USA": {"amount": "2.99", "currency": "USD"}}} | members


# How often a question is asked again, a second later each time, that its server was too busy for: it waits for its turn as long as two
# seconds of its own clock.
TRIES = 30


def ask(url, body=None, token=None, method=None, again=(503,), tried=lambda: None, repeats=False):
    """The JSON of an answer, after as many tries as it takes; `again` has the statuses after which there is another, `tried` hears of each. What
    may be asked twice (`repeats`) is also asked again where the connection was lost."""
    for _ in range(TRIES):
        try:
            return request(url, body, token, method)
        except urllib.error.HTTPError as error:
            if error.code not in again:
                raise
        except (OSError, http.client.HTTPException):
            if not repeats:
                raise
        tried()
        time.sleep(1)
    raise RuntimeError(f"{url} was asked {TRIES} times")


def text(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class Clock:
    """The day's time: begins with the machine's, and goes `rate` times as fast, in every program that gets `variables`."""

    def __init__(self, library, rate):
        self.library, self.rate = library, rate
        self.wall, self.boot = time.time_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def variables(self):
        if self.rate == 1:
            return {}
        return {"LD_PRELOAD": str(self.library), "QUICK_CLOCK": f"{self.rate} {self.wall} {self.boot}"}

    def wrapper(self):
        return ["env", *(f"{name}={value}" for name, value in self.variables().items())]

    def now(self):
        """Milliseconds since 1970."""
        return (self.wall + (time.time_ns() - self.wall) * self.rate) // 1_000_000

    def date(self):
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.now() / 1000))


class House:
    """A store and a server, made anew for each day. `begin` starts the server for the day itself."""

    def __init__(self, arguments):
        self.arguments, self.work = arguments, arguments.work / "day"
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.state, self.backups, self.logs = (self.work / name for name in ("server/state", "backups", "logs"))
        self.logs.mkdir()
        self.access_log, self.database = self.logs / "access.log", self.state / "server.db"
        self.server_url = f"http://127.0.0.1:{arguments.port_base}"
        self.store_url = f"http://127.0.0.1:{arguments.port_base + 10}"
        self.key, self.credential = secrets.token_hex(24), secrets.token_hex(24)
        self.package, self.long = self.work / "issue.cbz", self.work / "long.cbz"
        self.server = self.store = None

    # ---- programs

    def start(self, wrapper, **settings):
        self.store = Daemon(self.arguments.bin / "pullbox-sandbox", self.work / "store", {
            "listen": [f"127.0.0.1:{self.arguments.port_base + 10}"], "state": str(self.work / "store/state"),
            "catalog": self.server_url, "serverCredential": self.credential, "bundle": BUNDLE, "logLevel": "warning",
            "notificationURL": self.server_url + "/v1/notifications/apple"}, wrapper)
        try:
            self.server = Daemon(self.arguments.bin / "pullbox-server", self.work / "server", {
                "listen": [f"127.0.0.1:{self.arguments.port_base}"], "state": str(self.state), "operatorKey": self.key,
                "stores": [{
                    "name": "sandbox", "kind": "pullbox", "bundles": [BUNDLE], "credential": self.credential, "deviceLimit": 100,
                    "addresses": {"sandbox": self.store_url}, "roots": [str(self.work / "store/state/pki/signed-data-root.pem")]}],
                # All devices are of one machine here.
                "unlimitedAddresses": ["127.0.0.0/8"], "maximumConnectionsPerAddress": 0, "logLevel": "info"} | settings, wrapper)
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for daemon in (self.server, self.store):
            if daemon:
                daemon.stop()

    def begin(self, clock, connections, kept):
        """The day's own start, from which its time counts: rows are kept for `kept` seconds of the server's clock."""
        rate = clock.rate
        self.start(
            clock.wrapper(), accessLog=str(self.access_log), maximumConnections=connections, historyRetention=f"{kept}s",
            callRetention=f"{kept}s", headDeadline=f"{HEAD_DEADLINE * rate}s", idleDeadline=f"{IDLE_DEADLINE * rate}s",
            minimumSendRate=SEND_RATE // rate, minimumReceiveRate=max(1, RECEIVE_RATE // rate), storePatience=f"{STORE_PATIENCE * rate}s")

    # ---- what there is

    def make(self):
        generate = self.arguments.root / "content/generate"
        for path, size in ((self.package, PACKAGE), (self.long, LONG)):
            run("python3", "-B", generate, "package", "--size", size, path)
        self.start([])
        try:
            self.operator(f"/v1/operator/products/{FIRST}", self.without_id(document(FIRST)), "PUT")
            self.publish(FIRST, self.package, "--release")
            self.operator(f"/v1/operator/products/{LONG_PRODUCT}", self.without_id(document(LONG_PRODUCT)), "PUT")
            self.publish(LONG_PRODUCT, self.long, "--release")
        finally:
            self.stop()
        begun = time.monotonic()
        self.fill()
        say(f"{self.arguments.devices:,} devices and {self.arguments.readers:,} readers were made in {time.monotonic() - begun:.0f} s")

    @staticmethod
    def without_id(value):
        return {name: member for name, member in value.items() if name != "id"}

    def publish(self, product, package, *words):
        environment = os.environ | {
            "PULLBOX_SERVER": self.server_url, "PULLBOX_OPERATOR_KEY": self.key, "XDG_STATE_HOME": str(self.work / "publisher")}
        run(self.arguments.bin / "pullbox", "publish", package, "--product", product, "--version", "1.0", *words, env=environment,
            timeout=600)

    def operator(self, path, body=None, method=None):
        return ask(self.server_url + path, body, self.key, method)

    def fill(self):
        now = int(time.time() * 1000)
        connection = sqlite3.connect(self.database, isolation_level=None)
        ask = connection.execute
        ask("PRAGMA synchronous = OFF")
        ask("BEGIN")
        (revision,) = ask("UPDATE catalogue_state SET revision = revision + 1, changed = ? RETURNING revision", (now,)).fetchall()[0]
        products = [document(f"com.example.day.single{n}") for n in range(1, SINGLES)]
        products.append(document(MONTHLY, type="auto-renewable-subscription", publication=PUBLICATION, period="P1M"))
        for one in products:
            ask("INSERT INTO products (id, document, type, publication, created, changed, revision) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (one["id"], text(one), one["type"], one.get("publication"), now, now, revision))
        for one in products[:-1]:
            ask("""INSERT INTO versions (product, version, state, digest, length, manifest_digest, pieces, files, created, released,
                     ordering, percentage)
                   SELECT ?, version, state, digest, length, manifest_digest, pieces, files, created, released, ordering, percentage
                   FROM versions WHERE product = ?""", (one["id"], FIRST))
        self.fill_devices(ask, now)
        self.fill_readers(ask, now)
        ask("COMMIT")
        ask("PRAGMA analysis_limit = 400")
        ask("ANALYZE")
        connection.close()

    def fill_devices(self, ask, now):
        """Each of a customer of its own, who subscribes to the publication; the day's releases are issues of that. A feed's use is written
        down once a day: the hours at which that is due are those of a server that has been there for long."""
        numbers = f"WITH RECURSIVE counting (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counting WHERE n + 1 < {self.arguments.devices}) "
        ask(numbers + """
          INSERT INTO customer_devices (customer, device, first_seen, last_seen)
          SELECT CAST(printf('%016d', n) AS BLOB), 'bench-' || n, ?1, ?1 FROM counting""", (now,))
        ask(numbers + """
          INSERT INTO feeds (device, store, environment, customer, epoch, sequence, used)
          SELECT 'bench-' || n, 'sandbox', 'Sandbox', CAST(printf('%016d', n) AS BLOB), 1, 0, ?1 - n * 7919 % 86400 * 1000 FROM counting""", (now,))
        ask(numbers + f"""
          INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, expires, quantity, customer)
          SELECT 'sandbox', 'Sandbox', CAST(1000000000000000 + n AS TEXT), ?1, CAST(1000000000000000 + n AS TEXT), '{MONTHLY}',
            ?1 - {DAY}, ?1 + {29 * DAY}, 1, CAST(printf('%016d', n) AS BLOB) FROM counting""", (now,))
        keys = json.loads((self.state / "ticket-keys.json").read_text())["keys"]
        secret, key = bytes.fromhex(keys[0]["secret"]), keys[0]["id"]
        with open(self.work / "devices.tsv", "w") as file:
            for number, device in ask("SELECT number, device FROM feeds WHERE device GLOB 'bench-*'"):
                place = int(device.split("-")[1])
                file.write(f"{place}\t{feed_token(secret, key, number, device, f'{place:016d}')}\n")

    def fill_readers(self, ask, now):
        """Each with a grant of the long package, and a secret that renews its tickets."""
        (version,) = ask("SELECT version, digest, length, manifest_digest FROM versions WHERE product = ?", (LONG_PRODUCT,)).fetchall()
        self.content = f"/v1/content/{version[1].hex()}"
        with open(self.work / "readers.tsv", "w") as file:
            for n in range(self.arguments.readers):
                grant, secret, customer = secrets.token_hex(16), secrets.token_hex(24), f"r{n:015d}".encode()
                transaction, device = str(3_000_000_000_000_000 + n), f"reader-{n}"
                ask("""INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, quantity, customer)
                       VALUES ('sandbox', 'Sandbox', ?, ?, ?, ?, ?, 1, ?)""", (transaction, now, transaction, LONG_PRODUCT, now, customer))
                ask("INSERT INTO customer_devices (customer, device, first_seen, last_seen, granted) VALUES (?, ?, ?, ?, 1)",
                    (customer, device, now, now))
                ask("""INSERT INTO grants (id, store, transaction_id, product, version, device, digest, length, manifest_digest, state, created,
                         handle, renewal_digest) VALUES (?, 'sandbox', ?, ?, ?, ?, ?, ?, ?, 'granted', ?, randomblob(16), ?)""",
                    (grant, transaction, LONG_PRODUCT, version[0], device, *version[1:], now, hashlib.sha256(secret.encode()).digest()))
                ask("""INSERT INTO obligations (store, environment, transaction_id, device, product)
                       VALUES ('sandbox', 'Sandbox', ?, ?, ?)""", (transaction, device, LONG_PRODUCT))
                file.write(f"{grant}\t{secret}\n")


def feed_token(secret, key, number, device, customer):
    """The token of a feed, as the server seals them (Sources/ContentDelivery/Tickets/FeedToken.swift), good for ten days."""
    tags = b"".join(hashlib.sha256(name.encode()).digest()[:8] for name in (device, customer))
    head = bytes([130]) + key.to_bytes(4) + (int(time.time()) + 864_000).to_bytes(8) + number.to_bytes(8) + tags
    return base64.urlsafe_b64encode(head + hmac.new(secret, head, hashlib.sha256).digest()[:16]).decode().rstrip("=")
