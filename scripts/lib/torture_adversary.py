"""What goes wrong: each fault, and how it ends."""

import pathlib
import shutil
import signal
import time

from node_engines import Failure, until

# Steps of a clock: seconds that are off by a little, daylight saving, a day, a time zone forgotten, a battery gone.
STEPS = (-3600, 3600, -86_400, 90_000, 7_200, -600, 400, -40 * 86_400)


class Adversary:
    """Begins what an event says; lift() ends all of it."""

    def __init__(self, system, people, transcript):
        self.system, self.people, self.transcript = system, people, transcript
        self.spoiled, self.broken, self.unplugged, self.restores = set(), [], [], 0
        self.backup = None

    def begin(self, event):
        """Whether the fault is there: some cannot be, such as a full disk without root, or a second backup."""
        return getattr(self, event.kind, self.spoil)(event) is not False

    def spoil(self, event):
        """What a relay does to what it passes on."""
        times = 1 + int(event.amount * 3) if event.kind in ("alter", "double", "short", "lose", "repeat") else 1 << 30
        self.system.relays[event.target].set(event.kind, times, spares_manifests=event.place > 0.25)
        self.spoiled.add(event.target)

    def cut(self, event):
        self.system.relays[event.target].cut()

    def kill(self, event):
        one = self.system.program(event.target)
        one.kill()
        if event.amount < 0.6:
            one.start()
        else:
            self.broken.append(one)

    def still(self, event):
        self.system.program(event.target).stand_still()

    def restart(self, event):
        """SIGTERM, which a program obeys in order."""
        one = self.system.program(event.target)
        if not one.is_running or not one.ready_file.exists():
            return False
        one.go_on()
        if (code := one.stop()) != 0:
            self.transcript.violate(f"{one.name} ended with {code} when it was asked to: {one.tail()[-400:]}")
        one.start()
        return True

    def clock(self, event):
        agent = self.system.agents[event.target]
        if not agent.preload:
            return False
        agent.preload.clock.set(STEPS[int(event.place * len(STEPS))])
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
        agent = self.system.agents[event.target]
        if not agent.disk:
            return False
        agent.disk.fill()
        return True

    def readonly(self, event):
        agent = self.system.agents[event.target]
        return bool(agent.disk) and bool(agent.remount("ro"))

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
        self.system.maintain("--rotate-ticket-key", "--state", self.system.nodes[0].state)
        for node in self.system.nodes:
            if node.is_running and node.ready_file.exists():
                node.process.send_signal(signal.SIGHUP)
        return True

    def restore(self, event):
        """A backup now, which takes the place of the state at the end of the round: what readers and stores do meanwhile is lost at the
        server. The operator does nothing meanwhile, since it is known what an operator does then: everything once more."""
        node = self.system.nodes[0]
        if len(self.system.nodes) > 1 or self.backup:
            return False
        self.revive(node)
        until(60, "the server is ready", node.is_ready, 0.02)
        self.people.desk.await_idle()
        self.people.desk.free.clear()
        self.restores += 1
        self.backup = pathlib.Path(self.system.options.work) / f"backup{self.restores}"
        self.system.maintain("backup", self.backup)
        return True

    def put_back(self):
        node = self.system.nodes[0]
        node.go_on()
        node.stop()
        shutil.rmtree(node.state)
        node.state.mkdir(mode=0o700)
        self.system.maintain("restore", self.backup)
        shutil.rmtree(self.backup)
        self.backup = None
        node.start()
        self.people.desk.free.set()

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
        for one in [*self.system.agents.values(), *self.system.nodes]:
            if one.preload:
                one.preload.clock.set(0)
                one.preload.fail_syncs(0)
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
            if one.has_ended():
                raise Failure(f"{one.name} ended by itself with {one.process.returncode}: {one.tail()[-600:]}")
        self.system.await_ready()
        for one in self.system.programs:
            one.is_excused = False


def pause(seconds):
    """Between two events, which is part of the schedule."""
    time.sleep(seconds)
