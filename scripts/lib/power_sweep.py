"""Makes what a device may hold at each moment of a recording, and has each such state judged once."""

import http.client
import os
import pathlib
import random
import re
import shutil
import sqlite3
import time

from node_engines import Failure
from power_crashes import chance_of, crashes
from power_disk import Device, digest_of_state, lay_out
from power_replay import Player, compare


# So many states of each moment are judged, whatever there are of others.
LEAST = 3


class Sweep:
    """The states of one recording."""

    def __init__(self, recording, options):
        self.trial, self.options, self.again = recording.trial, options, recording.device
        self.device, self.calls, self.placed = recording.device(), recording.calls, recording.placed
        self.moments, self.moments_in_full, self.states, self.judged, self.started = 0, 0, 0, 0, 0
        self.faults, self.to_start = [], []

    def run(self, drops=(), stops=False):
        """`drops`: the syncs that are taken for not made. `stops` with the first fault."""
        changing, most = self.changing(), self.options.states // (4 if drops else 1)
        # A sync that is not made is missed for long: not every moment is looked at then.
        share, stride = max(LEAST, most // max(1, len(changing))), max(1, len(changing) * LEAST // most) if drops else 1
        player, seen = Player(self.device), set()
        for number, call in enumerate(self.calls):
            if not player.play(call, drops):
                continue
            self.moments += 1
            # The end, at which everything is promised, is always looked at.
            if self.moments % stride and self.moments < len(changing):
                continue
            # What is answered before the next change begins must hold.
            after = self.calls[changing[self.moments]].begun if self.moments < len(changing) else float("inf")
            self.look(self.trial.promises(self.placed, after), seen, number, share)
            if self.faults and stops:
                break
        return self

    def changing(self):
        """The places of the calls that change anything."""
        player = Player(self.again())
        return [number for number, call in enumerate(self.calls) if player.play(call)]

    def look(self, promise, seen, number, share):
        """Judges states of one moment that were not there before: all where there are few, else so many at most."""
        first, others, is_all = crashes(self.device, chance_of(self.options.seed, number), self.options.draws)
        self.moments_in_full += is_all and len(first) + len(others) <= 4 * share
        new = 0
        for place, make in enumerate([*first, *others]):
            if new >= share or place >= 4 * share:
                break
            state = make()
            self.states += 1
            key = (digest_of_state(state), promise)
            if key in seen:
                continue
            seen.add(key)
            new += 1
            self.judged += 1
            if faults := self.judge(state, promise):
                self.faults.append(f"call {number} ({self.calls[number].name}), state {place}: {faults[0]}")
                if len(self.faults) == 1:
                    self.keep(state)
                return
            if not self.trial.judges_alone:
                self.reserve(state, promise, number)

    def reserve(self, state, promise, number):
        """Keeps a fair share of all states to start a program on: each new one takes the place of another by chance."""
        chance, entry = random.Random(f"{self.options.seed} {self.judged}"), (dict(state), promise, number)
        if len(self.to_start) < self.options.starts:
            self.to_start.append(entry)
        elif (place := chance.randrange(self.judged)) < self.options.starts:
            self.to_start[place] = entry

    def laid_out(self, state):
        """The directories of a state on this machine, by their roots."""
        place = self.options.scratch / "state"
        shutil.rmtree(place, ignore_errors=True)
        moves = {root: str(place / pathlib.Path(root).name) for root in self.device.roots}
        os.makedirs(place)
        lay_out(state, moves)
        return place

    def judge(self, state, promise):
        place = self.laid_out(state)
        return told(lambda: self.trial.judge(place / self.trial.root.name if self.trial.judges_alone else place, promise))

    def keep(self, state):
        if self.options.keep:
            place = self.options.keep / self.trial.name.replace(" ", "-")
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(self.laid_out(state), place, symlinks=True)

    def start_programs(self):
        """The program itself is started on a share of the states."""
        for state, promise, number in self.to_start:
            place = self.laid_out(state)
            self.started += 1
            if faults := told(lambda place=place, promise=promise: self.trial.start(place, promise)):
                self.faults.append(f"call {number} ({self.calls[number].name}), with the program started: {faults[0]}")
                self.keep(state)
                return


def told(question):
    """Faults, those among them that end a question."""
    try:
        return question()
    except (Failure, OSError, http.client.HTTPException, sqlite3.Error, LookupError, TypeError, ValueError) as error:
        return [str(error) if isinstance(error, Failure) else repr(error)]


def pattern_of(path):
    """The path, with names that are made by chance standing for each other."""
    parts = []
    for part in path.split("/"):
        part = re.sub(r"\.[0-9a-z]{8,}\.pullbox-part$", ".*.pullbox-part", part)
        part = re.sub(r"^[0-9a-f]{2}$|^[0-9a-f]{16,}|[0-9A-Za-z_-]{24,}|^(\.?[a-z]*-?)[0-9]{8}T[0-9.]+Z$", r"\1*", part)
        parts.append(re.escape(part).replace(r"\*", "[^/]*"))
    return "/".join(parts).replace("\\.", ".").replace("\\-", "-") + "$"


class Recording:
    """A trial that was run once under strace: its states can be made again, with syncs left out, as often as one likes."""

    def __init__(self, trial, roots):
        self.trial, self.roots = trial, [os.path.realpath(root) for root in roots]
        self.copy = trial.root.parent / "before"
        for root in self.roots:
            shutil.copytree(root, self.copy / pathlib.Path(root).name, symlinks=True)
        begun = time.monotonic()
        self.calls, self.placed = trial.record()
        self.seconds = time.monotonic() - begun
        self.check()

    def device(self):
        """As it was before."""
        device = Device([self.copy / pathlib.Path(root).name for root in self.roots])
        device.roots = dict(zip(self.roots, device.roots.values()))
        return device

    def check(self):
        """The recording has all that was done: played back it ends as the disk did."""
        device = self.device()
        player = Player(device)
        for call in self.calls:
            player.play(call)
        if faults := compare(device, Device(self.roots)):
            raise Failure(f"{self.trial.name}: the recording does not end as the disk did: {'; '.join(faults[:5])}")
        self.syncs = player.syncs

    def kinds_of_syncs(self):
        """Parts of paths, as patterns, by which syncs are told apart: names that are made by chance stand for each other."""
        kinds = {}
        for call in self.calls:
            if call.name in ("sync", "syncfs"):
                kinds["syncfs"] = None
            elif call.name in ("fsync", "fdatasync"):
                path, _ = call.file(0)
                if root := next((root for root in self.roots if path and (path == root or path.startswith(root + "/"))), None):
                    kinds[pattern_of(pathlib.Path(root).name + path[len(root):])] = None
        return list(kinds)

    def sweep(self, options, **words):
        return Sweep(self, options).run(**words)
