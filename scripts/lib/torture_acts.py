"""What people do: the operator, the readers, and who looks after purchases at the stores. Each has a desk, at which one thing is done after
the other, again and again until it is answered."""

import contextlib
import http.client
import json
import random
import sqlite3
import threading
import time

from node_clients import RETRIED, ask
from node_engines import Failure, until
from torture_content import SECTION, digests_of, has_section, make_folder, next_version, section_options
from torture_desk import REFUSED, Again, Desk
from torture_reader import Gina

MAGAZINE, MONTHLY = "com.example.torture.magazine", "com.example.torture.monthly"
PRICES = {"USA": {"amount": "2.99", "currency": "USD"}}


class History:
    """What was published, by whoever published it: the expected bytes, and the moments between which each thing happened."""

    def __init__(self):
        self.lock = threading.Lock()
        # By product: its type, publication and date in milliseconds.
        self.products = {}
        # By product and version: the SHA-256 of each file, its state, its percentage.
        self.versions = {}
        # By product: the moments, in seconds, between which its first version was released.
        self.first_released = {}
        # By how many seconds servers' clocks were behind and ahead in this round, and the moment since which one is ahead.
        self.behind, self.ahead, self.ahead_since = 0, 0, None
        # The transactions of Apple's store whose refunds it was asked to reverse.
        self.reversed = set()
        # Whose period that store was asked to end, and when, in milliseconds.
        self.lapses = []

    def doubt(self, lowest, highest):
        """A server's clock is off: between these seconds."""
        with self.lock:
            self.behind, self.ahead = min(self.behind, lowest), max(self.ahead, highest)
            if highest > 0 and self.ahead_since is None:
                self.ahead_since = time.time()

    def trust(self):
        """All clocks are right again, and nothing is being done."""
        with self.lock:
            self.behind = self.ahead = 0

    def released(self):
        """The products of which something is released to all devices."""
        with self.lock:
            return sorted({product for (product, _), one in self.versions.items() if one["state"] == "released" and one["share"] == 100})

    def of(self, product):
        """Its versions in their order."""
        with self.lock:
            found = [(version, one) for (name, version), one in self.versions.items() if name == product]
        return sorted(found, key=lambda pair: [int(part) for part in pair[0].split(".")])

    def current(self, product, share=100):
        """What is released to all, or with `share` below that, to some."""
        for version, one in self.of(product):
            if one["state"] == "released" and (one["share"] == 100) == (share == 100):
                return version
        return None


class People:
    def __init__(self, system, transcript):
        self.system, self.transcript, self.history = system, transcript, History()
        self.desk = Desk("operator", transcript)
        self.cashiers = {kind: Desk(f"cashier of {kind}", transcript) for kind in system.stores}
        self.readers = {name: Desk(name, transcript) for name in (*system.agents, "gina")}
        self.gina = Gina(self)
        # Customers with the products that they have bought.
        self.bought = set()
        # By device and product with a section: whether its reader wants it, as far as that was answered. Nil while that is not known.
        self.sections = {}
        # The devices and products of which a section was asked for, and not refused.
        self.asked_sections = set()

    @property
    def desks(self):
        return [self.desk, *self.cashiers.values(), *self.readers.values()]

    def await_idle(self):
        for desk in self.desks:
            desk.await_idle()

    def leave(self):
        for desk in self.desks:
            desk.leave()

    def operator(self, method, path, body=None, accept=(200, 201, 202, 204)):
        answer = ask(self.system.node_port(), method, path, body, self.system.key)
        if answer.status in RETRIED:
            raise Again(f"{answer.status}")
        if answer.status not in accept:
            raise Failure(f"{method} {path}: {answer.status} {answer.body.decode(errors='replace')[:300]}")
        return json.loads(answer.body) if answer.body else None

    # The operator.

    def open(self):
        """What the first round finds."""
        self.operator("PUT", f"/v1/operator/publications/{MAGAZINE}", {
            "localizations": {"en-US": {"title": "Torture Weekly", "description": "It appears whenever it likes."}}, "policy": {"backIssues": 1}})
        self.describe(MONTHLY, {"type": "auto-renewable-subscription", "publication": MAGAZINE, "period": "P1M", "onSale": True})

    def describe(self, product, members):
        self.operator("PUT", f"/v1/operator/products/{product}", {
            "localizations": {"en-US": {"title": product, "description": "It is published to be tortured."}}, "prices": PRICES} | members)

    def publish(self, event, is_issue):
        product = f"com.example.torture.{'issue' if is_issue else 'single'}{event.number}"
        state = {}

        def act():
            if not state:
                state["date"] = int(time.time() * 1000) // 1000 * 1000
            members = {"type": "non-consumable"}
            if is_issue:
                date = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(state["date"] / 1000))
                members |= {"publication": MAGAZINE, "publicationDate": date}
            self.describe(product, members)
            with self.history.lock:
                self.history.products[product] = {"publication": MAGAZINE if is_issue else None, "date": state["date"] if is_issue else None}
            return self.send(product, "1.0", event, None, state, 100)
        self.desk.do(f"publish {product}", act)

    def send(self, product, version, event, before, state, share):
        """Packs and releases a version; `before` is that of which some files stay."""
        folder = self.system.options.work / "content" / f"{product}-{version}"
        if not folder.exists():
            make_folder(folder, random.Random(f"{product} {version} {event.place}"), before, event.amount)
        state.setdefault("begun", time.time())
        done = self.system.pullbox("publish", folder, "--product", product, "--version", version, "--patience", "2s",
                                   *section_options(folder), *(["--release"] if share == 100 else []))
        if done.returncode:
            self.transcript.note(f"publish {product} {version} ended with {done.returncode}: {done.stdout.strip()[-300:]}")
            raise Again(done.stdout.strip()[-200:])
        if share < 100:
            self.operator("POST", f"/v1/operator/products/{product}/versions/{version}/approve")
            self.operator("POST", f"/v1/operator/products/{product}/versions/{version}/release", {"percentage": share})
        with self.history.lock:
            for (name, _), one in self.history.versions.items():
                if name == product and one["state"] == "released" and (share == 100 or one["share"] < 100):
                    one["state"] = "superseded"
            self.history.versions[product, version] = {
                "files": digests_of(folder), "state": "released", "share": share, "since": time.time()}
            self.history.first_released.setdefault(product, (state["begun"] + self.history.behind, time.time() + self.history.ahead))
        return f"{version} to {share} %"

    def correct(self, event, share=100):
        def act():
            state = chosen
            if "product" not in state:
                products = self.history.released()
                if not products:
                    return "there is nothing to correct"
                state["product"] = products[int(event.place * len(products))]
                state["version"] = next_version(self.history.of(state["product"])[-1][0])
            product = state["product"]
            rollout = self.history.current(product, share=1)
            if share < 100 and rollout:
                self.operator("POST", f"/v1/operator/products/{product}/versions/{rollout}/release", {})
                with self.history.lock:
                    for (name, version), one in self.history.versions.items():
                        if name == product and one["state"] == "released":
                            one.update(state="released" if version == rollout else "superseded", share=100)
                return f"{product} {rollout} to all"
            before = self.system.options.work / "content" / f"{product}-{self.history.of(product)[-1][0]}"
            return f"{product} " + self.send(product, state["version"], event, before, state, share)
        chosen = {}
        self.desk.do("share" if share < 100 else "correct", act)

    def withdraw(self, event):
        """Withdraws what all devices get, once the version before is there for them again."""
        chosen = {}

        def act():
            if not chosen:
                for product in self.history.released():
                    earlier = [version for version, one in self.history.of(product) if one["state"] == "superseded"]
                    if earlier and not self.history.current(product, share=1):
                        chosen.update(product=product, version=self.history.current(product), before=earlier[-1])
                        break
                else:
                    return "there is nothing to withdraw"
            base = f"/v1/operator/products/{chosen['product']}/versions/"
            self.operator("POST", f"{base}{chosen['before']}/release", {})
            self.operator("POST", f"{base}{chosen['version']}/withdraw", {"reason": "a trial"})
            with self.history.lock:
                self.history.versions[chosen["product"], chosen["version"]]["state"] = "withdrawn"
                self.history.versions[chosen["product"], chosen["before"]].update(state="released", share=100)
            return f"{chosen['product']} {chosen['version']}, back to {chosen['before']}"
        self.desk.do("withdraw", act)

    # Readers.

    def buy(self, event, product=None):
        agent = self.system.agents[event.target]
        chosen = {"product": product}

        def act():
            if not chosen["product"]:
                products = [one for one in self.history.released() if not self.history.products[one]["publication"] or event.amount < 0.2]
                # Mostly what the customer has not bought yet: what is bought again is restored, and nothing is fetched.
                new = [one for one in products if (agent.owner, one) not in self.bought]
                products = new if new and event.amount > 0.15 else products
                if not products:
                    return "there is nothing to buy"
                chosen["product"] = products[int(event.place * len(products))]
            status, document = agent.call("POST", "/v1/purchases", {"product": chosen["product"]}, {
                "Idempotency-Key": f"{self.system.options.seed}-{event.number}"})
            code = (document or {}).get("type", "").rpartition(":")[2]
            if status in (200, 201):
                self.bought.add((agent.owner, chosen["product"]))
                return f"{chosen['product']}: {document.get('id')} {document.get('state')}"
            if code in REFUSED:
                return f"{chosen['product']}: {code}"
            if status >= 500 or status == 429 or code in ("idempotency-key-in-use", "interrupted"):
                raise Again(f"{status} {code}")
            raise Failure(f"{chosen['product']} is answered {status} {document}")
        self.readers[event.target].do("buy", act)

    def buy_by_token(self, event):
        self.readers["gina"].do("buy by token", self.gina.purchase(event))

    def section(self, event):
        """A reader wants the section of something that is on the device, or wants it no more."""
        agent, chosen = self.system.agents[event.target], {}

        def act():
            if not chosen:
                there = [product for product in sorted({product for (product, _), one in list(self.history.versions.items())
                                                        if has_section(one["files"])}) if (agent.library / product).is_dir()]
                if not there:
                    return "there is none"
                chosen.update(product=there[int(event.place * len(there))], wanted=event.amount < 0.65)
            key = agent.name, chosen["product"]
            before = chosen.setdefault("before", self.sections.get(key))
            is_first, chosen["asked"] = "asked" not in chosen, True
            self.sections[key] = None
            status, document = agent.call("PUT" if chosen["wanted"] else "DELETE", f"/v1/library/{chosen['product']}/sections/{SECTION}")
            if status in (200, 202, 204):
                self.sections[key] = chosen["wanted"]
                self.asked_sections.add(key)
            elif status in RETRIED or status == 500:
                raise Again(f"{status} {document}")
            elif status not in (402, 403, 404, 409, 410):
                raise Failure(f"the section of {chosen['product']} is answered {status} {document}")
            elif is_first:
                # A refusal changes nothing.
                self.sections[key] = before
            else:
                # A question before this one may have been taken.
                self.asked_sections.add(key)
            return f"{chosen['product']} {'with' if chosen['wanted'] else 'without'} its section: {status}"
        self.readers[event.target].do("section", act)

    def code(self, event):
        """A reader redeems a code that the store gives away: a gift, or the beginning of a subscription."""
        agent, store, chosen = self.system.agents[event.target], self.system.stores["apple"], {}

        def act():
            if "product" not in chosen:
                products = [one for one in self.history.released() if not self.history.products[one]["publication"]] + [MONTHLY]
                chosen["product"] = products[int(event.place * len(products))]
            if "code" not in chosen:
                answer = ask(store.port, "POST", "/sandbox/v1/codes", {"product": chosen["product"], "uses": 1})
                if answer.status in RETRIED or answer.status == 503:
                    raise Again(answer.status)
                if answer.status != 201:
                    return f"{chosen['product']}: no code, {answer.status} {answer.body.decode(errors='replace')[-120:]}"
                chosen["code"] = json.loads(answer.body)["code"]
            status, document = agent.call("POST", f"/v1/codes/{chosen['code']}", {}, {"Idempotency-Key": f"{self.system.options.seed}-{event.number}"})
            code = (document or {}).get("type", "").rpartition(":")[2]
            if status in (200, 201):
                self.bought.add((agent.owner, chosen["product"]))
                return f"{chosen['product']}: {document['transaction']['id'] if 'transaction' in document else document.get('id')}"
            if code in REFUSED:
                return f"{chosen['product']}: {code}"
            if status >= 500 or status == 429 or code in ("idempotency-key-in-use", "interrupted"):
                raise Again(f"{status} {code}")
            raise Failure(f"the code of {chosen['product']} is answered {status} {document}")
        self.readers[event.target].do("code", act)

    def resume(self):
        """What failed for a refusal is asked for again, where its transaction is paid and not over."""
        back = {str(row["id"]) for row in self.system.stores["apple"].rows("SELECT id FROM transactions WHERE revoked IS NOT NULL")}
        for agent in self.system.agents.values():
            with contextlib.suppress(OSError, http.client.HTTPException, sqlite3.OperationalError):
                for row in agent.rows("SELECT downloads.id AS id, transaction_id FROM downloads JOIN transactions ON transactions.id = transaction_id "
                                      "WHERE state = 'failed' AND transactions.ended_at IS NULL"):
                    if row["transaction_id"] not in back:
                        agent.call("POST", f"/v1/downloads/{row['id']}/resume")
        self.gina.resume()

    # At the stores.

    def at_store(self, kind, what, event, statement, path):
        store, chosen = self.system.stores[kind], {}

        def act():
            if "id" not in chosen:
                found = store.rows(statement)
                if not found:
                    return "there is none"
                chosen["id"] = found[int(event.place * len(found))][0]
            if kind == "apple" and what == "reverse":
                self.history.reversed.add(str(chosen["id"]))
            if what == "lapse":
                self.history.lapses.append((event.target, time.time() * 1000))
            answer = ask(store.port, "POST", path.format(chosen["id"]), {})
            if answer.status in RETRIED:
                raise Again(answer.status)
            return f"{chosen['id']}: {answer.status}"
        self.cashiers[kind].do(what, act)

    def refund(self, event):
        self.at_store(event.target, "refund", event, "SELECT id FROM transactions WHERE state = 'purchased' AND price IS NOT NULL AND revoked IS NULL "
                      "AND id = coalesce(original_id, id) ORDER BY id", "/sandbox/v1/transactions/{}/refund")

    def reverse(self, event):
        self.at_store(event.target, "reverse", event, "SELECT id FROM transactions WHERE state = 'purchased' AND revoked IS NOT NULL "
                      "ORDER BY id", "/sandbox/v1/transactions/{}/reverse")

    def lapse(self, event):
        self.at_store("apple", "lapse", event, "SELECT original_id FROM subscriptions JOIN accounts ON accounts.id = account "
                      f"WHERE title = '{event.target}' AND due IS NOT NULL ORDER BY original_id", "/sandbox/v1/subscriptions/{}/expire")

    def act(self, event):
        kind = event.kind
        if kind in ("publish", "issue"):
            self.publish(event, kind == "issue")
        elif kind in ("correct", "share"):
            self.correct(event, 100 if kind == "correct" else 50)
        elif kind == "subscribe":
            self.buy(event, MONTHLY)
        elif kind == "token":
            self.buy_by_token(event)
        else:
            getattr(self, kind)(event)
