"""What is recorded of the agent, and what its device must hold after the power has failed."""

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

from node_engines import Failure, Process, until
from power_house import KEY, READY_SECONDS
from power_recording import Recorded
from power_server import database_at
from torture_content import digests_of
from torture_disk import digest_of, fault_of_manifest, files_below, left_over
from torture_system import UnixConnection, rows

PRODUCT, OTHER, SECTION = "com.example.power.folder", "com.example.power.other", "extra"
SETTLED_SECONDS = 30
# Less than two folders of 163 kB without their sections of 90 kB, and more than one with it.
QUOTA = "300KiB"


class Shelf:
    """What is published for the agents: a folder with a section that is fetched when it is asked for, its correction, and another one."""

    def __init__(self, house):
        self.house, self.work, self.versions = house, house.work / "content", {}

    def publish(self, version, product=PRODUCT):
        folder = self.work / product / version
        if (product, version) in self.versions:
            return
        for number in range(4):
            self.write(folder / f"pages/page{number}.bin", f"{product} {'1.0' if number else version} page {number}", 40_000)
        self.write(folder / "cover.bin", f"{product} cover", 3_000)
        self.write(folder / "extra/sound.bin", f"{product} sound", 90_000)
        self.versions[product, version] = digests_of(folder)
        self.house.desk.describe(product)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PULLBOX_")} | {
            "PULLBOX_SERVER": f"http://127.0.0.1:{self.house.port}", "PULLBOX_OPERATOR_KEY": KEY, "XDG_STATE_HOME": str(self.work / "publisher")}
        done = subprocess.run(
            [self.house.options.bin / "pullbox", "publish", folder, "--product", product, "--version", version, "--release",
             "--section", f"{SECTION}=extra/**", "--section-policy", f"{SECTION}=on-demand"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failure(f"{product} {version} is not published: {done.stdout[-400:]}")

    @staticmethod
    def write(path, name, length):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(name).randbytes(length))

    def faults(self, library):
        """What is in a library that was not published so; a section may be there or not."""
        return [fault for product in (PRODUCT, OTHER) for name in names_in(library / product) for fault in self.faults_of(library, product, name)]

    def faults_of(self, library, product, version):
        expected, place = self.versions.get((product, version)), library / product
        if expected is None:
            return [f"{product} {version} was never published"]
        faults, there = [], set(files_below(place / version))
        for path, digest in expected.items():
            if path not in there and not path.startswith("extra/"):
                faults.append(f"{product} {version}/{path} is missing")
            elif path in there and digest_of(place / version / path) != digest:
                faults.append(f"{product} {version}/{path} has other bytes")
        faults += [f"{product} {version}/{path} was never published" for path in sorted(there - set(expected))]
        if fault := fault_of_manifest(place / ".pullbox" / version, product, version, expected):
            faults.append(f"the manifest of {product} {version}: {fault}")
        return faults


def names_in(place):
    """Of what a product's folder shows."""
    return sorted(entry.name for entry in os.scandir(place) if not entry.name.startswith(".")) if place.exists() else []


class Device:
    """An agent with its directories."""

    def __init__(self, house, directory, account, settings):
        self.house, self.state, self.library = house, directory / "state", directory / "library"
        # The path of a socket has to be short.
        self.socket, self.ready_file, self.log = house.work / "socket", house.work / "agent.ready", house.work / "agent.log"
        token, self.file = house.work / "token", house.work / "agent.json5"
        for path in (token, self.file):
            path.touch(mode=0o600)
        token.write_text(account["token"] + "\n")
        self.file.write_text(json.dumps({
            "state": str(self.state), "library": str(self.library), "server": f"http://127.0.0.1:{house.port}",
            "store": f"http://127.0.0.1:{house.shop_port}", "storeName": "sandbox", "accountTokenFile": str(token),
            "socket": str(self.socket), "pollInterval": 1, "conditionSources": ["none"], "bus": "none", "spaceReserve": "1MiB"} | settings))
        self.command = [house.options.bin / "pullbox-agent", "--config", self.file, "--ready-file", self.ready_file, "--log-level", "warning"]

    def call(self, method, path, body=None, accept=(200, 201, 202, 204)):
        connection = UnixConnection(self.socket)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
        if response.status not in accept:
            raise Failure(f"{method} {path}: {response.status} {text.decode(errors='replace')[:300]}")
        return json.loads(text) if text else None

    def waiting(self):
        """Downloads that are not over, as the agent tells them; what is known where it tells nothing."""
        try:
            return [one for one in self.call("GET", "/v1/downloads")["downloads"] if one["state"] not in ("finished", "cancelled")]
        except (Failure, OSError, http.client.HTTPException, LookupError, ValueError) as failure:
            return f"the agent tells nothing: {failure!r}"

    def rows(self, statement):
        return rows(self.state / "agent.sqlite", statement)

    def is_settled(self):
        """Whether nothing is left to be done."""
        with contextlib.suppress(sqlite3.OperationalError):
            return not self.rows("SELECT 1 FROM content_jobs WHERE state NOT IN ('failed', 'finished') UNION ALL SELECT 1 FROM downloads WHERE "
                                 "state NOT IN ('finished', 'cancelled', 'failed') UNION ALL SELECT 1 FROM transactions WHERE ended_at IS NULL")
        return False

    def items(self, product=PRODUCT):
        """Versions that the agent says to have."""
        return {item["version"] for item in self.call("GET", "/v1/library")["items"] if item["product"] == product}


class AgentTrial:
    """Something that a device does while the system calls of its agent are recorded; `before` is the trial, of the kind `begins_with`, whose end it
    begins with."""

    judges_alone, label, product, version = False, "", PRODUCT, "1.0"
    begins_with, settings = None, {}

    def __init__(self, house, directory, before=None):
        self.house, self.shelf, self.name, self.log = house, house.shelf, self.label, directory / "log"
        self.root, self.library, self.before = directory / "state", directory / "library", before
        directory.mkdir(parents=True)
        if before:
            for root, here in zip(before.roots, self.roots):
                shutil.copytree(root, here, symlinks=True, ignore=shutil.ignore_patterns("*-shm"))
        else:
            for root in self.roots:
                root.mkdir(mode=0o700)
        self.account = before.account if before else house.account(directory.name)
        self.device, self.marks, self.identity = Device(house, directory, self.account, self.settings), [], None

    @classmethod
    def needs(cls, kind):
        """Whether a recording of that kind comes before one of this."""
        return cls is kind or cls.begins_with is not None and cls.begins_with.needs(kind)

    @property
    def roots(self):
        return [self.root, self.library]

    def act(self):
        raise NotImplementedError

    def record(self):
        self.device.ready_file.unlink(missing_ok=True)
        recorded = Recorded(self.device.command, self.log)
        recorded.start()
        try:
            recorded.await_ready(self.device.ready_file.exists)
            self.act()
            until(SETTLED_SECONDS, f"{self.name}: the agent is done", self.device.is_settled, 0.05)
            recorded.end()
        except BaseException:
            recorded.end(signal.SIGKILL)
            raise
        calls = recorded.calls()
        # What the agent tells the server counts from the moment at which that leaves it.
        placed = []
        for call in calls:
            if call.name in ("sendto", "write") and b"TCP:[" in call.words[0]:
                text = call.text(1)
                if text.startswith(b"POST /v1/grants"):
                    placed.append((call.begun, "placed" if b"/completion" in text.split(b"\r\n", 1)[0] else "asked"))
        self.marks = placed + [(self.begun_after(calls, moment), what) for moment, what in self.marks]
        self.identity = self.named(self.root)
        return calls, sorted(self.marks)

    @staticmethod
    def begun_after(calls, moment):
        return next((call.begun for call in calls if call.at >= moment), calls[-1].ended)

    def mark(self, what):
        self.marks.append((time.time(), what))

    @staticmethod
    def named(state):
        """By what the server knows the device."""
        return [(state / name).read_bytes() if (state / name).exists() else None for name in ("device-id", "device-key")]

    def promises(self, placed, moment):
        return frozenset(what for begun, what in placed if begun <= moment)

    def judge(self, place, told):
        state, library = place / "state", place / "library"
        faults = self.shelf.faults(library)
        path = state / "agent.sqlite"
        if path.exists() and path.stat().st_size:
            wrong, database = database_at(path)
            faults += wrong
            if database:
                database.close()
        elif told:
            faults.append("the records are gone")
        if (told or self.before) and self.named(state) != self.identity:
            faults.append("the device has another name or key than the server was told")
        if "placed" in told and not self.has_arrived(library / self.product / self.version):
            faults.append(f"the server was told that {self.version} is placed, and it is not there")
        return faults

    def has_arrived(self, folder):
        """Whether what the trial is about lies in the folder of its version."""
        return folder.exists()

    def start(self, place, told):
        """The agent goes on, and comes to the same end."""
        device = Device(self.house, place, self.account, self.settings)
        device.ready_file.unlink(missing_ok=True)
        agent = Process("agent", device.command, device.log, self.house.environment(is_next=True))
        agent.start()
        try:
            def is_ready():
                if not agent.is_running:
                    raise Failure(f"the agent ended with {agent.process.returncode}: {device.log.read_text()[-500:]}")
                return device.ready_file.exists()
            until(READY_SECONDS, "the agent is ready", is_ready, 0.01)
            self.finish(device, told)
        except (Failure, OSError, http.client.HTTPException) as failure:
            return [f"{failure!r}; {device.waiting()}"]
        finally:
            agent.kill()
        return self.shelf.faults(place / "library")

    def finish(self, device, told):
        """What was bought arrives, if it was; what the agent says to have is there, and nothing else."""
        if self.before or "asked" in told:
            folder = device.library / PRODUCT / self.version
            until(SETTLED_SECONDS, f"{self.version} is there",
                  lambda: self.version in device.items() and device.is_settled() and (not self.was_asked(told) or self.has_arrived(folder)), 0.05)
        self.compare(device)

    def was_asked(self, told):
        """Whether the agent has to go on with it by itself."""
        return "asked" in told

    def compare(self, device):
        until(SETTLED_SECONDS, "the agent is done", device.is_settled, 0.05)
        for product in (PRODUCT, OTHER):
            said, there = device.items(product), set(names_in(device.library / product))
            if there != said:
                raise Failure(f"the agent says that it has {sorted(said)} of {product}, and {sorted(there)} is there")
        until(SETTLED_SECONDS, "nothing is left over", lambda: not left_over(device), 0.05)


class Place(AgentTrial):
    label = "a first purchase, placed"

    def act(self):
        self.device.call("POST", "/v1/purchases", {"product": PRODUCT})
        until(SETTLED_SECONDS, "it is placed", lambda: self.version in self.device.items(), 0.02)


class Section(AgentTrial):
    label, begins_with = "a section, placed", Place

    def act(self):
        self.device.call("PUT", f"/v1/library/{PRODUCT}/sections/{SECTION}")
        until(SETTLED_SECONDS, "it is placed", self.is_here, 0.02)

    def has_arrived(self, folder):
        return (folder / "extra/sound.bin").exists()

    def is_here(self):
        sections = self.device.call("GET", f"/v1/library/{PRODUCT}/sections")["sections"]
        return any(section["tag"] == SECTION and section["here"] for section in sections)


class Correct(AgentTrial):
    label, version, begins_with = "a correction, placed", "1.1", Section

    def act(self):
        """The server has released it before: the agent hears of it at its start."""
        self.shelf.publish(self.version)
        until(SETTLED_SECONDS, "it is placed", lambda: self.version in self.device.items(), 0.02)


class Remove(AgentTrial):
    """Content is removed by its reader."""

    label, version, begins_with = "content, removed", "1.1", Correct

    def act(self):
        self.mark("removing")
        self.device.call("DELETE", f"/v1/library/{PRODUCT}")
        self.mark("removed")

    def finish(self, device, told):
        self.compare(device)
        if "removed" in told and device.items():
            raise Failure(f"what was removed is there again: {sorted(device.items())}")


class Evict(AgentTrial):
    """A purchase for which there is no room in the quota: first a section goes that was asked for, then the content whose part it is."""

    label, product, begins_with, settings = "a purchase for which other content makes room", OTHER, Correct, {"quota": QUOTA}

    def act(self):
        self.shelf.publish(self.version, OTHER)
        self.device.call("POST", "/v1/purchases", {"product": OTHER})
        until(SETTLED_SECONDS, "it is placed", lambda: self.version in self.device.items(OTHER), 0.02)
        if left := self.device.items():
            raise Failure(f"nothing made room: {sorted(left)} is there")

    def finish(self, device, told):
        if "asked" in told:
            until(SETTLED_SECONDS, "it is placed", lambda: self.version in device.items(OTHER), 0.05)
        self.compare(device)


TRIALS = (Place, Section, Correct, Remove, Evict)
