"""What goes wrong: each fault, and how it ends."""

import collections
import errno
import os
import pathlib
import shutil
import signal
import time

from node_engines import Failure, until
from torture_preload import REFUSALS
from torture_rot import Rots
from torture_system import rows

# Steps of a clock: seconds that are off by a little, daylight saving, a day, a time zone forgotten, a battery gone.
STEPS = (-3600, 3600, -86_400, 90_000, 7_200, -600, 400, -40 * 86_400)
# Those of a server or a store, whose operators look after clocks.
SMALL_STEPS = (-3600, 3600, -86_400, 7_200, -600, 400, -90, 50)
# Millionths of the time by which a clock runs fast or slow: it nearly stands, or it goes six times as fast.
DRIFTS = (-900_000, -200_000, 100_000, 1_000_000, 5_000_000)
# How much longer a read, a write or a sync takes, in seconds.
LAGS = (0.001, 0.02)
# For the model: by how much a clock that runs fast is ahead at the end of a round, at most.
ROUND_SECONDS = 60


class Adversary:
    """Begins what an event says; lift() ends all of it."""

    def __init__(self, system, people, transcript):
        self.system, self.people, self.transcript = system, people, transcript
        self.spoiled, self.broken, self.unplugged, self.restores = set(), [], [], 0
        # Devices whose clock was off by more than the time for which they keep the version before.
        self.confused = set()
        # When the clock of the store whose receipts are shown was turned, by how many seconds and millionths; and when its last statement is over.
        self.turned, self.statements_until = (time.time(), 0, 0), 0
        # Until when it may have dated something too early.
        self.misdated_until = 0
        # Begin and end of each time of which a server that was put back knows nothing.
        self.lost = []
        self.backup, self.rots = None, Rots(system, people, transcript)
        # By program, the version of its records' tables before it was upgraded.
        self.schemas = {}
        # By whom a fault was, from when to when, in seconds since 1970. What has not ended has no end.
        self.spans, self.open_spans = collections.defaultdict(list), {}
        # Those of whom a fault may go on until a calm end.
        self.lasting = set()

    def begin(self, event):
        """Whether the fault is there: some cannot be, such as a full disk without root, or a second backup."""
        one = self.system.program(event.target)
        if event.target not in self.system.relays and event.target != "operator" and not one:
            return False
        if one:
            # A fault that starts it again would hide that.
            self.see_running(one)
        begun = time.time()
        if getattr(self, event.kind, self.spoil)(event) is False:
            return False
        self.open_spans.setdefault(event.target, begun)
        return True

    @staticmethod
    def see_running(one):
        if one.has_ended():
            raise Failure(f"{one.name} ended by itself with {one.process.returncode}: {one.tail()[-600:]}")

    def end_in_order(self, one):
        """By SIGTERM, which a program obeys."""
        one.go_on()
        if (code := one.stop()) != 0:
            self.transcript.violate(f"{one.name} ended with {code} when it was asked to: {one.tail()[-400:]}")

    def spoil(self, event):
        """What a relay does to what it passes on."""
        times = 1 + int(event.amount * 3) if event.kind in ("alter", "double", "short", "lose", "repeat") else 1 << 30
        self.system.relays[event.target].set(event.kind, times, spares_manifests=event.place > 0.25)
        self.spoiled.add(event.target)

    def cut(self, event):
        self.system.relays[event.target].cut()

    def kill(self, event):
        one = self.system.program(event.target)
        if not one.is_running:
            return False
        one.kill()
        if event.amount < 0.6:
            one.start()
        else:
            self.broken.append(one)
        return True

    def still(self, event):
        return self.system.program(event.target).stand_still()

    def restart(self, event):
        """SIGTERM, which a program obeys in order."""
        one = self.system.program(event.target)
        if not one.is_running or not one.has_begun:
            return False
        self.end_in_order(one)
        one.start()
        return True

    def clock(self, event):
        steps = STEPS if event.target in self.system.agents else SMALL_STEPS
        if event.target in self.system.stores:
            # One whose clock was ahead tells what it had to tell by that clock: this is known, and no run is to end with it.
            steps = [step for step in SMALL_STEPS if step < 60]
        return self.set_clock(event, steps[int(event.place * len(steps))], 0)

    def drift(self, event):
        """The clock goes too fast or too slowly."""
        return self.set_clock(event, 0, DRIFTS[int(event.place * len(DRIFTS))])

    def set_clock(self, event, seconds, drift):
        one = self.system.program(event.target)
        if not one.preload:
            return False
        one.preload.clock.set(seconds, drift)
        if abs(seconds) >= 7 * 86_400:
            self.confused.add(event.target)
        if one is self.system.stores["apple"]:
            self.note_statements()
            self.turned = (time.time(), seconds, drift)
        if one in self.system.nodes:
            # No round lasts longer than this.
            self.people.history.doubt(seconds + min(0, drift * ROUND_SECONDS // 10**6), seconds + max(0, drift * ROUND_SECONDS // 10**6))
        return True

    @property
    def is_apple_behind(self):
        """Whether the clock of that store is behind, or goes too slowly."""
        return min(self.turned[1:]) < 0

    def note_statements(self):
        """The store may have dated a statement by how far its clock is ahead now. It hides others of right dates for so long."""
        begin, seconds, drift = self.turned
        now = time.time()
        ahead = seconds + drift * (now - begin) / 10**6
        if ahead > 0:
            self.statements_until = max(self.statements_until, now + ahead)

    def summer(self, event):
        """A program starts anew in a time zone whose clocks go forward within two seconds, which must change nothing."""
        one = self.system.program(event.target)
        if one.is_still:
            return False
        one.kill()
        one.live_in_summer(2 * event.amount)
        one.start()
        return True

    def upgrade(self, event):
        """From the version before to this one, and back again where both have the same tables."""
        one = self.system.program(event.target)
        name, earlier = pathlib.Path(one.command[0]).name, self.system.options.earlier
        if not earlier or not (earlier / name).exists() or (one in self.system.nodes and self.system.database) or not one.records.exists():
            return False
        if not one.is_running or not one.has_begun:
            return False
        schema = rows(one.records, "PRAGMA user_version")[0][0]
        if (is_earlier := one.command[0] == str(earlier / name)):
            self.schemas[one.name] = schema
        elif self.schemas.get(one.name) != schema:
            return False
        self.end_in_order(one)
        one.command[0] = str((self.system.options.bin if is_earlier else earlier) / name)
        self.transcript.note(f"{one.name} is {one.command[0]} from here on, with tables of {schema}")
        one.start()
        return True

    def lag(self, event):
        """The disk of a program is slow."""
        one = self.system.program(event.target)
        if not one.preload:
            return False
        one.preload.slow(LAGS[0] + event.amount * (LAGS[1] - LAGS[0]))
        return True

    def misread(self, event):
        """Some of a program's next reads of content have another bit; the disk has the right one."""
        one = self.system.program(event.target)
        if not one.preload:
            return False
        one.preload.misread(1 + int(event.amount * 3))
        self.lasting.add(one.name)
        return True

    def rot(self, event):
        """A block has lost a bit, until that is found and repaired."""
        one = self.system.program(event.target)
        if one in self.system.nodes:
            return not self.backup and self.rots.begin_at_server(one, event)
        return self.rots.begin_at_device(one, event)

    def refuse(self, event):
        """A file system that takes no change any more: of what a program keeps."""
        one = self.system.program(event.target)
        if not one.preload:
            return False
        one.preload.refuse(REFUSALS[int(event.place * len(REFUSALS))])
        one.is_excused = True
        return True

    def sync(self, event):
        """The next syncs of a program fail."""
        one = self.system.program(event.target)
        if not one.preload:
            return False
        one.preload.fail_syncs(1 + int(event.amount * 3))
        one.is_excused = True
        return True

    def full(self, event):
        one = self.system.program(event.target)
        if not one.disk:
            return False
        if event.target in self.system.agents:
            one.disk.fill()
        else:
            one.disk.squeeze()
            one.is_excused = True
        return True

    def readonly(self, event):
        one = self.system.program(event.target)
        if event.target in self.system.agents:
            return bool(one.disk) and bool(one.remount("ro"))
        # The records are open for writing: a file system that has become read-only by its own faults is what takes no change then.
        if not one.preload:
            return False
        one.preload.refuse(errno.EROFS)
        one.is_excused = True
        return True

    def unplug(self, event):
        agent = self.system.agents[event.target]
        if not agent.disk or agent in self.unplugged:
            return False
        agent.unplug()
        self.unplugged.append(agent)
        return True

    def plug(self):
        """What an agent writes where its disk was would be lost under it."""
        for agent in self.unplugged:
            if made := [str(path.relative_to(agent.volume)) for path in agent.volume.rglob("*")]:
                self.transcript.violate(f"4: {agent.name} made {made[:3]} where its disk was not")
            for entry in agent.volume.iterdir():
                shutil.rmtree(entry)
            agent.plug()
        self.unplugged.clear()

    def rotate(self, event):
        """A new ticket key, with which the server signs from the signal on."""
        if len(self.system.nodes) > 1:
            return False
        try:
            self.system.maintain("--rotate-ticket-key", "--state", self.system.nodes[0].state)
        except Failure as failure:
            # It says that its disk is full, and the operator leaves it at the key of before.
            status = os.statvfs(self.system.nodes[0].state)
            if "No space left on device" not in str(failure) or status.f_bavail * status.f_frsize > 1 << 20:
                raise
            return False
        for node in self.system.nodes:
            if node.is_running and node.has_begun:
                node.process.send_signal(signal.SIGHUP)
        return True

    def restore(self, event):
        """A backup now, which takes the place of the state at the end of the round: what readers and stores do meanwhile is lost at the
        server. The operator does nothing meanwhile, since it is known what an operator does then: everything once more."""
        node = self.system.nodes[0]
        if len(self.system.nodes) > 1 or self.backup or self.rots.of_shelf:
            return False
        self.revive(node)
        self.heal(node)
        until(60, "the server is ready", node.is_ready, 0.02)
        self.people.desk.await_idle()
        self.people.desk.free.clear()
        self.restores += 1
        self.backup = pathlib.Path(self.system.options.work) / f"backup{self.restores}"
        self.lost.append([time.time(), None])
        self.system.maintain("backup", self.backup)
        return True

    def put_back(self):
        node = self.system.nodes[0]
        self.see_running(node)
        if node.is_running and node.has_begun:
            self.end_in_order(node)
        else:
            node.stop()
        shutil.rmtree(node.state)
        node.state.mkdir(mode=0o700)
        self.system.maintain("restore", self.backup)
        shutil.rmtree(self.backup)
        self.backup = None
        node.start()
        self.lost[-1][1] = time.time()
        self.people.desk.free.set()

    def was_lost(self, moment):
        """Whether the server that a backup was put back to knows nothing of this time: its grants, and so no end of their tickets but their own."""
        return any(begin - 1 <= moment <= (end or moment) for begin, end in self.lost)

    @staticmethod
    def heal(one):
        """Its clock and its disk are right. What reads wrong stays."""
        if one.preload:
            one.preload.lift()
        if one.disk:
            one.disk.resize()

    def revive(self, one):
        one.go_on()
        if not one.is_wanted:
            one.start()
        if one in self.broken:
            self.broken.remove(one)

    def lift(self, is_calm):
        """Everything runs again, and every way is open. What is to spoil an answer with content waits for one, until a calm end."""
        if self.backup:
            self.put_back()
        for name in sorted(self.spoiled):
            relay = self.system.relays[name]
            if is_calm or relay.fault not in ("alter", "double", "short"):
                relay.lift()
                self.spoiled.discard(name)
        self.note_statements()
        if self.is_apple_behind:
            self.misdated_until = time.time()
        self.turned = (time.time(), 0, 0)
        for one in self.system.programs:
            self.heal(one)
            if is_calm and one.preload:
                one.preload.misread(0)
        self.plug()
        for agent in self.system.agents.values():
            if agent.disk:
                agent.remount("rw")
                agent.disk.clear()
        for one in self.system.programs:
            one.go_on()
        for one in self.broken:
            one.start()
        self.broken.clear()
        for one in self.system.programs:
            self.see_running(one)
        self.system.await_ready()
        for one in self.system.programs:
            one.is_excused = False
        self.rots.end_at_server()
        self.rots.end_at_devices()
        self.lasting = set() if is_calm else self.lasting
        self.close_spans(self.lasting | {agent.name for agent, _ in self.rots.of_libraries})

    def settle(self):
        """Once everything has come to its end: what was wrong in libraries was fetched again."""
        self.rots.await_devices()
        self.close_spans(set())

    def close_spans(self, lasting):
        now = time.time()
        for name in [name for name in self.open_spans if name not in lasting]:
            self.spans[name].append((self.open_spans.pop(name), now))


def pause(seconds):
    """Between two events, which is part of the schedule."""
    time.sleep(seconds)
