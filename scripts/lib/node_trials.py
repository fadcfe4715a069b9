"""How fast nodes tell each other what they may not send any more, and what is new: while all is well."""

import http.client
import json
import select
import socket
import threading
import time

from node_clients import Reader, ask
from node_engines import Failure

REVOCATION_SECONDS, RELEASE_SECONDS = 1.0, 2.0
GIVE_UP_SECONDS = 20


def percentile(samples, part):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]


def figures(samples):
    return f"median {percentile(samples, 0.5) * 1000:.0f} ms, p99 {percentile(samples, 0.99) * 1000:.0f} ms of {len(samples)}"


class Body:
    """A body that is read so slowly that it does not end by itself."""

    def __init__(self, node, terms):
        self.node, self.ended, self.received = node, None, 0
        self.socket = socket.create_connection(("127.0.0.1", node.port), 10)
        # What the kernel may hold for this side is small, so that the server is the one that waits.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.sendall(f"GET /v1/content/{terms['digest']} HTTP/1.1\r\nHost: nodes\r\n"
                            f"Authorization: Bearer {terms['ticket']}\r\n\r\n".encode())
        head = self.socket.recv(2048)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise Failure(f"a body at {node.name} begins with {head[:300]!r}")
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.over = threading.Event()
        self.thread.start()

    def read(self):
        """A little at a time; a reset ends it, whatever is in the buffers."""
        poll = select.poll()
        poll.register(self.socket, select.POLLERR | select.POLLHUP | select.POLLRDHUP)
        while not self.over.is_set():
            if poll.poll(2):
                self.ended = time.monotonic()
                return
            try:
                self.received += len(self.socket.recv(256))
            except OSError:
                self.ended = time.monotonic()
                return

    def close(self):
        self.over.set()
        self.thread.join()
        self.socket.close()


def try_revocations(cluster, product, trials):
    """From the moment at which an operator asks one node for it to the end of the bodies at all nodes."""
    reader = Reader(cluster.nodes, cluster.store_port, cluster.transcript, 1, "revoked")
    reader.open()
    reader.buy(product)
    samples, name = [], None
    for trial in range(trials):
        grant = reader.grant(product)
        name = name or cluster.operator("GET", f"/v1/operator/grants?device={reader.device}")["items"][0]["grant"]
        bodies = [Body(node, grant["download"]) for node in cluster.nodes]
        time.sleep(0.05)
        if early := [body.node.name for body in bodies if body.ended]:
            raise Failure(f"the body at {', '.join(early)} ended before the revocation")
        node = cluster.nodes[trial % len(cluster.nodes)]
        begun = time.monotonic()
        cluster.operator("POST", f"/v1/operator/grants/{name}/revoke", {"reason": "a trial"}, node)
        end = begun + GIVE_UP_SECONDS
        while time.monotonic() < end and any(body.ended is None for body in bodies):
            time.sleep(0.005)
        for body in bodies:
            if body.ended is None:
                raise Failure(f"the body at {body.node.name} went on for {GIVE_UP_SECONDS} s after its grant was revoked at {node.name}")
            samples.append(body.ended - begun)
            body.close()
        cluster.operator("POST", f"/v1/operator/grants/{name}/reinstate", {"reason": "a trial"}, node)
        await_reinstated(cluster, grant)
    cluster.transcript.note(f"revocations: {[round(sample, 4) for sample in samples]}")
    if percentile(samples, 0.99) > REVOCATION_SECONDS:
        raise Failure(f"a revocation ends bodies at all nodes too late: {figures(samples)}")
    return f"a revocation ends the bodies of its grant at all nodes: {figures(samples)}"


def await_reinstated(cluster, grant):
    terms, end = grant["download"], time.monotonic() + GIVE_UP_SECONDS
    for node in cluster.nodes:
        while True:
            answer = ask(node.port, "GET", f"/v1/content/{terms['digest']}", None, terms["ticket"], {"Range": "bytes=0-0"})
            if answer.status == 206:
                break
            if time.monotonic() > end:
                raise Failure(f"{node.name} answers {answer.status} {GIVE_UP_SECONDS} s after a grant was reinstated")
            time.sleep(0.02)


class Waiting(threading.Thread):
    """A feed that waits at a node."""

    def __init__(self, node, reader, feed, cursor):
        super().__init__(daemon=True)
        self.node, self.reader, self.feed, self.cursor, self.answered, self.answer = node, reader, feed, cursor, None, None

    def run(self):
        self.answer = ask(self.node.port, "GET", f"/v1/feed?device={self.reader.device}&after={self.cursor}&wait=30", None,
                          self.feed["token"])
        self.answered = time.monotonic()


def try_feeds(cluster, package, other, trials):
    """From the moment at which a release is asked of one node to the answers of feeds that wait at the others."""
    product = "com.example.nodes.corrected"
    for file, version, words in ((package, "1.0", ["--release"]), (other, "1.1", [])):
        done = cluster.publish(cluster.nodes[0], file, product, version, *words)
        if done.returncode:
            raise Failure(f"{product} {version} cannot be published: {done.stdout}")
    cluster.operator("POST", f"/v1/operator/products/{product}/versions/1.1/approve")
    readers = []
    for number in range(len(cluster.nodes)):
        reader = Reader(cluster.nodes, cluster.store_port, cluster.transcript, number + 1, "waiting")
        reader.open()
        reader.buy(product)
        readers.append([reader, reader.grant(product)["feed"], ""])
    samples = []
    for trial in range(trials):
        node = cluster.nodes[trial % len(cluster.nodes)]
        waiting = []
        for place, entry in enumerate(readers):
            reader, feed, _ = entry
            entry[2] = drain(cluster.nodes[place], reader, feed, entry[2])
            waiting.append(Waiting(cluster.nodes[place], reader, feed, entry[2]))
        for one in waiting:
            one.start()
        time.sleep(0.3)
        if early := [one.node.name for one in waiting if one.answered]:
            raise Failure(f"the feed at {', '.join(early)} did not wait")
        version = ("1.1", "1.0")[trial % 2]
        begun = time.monotonic()
        cluster.operator("POST", f"/v1/operator/products/{product}/versions/{version}/release", {}, node)
        for one in waiting:
            one.join(GIVE_UP_SECONDS + 20)
            entries = json.loads(one.answer.body)["entries"] if one.answer and one.answer.status == 200 else None
            if not entries or entries[-1].get("version") != version:
                raise Failure(f"the feed at {one.node.name} is answered {one.answer} after {version} was released at {node.name}")
            if one.node is not node:
                samples.append(one.answered - begun)
    cluster.transcript.note(f"releases: {[round(sample, 4) for sample in samples]}")
    if max(samples) > RELEASE_SECONDS:
        raise Failure(f"a release reaches feeds that wait at other nodes too late: {max(samples):.2f} s")
    return f"a release reaches feeds that wait at other nodes: {figures(samples)}, at most {max(samples) * 1000:.0f} ms"


def drain(node, reader, feed, cursor):
    """The cursor behind everything that there is to tell."""
    while True:
        after = f"&after={cursor}" if cursor else ""
        answer = json.loads(ask(node.port, "GET", f"/v1/feed?device={reader.device}{after}", None, feed["token"]).body)
        if answer["cursor"] == cursor or not answer["entries"]:
            return answer["cursor"]
        cursor = answer["cursor"]
