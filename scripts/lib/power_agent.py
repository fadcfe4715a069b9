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

PRODUCT, SECTION = "com.example.power.folder", "extra"
SETTLED_SECONDS = 30


class Shelf:
    """What is published for the agents: a folder with a section that is fetched when it is asked for, and its correction."""

    def __init__(self, house):
        self.house, self.work, self.versions = house, house.work / "content", {}

    def publish(self, version):
        folder = self.work / version
        if version in self.versions:
            return
        for number in range(4):
            self.write(folder / f"pages/page{number}.bin", f"{'1.0' if number else version} page {number}", 40_000)
        self.write(folder / "cover.bin", "cover", 3_000)
        self.write(folder / "extra/sound.bin", "sound", 90_000)
        self.versions[version] = digests_of(folder)
        self.house.desk.describe(PRODUCT)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PULLBOX_")} | {
            "PULLBOX_SERVER": f"http://127.0.0.1:{self.house.port}", "PULLBOX_OPERATOR_KEY": KEY, "XDG_STATE_HOME": str(self.work / "publisher")}
        done = subprocess.run(
            [self.house.options.bin / "pullbox", "publish", folder, "--product", PRODUCT, "--version", version, "--release",
             "--section", f"{SECTION}=extra/**", "--section-policy", f"{SECTION}=on-demand"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failure(f"{PRODUCT} {version} is not published: {done.stdout[-400:]}")

    @staticmethod
    def write(path, name, length):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(name).randbytes(length))

    def faults(self, library):
        """What is in a library that was not published so; a section may be there or not."""
        faults = []
        place = library / PRODUCT
        for entry in sorted(os.scandir(place), key=lambda one: one.name) if place.exists() else []:
            if entry.name.startswith("."):
                continue
            expected = self.versions.get(entry.name)
            if expected is None:
                faults.append(f"{entry.name} was never published")
                continue
            there = set(files_below(entry.path))
            for path, digest in expected.items():
                if path not in there and not path.startswith("extra/"):
                    faults.append(f"{entry.name}/{path} is missing")
                elif path in there and digest_of(place / entry.name / path) != digest:
                    faults.append(f"{entry.name}/{path} has other bytes")
            faults += [f"{entry.name}/{path} was never published" for path in sorted(there - set(expected))]
            if fault := fault_of_manifest(place / ".pullbox" / entry.name, PRODUCT, entry.name, expected):
                faults.append(f"the manifest of {entry.name}: {fault}")
        return faults


class Device:
    """An agent with its directories."""

    def __init__(self, house, directory, account):
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
            "socket": str(self.socket), "pollInterval": 1, "conditionSources": ["none"], "bus": "none", "spaceReserve": "1MiB"}))
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

    def rows(self, statement):
        return rows(self.state / "agent.sqlite", statement)

    def is_settled(self):
        """Whether nothing is left to be done."""
        with contextlib.suppress(sqlite3.OperationalError):
            return not self.rows("SELECT 1 FROM content_jobs WHERE state NOT IN ('failed', 'finished') UNION ALL SELECT 1 FROM downloads WHERE "
                                 "state NOT IN ('finished', 'cancelled', 'failed') UNION ALL SELECT 1 FROM transactions WHERE ended_at IS NULL")
        return False

    def items(self, *states):
        """Versions that the agent says to have; those in one of the states, where some are given."""
        return {item["version"] for item in self.call("GET", "/v1/library")["items"]
                if item["product"] == PRODUCT and (not states or item["state"] in states)}


class AgentTrial:
    """Something that a device does while the system calls of its agent are recorded; `before` is the trial whose end it begins with."""

    judges_alone, label, version = False, "", "1.0"

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
        self.device, self.marks, self.identity = Device(house, directory, self.account), [], None

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
        if "placed" in told and not self.has_arrived(library / PRODUCT / self.version):
            faults.append(f"the server was told that {self.version} is placed, and it is not there")
        return faults

    def has_arrived(self, folder):
        """Whether what the trial is about lies in the folder of its version."""
        return folder.exists()

    def start(self, place, told):
        """The agent goes on, and comes to the same end."""
        device = Device(self.house, place, self.account)
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
            return [f"{failure!r}"]
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
        there = {entry.name for entry in os.scandir(device.library / PRODUCT) if not entry.name.startswith(".")} if (
            device.library / PRODUCT).exists() else set()
        if there != device.items():
            raise Failure(f"the agent says that it has {sorted(device.items())}, and {sorted(there)} is there")
        until(SETTLED_SECONDS, "nothing is left over", lambda: not left_over(device), 0.05)


class Place(AgentTrial):
    label = "a first purchase, placed"

    def act(self):
        self.device.call("POST", "/v1/purchases", {"product": PRODUCT})
        until(SETTLED_SECONDS, "it is placed", lambda: self.version in self.device.items(), 0.02)


class Section(AgentTrial):
    label = "a section, placed"

    def act(self):
        self.device.call("PUT", f"/v1/library/{PRODUCT}/sections/{SECTION}")
        until(SETTLED_SECONDS, "it is placed", self.is_here, 0.02)

    def has_arrived(self, folder):
        return (folder / "extra/sound.bin").exists()

    def is_here(self):
        sections = self.device.call("GET", f"/v1/library/{PRODUCT}/sections")["sections"]
        return any(section["tag"] == SECTION and section["here"] for section in sections)


class Correct(AgentTrial):
    label, version = "a correction, placed", "1.1"

    def act(self):
        """The server has released it before: the agent hears of it at its start."""
        self.shelf.publish(self.version)
        until(SETTLED_SECONDS, "it is placed", lambda: self.version in self.device.items(), 0.02)


class Remove(AgentTrial):
    """Content is removed by its reader."""

    label, version = "content, removed", "1.1"

    def act(self):
        self.mark("removing")
        self.device.call("DELETE", f"/v1/library/{PRODUCT}")
        self.mark("removed")

    def finish(self, device, told):
        self.compare(device)
        if "removed" in told and device.items():
            raise Failure(f"what was removed is there again: {sorted(device.items())}")


TRIALS = (Place, Section, Correct, Remove)
