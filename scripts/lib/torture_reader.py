"""A reader whose application shows purchase tokens: the agents show receipts."""

import hashlib
import json
import time

from node_clients import RETRIED, ask
from node_engines import Failure
from torture_desk import REFUSED, Again


class Gina:
    """She has one device, which is this process."""

    device = "phone-of-gina"

    def __init__(self, people):
        self.people, self.system = people, people.system
        self.store = self.system.stores["google"]
        self.account = None
        # What she has placed, by transaction: product and digest. And the purchases that she has begun.
        self.placed, self.begun = {}, []

    def server(self, method, path, body=None, token=None, headers=None):
        answer = ask(self.system.relays["gina"].port, method, path, body, token, headers)
        if answer.status in RETRIED or not answer.headers.get("Content-Type", "").startswith(("application/", "text/plain")):
            raise Again(f"{method} {path}: {answer.status}")
        return answer

    def at_store(self, method, path, body=None, token=None):
        answer = ask(self.store.port, method, path, body, token)
        if answer.status in RETRIED:
            raise Again(f"{method} {path} at the store: {answer.status}")
        if answer.status not in (200, 201):
            raise Failure(f"{method} {path} at the store: {answer.status} {answer.body[:300]}")
        return json.loads(answer.body)

    def purchase(self, event):
        chosen = {}

        def act():
            if self.account is None:
                self.account = self.at_store("POST", "/sandbox/v1/accounts", {"territory": "USA", "name": "gina"})
            if "product" not in chosen:
                products = [one for one in self.people.history.released() if not self.people.history.products[one]["publication"]]
                if not products:
                    return "there is nothing to buy"
                chosen["product"] = products[int(event.place * len(products))]
            if chosen not in self.begun:
                self.begun.append(chosen)
            return self.live(event, chosen)
        return act

    def resume(self):
        """What is paid and not over is asked for again, as at an application's start."""
        desk = self.people.readers["gina"]
        if desk.open or self.account is None:
            return
        left = {str(row["id"]) for row in self.store.rows("SELECT id FROM transactions WHERE state = 'purchased' AND finished IS NULL AND "
                                                          "revoked IS NULL AND id = original_id")}
        for chosen in self.begun:
            if chosen.get("transaction") in left:
                desk.do("go on by token", lambda chosen=chosen: self.live(None, chosen))

    def live(self, event, chosen):
        """A purchase to its end; whatever was done before is done no more."""
        if "transaction" not in chosen:
            answer = ask(self.store.port, "POST", "/store/v1/purchases", {"product": chosen["product"], "device": self.device},
                         self.account["token"], {"Idempotency-Key": f"gina-{event.number}"})
            text = answer.body.decode(errors="replace")
            if answer.status not in (200, 201):
                if answer.status in RETRIED or "catalogue-unavailable" in text or "idempotency-key-in-use" in text:
                    raise Again(text[:200])
                if any(code in text for code in REFUSED):
                    return f"{chosen['product']}: {text[:80]}"
                raise Failure(f"{chosen['product']}: {answer.status} {text[:300]}")
            chosen["transaction"] = json.loads(answer.body)["transaction"]["id"]
        if "token" not in chosen:
            chosen["token"] = self.at_store("POST", f"/store/v1/transactions/{chosen['transaction']}/purchase-token",
                                              token=self.account["token"])["purchaseToken"]
        answer = self.server("POST", "/v1/grants", {
            "store": "google", "purchaseToken": chosen["token"], "product": chosen["product"], "device": {"id": self.device}})
        if answer.status not in (200, 201):
            return f"{chosen['product']}: the grant is refused, {answer.status} {answer.body.decode(errors='replace')[-120:]}"
        grant = json.loads(answer.body)
        terms = grant["download"]
        if self.placed.get(chosen["transaction"]) != (chosen["product"], terms["digest"]):
            content = self.server("GET", f"/v1/content/{terms['digest']}", None, terms["ticket"])
            if content.status in (403, 410):
                return f"{chosen['product']}: refused while it is fetched, {content.status}"
            if content.status != 200 or hashlib.sha256(content.body).hexdigest() != terms["digest"]:
                raise Again(f"the content is answered {content.status}, {len(content.body)} bytes")
            self.placed[chosen["transaction"]] = (chosen["product"], terms["digest"])
        report = {"digest": terms["digest"], "version": terms["version"], "length": terms["length"],
                  "placedAt": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())}
        answer = self.server("POST", f"/v1/grants/{grant['grant']}/completion", report, grant["renewalSecret"])
        if answer.status not in (200, 202):
            # A server of a backup may not know that it sent it: it is fetched again.
            self.placed[chosen["transaction"]] = (chosen["product"], None)
            return f"{chosen['product']}: the report is refused, {answer.status} {answer.body.decode(errors='replace')[-120:]}"
        return f"{chosen['product']}: {chosen['transaction']} placed"
