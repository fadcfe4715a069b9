"""Rows of scripts/bench nodes about packages that a node has to fetch from its object store."""
import urllib.parse

from measuring import run, say, settle
from relays import StoreRelay
from reporting import Extra, Target, row

MEBIBYTE = 1 << 20
# Devices that want one package of one node.
CROWD = 100


def row_cold(bench):
    """A whole package that the node has nothing of, into a file, beside the store's own answer to the same client. What is
    measured is time, and so the node is not held."""
    fleet = bench.fleet("one")
    node = fleet.nodes[0]
    (name,) = [name for name in bench.bucket.names("one/packages/") if length_of(bench, name) == bench.arguments.bytes]
    samples = {kind: {"pullbox": [], "curl from the store": []} for kind in ("whole", "first")}
    try:
        for pair in range(bench.arguments.pairs + 1):
            turns = [("pullbox", fetch_cold), ("curl from the store", fetch_from_store)]
            for contender, fetch in turns[::-1] if pair % 2 else turns:
                whole, first = fetch(bench, node, name)
                # The first brings the store's own caches up.
                if pair > 0:
                    samples["whole"][contender].append(whole)
                    samples["first"][contender].append(first * 1000)
    finally:
        node.restart()
        fleet.hold()
    work = f"a cold package of {bench.arguments.bytes // MEBIBYTE} MiB"
    peer = "curl from the store"
    return [row("cold", work + " to a file", "s", samples["whole"], [Target(peer, 1.25)]),
            row("cold-first", work + ": the first byte, beside the first MiB from the store", "ms", samples["first"],
                [Extra(peer, 10)])]


def fetch_cold(bench, node, _):
    node.restart(cold=True)
    terms = node.grant(bench.owners[0])["download"]
    settle([node.pid])
    url = urllib.parse.urljoin(node.url, terms["contentURL"])
    first, whole = curl(bench, url, "--header", f"Authorization: Bearer {terms['ticket']}")
    return whole, first


def fetch_from_store(bench, _, name):
    address = bench.bucket.address(name)
    _, whole = curl(bench, address)
    _, first = curl(bench, address, "--range", f"0-{MEBIBYTE - 1}")
    return whole, first


def curl(bench, url, *words):
    """Seconds until the first byte, and until the last."""
    told = run("curl", "--silent", "--fail", "--noproxy", "*", "--output", bench.arguments.work / "fetched",
               "--write-out", "%{time_starttransfer} %{time_total}", *words, url)
    return [float(one) for one in told.split()]


def length_of(bench, name):
    told = run("curl", "--silent", "--fail", "--noproxy", "*", "--range", "0-0", "--output", "/dev/null", "--dump-header", "-",
               bench.bucket.address(name))
    (line,) = [line for line in told.splitlines() if line.lower().startswith("content-range:")]
    return int(line.rpartition("/")[2])


def row_crowd(bench):
    """Devices that want one cold package of one node, which is not held: the bytes that the store sends it meanwhile."""
    fleet = bench.fleet("one")
    node = fleet.nodes[0]
    store = urllib.parse.urlsplit(bench.bucket.endpoint)
    if store.scheme != "http":
        say("  crowd: what a store sends by TLS is not counted")
        return []
    relay = StoreRelay(store.hostname, store.port or 80)
    samples = []
    try:
        for _ in range(bench.arguments.pairs):
            node.restart(cold=True, s3=bench.bucket.settings(relay.url))
            path, fields = bench.tickets(fleet, CROWD)
            settle([node.pid])
            before = relay.returned
            fleet.load(path, fields, "--length", bench.arguments.bytes, "--connections", CROWD, "--requests", CROWD)
            samples.append((relay.returned - before) / MEBIBYTE)
    finally:
        node.restart()
        fleet.hold()
        relay.close()
    length = "the package's length"
    return [row("crowd", f"{CROWD} devices that want one cold package of one node: read from the store", "MiB",
                {"pullbox": samples, length: [bench.arguments.bytes / MEBIBYTE] * len(samples)}, [Target(length, 1.05)])]
