"""A sandbox store with many subscriptions, and a server that reads what it told, for scripts/bench receipts."""
import http.server
import json
import sqlite3
import threading
import time
import urllib.parse

from measuring import peak_memory, say, wait_until
from services import Daemon, Services, request

MAGAZINE = "com.example.magazine.monthly"
# What the store takes unless told otherwise.
ISSUER = "6f1d1c8e-7a0b-4c53-9d55-0f4f3f3a2b10"


class Catalog(http.server.BaseHTTPRequestHandler):
    """GET /v1/products as a delivery server answers it, with one subscription."""

    def do_GET(self):
        names = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("id", [])
        products = [{"id": MAGAZINE, "type": "auto-renewable-subscription", "title": "A title", "description": "A text",
                     "period": "P1M", "price": {"amount": "2.99", "currency": "EUR", "formatted": "2.99"}}
                    for name in names if name == MAGAZINE]
        body = json.dumps({"products": products, "invalidProductIdentifiers": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Store:
    """A store whose subscriptions, `count` of them, end at one moment."""

    def __init__(self, arguments, count):
        self.count = count
        self.directory = arguments.work / "sandbox"
        self.url = f"http://127.0.0.1:{arguments.port_base + 10}"
        catalog = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Catalog)
        threading.Thread(target=catalog.serve_forever, daemon=True).start()
        self.configuration = {
            "listen": [f"127.0.0.1:{arguments.port_base + 10}"], "state": str(self.directory / "state"),
            "catalog": f"http://127.0.0.1:{catalog.server_port}", "logLevel": "error",
            "serverCredential": Services.secret(self.directory, "store-credential")}
        self.daemon = Daemon(arguments.bin / "pullbox-sandbox", self.directory, self.configuration)
        request(self.url + "/sandbox/v1/time", {"month": "1h", "renewals": 6}, method="PUT")
        token = request(self.url + "/sandbox/v1/accounts", {"territory": "FRA", "name": "Ada"})["token"]
        request(self.url + "/store/v1/purchases", {"product": MAGAZINE}, token)
        self.stranger = request(self.url + "/sandbox/v1/accounts", {"territory": "FRA", "name": "Ben"})["token"]
        self.daemon.stop()
        self.multiply()

    @property
    def database(self):
        return sqlite3.connect(self.directory / "state/store.sqlite", timeout=60)

    def multiply(self):
        """As many customers with the same subscription."""
        with self.database as database:
            database.execute(
                """WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
                   INSERT INTO accounts (name, title, territory, token_digest, created)
                   SELECT 'n' || n, 'A reader', 'FRA', randomblob(32), 0 FROM numbers""", (self.count - 1,))
            database.execute(
                """INSERT INTO transactions (account, product, quantity, requested, state, type, original_id, purchased,
                     expires, reason, original_purchased, price, currency, storefront)
                   SELECT accounts.id, t.product, 1, t.requested, t.state, t.type, 3000000000000000 + accounts.id,
                     t.purchased, t.expires, t.reason, t.original_purchased, t.price, t.currency, t.storefront
                   FROM accounts, transactions AS t WHERE accounts.name LIKE 'n%' AND t.account = 1 ORDER BY accounts.id""")
            database.execute("UPDATE transactions SET original_id = id")
            database.execute(
                """INSERT INTO subscriptions (original_id, account, group_name, due, document)
                   SELECT t.id, t.account, s.group_name, s.due, s.document
                   FROM transactions AS t, subscriptions AS s WHERE t.account <> 1""")

    def renew(self):
        """Seconds until all are renewed after the moment at which they end, and the times in which another customer was
        answered meanwhile."""
        with self.database as database:
            (document,) = database.execute("SELECT document FROM subscriptions LIMIT 1").fetchone()
            moment = int(time.time() * 1000) + 6000
            life = json.loads(document)
            # Dates are written as they were.
            life["expires"] = date_like(life["expires"], moment)
            database.execute("UPDATE subscriptions SET document = ?, due = ?", (json.dumps(life), moment))
            database.execute(
                "UPDATE transactions SET expires = ? WHERE reason = 'purchase' OR purchased = "
                "(SELECT max(purchased) FROM transactions)", (moment,))
        self.daemon.start(self.configuration)
        end = threading.Event()
        waits = []
        asking = threading.Thread(target=self.ask, args=(end, waits))
        asking.start()
        reader = self.database
        due = "SELECT count(*) FROM subscriptions WHERE due <= ?"
        wait_until(lambda: time.time() * 1000 > moment
                   and reader.execute(due, (moment,)).fetchone()[0] == 0, "renewing", 300)
        taken = time.time() - moment / 1000
        end.set()
        asking.join()
        made = sorted(seconds for at, seconds in waits if at * 1000 >= moment)
        (count,) = reader.execute(
            "SELECT count(*) FROM transactions WHERE reason = 'renewal' AND purchased = ?", (moment,)).fetchone()
        if count != self.count:
            raise RuntimeError(f"{count} renewals")
        self.daemon.stop()
        return taken, made

    def ask(self, end, waits):
        while not end.is_set():
            begin = time.time()
            request(self.url + "/store/v1/transactions", token=self.stranger)
            waits.append((begin, time.time() - begin))
            time.sleep(0.002)

    def api_key(self):
        (path,) = (self.directory / "state").glob("AuthKey_*.p8")
        return path.stem.removeprefix("AuthKey_"), path


def date_like(old, milliseconds):
    """The moment in the form of another one: a number, or text."""
    if isinstance(old, (int, float)):
        return milliseconds
    seconds, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def read_gap(arguments, store):
    """Seconds in which a new server reads the store's whole history of notifications, how many there were, and its peak of
    memory."""
    store.daemon.start(store.configuration)
    with store.database as database:
        wait_until(lambda: database.execute("SELECT count(*) FROM notifications WHERE signed IS NULL").fetchone()[0] == 0,
                   "dating the notifications", 120)
        count, last = database.execute(
            "SELECT count(*), max(signed) FROM notifications WHERE type <> 'TEST'").fetchone()
    # Each is dated later than the one before, so that many at one moment have dates ahead of it; a server reads up to its own.
    wait_until(lambda: time.time() * 1000 > last, "the last notification's date", 120)
    name, path = store.api_key()
    key = Services.secret(arguments.work / "gap", "operator-key")
    directory = arguments.work / "gap" / f"server-{time.time_ns()}"
    configuration = {
        "listen": [f"127.0.0.1:{arguments.port_base}"], "state": str(directory / "state"), "operatorKey": key,
        "stores": [{
            "name": "apple", "kind": "apple", "bundles": ["com.example.pullbox"],
            "addresses": {"sandbox": store.url, "api": {"sandbox": store.url}},
            "roots": [str(store.directory / "state/pki/signed-data-root.pem")],
            "issuer": ISSUER, "keyId": name, "keyFile": str(path)}]}
    begin = time.monotonic()
    server = Daemon(arguments.bin / "pullbox-server", directory, configuration)
    url = f"http://127.0.0.1:{arguments.port_base}/v1/operator/stores"
    wait_until(lambda: request(url, token=key)["stores"][0]["recoveredNotifications"] >= count, "reading the gap", 300)
    taken = time.monotonic() - begin
    memory = peak_memory(server.pid)
    server.stop()
    store.daemon.stop()
    say(f"  {count} notifications in {taken:.2f} s, {memory / 2**20:.1f} MiB")
    return taken, count, memory
