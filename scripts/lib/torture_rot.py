"""Blocks that have lost a bit: of a package on the server's shelf, or of a file in a device's library. What is promised: it is found, nothing
of it is passed off as right, and it can be repaired."""

import contextlib
import dataclasses
import http.client
import os
import pathlib
import subprocess
import time

from node_engines import Failure
from torture_content import section_options
from torture_desk import Again
from torture_disk import digest_of

# So long a program may take to find what is wrong, or that it is right again.
FOUND_SECONDS = 60


@dataclasses.dataclass
class Rot:
    path: pathlib.Path
    place: int
    right: str
    product: str
    version: str
    # Of the package, where it lies on the shelf.
    digest: str | None = None
    # By which of the ways it is repaired.
    way: float = 0

    def turn(self):
        """Turns the bit, and leaves the file's own time as it is."""
        status = self.path.stat()
        with open(self.path, "r+b", buffering=0) as file:
            file.seek(self.place)
            byte = file.read(1)[0]
            file.seek(self.place)
            file.write(bytes([byte ^ 1]))
        os.utime(self.path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def is_right(self):
        try:
            return digest_of(self.path) == self.right
        except OSError:
            return False


class Rots:
    """Those that were made and not yet repaired."""

    def __init__(self, system, people, transcript):
        self.system, self.people, self.transcript = system, people, transcript
        self.of_shelf, self.of_libraries = [], []
        # Where a placed file has ever rotted: device and product.
        self.ever = set()

    # On the shelf.

    def begin_at_server(self, node, event):
        """Whether a package has a turned bit now; only one at a time has."""
        if self.system.objects or self.of_shelf:
            return False
        found = [row for row in self.system.rows("SELECT product AS product, version AS version, lower(hex(digest)) AS digest FROM versions "
                                                 "ORDER BY product, version")
                 if (row["product"], row["version"]) in self.people.history.versions]
        if not found:
            return False
        chosen = found[int(event.place * len(found))]
        path = node.state / "blobs" / chosen["digest"][:2] / chosen["digest"][2:]
        try:
            rot = Rot(path, int(event.amount * path.stat().st_size), chosen["digest"], chosen["product"], chosen["version"], chosen["digest"],
                      event.amount)
            rot.turn()
        except OSError:
            return False
        self.of_shelf.append(rot)
        return True

    def insist(self, what, act):
        """Until it is answered."""
        end = time.monotonic() + FOUND_SECONDS
        while True:
            try:
                if answer := act():
                    return answer
            except (OSError, http.client.HTTPException, Again, subprocess.TimeoutExpired):
                pass
            if time.monotonic() > end:
                return None
            time.sleep(0.05)

    def damaged(self):
        return {fault["digest"] for fault in self.people.operator("GET", "/v1/operator/scrub")["faults"]}

    def end_at_server(self):
        for rot in self.of_shelf:
            if self.insist("scrub", lambda: self.people.operator("POST", "/v1/operator/scrub")) is None:
                raise Failure(f"the server does not begin to read its packages within {FOUND_SECONDS} s")
            if not self.insist("find", lambda rot=rot: rot.digest in self.damaged()):
                self.transcript.violate(f"4: the server has not found within {FOUND_SECONDS} s that {rot.digest[:12]} of {rot.product} has another byte")
            self.repair(rot)
            if not self.insist("be told right", lambda rot=rot: rot.digest not in self.damaged()):
                self.transcript.violate(f"4: the server says {FOUND_SECONDS} s after its repair that {rot.digest[:12]} of {rot.product} is damaged")
            if not self.insist("be right", lambda rot=rot: rot.is_right() or not rot.path.exists()):
                self.transcript.violate(f"4: {rot.digest[:12]} of {rot.product} has another byte {FOUND_SECONDS} s after its repair")
        # A read that was wrong once may have told of another one, whose disk is right: the operator has it read again.
        if self.of_shelf and not self.insist("be whole", self.read_again):
            self.transcript.violate(f"4: the server says of {sorted(self.damaged())} that they are damaged, {FOUND_SECONDS} s after all are right")
        self.of_shelf.clear()

    def read_again(self):
        """Whether none is damaged; else all are read once more."""
        if not self.damaged():
            return True
        self.people.operator("POST", "/v1/operator/scrub")
        time.sleep(0.25)
        return False

    def repair(self, rot):
        """From a copy, as a backup has one; or by the same bytes, published again."""
        folder = self.system.options.work / "content" / f"{rot.product}-{rot.version}"
        if rot.way < 0.5 and self.people.history.versions[rot.product, rot.version]["state"] == "released":
            def publish():
                return self.system.pullbox("publish", folder, "--product", rot.product, "--version", rot.version, "--patience", "5s", *section_options(folder)).returncode == 0
            if self.insist("publish", publish) is None:
                self.transcript.violate(f"4: the bytes of a damaged package, {rot.product} {rot.version}, cannot be published again")
            return
        if not rot.is_right():
            rot.turn()
        copy = rot.path.with_name("copy")
        copy.write_bytes(rot.path.read_bytes())
        copy.chmod(rot.path.stat().st_mode & 0o777)
        copy.replace(rot.path)

    # In a library.

    def begin_at_device(self, agent, event):
        """Whether a placed file has a turned bit now: of a product of which there is one version, so that no other one shares the file."""
        if any(one.name == agent.name for one, _ in self.of_libraries):
            return False
        found = []
        with contextlib.suppress(OSError):
            for product in sorted(entry.name for entry in os.scandir(agent.library) if entry.is_dir() and not entry.name.startswith(".")):
                versions = [entry.name for entry in os.scandir(agent.library / product) if not entry.name.startswith(".")]
                known = self.people.history.versions.get((product, versions[0])) if len(versions) == 1 else None
                if known and known["state"] == "released":
                    found += [(product, versions[0], path, digest) for path, digest in sorted(known["files"].items())]
        if not found:
            return False
        product, version, path, digest = found[int(event.place * len(found))]
        file = agent.library / product / version / path
        try:
            rot = Rot(file, int(event.amount * file.stat().st_size), digest, product, version)
            if not rot.is_right() or file.stat().st_nlink != 1:
                return False
            rot.turn()
        except OSError:
            return False
        self.of_libraries.append((agent, rot))
        self.ever.add((agent.name, product))
        return True

    def is_excused(self, agent, product):
        """Whether what a library has of a product may be wrong now."""
        return any(one is agent and rot.product == product for one, rot in self.of_libraries)

    def end_at_devices(self):
        """Each device is asked to look, and to fetch what is wrong."""
        for agent, rot in self.of_libraries:
            if rot.is_right() or not rot.path.exists():
                # It was found without a question, or is gone.
                continue
            found = self.insist("verify", lambda agent=agent, rot=rot: self.ask(agent, rot, "verify"))
            if found is None:
                self.transcript.violate(f"4: {agent.name} does not look within {FOUND_SECONDS} s whether {rot.product} is right")
                continue
            status, document = found
            states = {item["version"]: item["state"] for item in (document or {}).get("items", [])}
            if status == 200 and states.get(rot.version) == "present" and rot.path.exists() and not rot.is_right():
                self.transcript.violate(f"4: {agent.name} has not found that {rot.path.name} of {rot.product} has another byte: {document}")
            self.transcript.note(f"{agent.name} says of {rot.product}: {status} {states}")
            self.insist("repair", lambda agent=agent, rot=rot: self.ask(agent, rot, "repair"))

    @staticmethod
    def ask(agent, rot, word):
        answer = agent.call("POST", f"/v1/library/{rot.product}/{word}")
        return None if answer[0] in (429, 500, 502, 503, 504, 507) else answer

    def await_devices(self):
        """Once everything has come to its end, it is right, or gone. A disk that reads right again ends what could not be fetched, since it is not
        owned any more or a later version is there."""
        for agent, rot in self.of_libraries:
            self.insist("repair", lambda rot=rot: rot.is_right() or not rot.path.exists())
            if rot.path.exists() and not rot.is_right():
                status, document = None, None
                with contextlib.suppress(OSError, http.client.HTTPException):
                    status, document = self.ask(agent, rot, "verify") or (None, None)
                items = (document or {}).get("items", [])
                if any(item["version"] != rot.version and item["state"] == "present" for item in items):
                    self.transcript.note(f"{agent.name} has {rot.product} {rot.version} no more but as the version before")
                else:
                    self.transcript.violate(
                        f"4: {agent.name} has not repaired {rot.path.name} of {rot.product} within {FOUND_SECONDS} s: {status} {document}")
            elsewhere = agent.library / ".withdrawn" / rot.path.relative_to(agent.library)
            for path in (rot.path, elsewhere):
                rot.path = path
                if path.exists() and not rot.is_right():
                    rot.turn()
        self.of_libraries.clear()
