"""What the catalog for readers' applications costs: feeds of a large catalog, what a customer of many purchases owns, searches, and pages
of comics beside ranges, nginx and downloads. Run through scripts/bench catalogue."""
import argparse
import base64
import contextlib
import http.client
import json
import random
import shutil
import sqlite3
import subprocess
import time
import urllib.parse
import zipfile
from pathlib import Path

import peers
from console import console
from measuring import memory, place, processor_time, run, say, settle
from reporting import Median, Results, Target, row, show
from services import Services, request

ROWS = ["data", "feed", "owned", "search", "pages", "beside", "console"]
PRODUCTS, SERIES, OWNED = 100_000, 100, 5_000
COMIC = "com.example.bench.comic"
KIBIBYTE, MEBIBYTE = 1024, 1024 * 1024
PAGE, PAGES = 400 * KIBIBYTE, 256
LOCALES = ("fr", "es", "it", "nl", "pt", "sv", "da", "fi", "pl", "cs")
# Of each language, words of which titles are made: so that a search finds a few hundred products, or many thousand.
WORDS = {
    "en-US": ["Moss", "Mallow", "Harbor", "Winter", "Lantern", "Orchard", "Signal", "Ember", "River", "Glass", "Hollow", "Copper"],
    "de-DE": ["Moos", "Malve", "Hafen", "Winter", "Laterne", "Obstgarten", "Zeichen", "Glut", "Fluß", "Glas", "Höhle", "Kupfer"],
    "ja-JP": ["苔", "葵", "港", "冬", "灯籠", "果樹園", "合図", "残り火", "川", "硝子", "洞", "銅"],
}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench catalogue")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--scale", type=float, default=1.0, metavar="PART", help="part of 100,000 products, 5,000 of them owned, and of a million grants")
    parser.add_argument("--questions", type=int, default=2000, metavar="N", help="questions of each kind")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="times that each is measured")
    parser.add_argument("--seconds", type=int, default=8, metavar="N", help="seconds of each run of downloads")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the samples here")
    parser.add_argument("--port-base", type=int, default=29480, metavar="PORT", help="first of the ports used")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def percentile(samples, part=0.99):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]


# ---- what is there


class Shop:
    """A server with the products, one comic with content of its own, and a customer with a reader's key."""

    # Another one makes the data anew.
    LAYOUT = 1
    SETTINGS = {
        "logLevel": "warning", "unlimitedAddresses": ["127.0.0.0/8"],
        "catalogFeeds": {"public": True, "title": "Bench", "territory": "USA"},
        "limits": {"bodiesPerGrant": 100_000, "bodiesPerDevice": 100_000, "ratePerGrant": "1024GiB", "ratePerDevice": "1024GiB",
                   "burst": "8192GiB"}}

    def __init__(self, arguments):
        self.products, self.owned = max(SERIES * 10, int(PRODUCTS * arguments.scale)), max(200, int(OWNED * arguments.scale))
        self.arguments = argparse.Namespace(**vars(arguments))
        self.arguments.work = self.work = arguments.work / f"shop-{arguments.scale:g}"
        made = self.work / "made.json"
        facts = json.loads(made.read_text()) if made.exists() else {}
        if facts.get("layout") != self.LAYOUT:
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir(parents=True)
            facts = {"layout": self.LAYOUT, "key": self.make()}
            made.write_text(json.dumps(facts))
        self.key, self.port = facts["key"], arguments.port_base
        self.services = Services(self.arguments, **self.SETTINGS)
        self.pid = self.services.server.pid

    def make(self):
        """Answers the reader's key."""
        services = Services(self.arguments, **self.SETTINGS)
        try:
            package = self.work / "comic.cbz"
            noise = random.Random(1)
            with zipfile.ZipFile(package, "w", zipfile.ZIP_STORED) as archive:
                for number in range(PAGES):
                    start = b"\xff\xd8\xff\xe0\0\x10JFIF\0" + number.to_bytes(4)
                    archive.writestr(f"page-{number:03}.jpg", start + noise.randbytes(PAGE - len(start)))
            services.publish(COMIC, package)
            package.unlink()
            store = services.store_url
            token = request(store + "/sandbox/v1/accounts", {"territory": "USA", "name": "reader"})["token"]
            request(store + "/store/v1/purchases", {"product": COMIC, "device": "reader"}, token)
            receipt = request(store + "/store/v1/receipt?device=reader", token=token)["receipt"]
            proof = {"receipt": receipt, "device": {"id": "reader"}}
            request(services.server_url + "/v1/entitlements", proof)
            key = request(services.server_url + "/v1/readers", proof | {"title": "Bench", "territory": "USA"})
        finally:
            services.stop()
        begun = time.monotonic()
        self.fill(services.state / "server.db", int(time.time() * 1000))
        say(f"{self.products:,} products were made, {self.owned:,} of them owned, in {time.monotonic() - begun:.0f} s")
        return key

    def fill(self, database, now):
        """Rows as the server writes them: publications of a hundred products, one of them a subscription; the customer has bought issues of
        every one, each by itself."""
        connection = sqlite3.connect(database, isolation_level=None)
        ask = connection.execute
        ask("BEGIN")
        customer, = ask("SELECT customer FROM customer_devices WHERE device = 'reader'").fetchone()
        revision, = ask("UPDATE catalogue_state SET revision = revision + 1, changed = ? RETURNING revision", (now,)).fetchone()
        one = ask("""SELECT digest, length, manifest_digest, pieces, files, ordering FROM versions WHERE product = ?""", (COMIC,)).fetchone()
        noise = random.Random(2)
        for number in range(self.products):
            series, place = divmod(number, SERIES)
            name, publication = f"com.example.bench.s{series}.i{place}", f"com.example.bench.s{series}"
            picks = [noise.randrange(12) for _ in range(3)]
            titles = {tag: {"title": f"{' '.join(words[pick] for pick in picks)} {number}", "description": "Made for a benchmark"}
                      for tag, words in WORDS.items()}
            document = {"id": name, "localizations": titles, "prices": {"USA": {"amount": "2.99", "currency": "USD"}},
                        "publication": publication, "type": "non-consumable" if place else "auto-renewable-subscription"}
            if place:
                date = time.gmtime(now / 1000 - (SERIES - place) * 604_800)
                document["publicationDate"] = time.strftime("%Y-%m-%dT00:00:00.000Z", date)
            else:
                document["period"] = "P1M"
            ask("INSERT INTO products (id, document, type, publication, created, changed, revision) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, json.dumps(document, ensure_ascii=False), document["type"], publication, now, now, revision))
            if not place:
                continue
            ask("""INSERT INTO versions (product, version, state, digest, length, manifest_digest, pieces, files, ordering, created,
                released, percentage) VALUES (?, '1.0', 'released', ?, ?, ?, ?, ?, ?, ?, ?, 100)""", (name, *one, now, now))
        step = self.products // self.owned
        for number in range(self.owned):
            chosen = number * step
            chosen += chosen % SERIES == 0
            ask("""INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, quantity, customer)
                VALUES ('sandbox', 'Sandbox', ?1, ?2, ?1, ?3, ?4, 1, ?5)""",
                (str(3_000_000_000_000_000 + number), now, f"com.example.bench.s{chosen // SERIES}.i{chosen % SERIES}",
                 now - (number + 1) * 3_600_000, customer))
        ask("COMMIT")
        ask("ANALYZE")
        connection.close()

    @property
    def fields(self):
        credentials = base64.b64encode(f"{self.key['name']}:{self.key['password']}".encode()).decode()
        return {"Authorization": f"Basic {credentials}"}

    def stop(self):
        self.services.stop()


@contextlib.contextmanager
def opened(arguments):
    shop = Shop(arguments)
    try:
        # The first answer comes when the catalog is in memory.
        Client(shop.port).ask("/opds/v2/new?territory=USA")
        Client(shop.port).ask("/opds/v2/search?q=moss&territory=USA")
        settle([shop.pid])
        yield shop
        say(f"{shop.products:,} products: {memory(shop.pid, 'VmRSS') / MEBIBYTE:.0f} MiB")
    finally:
        shop.stop()


class Client:
    """One connection that is kept."""

    def __init__(self, port, fields=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.fields = fields or {}
        self.tag = None

    def ask(self, path, status=200, **fields):
        self.connection.request("GET", path, headers=self.fields | {name.replace("_", "-"): value for name, value in fields.items()})
        response = self.connection.getresponse()
        data = response.read()
        self.tag = response.headers["ETag"]
        if response.status != status:
            raise RuntimeError(f"{path}: {response.status} {data[:300]}")
        return data

    def next(self, path):
        """The path of the page behind; None behind the last."""
        links = json.loads(self.ask(path))["links"]
        found = [link["href"] for link in links if "next" in link["rel"]]
        return urllib.parse.urlsplit(found[0])._replace(scheme="", netloc="").geturl() if found else None


def cost(pid, work, count):
    """Milliseconds of processor time that the server takes for each of `count` pieces of work."""
    settle([pid])
    before = processor_time([pid])
    for number in range(count):
        work(number)
    return (processor_time([pid]) - before) / count * 1000


class Contender:
    """Whom the client asks: a name, a port, a path, the processes that count, and a file with a line of fields."""

    def __init__(self, name, port, path, pids, fields=None):
        self.name, self.port, self.path, self.pids, self.fields = name, port, path, pids, fields

    def words(self, *more):
        words = ["--port", self.port, "--path", self.path, *more]
        return words + (["--fields", self.fields] if self.fields else [])


def load(arguments, contender, *words):
    """What the client tells, with the processor seconds that the server took. Server and client have a processor each."""
    place(contender.pids, {0})
    before = processor_time(contender.pids)
    told = json.loads(run("taskset", "-c", 1, arguments.work / "load", *contender.words(*words)))
    return told | {"processor": processor_time(contender.pids) - before}


# ---- rows


def data(_results, arguments):
    """Makes what is missing of the data that the other rows ask, which PULLBOX_BENCH_DIR keeps."""
    Shop(arguments).stop()


def feed(results, arguments):
    with opened(arguments) as shop:
        client, paths, path = Client(shop.port), [], "/opds/v2/new?territory=USA"
        while path and len(paths) < 100:
            paths.append(path)
            path = client.next(path)
        samples = {"warm": [], "same": [], "anew": []}
        for number in range(arguments.runs):
            path = paths[(number * 37) % len(paths)]
            length = len(client.ask(path))
            known = shop.work / "known.fields"
            known.write_text(f"If-None-Match: {client.tag}\n")
            for kind, contender, words in (
                    ("warm", Contender("pullbox", shop.port, path, [shop.pid]), ("--length", length)),
                    ("same", Contender("pullbox", shop.port, path, [shop.pid], known), ("--status", 304))):
                told = load(arguments, contender, "--connections", 8, "--requests", arguments.questions * 5, *words)
                samples[kind].append(told["processor"] / told["requests"] * 1000)
            # No one has asked for it in this language.
            samples["anew"].append(cost(
                shop.pid, lambda n, tag=LOCALES[number % len(LOCALES)]: client.ask(f"{paths[n]}&locale={tag}"), len(paths)))
    names = {"warm": ("a page of 50 of a feed, made before, 8 connections", [Median(None, 0.6)]),
             "same": ("the same, not modified", [Median(None, 0.08)]), "anew": ("the same, made for the question", [])}
    for kind, (work, targets) in names.items():
        results.add(row(f"feed-{kind}", f"{work}; {shop.products:,} products", "ms of CPU a request", {"pullbox": samples[kind]}, targets))


def owned(results, arguments):
    with opened(arguments) as shop:
        client, paths, path = Client(shop.port, shop.fields), [], "/opds/v2/owned"
        while path:
            paths.append(path)
            path = client.next(path)
        say(f"{len(paths)} pages of what is owned")
        samples, generator = [], random.Random(3)
        for _ in range(arguments.runs):
            samples.append(cost(shop.pid, lambda _: client.ask(generator.choice(paths)), arguments.questions))
        last = [cost(shop.pid, lambda _: client.ask(paths[-1]), arguments.questions) for _ in range(arguments.runs)]
    work = f"of what a customer with {shop.owned:,} issues owns"
    results.add(row("owned", f"any page {work}", "ms of CPU a request", {"pullbox": samples}, [Median(None, 1.5)]))
    results.add(row("owned-last", f"the last page {work}", "ms of CPU a request", {"pullbox": last}, [Median(None, 1.5)]))


def search(results, arguments):
    with opened(arguments) as shop:
        client, generator = Client(shop.port), random.Random(4)

        def question():
            words = generator.choice(list(WORDS.values()))
            number = generator.randrange(shop.products)
            return urllib.parse.quote(generator.choice((
                generator.choice(words)[:4], f"{generator.choice(words)} {generator.choice(words)}", f"{generator.choice(words)} {number}",
                str(number))))

        samples, used = [], []
        for _ in range(arguments.runs):
            found = []
            before = processor_time([shop.pid])
            for _ in range(arguments.questions):
                path = f"/opds/v2/search?q={question()}&territory=USA"
                begun = time.perf_counter()
                client.ask(path)
                found.append((time.perf_counter() - begun) * 1000)
            samples.append(percentile(found))
            used.append((processor_time([shop.pid]) - before) / arguments.questions * 1000)
    work = f"a search over {shop.products:,} titles in {len(WORDS)} languages"
    results.add(row("search", f"{work}, the 99th of a hundred answers", "ms", {"pullbox": samples}, [Median(None, 5)]))
    results.add(row("search-processor", work, "ms of CPU a request", {"pullbox": used}, []))


def contenders(shop, arguments, www):
    """A page as a reader's application asks for it, and the same range by the content path with a ticket; `www` gets it as a file."""
    terms = shop.services.buy(COMIC, "reader")
    page_fields, content_fields = shop.work / "page.fields", shop.work / "content.fields"
    page_fields.write_text("".join(f"{name}: {value}\n" for name, value in shop.fields.items()))
    content_fields.write_text(f"Authorization: Bearer {terms['ticket']}\n")
    bytes_of_page = Client(shop.port, shop.fields).ask(f"/opds/pages/{COMIC}/1.0/0")
    www.mkdir(exist_ok=True)
    (www / "page").write_bytes(bytes_of_page)
    return (Contender("pullbox", shop.port, f"/opds/pages/{COMIC}/1.0/0", [shop.pid], page_fields),
            Contender("content path", shop.port, terms["contentURL"], [shop.pid], content_fields))


def pages(results, arguments):
    with opened(arguments) as shop:
        www = shop.work / "www"
        ours, range_of_content = contenders(shop, arguments, www)
        nginx = peers.Nginx("nginx", arguments.port_base + 30, www, shop.work)
        try:
            rivals = [ours, range_of_content, Contender("nginx", nginx.port, "/page", nginx.pids)]
            samples = {contender.name: [] for contender in rivals}
            count = max(200, arguments.questions)
            for number in range(arguments.runs):
                start = number % len(rivals)
                for contender in rivals[start:] + rivals[:start]:
                    told = load(arguments, contender, "--length", PAGE, "--range", PAGE, "--connections", 8, "--requests", count)
                    samples[contender.name].append(told["processor"] / told["requests"] * 1e6)
        finally:
            nginx.stop()
    results.add(row("pages", "a page of 400 KiB of a stored package, 8 connections", "µs of CPU a request", samples,
                    [Target("content path", 1.15)], requests=count))


def beside(results, arguments):
    """Whole packages to four readers, with and without 200 pages a second beside them."""
    with opened(arguments) as shop:
        ours, content = contenders(shop, arguments, shop.work / "www")
        length = PAGES * PAGE
        words = ["--length", length, "--range", length, "--connections", 4, "--seconds", arguments.seconds]
        alone, together, waits = [], [], []
        for _ in range(arguments.runs):
            told = json.loads(run(arguments.work / "load", *content.words(*words)))
            alone.append(told["bytes"] / told["seconds"] / 1e6)
            reader = subprocess.Popen(
                [str(word) for word in (arguments.work / "load", *ours.words(
                    "--length", PAGE, "--range", PAGE, "--connections", 16, "--rate", 200, "--seconds", arguments.seconds + 1))],
                stdout=subprocess.PIPE, text=True)
            told = json.loads(run(arguments.work / "load", *content.words(*words)))
            together.append(told["bytes"] / told["seconds"] / 1e6)
            waits.append(json.loads(reader.communicate()[0])["p99"] / 1000)
    results.add(row("beside", "whole packages to 4 readers beside 200 pages of 400 KiB a second", "MB/s",
                    {"pullbox": together, "alone": alone}, [Target("alone", 0.97, "at least")]))
    results.add(row("beside-pages", "the 99th of a hundred of those pages", "ms", {"pullbox": waits}, []))


def main():
    arguments = parse_arguments()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = Results(arguments.results or arguments.root / "Benchmarks/results/catalogue.json", "catalogue",
                      {"scale": arguments.scale, "questions": arguments.questions, "runs": arguments.runs})
    work = {"data": data, "feed": feed, "owned": owned, "search": search, "pages": pages, "beside": beside, "console": console}
    for name in arguments.only or ROWS:
        work[name](results, arguments)
    for one in results.rows:
        show(one)


if __name__ == "__main__":
    main()
