"""What must hold, looked at from outside: the stores' records, the server's, the devices' disks, and what relays have passed on."""

import base64
import collections
import contextlib
import datetime
import http.client
import json
import os
import sqlite3
import time

from node_clients import RETRIED, ask
from node_engines import Failure
from torture_acts import MAGAZINE, MONTHLY
from torture_bytes import Bytes
from torture_counts import see_counts
from torture_disk import Hashes, faults_of_content, left_over, look_at_library, look_at_shelf
from torture_model import EDGE, Model, sales_of
from torture_reasons import see_feed, see_license, see_reasons
from torture_sections import see_sections
from torture_system import OWNERS, TICKET_SECONDS

# So long without a fault everything that was paid has come to its end.
SETTLED_SECONDS = 100
# A period that is over and opened nothing is finished when its device asks the next time, or at the hourly look: an hour is too long here.
PERIOD_SECONDS = 20
# What a device moves out of sight within a minute, with some seconds of a busy machine.
MOVED_SECONDS = 75
RESIDENT_MEBIBYTES, SOCKETS, OTHER_DESCRIPTORS = 256, 128, 40
TICKETS = 6
# So long the server believes an answer about a token that it is shown again.
VERDICT_SECONDS = 300


def end_of(ticket):
    """Its last second, as docs/formats/ticket.md has it."""
    return int.from_bytes(base64.urlsafe_b64decode(ticket)[6:14], "big")


class Checks:
    def __init__(self, system, people, adversary, transcript):
        self.system, self.people, self.adversary, self.transcript = system, people, adversary, transcript
        self.history, self.model = people.history, Model(people.history, MAGAZINE)
        self.hashes, self.counts = Hashes(), collections.Counter()
        # By store and transaction: when the store says that it was finished.
        self.finished = {}
        # By ticket: whose it is, of which digest, and when it was seen first.
        self.tickets = {}
        # Bytes of packages that were sent, and the lengths of those packages by device and digest.
        self.sent_of, self.needed, self.lengths = collections.Counter(), {}, {}
        # The most memory that each program took, in KiB, and the most files that it had open.
        self.resident, self.descriptors = collections.Counter(), collections.Counter()
        # By owner and product: since when it is known that it is not owned.
        self.denied = {}
        self.flows, self.bytes = [], Bytes(adversary)
        # Where the next answers without a network begin.
        self.turns = 0

    def violate(self, text):
        self.transcript.violate(text)

    def look(self, words):
        self.counts[words] += 1

    # While anything may run.

    def quick(self):
        self.see_flows()
        for agent in self.system.agents.values():
            self.see_library(agent)
        self.see_finished()

    def see_flows(self):
        for name, relay in self.system.relays.items():
            for flow in relay.taken():
                self.flows.append((name, flow))
                self.tickets.setdefault(flow.ticket, (name, flow.digest, flow.begun))
                self.bytes.take(name, flow)

    def see_library(self, agent):
        """At any time: what readers see came there whole, in one step. What is just being replaced is looked at again."""
        if not agent.library.exists():
            return
        for attempt in range(3):
            try:
                faults = look_at_library(agent.library, self.history, self.hashes)
            except FileNotFoundError:
                continue
            faults = [fault for fault in faults if not self.adversary.rots.is_excused(agent, fault.partition("/")[0])]
            if not faults:
                self.look("libraries")
                return
            if attempt < 2:
                # A version that is moved away or replaced is in pieces only while one looks.
                time.sleep(0.2)
        for fault in faults[:3]:
            self.violate(f"4: the library of {agent.name} has what it must not: {fault}")

    def see_finished(self):
        """Once a store has finished a transaction, nobody finishes it again; and its content was at its place before."""
        for kind, store in self.system.stores.items():
            for row in store.rows("SELECT id, product, type, device, finished, revoked FROM transactions WHERE finished IS NOT NULL"):
                if (kind, row["id"]) not in self.finished and kind == "apple" and row["type"] == "non-consumable":
                    self.see_order(row)
                before = self.finished.setdefault((kind, row["id"]), row["finished"])
                if before != row["finished"]:
                    self.violate(f"6: {kind} finished {row['id']} at {before}, and again at {row['finished']}")

    def see_order(self, row):
        """1: of a product with one version, which nothing has replaced or repaired since, the directory came to its place before the
        store's date."""
        owner = next((agent.owner for agent in self.system.agents.values() if agent.device == row["device"]), None)
        versions = list(self.history.of(row["product"]))
        if owner is None or len(versions) != 1 or row["revoked"]:
            return
        holders = [agent for agent in self.system.agents.values() if agent.owner == owner]
        if any((agent.name, row["product"]) in self.adversary.rots.ever | self.people.asked_sections for agent in holders):
            return
        if self.adversary.is_apple_behind or row["finished"] < self.adversary.misdated_until * 1000:
            self.look("finishes by a wrong clock")
            return
        places = [root / row["product"] / versions[0][0] for agent in holders
                  for root in (agent.library, agent.library / ".withdrawn")]
        times = []
        for place in places:
            with contextlib.suppress(OSError):
                times.append(place.stat().st_ctime * 1000)
        # Both clocks are this machine's; a file system's may be one tick behind.
        if times and min(times) > row["finished"] + 20:
            self.violate(f"1: apple finished {row['id']} {min(times) - row['finished']:.0f} ms before {row['product']} was at its place")
        self.look("finishes behind their content")

    # When all is well again.

    def unsettled(self):
        """What has still to happen, in words."""
        waits = []
        now = int(time.time() * 1000)
        for kind, store in self.system.stores.items():
            for row in store.rows("SELECT id, product, type, expires FROM transactions WHERE state = 'purchased' AND finished IS NULL "
                                  "AND revoked IS NULL" + (" AND id = original_id" if kind == "google" else "")):
                # A token is that of the first sale: what was sold again by it is no purchase of its own.
                if row["type"] != "auto-renewable-subscription" or row["expires"] + PERIOD_SECONDS * 1000 < now:
                    waits.append(f"{kind} has not finished {row['id']} of {row['product']}")
        for row in self.system.stores["apple"].rows(
                f"SELECT id, type FROM notifications WHERE next_attempt IS NOT NULL OR signed IS NULL AND due <= {now}"):
            waits.append(f"apple has still to send {row['type']} {row['id']}")
        # What it tells of a token nobody asks about.
        for row in self.system.stores["google"].rows("SELECT id, attempts FROM google_messages"):
            waits.append(f"google has still to post message {row['id']}, after {row['attempts']} attempts")
        for agent in self.system.agents.values():
            # The record of one that has ended stays until the next start where it could not be removed.
            for row in agent.rows("SELECT id, digest, phase, state, reason FROM content_jobs WHERE state NOT IN ('failed', 'finished')"):
                waits.append(f"{agent.name} fetches {row['digest'][:12]}: {row['phase']} {row['state']} {row['reason']}")
            for row in agent.rows("SELECT id, product, phase, state, reason FROM downloads WHERE state NOT IN ('finished', 'cancelled', 'failed')"):
                waits.append(f"{agent.name} has {row['product']} to come: {row['phase']} {row['state']} {row['reason']}")
        for row in self.system.rows("SELECT subject AS subject, kind AS kind, last_error AS error FROM outbox WHERE done IS NULL "
                                    "AND dropped IS NULL"):
            waits.append(f"the server has still to {row['kind']} {row['subject']}: {row['error']}")
        return waits

    def settle(self):
        """Waits until everything has come to its end; what was refused meanwhile is asked for again, as its reader would."""
        begun, asked = time.monotonic(), 0.0
        while waits := self.tolerant(self.unsettled):
            now = time.monotonic()
            if now - begun > SETTLED_SECONDS:
                self.violate(f"2: after {SETTLED_SECONDS} s without a fault: {waits[0]} ({len(waits)} such)")
                return
            for one in self.system.programs:
                if one.has_ended():
                    raise Failure(f"{one.name} ended by itself with {one.process.returncode}: {one.tail()[-600:]}")
            if now - asked > 1:
                asked = now
                self.people.resume()
                self.transcript.note(f"waits: {'; '.join(waits[:4])}")
            time.sleep(0.05)
        self.look("ends")

    @staticmethod
    def tolerant(question):
        """A database that is just being made has no tables yet."""
        try:
            return question()
        except sqlite3.OperationalError as error:
            return [repr(error)]

    def calm(self):
        self.settle()
        if self.transcript.violations:
            return
        self.adversary.settle()
        self.quick()
        self.bytes.judge(self)
        self.see_placed()
        self.see_entitlements()
        see_sections(self)
        self.see_gina()
        self.see_rights()
        self.see_moved()
        self.see_left_overs()
        see_counts(self)
        self.see_processes()

    def see_placed(self):
        """1: what a device has reported lies there; what a store has finished lies with whoever bought it."""
        by_device = {agent.device: agent for agent in self.system.agents.values()}
        for row in self.system.rows("SELECT device AS device, product AS product, version AS version, state AS state FROM grants "
                                    "WHERE state = 'finished' OR state = 'completed' OR placed IS NOT NULL"):
            agent = by_device.get(row["device"])
            if agent and (fault := self.fault_of(agent, row["product"], row["version"])):
                goes = agent.name in self.adversary.confused or (agent.name, row["product"]) in self.adversary.rots.ever
                if goes and self.has_later(agent, row["product"], row["version"]):
                    # Dated weeks ago, or damaged, the version before is kept no longer.
                    continue
                self.violate(f"1: {agent.name} reported {row['product']} {row['version']}: {fault}")
            self.look("reports")
        for row in self.system.stores["apple"].rows(
                "SELECT id, product, device FROM transactions WHERE type = 'non-consumable' AND finished IS NOT NULL"):
            agent = by_device.get(row["device"])
            if agent is None:
                continue
            # Another device of the customer may have heard of it, fetched and reported it first.
            faults = [self.fault_of(one, row["product"], version) for version, _ in self.history.of(row["product"])
                      for one in self.system.agents.values() if one.owner == agent.owner]
            if all(faults):
                self.violate(f"1: apple has finished {row['id']}, and no device of {agent.owner} has a version of {row['product']}: {faults[0]}")
            self.look("finished transactions")

        for row in self.system.stores["google"].rows("SELECT id, product FROM transactions WHERE finished IS NOT NULL AND revoked IS NULL"):
            if str(row["id"]) not in self.people.gina.placed:
                self.violate(f"1: google was told of the end of {row['id']}, and gina has not placed {row['product']}")
            self.look("finished transactions")

    def digests_of(self, product):
        """Of the packages of its versions."""
        return {row["digest"] for row in self.system.rows(f"SELECT product AS product, {self.system.hexadecimal('digest')} AS digest FROM versions")
                if row["product"] == product}

    def has_later(self, agent, product, version):
        """Whether a version that was published behind that one is at its place, or has been taken from readers."""
        versions = [one for one, _ in self.history.of(product)]
        return any((root / product / one).is_dir() for one in versions[versions.index(version) + 1:]
                   for root in (agent.library, agent.library / ".withdrawn"))

    def fault_of(self, agent, product, version):
        known = self.history.versions.get((product, version))
        if known is None:
            return "it was never published"
        for root in (agent.library, agent.library / ".withdrawn"):
            if (root / product / version).is_dir():
                return next(iter(faults_of_content(root / product / version, known["files"], self.hashes)), None)
        return "it is not there"

    def see_entitlements(self):
        """5: what the server says that each customer owns, and what the model says of the same history."""
        if time.time() < self.adversary.statements_until + EDGE / 1000:
            # A statement of a store whose clock was ahead counts as the latest until then.
            self.look("calm ends within a store's time ahead")
            # What was not owned at the look before may be by now.
            self.denied.clear()
            return
        for agent in self.system.agents.values():
            for attempt in range(3):
                sales = sales_of(self.system.stores["apple"], agent.owner)
                told = self.entitlements(agent)
                if told is not None and sales == sales_of(self.system.stores["apple"], agent.owner):
                    break
            else:
                self.violate(f"5: the entitlements of {agent.name} are not told while all is well")
                continue
            verdicts = self.model.verdicts(sales, agent.owner)
            self.compare(agent, told[0], verdicts)
            self.compare_end(agent, told[1], sales)
            see_reasons(self, agent, verdicts)
            see_feed(self, agent, told[2], verdicts)
            see_license(self, agent, lambda agent=agent: self.model.verdicts(
                sales_of(self.system.stores["apple"], agent.owner), agent.owner))

    def entitlements(self, agent):
        """By product the rules and the versions that are told, until when the subscription runs, and the device's feed; nil where the server
        says that it cannot know now."""
        receipt = agent.store.call("GET", f"/store/v1/receipt?device={agent.device}", token=agent.account["token"])["receipt"]
        answer = ask(self.system.node_port(), "POST", "/v1/entitlements", {
            "store": "apple", "receipt": receipt, "device": {"id": agent.device}})
        if answer.status in RETRIED:
            return None
        if answer.status != 200:
            raise Failure(f"5: the entitlements of {agent.name} are answered {answer.status} {answer.body[:300]}")
        told, document = {}, json.loads(answer.body)
        for one in document["products"]:
            rules, versions = told.setdefault(one["product"], (set(), set()))
            rules.add(one["because"])
            versions.add(one["version"])
        return told, (document.get("subscribedUntil") or {}).get(MONTHLY), document["feed"]

    def compare_end(self, agent, told, sales):
        """Until when the subscription runs, to the millisecond."""
        now = int(time.time() * 1000)
        ends = [sale.expires for sale in sales if sale.expires and sale.revoked is None]
        if any(abs(end - now) < EDGE for end in ends) or any(sale.expires and abs(sale.purchased - now) < EDGE for sale in sales):
            return
        end = max((end for end in ends if end > now), default=None)
        is_told = None if told is None else int(datetime.datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp() * 1000)
        if is_told != end:
            self.violate(f"5: {agent.name} is told to subscribe until {told}, and the model says {end}")
        self.look("ends of subscriptions")

    def compare(self, agent, told, verdicts):
        moment = time.time()
        for product, verdict in verdicts.items():
            version = self.model.offered(product, agent.device)
            rules, versions = told.get(product, (set(), set()))
            if verdict.uncertain:
                self.look("entitlements too close to judge")
                self.denied.pop((agent.owner, product), None)
                continue
            self.look("entitlements")
            is_told, is_owned = bool(rules), verdict.is_owned and version is not None
            if is_told != is_owned:
                self.violate(f"5: {agent.name} {'is' if is_told else 'is not'} told to own {product} ({sorted(rules)}), and the model says "
                             f"{sorted(verdict.because)}, offered {version}")
            elif is_owned and not rules <= verdict.because | {"granted-before"}:
                self.violate(f"5: {agent.name} owns {product} because of {sorted(rules)}, and the model says {sorted(verdict.because)}")
            elif is_owned and versions != {version}:
                self.violate(f"5: {agent.name} is offered {sorted(versions)} of {product}, and the model says {version}")
            if not verdict.is_owned:
                self.denied.setdefault((agent.owner, product), moment)
            else:
                self.denied.pop((agent.owner, product), None)

    def see_gina(self):
        """The same of purchases that are shown by tokens, one by one: a token alone names no account."""
        if time.time() - self.system.relays["google"].lost < VERDICT_SECONDS:
            # The server believes what it heard of a token for so long, and what it was to hear since was lost.
            return
        sales = [sale for sale in sales_of(self.system.stores["google"], "gina") if sale.id in self.people.gina.placed]
        for sale in sales[-12:]:
            answer = ask(self.system.node_port(), "GET", f"/v1/operator/explain?product={sale.product}&transaction={self.order(sale.id)}&store=google",
                         None, self.system.key)
            if answer.status == 404:
                # The server of a backup has not seen it.
                continue
            allowed = json.loads(answer.body)["allowed"]
            others = [one for one in sales if one.product == sale.product and one.revoked is None]
            self.look("entitlements by token")
            if sale.revoked is None and not allowed or allowed and not others:
                self.violate(f"5: of gina's {sale.id} of {sale.product} the server says {answer.body[:300]}, and the store has {sale}")

    @staticmethod
    def order(identifier):
        """Google's name of an order, which the sandbox store makes of a transaction."""
        return "GPA." + "-".join(identifier[place:place + 4] for place in range(0, len(identifier), 4))

    def see_rights(self):
        """3: a ticket opens its content as long as it is good, and while its owner has a right to it; and nothing was sent to who had none."""
        products = collections.defaultdict(set)
        for row in self.system.rows(f"SELECT product AS product, {self.system.hexadecimal('digest')} AS digest, length AS length FROM versions"):
            products[row["digest"]].add(row["product"])
            self.lengths[row["digest"]] = int(row["length"])
        now = time.time()
        for ticket, (name, digest, seen) in self.telling(products, now):
            status = self.open(digest, ticket)
            if status is None:
                continue
            self.look("tickets")
            end = end_of(ticket)
            if status in (200, 206) and now > end + 1:
                self.violate(f"3: a ticket of {name} still opens {digest[:12]}, {now - end:.1f} s after its end")
            if end - seen > TICKET_SECONDS + 1 and not self.was_ahead(seen):
                self.violate(f"3: a ticket of {name} for {digest[:12]} is good for {end - seen:.1f} s from its use on, and not for {TICKET_SECONDS}")
            if status in (200, 206) and self.is_denied(name, products[digest]) and not self.adversary.was_lost(seen):
                self.violate(f"3: a ticket of {name} opens {digest[:12]} of {sorted(products[digest])}, which is not owned")
        for ticket in [ticket for ticket, (_, _, seen) in self.tickets.items() if now - seen > 3 * TICKET_SECONDS]:
            del self.tickets[ticket]
        self.see_sent(products)

    def is_denied(self, name, products):
        """Whether it is known of all these products that the device's owner has none."""
        return bool(products) and all((OWNERS.get(name), product) in self.denied for product in products)

    def was_ahead(self, moment):
        """Whether a server's clock was ahead before, by which a ticket may have been made that lasts longer by right clocks."""
        since = self.people.history.ahead_since
        return since is not None and since < moment

    def telling(self, products, now):
        """The tickets that say most: of what is not owned, just beyond their time, and the newest; some of each."""
        known = sorted(self.tickets.items(), key=lambda pair: pair[1][2])
        denied = [one for one in known if self.is_denied(one[1][0], products[one[1][1]])]
        over = [one for one in known if now > end_of(one[0]) + 1]
        return dict(denied[-TICKETS:] + over[-TICKETS:] + known[-TICKETS:]).items()

    def open(self, digest, ticket):
        try:
            return ask(self.system.node_port(), "GET", f"/v1/content/{digest}", None, ticket, {"Range": "bytes=0-0"}).status
        except (OSError, http.client.HTTPException):
            return None

    def see_sent(self, products):
        """Bytes that went to a customer from some seconds after it was known that nothing of the digest is owned, as long as that stayed so."""
        for name, flow in self.flows:
            self.sent_of[name, flow.digest] += flow.sent
            self.needed[name, flow.digest] = self.lengths.get(flow.digest, 0)
            owner = OWNERS.get(name)
            since = [self.denied.get((owner, product)) for product in products[flow.digest]]
            if not owner or not since or not all(since) or flow.sent == 0:
                continue
            moment = max(since)
            if flow.begun > moment and not self.was_owned_since(owner, moment):
                self.violate(f"3: {name} was sent {flow.sent} bytes of {flow.digest[:12]} ({sorted(products[flow.digest])}), "
                             f"{flow.begun - moment:.1f} s after it was known that none of it is owned")
        self.look("answers with content")
        self.flows = []
        for key, sent in self.sent_of.items():
            if sent > 2 * self.needed[key]:
                self.transcript.note(f"sent {sent} bytes of {key[1][:12]} ({self.needed[key]}) to {key[0]}")

    def was_owned_since(self, owner, moment):
        """Whether anything was bought or given back since, which may have given a right for a while."""
        return any(max(sale.purchased, sale.revoked or 0) > moment * 1000 - EDGE for sale in sales_of(self.system.stores["apple"], owner))

    def see_moved(self):
        """3: what is known not to be owned is out of sight after a minute."""
        now = time.time()
        for agent in self.system.agents.values():
            for (owner, product), since in self.denied.items():
                if owner == agent.owner and now - since > MOVED_SECONDS and (agent.library / product).is_dir():
                    seen = [entry.name for entry in os.scandir(agent.library / product) if not entry.name.startswith(".")]
                    if seen:
                        self.violate(f"3: {agent.name} still shows {product} {seen}, {now - since:.0f} s after it was known that it is not owned")
        self.look("what was taken back")

    def see_left_overs(self):
        """4: nothing is left that nothing owns."""
        for agent in self.system.agents.values():
            # What a failed step has moved aside goes at the next look at the library.
            until = time.monotonic() + MOVED_SECONDS
            while (faults := left_over(agent)) and all(one.startswith(".trash/") for one in faults) and time.monotonic() < until:
                time.sleep(0.2)
            for fault in faults[:3]:
                self.violate(f"4: {agent.name} has {fault}, which nothing owns")
        if not self.system.objects:
            for fault in look_at_shelf(self.system.nodes[0].state, self.system.rows, self.hashes)[:3]:
                self.violate(f"4: the server has {fault}")
        self.look("left-overs")

    def see_processes(self):
        """7: memory and descriptors of each process."""
        for one in self.system.programs:
            if one is self.system.edge:
                continue
            place = f"/proc/{one.process.pid}"
            with open(f"{place}/status") as file:
                resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
            self.resident[one.name] = max(self.resident[one.name], resident)
            if resident > RESIDENT_MEBIBYTES << 10:
                self.violate(f"7: {one.name} takes {resident >> 10} MiB of memory")
            files = self.open_files(place)
            # Packages that were sent lately stay open, as many as the server's cache of them holds.
            others = sum(files[name] for name in files if name != "socket" and "/blobs/" not in name and "/cache/" not in name)
            self.descriptors[one.name] = max(self.descriptors[one.name], others)
            if files["socket"] > SOCKETS or others > OTHER_DESCRIPTORS:
                self.violate(f"7: {one.name} has {files['socket']} sockets and {others} files open, such as {files.most_common(5)}")
        self.transcript.note(f"descriptors: {dict(self.descriptors)}")
        self.look("processes")

    @staticmethod
    def open_files(place):
        """How many descriptors lead to what."""
        names = collections.Counter()
        for name in os.listdir(f"{place}/fd"):
            with contextlib.suppress(OSError):
                names[os.readlink(f"{place}/fd/{name}").partition(":[")[0]] += 1
        return names
