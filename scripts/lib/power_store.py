"""What is recorded of the payment store, and what must be there after the power has failed."""

import contextlib
import json

from node_clients import ask
from node_engines import Failure, Process, until
from power_house import CREDENTIAL, PRODUCTS, READY_SECONDS
from power_recording import Answers, Recorded
from power_server import database_at


class Sale:
    """A first start, an account, a purchase that the server hears of, and one that it finishes."""

    judges_alone, label, name = False, "a store's sales", "a store's sales"

    def __init__(self, house, directory):
        self.house, self.root, self.log, self.port = house, directory / "store", directory / "log", house.port + 2
        self.root.mkdir(mode=0o700, parents=True)
        self.answers, self.promised, self.token = Answers(), [], None
        self.file, self.ready_file = directory / "store.json5", directory / "ready"
        self.file.touch(mode=0o600)
        self.file.write_text(json.dumps({
            "listen": [f"127.0.0.1:{self.port}"], "catalog": f"http://127.0.0.1:{house.port}", "serverCredential": CREDENTIAL}))

    @property
    def roots(self):
        return [self.root]

    def command(self, state):
        return [self.house.options.bin / "pullbox-sandbox", "--config", self.file, "--state", state, "--ready-file", self.ready_file]

    def call(self, method, path, body=None, token=None):
        answer = ask(self.port, method, path, body, token or self.token)
        if answer.status not in (200, 201, 204):
            raise Failure(f"{method} {path} at the store: {answer.status} {answer.body.decode(errors='replace')[:300]}")
        return json.loads(answer.body) if answer.body else None

    def record(self):
        self.ready_file.unlink(missing_ok=True)
        recorded = Recorded(self.command(self.root), self.log)
        recorded.start()
        try:
            recorded.await_ready(self.ready_file.exists)
            self.act()
        finally:
            recorded.end()
        calls = recorded.calls()
        placed = sorted(self.answers.placed(calls, self.port), key=lambda one: one[0])
        self.promised = [promise for _, promise in placed]
        return calls, placed

    def act(self):
        account = self.answers.note(lambda: self.call("POST", "/sandbox/v1/accounts", {"territory": "USA", "name": "anna"}),
                                    lambda answer: ("account", answer["token"]))
        self.token = account["token"]
        for product in PRODUCTS[:2]:
            sold = self.answers.note(lambda product=product: self.call("POST", "/store/v1/purchases", {"product": product, "device": "phone"}),
                                     lambda answer: ("sold", answer["transaction"]["id"]))
        identifier = sold["transaction"]["id"]
        self.answers.note(lambda: self.call("POST", f"/store/v1/transactions/{identifier}/finish", {}, CREDENTIAL),
                          lambda answer: ("finished", identifier))

    def promises(self, placed, moment):
        return sum(1 for begun, _ in placed if begun <= moment)

    def judge(self, place, count):
        path = place / "store/store.sqlite"
        if not count and (not path.exists() or not path.stat().st_size):
            return []
        faults, database = database_at(path)
        if database is None:
            return faults
        with contextlib.closing(database):
            for kind, what in self.promised[:count]:
                if kind == "account":
                    continue
                row = database.execute("SELECT state, finished FROM transactions WHERE id = ?", (int(what),)).fetchone()
                if not row or row["state"] != "purchased" or kind == "finished" and row["finished"] is None:
                    faults.append(f"promised: {kind} {what}: {row and tuple(row)}")
        return faults

    def start(self, place, count):
        """The store tells the account of its purchases."""
        self.ready_file.unlink(missing_ok=True)
        store = Process("store", self.command(place / "store"), self.house.work / "store.log", self.house.environment(is_next=True))
        store.start()
        try:
            def is_ready():
                if not store.is_running:
                    raise Failure(f"the store ended with {store.process.returncode}: {(self.house.work / 'store.log').read_text()[-400:]}")
                return self.ready_file.exists()
            until(READY_SECONDS, "the store is ready", is_ready, 0.01)
            if count:
                told = {one["id"] for one in self.call("GET", "/store/v1/transactions")["transactions"]}
                # What is finished is not told any more, unless it is asked for.
                over = {what for kind, what in self.promised if kind == "finished"}
                if missing := {what for kind, what in self.promised[:count] if kind == "sold"} - told - over:
                    return [f"the store does not tell of {sorted(missing)}"]
        except Failure as failure:
            return [str(failure)]
        finally:
            store.kill()
        return []


TRIALS = (Sale,)
