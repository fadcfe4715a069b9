"""What is recorded of the delivery server, and what must be there after the power has failed."""

import base64
import contextlib
import hashlib
import json
import pathlib
import shutil
import sqlite3

from node_clients import ask
from node_engines import Failure, Process
from power_house import PRODUCTS, content_of, sha256
from power_recording import Answers, Recorded

# Digests of databases, with their logs, that were found whole.
WHOLE: set[bytes] = set()
STATES = ("draft", "submitted", "approved", "released")


def database_at(path):
    """The faults of a database, and the database where it has none."""
    if not path.exists() or path.stat().st_size == 0:
        return [f"{path.name} is not there"], None
    digest = hashlib.blake2b()
    for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-journal"))):
        digest.update(file.read_bytes() if file.exists() else b"none")
    database = sqlite3.connect(path, isolation_level=None)
    database.row_factory = sqlite3.Row
    if digest.digest() in WHOLE:
        return [], database
    try:
        faults = [f"{path.name}: {row[0]}" for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        faults += [f"{path.name}: a row of {row[0]} refers to nothing" for row in database.execute("PRAGMA foreign_key_check")]
    except sqlite3.DatabaseError as error:
        faults = [f"{path.name}: {error}"]
    if faults:
        database.close()
        return faults, None
    WHOLE.add(digest.digest())
    return [], database


class ServerTrial:
    """Something that is done at a server whose system calls are recorded."""

    judges_alone, label, is_plain = False, "", False
    # What a state must have before the server has ever been ready: nothing.
    begins_empty = False

    def __init__(self, house, directory):
        self.house, self.desk, self.answers = house, house.desk, Answers()
        self.name, self.root, self.log = self.label, directory / "state", directory / "log"
        directory.mkdir(parents=True)
        if self.begins_empty:
            self.root.mkdir(mode=0o700)
        else:
            house.copy(self.root)
        self.promised = []

    @property
    def roots(self):
        return [self.root]

    def record(self):
        with self.house.recording(self.root, self.log, self.is_plain) as recorded:
            self.act()
        calls = recorded.calls()
        placed = sorted(self.answers.placed(calls, self.house.port), key=lambda one: one[0])
        self.promised = [promise for _, promise in placed]
        return calls, placed

    def promises(self, placed, moment):
        return sum(1 for begun, _ in placed if begun <= moment)

    def note(self, act, *promise):
        return self.answers.note(act, lambda answer: tuple(one(answer) if callable(one) else one for one in promise))

    def act(self):
        raise NotImplementedError

    # What Python sees of a state.

    def judge(self, place, count):
        state = place / "state"
        if self.begins_empty and count == 0 and not (state / "server.db").exists():
            return []
        faults, database = database_at(state / "server.db")
        if database is None:
            # An empty one is what a first start may leave.
            return [] if self.begins_empty and count == 0 and (state / "server.db").stat().st_size == 0 else faults
        with contextlib.closing(database):
            if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'versions'").fetchone():
                return [] if self.begins_empty and count == 0 else ["the tables are gone"]
            faults += self.see_packages(state, database)
            for promise in self.promised[:count]:
                if fault := getattr(self, "see_" + promise[0])(state, database, *promise[1:]):
                    faults.append(f"promised: {promise}: {fault}")
        return faults

    def see_packages(self, state, database):
        """Whatever version there is, its package is there, whole."""
        faults = []
        for row in database.execute("SELECT product, version, lower(hex(digest)) AS digest, length FROM versions"):
            path = state / "blobs" / row["digest"][:2] / row["digest"][2:]
            if not path.exists():
                faults.append(f"the package of {row['product']} {row['version']} is gone")
            elif sha256(path.read_bytes()) != row["digest"]:
                faults.append(f"the package of {row['product']} {row['version']} has other bytes")
        return faults

    def see_ready(self, state, database):
        try:
            keys = json.loads((state / "ticket-keys.json").read_bytes())["keys"]
        except (OSError, ValueError, KeyError) as error:
            return f"the ticket keys: {error!r}"
        return None if keys else "there is no ticket key"

    def see_grant(self, state, database, identifier, transaction, device, product):
        row = database.execute("SELECT number FROM grants WHERE transaction_id = ? AND device = ? AND product = ?",
                               (transaction, device, product)).fetchone()
        return None if row else "there is no such grant"

    def see_completion(self, state, database, transaction):
        row = database.execute("SELECT state FROM grants WHERE transaction_id = ?", (transaction,)).fetchone()
        return None if row and row["state"].startswith(("completed", "finished")) else f"its state is {row and row['state']}"

    def see_revoked(self, state, database, transaction):
        row = database.execute("SELECT state, operator_decision FROM grants WHERE transaction_id = ?", (transaction,)).fetchone()
        return None if row and row["operator_decision"] == "revoke" else f"its state is {row and tuple(row)}"

    def see_offset(self, state, database, identifier, offset, name):
        path = state / "incoming" / identifier
        if not database.execute("SELECT 1 FROM uploads WHERE id = ?", (identifier,)).fetchone():
            return "the upload is not in the records"
        data = path.read_bytes() if path.exists() else b""
        if data[:offset] != content_of(name)[:offset]:
            return f"there are {len(data)} bytes, which are not those that were sent" if len(data) >= offset else f"there are {len(data)} bytes"
        return None

    def see_version(self, state, database, product, version, least):
        row = database.execute("SELECT state FROM versions WHERE product = ? AND version = ?", (product, version)).fetchone()
        return None if row and STATES.index(row["state"]) >= STATES.index(least) else f"its state is {row and row['state']}"

    # What the program makes of it.

    def start(self, place, count):
        state = place / "state"
        try:
            with self.house.serving(state, is_next=True, stops=False):
                self.ask(count)
        except Failure as failure:
            return [str(failure)]
        fault = self.house.check(state)
        return [fault] if fault else []

    def ask(self, count):
        """Asks a server that was started for what was promised, and does it again."""


class FirstStart(ServerTrial):
    label, begins_empty = "a first start", True

    def act(self):
        self.note(lambda: ask(self.house.port, "GET", "/readyz"), "ready")


class Grant(ServerTrial):
    """Two devices buy; one reports the end, the grant of the other is taken back."""

    label = "grants"

    def act(self):
        self.readers, self.terms = [], []
        for name in ("anna", "berta"):
            reader = self.house.reader(f"{name}-{'plain' if self.is_plain else 'gathered'}")
            reader.buy(PRODUCTS[0])
            terms = self.note(lambda reader=reader: reader.grant(PRODUCTS[0]), "grant", lambda answer: answer["grant"],
                              lambda answer: answer["transaction"], reader.device, PRODUCTS[0])
            self.readers.append(reader)
            self.terms.append(terms)
        self.readers[0].fetch(self.terms[0])
        self.note(lambda: self.readers[0].complete(self.terms[0]), "completion", self.terms[0]["transaction"])
        row = self.desk.json("GET", f"/v1/operator/grants?device={self.readers[1].device}")["items"][0]["grant"]
        self.note(lambda: self.desk.json("POST", f"/v1/operator/grants/{row}/revoke", {"reason": "a trial"}), "revoked",
                  self.terms[1]["transaction"])

    def ask(self, count):
        """What was granted is granted once more, with the same name, and its ticket opens the package, until it is taken back."""
        kinds = [promise[0] for promise in self.promised[:count]]
        for place, (reader, terms) in enumerate(zip(self.readers, self.terms)):
            if kinds.count("grant") <= place:
                continue
            answer = ask(self.house.port, "GET", f"/v1/content/{terms['download']['digest']}", None, terms["download"]["ticket"],
                         {"Range": "bytes=0-99"})
            may = (403, 410) if place == 1 and "revoked" in kinds else (206, 403, 410) if place == 1 else (206,)
            if answer.status not in may:
                raise Failure(f"the ticket of {reader.device} is answered {answer.status} {answer.body[:200]!r}")
            if place == 0 and (again := reader.grant(PRODUCTS[0]))["transaction"] != terms["transaction"]:
                raise Failure(f"{reader.device} is granted {again['transaction']}, and not {terms['transaction']}")
        if "completion" in kinds:
            self.readers[0].complete(self.terms[0])


class PlainGrant(Grant):
    label, is_plain = "grants, with SQLite's own file system", True


class Upload(ServerTrial):
    label = "uploads and their ends"

    def act(self):
        data = content_of("upload")
        self.location = self.desk.begin(len(data))
        identifier = pathlib.PurePath(self.location).name
        for begin, end in ((0, 70_000), (70_000, 110_000)):
            self.note(lambda begin=begin, end=end: self.desk.send(self.location, begin, data[begin:end]), "offset", identifier, end, "upload")
        checksum = base64.b64encode(hashlib.sha256(data[110_000:]).digest()).decode()
        self.note(lambda: self.desk.send(self.location, 110_000, data[110_000:], {"Upload-Checksum": f"sha256 {checksum}"}), "offset",
                  identifier, len(data), "upload")

    def ask(self, count):
        data, offsets = content_of("upload"), [promise[2] for promise in self.promised[:count]]
        offset = self.desk.offset(self.location)
        if offset is None and not offsets:
            return
        if offset is None or offset < max(offsets, default=0):
            raise Failure(f"the upload is at {offset}, and {offsets} were answered")
        if offset < len(data):
            self.desk.send(self.location, offset, data[offset:])
        self.desk.describe(PRODUCTS[2])
        self.desk.make(PRODUCTS[2], "1.0", self.location)
        if self.desk.versions(PRODUCTS[2])[0]["digest"] != sha256(data):
            raise Failure("the upload goes on with other bytes than were sent")


class Release(ServerTrial):
    label = "a version and its release"

    def act(self):
        data = content_of("release")
        self.desk.describe(PRODUCTS[2])
        self.location = self.desk.begin(len(data))
        self.desk.send(self.location, 0, data)
        self.note(lambda: self.desk.make(PRODUCTS[2], "1.0", self.location), "version", PRODUCTS[2], "1.0", "draft")
        for step, state in zip(("submit", "approve", "release"), STATES[1:]):
            self.note(lambda step=step: self.desk.take(step, PRODUCTS[2], "1.0"), "version", PRODUCTS[2], "1.0", state)

    def ask(self, count):
        """It can be brought to its release."""
        if not count:
            return
        state = self.desk.versions(PRODUCTS[2])[0]["state"]
        for step in ("submit", "approve", "release")[STATES.index(state):]:
            self.desk.take(step, PRODUCTS[2], "1.0")


class Collection(ServerTrial):
    """What no version needs is removed, the package of an upload that was given up; an upload that goes on stays."""

    label = "a collection"

    def act(self):
        kept = content_of("kept")
        self.kept = self.desk.begin(len(kept))
        self.note(lambda: self.desk.send(self.kept, 0, kept[:50_000]), "offset", pathlib.PurePath(self.kept).name, 50_000, "kept")
        self.garbage = content_of("garbage")
        self.location = location = self.desk.begin(len(self.garbage))
        self.desk.send(location, 0, self.garbage)
        # Other bytes under a version that is there are refused: the package is left over.
        self.desk.ask("POST", f"/v1/operator/products/{PRODUCTS[0]}/versions", {"upload": location, "version": "1.0"}, accept=(409, 422))
        self.collect()

    def collect(self):
        """An upload holds its package."""
        self.desk.ask("DELETE", self.location, headers={"Tus-Resumable": "1.0.0"}, accept=(204, 404, 410))
        self.desk.json("POST", "/v1/operator/collection", {"dryRun": False, "graceSeconds": 0})

    def ask(self, count):
        if not count:
            return
        self.collect()
        digest = sha256(self.garbage)
        if (self.house.options.scratch / "state/state/blobs" / digest[:2] / digest[2:]).exists():
            raise Failure("what was to be collected is there after a second collection")
        if (self.desk.offset(self.kept) or 0) < 50_000:
            raise Failure("an upload that goes on went with what was collected")


class Maintenance(ServerTrial):
    """A command of the program beside no server; what it promises is promised by its end."""

    def __init__(self, house, directory):
        self.backups = directory / "backups"
        super().__init__(house, directory)

    @property
    def roots(self):
        return [self.root, self.backups]

    def command(self):
        raise NotImplementedError

    def run(self, state, command, name):
        process = Process(name, [self.house.options.bin / "pullbox-server", "--config", self.house.work / "server.json5", "--state", state,
                                 *command], self.house.work / f"{name}.log", self.house.environment(is_next=True))
        process.start()
        if code := process.process.wait(120):
            raise Failure(f"{command} ended with {code}: {(self.house.work / f'{name}.log').read_text()[-400:]}")

    def record(self):
        recorded = Recorded([self.house.options.bin / "pullbox-server", "--config", self.house.work / "server.json5", "--state", self.root,
                             *self.command()], self.log)
        recorded.start()
        if code := recorded.process.wait(120):
            raise Failure(f"{self.label} ended with {code}: {self.log.read_text()[-400:]}")
        self.promised = [("end",)]
        calls = recorded.calls()
        return calls, [(calls[-1].ended, ("end",))]

    def see_end(self, state, database):
        return None

    def start(self, place, count):
        fault = self.house.check(place / "state")
        return [fault] if fault else self.care(place, count)

    def care(self, place, count):
        return []


class Backup(Maintenance):
    label = "a backup"

    def __init__(self, house, directory):
        super().__init__(house, directory)
        self.backups.mkdir(mode=0o700)

    def command(self):
        return ["backup", self.backups]

    def see_end(self, state, database):
        return None if self.generations(state.parent / "backups") else "there is no whole backup"

    def generations(self, backups):
        return [one for one in sorted(backups.iterdir()) if not one.name.startswith(".") and (one / "backup.json").exists()]

    def judge(self, place, count):
        """A generation that has its name is whole."""
        faults = super().judge(place, count)
        for one in self.generations(place / "backups"):
            wrong, database = database_at(one / "server.db")
            faults += [f"{one.name}: {fault}" for fault in wrong]
            if database:
                with contextlib.closing(database):
                    faults += [f"{one.name}: {fault}" for fault in self.see_packages(one, database)]
        return faults

    def care(self, place, count):
        """Each is restored, and another one is made."""
        try:
            for one in self.generations(place / "backups"):
                target = place / "restored"
                shutil.rmtree(target, ignore_errors=True)
                self.run(target, ["restore", place / "backups", "--generation", one.name], "restore")
                if fault := self.house.check(target):
                    return [f"{one.name}: {fault}"]
            self.run(place / "state", ["backup", place / "backups"], "backup")
        except Failure as failure:
            return [str(failure)]
        return []


TRIALS = (FirstStart, Grant, PlainGrant, Upload, Release, Collection, Backup)
