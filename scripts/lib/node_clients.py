"""The nodes that check-nodes asks, and those who ask them: readers who buy, fetch and report, and a publisher."""

import collections
import contextlib
import hashlib
import http.client
import json
import random
import shutil
import signal
import socket
import threading
import time

from node_engines import Failure, Process

# What a node, a proxy or a network that fails may answer; everything else has to be right.
RETRIED = {429, 502, 503, 504, 507}
# What the unit's RestartPreventExitStatus says.
NOT_STARTED_AGAIN = {2, 78}
# A request that is answered later than this is noted.
SLOW_SECONDS = 15
REQUEST_SECONDS = 60
# So long after the last fault every request has to have been answered.
PATIENCE_SECONDS = 240

Answer = collections.namedtuple("Answer", "status headers body")


def ask(port, method, path, body=None, token=None, headers=None):
    """One request on a connection of its own. Throws OSError and HTTPException where it gets no whole answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
    try:
        fields = dict(headers or {})
        if token:
            fields["Authorization"] = f"Bearer {token}"
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        connection.request(method, path, data, fields)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


class Transcript:
    """What was done and what became of it, with the seconds since the beginning; and what must not have happened."""

    def __init__(self, path):
        self.file, self.begun, self.lock = open(path, "w", buffering=1), time.monotonic(), threading.Lock()
        self.counts, self.violations, self.acknowledged, self.refusals = collections.Counter(), [], [], []

    def note(self, text):
        with self.lock:
            self.file.write(f"{time.monotonic() - self.begun:9.3f}  {text}\n")

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def violate(self, text):
        self.note(f"NOT HELD  {text}")
        with self.lock:
            self.violations.append(text)

    def last_refusal(self, after, before):
        """Seconds from a moment to the last answer between it and another one that the database was away; 0 where there was none."""
        return max((moment - after for moment in self.refusals if after < moment < before), default=0)

    def acknowledge(self, kind, *facts):
        """Remembers what a 2xx has promised."""
        with self.lock:
            self.acknowledged.append((kind, *facts))
        self.note(f"acknowledged  {kind} {' '.join(str(fact) for fact in facts)}")


class Node(Process):
    """A delivery server among several."""

    def __init__(self, name, executable, directory, port, configuration, clock=None):
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "config.json5"
        file.touch(mode=0o600)
        file.write_text(json.dumps(configuration | {
            "node": name, "listen": [f"127.0.0.1:{port}"], "state": str(directory / "state"),
            "cache": {"directory": str(directory / "cache")}}))
        self.ready_file = directory / "ready"
        super().__init__(name, [executable, "--config", file, "--ready-file", self.ready_file], directory / "log",
                         clock.environment() if clock else None)
        self.clock = clock
        # Whether a proxy before it sends it no request.
        self.is_aside = False
        self.port, self.lock, self.cache = port, threading.Lock(), directory / "cache"
        # Whether it is meant to run: it was started, and not killed since.
        self.is_wanted = False

    def start(self):
        with self.lock:
            self.ready_file.unlink(missing_ok=True)
            super().start()
            self.is_wanted = True

    def kill(self):
        with self.lock:
            self.is_wanted = False
            super().kill()

    def stop(self, seconds=30):
        with self.lock:
            self.is_wanted = False
        return super().stop(seconds)

    def forget_cache(self):
        """Nothing that is in the cache has to survive."""
        shutil.rmtree(self.cache, ignore_errors=True)

    def stand_still(self, seconds):
        """As on a machine that is paused; its connections stay."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def look_after(self, transcript):
        """Starts it again, as the unit does, where it did not come up: the database or the store was away. One that has run ends by no
        fault but its own."""
        with self.lock:
            if not self.is_wanted or self.is_running:
                return
            code = self.process.returncode
            if code < 0 or code in NOT_STARTED_AGAIN or self.ready_file.exists():
                self.is_wanted = False
                transcript.violate(f"{self.name} ended by itself with {code}: {self.tail()}")
                return
            transcript.count("node: did not start")
            transcript.note(f"{self.name} did not start ({code}): {self.tail().strip().splitlines()[-1][:300]}")
            super().start()

    def is_ready(self):
        try:
            return ask(self.port, "GET", "/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False


class Wire(threading.Thread):
    """Leads each connection of a port to one of other ports that takes it. While it is cut, bytes that were sent are not lost, and do not
    arrive."""

    def __init__(self, port, targets, seed=0):
        super().__init__(daemon=True)
        self.targets, self.random, self.listener = targets, random.Random(seed), socket.create_server(("127.0.0.1", port))
        self.flows, self.ends, self.lock = threading.Event(), set(), threading.Lock()
        self.flows.set()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.lead, args=(client,), daemon=True).start()

    def lead(self, client):
        self.flows.wait()
        targets = self.targets()
        for port in self.random.sample(targets, len(targets)):
            with contextlib.suppress(OSError):
                server = socket.create_connection(("127.0.0.1", port), 5)
                server.settimeout(None)
                with self.lock:
                    self.ends |= {client, server}
                threading.Thread(target=self.pump, args=(server, client), daemon=True).start()
                self.pump(client, server)
                return
        client.close()

    def pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.flows.wait()
                sink.sendall(data)
        self.flows.wait()
        self.end(source)
        self.end(sink)

    def end(self, end):
        with self.lock:
            self.ends.discard(end)
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

    def cut(self, seconds, loses):
        """Afterwards the bytes arrive, or the connections are lost."""
        self.flows.clear()
        time.sleep(seconds)
        if loses:
            with self.lock:
                ends = list(self.ends)
            for end in ends:
                self.end(end)
        self.flows.set()

    def stop(self):
        self.flows.set()
        # The port is free only once no thread waits at it.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Client:
    """Asks any node, again where that is right."""

    def __init__(self, nodes, store_port, transcript, seed):
        self.nodes, self.store_port, self.transcript, self.random = nodes, store_port, transcript, random.Random(seed)

    def insist(self, what, method, path, body=None, token=None, headers=None, accept=(200, 201, 202), port=None, refused=None):
        """The answer of whichever node gives one. The same request again after a lost connection and after what says so. `refused` is
        asked about any other answer, and says whether it is tried again."""
        end = time.monotonic() + PATIENCE_SECONDS
        last = None
        while time.monotonic() < end:
            node = None if port else self.choose()
            place = node.name if node else "store"
            begun = time.monotonic()
            try:
                answer = ask(port or node.port, method, path, body, token, headers)
            except (OSError, http.client.HTTPException) as error:
                self.transcript.count(f"{what}: lost")
                last = f"{place}: {error!r}"
                self.note_slow(what, place, begun, repr(error))
                time.sleep(self.random.uniform(0.1, 0.6))
                continue
            self.transcript.count(f"{what}: {answer.status}")
            self.note_slow(what, place, begun, answer.status)
            if answer.status in accept:
                return answer
            text = answer.body.decode(errors="replace")[:400]
            last = f"{place}: {answer.status} {text}"
            if answer.status in RETRIED:
                after = answer.headers.get("Retry-After")
                if after is None:
                    self.transcript.violate(f"{what} at {place}: {answer.status} without Retry-After: {text}")
                if "cannot be reached now" in text:
                    self.transcript.refusals.append(time.monotonic())
                if node:
                    self.transcript.note(f"{what} at {place}: {answer.status} {text}")
                time.sleep(min(float(after or 1), 10) * self.random.uniform(0.8, 1.2))
                continue
            if refused and refused(answer, text):
                time.sleep(self.random.uniform(0.5, 1.5))
                continue
            raise Failure(f"{what} at {place}: {answer.status} {text}")
        raise Failure(f"{what}: no answer within {PATIENCE_SECONDS} s, the last was {last}")

    def choose(self):
        """Any node to which a proxy would send something."""
        return self.random.choice([node for node in self.nodes if not node.is_aside] or self.nodes)

    def note_slow(self, what, place, begun, outcome):
        seconds = time.monotonic() - begun
        if seconds > SLOW_SECONDS:
            self.transcript.count(f"{what}: slow")
            self.transcript.note(f"slow: {what} at {place} took {seconds:.1f} s: {outcome}")


class Reader(Client):
    """One customer with one device, who buys products and has them to their end."""

    def __init__(self, nodes, store_port, transcript, seed, name, longest_pause=0):
        super().__init__(nodes, store_port, transcript, seed)
        self.longest_pause = longest_pause
        self.device = f"{name}-{seed & 0xFFFFFFFF:08x}"
        self.account = None

    def pause(self):
        """What takes no time here takes some on a device; so that whatever is killed ends something at each step."""
        time.sleep(self.random.uniform(0, self.longest_pause))

    def store(self, what, method, path, body=None, headers=None, accept=(200, 201), refused=None):
        token = self.account and self.account["token"]
        answer = self.insist(f"store {what}", method, path, body, token, headers, accept, port=self.store_port, refused=refused)
        return json.loads(answer.body)

    def open(self):
        self.account = self.store("account", "POST", "/sandbox/v1/accounts", {"territory": "USA", "name": self.device})

    def buy(self, product):
        """The transaction. The store asks one node about the product, and sells nothing while that is away."""
        key = f"{self.device}-{product}"

        def catalog_is_away(_, text):
            return "catalogue-unavailable" in text

        sold = self.store(
            "purchase", "POST", "/store/v1/purchases", {"product": product, "device": self.device}, {"Idempotency-Key": key},
            refused=catalog_is_away)
        transaction = sold["transaction"]
        if transaction["state"] != "purchased":
            raise Failure(f"the store answers a purchase with {transaction}")
        self.transcript.acknowledge("purchase", transaction["id"], self.device, product)
        return transaction["id"]

    def receipt(self):
        return self.store("receipt", "GET", f"/store/v1/receipt?device={self.device}")["receipt"]

    def grant(self, product):
        body = {"receipt": self.receipt(), "device": {"id": self.device}, "product": product}
        answer = json.loads(self.insist("grant", "POST", "/v1/grants", body).body)
        self.transcript.acknowledge("grant", answer["grant"], answer["transaction"], self.device, product)
        return answer

    def renew(self, grant):
        answer = json.loads(self.insist("ticket", "POST", f"/v1/grants/{grant['grant']}/tickets", {}, grant["renewalSecret"]).body)
        grant["download"]["ticket"] = answer["ticket"]

    def fetch(self, grant):
        """The package, range by range, each at another node; what has come of one that breaks off stays."""
        terms = grant["download"]
        hasher, offset = hashlib.sha256(), 0
        while offset < terms["length"]:
            self.pause()
            end = min(offset + self.random.randrange(64 << 10, 1536 << 10), terms["length"])
            while offset < end:
                data = self.fetch_range(grant, offset, end)
                hasher.update(data)
                offset += len(data)
        if hasher.hexdigest() != terms["digest"]:
            self.transcript.violate(f"the package of {terms['product']} for {self.device} has the digest {hasher.hexdigest()}, "
                                    f"and not {terms['digest']}")

    def fetch_range(self, grant, begin, end):
        """The bytes that have come, perhaps none."""
        terms, node = grant["download"], self.choose()
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=REQUEST_SECONDS)
        begun, data, outcome = time.monotonic(), b"", ""
        try:
            connection.request("GET", f"/v1/content/{terms['digest']}", headers={
                "Authorization": f"Bearer {terms['ticket']}", "Range": f"bytes={begin}-{end - 1}", "If-Range": f'"{terms["digest"]}"'})
            response = connection.getresponse()
            outcome = response.status
            self.transcript.count(f"range: {outcome}")
            if outcome == 206:
                wanted = f"bytes {begin}-{end - 1}/{terms['length']}"
                if response.headers["Content-Range"] != wanted:
                    self.transcript.violate(f"a range at {node.name} is {response.headers['Content-Range']}, and not {wanted}")
                while chunk := response.read(65536):
                    data += chunk
                if len(data) < end - begin:
                    self.transcript.count("range: cut")
                return data
            text = response.read().decode(errors="replace")[:400]
            if outcome in RETRIED:
                self.transcript.note(f"range at {node.name}: {outcome} {text}")
                if (after := response.headers.get("Retry-After")) is None:
                    self.transcript.violate(f"range at {node.name}: {outcome} without Retry-After: {text}")
                time.sleep(min(float(after or 1), 10))
            elif outcome == 403 and "ticket-expired" in text:
                self.renew(grant)
            else:
                raise Failure(f"a range at {node.name} is answered {outcome}: {text}")
        except (OSError, http.client.HTTPException) as error:
            outcome = repr(error)
            self.transcript.count("range: lost")
            time.sleep(self.random.uniform(0.1, 0.6))
        finally:
            connection.close()
            self.note_slow("range", node.name, begun, outcome)
        return data[:end - begin]

    def complete(self, grant):
        terms = grant["download"]
        report = {
            "digest": terms["digest"], "version": terms["version"], "length": terms["length"],
            "placedAt": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())}
        answer = json.loads(self.insist(
            "completion", "POST", f"/v1/grants/{grant['grant']}/completion", report, grant["renewalSecret"]).body)
        self.transcript.acknowledge("completion", grant["grant"], grant["transaction"], answer["state"])

    def await_end(self, transactions):
        """Each transaction is finished at the store."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = self.store("transactions", "GET", "/store/v1/transactions")["transactions"]
            open_ones = [one["id"] for one in found if one["id"] in transactions and "finishedDate" not in one]
            if not open_ones:
                return
            if time.monotonic() > end:
                raise Failure(f"the store has heard of no end of {', '.join(open_ones)}")
            time.sleep(self.random.uniform(0.3, 1.0))

    def live(self, products):
        """A purchase of each product, to its end."""
        self.open()
        transactions = set()
        for product in products:
            transactions.add(self.buy(product))
            self.pause()
            grant = self.grant(product)
            self.fetch(grant)
            self.complete(grant)
            self.pause()
        self.await_end(transactions)
        return transactions
