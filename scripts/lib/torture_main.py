#!/usr/bin/env python3
"""Runs the programs as a system while everything goes wrong that an adversary can think of: scripts/torture says how."""

import argparse
import collections
import pathlib
import shutil
import sys
import time
import traceback

from node_clients import Transcript
from node_cluster import end_in_order, why_not
from node_engines import Failure
from node_faults import SmallDisk, WallClock
from torture_acts import People
from torture_adversary import Adversary, pause
from torture_checks import Checks
from torture_program import Edge
from torture_schedule import FAULTS, KINDS, schedule, shortened
from torture_system import System, new_directory

# So many rounds a system lives; then another one begins with the next seed. A failure is found again in the rounds of one system.
ROUNDS_OF_A_SYSTEM = 100
# A check that sees nothing holds whatever happens: of these a system of its full length has to show something.
SEEN = ("answers by license", "ends of subscriptions", "entitlements", "finished transactions", "libraries", "news of products", "reasons", "reports",
        "sections", "sums of money", "tickets")
UNSEEN = "nothing was looked at"


class Played:
    """What became of one system."""

    def __init__(self, rounds, events, violations, checks, kinds):
        self.rounds, self.events, self.violations, self.checks, self.kinds = rounds, events, violations, checks, kinds


def play(options, seed, rounds, label=""):
    """Runs the rounds; ends with the first that has a violation."""
    options.seed, options.work = seed, new_directory()
    path = options.transcript.with_suffix(f".{label}{seed}{options.transcript.suffix}")
    transcript = Transcript(path)
    checks, kinds, events, done, system, people = None, collections.Counter(), 0, 0, None, None
    try:
        system = System(options, transcript)
        people = People(system, transcript)
        people.open()
        adversary = Adversary(system, people, transcript)
        checks = Checks(system, people, adversary, transcript)
        for one in rounds:
            begun = time.monotonic()
            transcript.note(f"round {one.number}{', a calm end' if one.is_calm else ''}")
            for event in one.events:
                transcript.note(str(event))
                events = event.number
                if event.kind not in FAULTS:
                    people.act(event)
                elif not adversary.begin(event):
                    transcript.note(f"{event.kind} cannot happen to {event.target} now")
                    pause(event.pause)
                    continue
                kinds[event.kind] += 1
                pause(event.pause)
            adversary.lift(one.is_calm)
            people.await_idle()
            people.history.trust()
            if one.is_calm:
                checks.calm()
            else:
                checks.quick()
            done += 1
            checks.counts["answers that were spoiled"] = sum(relay.spoiled for relay in system.relays.values())
            transcript.note(f"round {one.number} took {time.monotonic() - begun:.2f} s")
            if transcript.violations:
                break
        if done >= ROUNDS_OF_A_SYSTEM and not transcript.violations:
            for unseen in [one for one in SEEN if not checks.counts[one]]:
                transcript.violate(f"{UNSEEN} in {done} rounds: {unseen}")
    except Failure as failure:
        transcript.violate(str(failure))
    except Exception as error:  # pylint: disable=broad-except
        # What nothing here expects is looked at like a failure: its state stays, and its seed is told.
        transcript.note(traceback.format_exc())
        transcript.violate(repr(error))
    finally:
        if people:
            people.leave()
        if system:
            system.end()
        else:
            transcript.note("the system did not begin")
        keep(options, seed, transcript)
        if system:
            system.remove()
        shutil.rmtree(options.work, ignore_errors=True)
    return Played(done, events, list(transcript.violations), checks, kinds)


def keep(options, seed, transcript):
    """State and logs of a failure go to --keep; all others go. The library of a device lies on its disk, where that is looked for."""
    if transcript.violations and options.keep:
        place = options.keep / f"seed{seed}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(options.work, place, symlinks=True, ignore=lambda folder, names: {
            name for name in names if name in ("socket", "agent.sock") or name.endswith(".so") or name == "disk" and "volume" in names})


def shrink(options, seed, rounds, events):
    """The shortest beginning of the events that still fails, as far as halving finds it: what fails by chance may not fail again."""
    least, most, words = 0, events, None
    while least + 1 < most:
        middle = (least + most) // 2
        played = play(options, seed, shortened(rounds, middle), f"first-{middle}-")
        print(f"the first {middle} events: {played.violations[0] if played.violations else 'all is held'}", flush=True)
        if played.violations:
            most, words = middle, played.violations[0]
        else:
            least = middle
    return most, words


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--port-base", required=True, type=int)
    parser.add_argument("--transcript", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--events", type=int)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--earlier", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--no-halving", action="store_true")
    options = parser.parse_args()
    if wrong := [kind for kind in options.only if kind not in KINDS]:
        parser.error(f"there is no fault '{wrong[0]}': {', '.join(FAULTS)}")
    if options.rounds < 1 or options.nodes < 1:
        parser.error("--rounds and --nodes are 1 or more")
    return options


def summary(total):
    rounds, events, kinds, looks, seconds, bytes_of, resident, descriptors = total
    print(f"held  {rounds} rounds, {events} events in {seconds:.0f} s", flush=True)
    print("      events: " + ", ".join(f"{count} × {kind}" for kind, count in sorted(kinds.items(), key=lambda pair: -pair[1])))
    print("      looked at: " + ", ".join(f"{count} {what}" for what, count in sorted(looks.items())))
    print(f"      content: {bytes_of['fetched'] / 1e6:.1f} MB sent to agents, of packages of {bytes_of['packages'] / 1e6:.1f} MB; "
          f"{bytes_of['with faults'] / 1e6:.1f} MB of them at a time of faults or with sections, and {bytes_of['twice'] / 1e6:.2f} MB twice without one")
    print("      processes: at most " + ", ".join(f"{kib >> 10} MiB and {descriptors[name]} descriptors of {name}" for name, kib in sorted(resident.items())), flush=True)


def main():
    options = parse()
    if options.nodes > 1 and (reason := why_not()):
        print(f"skipped  torture with {options.nodes} nodes: {reason}")
        return
    end_in_order()
    options.has_disks, options.has_compiler = SmallDisk.is_available(), WallClock.is_available()
    for has, text in ((options.has_disks, "no disk is filled, read-only or unplugged: only root can mount one"),
                      (options.has_compiler, "no clock is wrong, no disk is slow and no sync fails: there is no C compiler for what does it"),
                      (Edge.is_available(), "no proxy stands between devices and servers: nginx is not installed")):
        if not has:
            print(f"left out  {text}", flush=True)
    begun, kinds, looks, rounds_done, events_done = time.monotonic(), collections.Counter(), collections.Counter(), 0, 0
    bytes_of, resident, descriptors = collections.Counter(), collections.Counter(), collections.Counter()
    seed = options.seed
    while rounds_done < options.rounds:
        count = min(ROUNDS_OF_A_SYSTEM, options.rounds - rounds_done)
        rounds = schedule(seed, count, options.nodes, options.only)
        if options.events:
            rounds = shortened(rounds, options.events)
        print(f"seed {seed}: {len(rounds)} rounds", flush=True)
        played = play(options, seed, rounds)
        kinds.update(played.kinds)
        if checks := played.checks:
            looks.update(checks.counts)
            bytes_of.update(checks.bytes.totals() | {"packages": sum(length for (name, _), length in checks.needed.items() if name != "gina")})
            resident, descriptors = resident | checks.resident, descriptors | checks.descriptors
        events_done += sum(played.kinds.values())
        if played.violations:
            fail(options, seed, rounds, played)
        rounds_done += len(rounds)
        summary((rounds_done, events_done, kinds, looks, time.monotonic() - begun, bytes_of, resident, descriptors))
        if options.events:
            return
        seed += 1


def fail(options, seed, rounds, played):
    print(f"NOT HELD  seed {seed}, round {played.rounds}, event {played.events}: {played.violations[0]}", flush=True)
    for text in played.violations[1:6]:
        print(f"          {text}", flush=True)
    # What a whole system does not show cannot be halved.
    if not options.events and not options.no_halving and not played.violations[0].startswith(UNSEEN):
        least, words = shrink(options, seed, rounds, played.events)
        print(f"the first {least} events of seed {seed} fail" + (f": {words}" if words else ", and no fewer did again"), flush=True)
        print(f"again: scripts/torture --seed {seed} --rounds {len(rounds)} --nodes {options.nodes} --events {least}"
              + (f" --only {','.join(options.only)}" if options.only else ""), flush=True)
    sys.exit(1)


try:
    main()
except Failure as failure:
    sys.exit(f"torture: {failure}")
