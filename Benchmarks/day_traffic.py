"""What happens in a simulated day, and who does it: a plan made of a seed, the devices (Benchmarks/load/day.c), buyers at the store,
refunds, releases, backups and the rotation of the log."""
import collections
import concurrent.futures
import contextlib
import json
import math
import os
import random
import signal
import subprocess
import threading
import time
import urllib.error

from day_state import BUNDLE, PUBLICATION, SINGLES, ask, document
from measuring import run, say

# How busy each hour is, beside the busiest. The day begins at six in the evening, so that its first hours are as busy as its last.
BEGINS = 18
WEIGHTS = (0.8, 1, 1, 1, 0.8, 0.6, 0.4, 0.25, 0.2, 0.2, 0.2, 0.25, 0.4, 0.6, 0.6, 0.5, 0.5, 0.5, 0.6, 0.6, 0.5, 0.5, 0.6, 0.8)
# Hours at which a release begins, to shares of the devices, half an hour apart; buyers come when all have it.
RELEASES = (1, 11, 17)
SHARES = (10, 50, 100)
# Of all purchases, those of new issues; they come within the next hour and a half, and half of them in the first twenty minutes.
RUSH, RUSH_HOURS, RUSH_HALF = 0.4, 1.5, 1 / 3
REFUNDS = 0.02
# A refund is asked for this many hours after the purchase at least, and its content is there by then.
REFUND_HOURS = 0.5
GENERATIONS = 6
LOGS = 14
# Purchases that the store is asked for at once.
SHOPPERS = 16
# How often a step of a release is tried.
RELEASE_TRIES = 3
# So many seconds of the machine what still runs at the end of the day is awaited, and a program of the operator's.
LAST_SECONDS, COMMAND_SECONDS = 300, 600


def weight(hour):
    return WEIGHTS[int(hour) % 24]


def rush_hours(hours):
    """The hours in which a release is under way or new issues are bought."""
    return {hour for begin in RELEASES if begin < hours
            for hour in range(int(begin), math.ceil(begin + (len(SHARES) - 1) / 2 + RUSH_HOURS))}


def plan(hours, purchases, seed):
    """What happens, as pairs of the hour, with a fraction, and what it is, in order. The same seed has the same day."""
    generator, found = random.Random(seed), []
    quarters = [weight(n / 4) for n in range(hours * 4)]
    releases = [hour for hour in RELEASES if hour + (len(SHARES) - 1) / 2 < hours]
    rush = purchases * RUSH / len(RELEASES) * len(releases)
    for n, share in enumerate(quarters):
        # Of a whole day's purchases: a shorter day has fewer.
        expected = (purchases * (1 - RUSH)) * share / sum(4 * one for one in WEIGHTS)
        for _ in range(int(expected) + (generator.random() < expected % 1)):
            found.append(((n + generator.random()) / 4, "buy", f"com.example.day.single{generator.randrange(SINGLES)}"))
    for number, hour in enumerate(releases):
        product = f"{PUBLICATION}.issue{number + 1}"
        found += [(hour + step / 2, "release", (product, percentage)) for step, percentage in enumerate(SHARES)]
        for _ in range(round(rush / len(releases))):
            later = min(generator.expovariate(math.log(2) / RUSH_HALF), RUSH_HOURS * generator.random() + 0.01)
            found.append((hour + (len(SHARES) - 1) / 2 + later, "buy", product))
    bought = sorted(when for when, what, _ in found if what == "buy")
    for when in bought:
        if generator.random() < REFUNDS:
            found.append((when + REFUND_HOURS + generator.random(), "refund", None))
    found += [(hour + 0.5, "back up", None) for hour in range(hours)]
    found += [(hour + 0.1, "rotate", None) for hour in range(1, hours)]
    found += [(n / 4, "sample", n) for n in range(1, hours * 4 + 1)]
    return sorted((one for one in found if one[0] <= hours), key=lambda one: one[0])


class Devices:
    """The program that plays them. `tell` answers what they measured since the last one."""

    def __init__(self, house, arguments, hour):
        self.log = open(house.logs / "devices.log", "ab")
        self.process = subprocess.Popen([str(word) for word in (
            arguments.work / "day-devices", "--port", arguments.port_base, "--devices", house.work / "devices.tsv",
            "--readers", house.work / "readers.tsv", "--content", house.content, "--length", house.long.stat().st_size,
            "--waiting", arguments.waiting, "--drip", arguments.drip, "--session", max(1, round(hour)),
            "--ramp", max(1, round(hour / 4)), "--clock", arguments.clock, "--scrape", max(50, round(hour / 720 * 1000)))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.lock = threading.Lock()

    def say(self, line):
        with self.lock:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def rate(self, value):
        self.say(f"rate {value:.3f}")

    def buy(self, device, product, receipt):
        self.say(f"buy {device}\t{product}\t{receipt}")

    def tell(self):
        self.say("tell")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the devices have ended; see devices.log among the work files")
        return json.loads(line)

    def stop(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Shop:
    """Buyers, each with an account of its own, and their refunds, at the store."""

    def __init__(self, house, devices):
        self.house, self.devices = house, devices
        self.pool = concurrent.futures.ThreadPoolExecutor(SHOPPERS)
        self.lock, self.count, self.tries, self.errors = threading.Lock(), 0, 0, []
        self.paid, self.refunded, self.is_over = collections.deque(), [], False
        # Products that were not for sale in all the time in which one was asked for.
        self.missing = set()

    def buy(self, product):
        self.count += 1
        self.pool.submit(self.noting, self.purchase, f"buyer-{self.count}", product)

    def refund(self):
        self.pool.submit(self.noting, self.give_back)

    def noting(self, work, *values):
        try:
            work(*values)
        except Exception as error:  # pylint: disable=broad-except
            with self.lock:
                self.errors.append(f"{work.__name__}: {error}")
                if len(self.errors) <= 5:
                    say(f"  {self.errors[-1]}")

    def purchase(self, device, product):
        token = self.ask("/sandbox/v1/accounts", {"territory": "USA", "name": device}, repeats=True)["token"]
        # A new issue whose release takes longer than planned is not for sale yet.
        again = (503,) if product in self.missing else (404, 503)
        try:
            bought = self.ask("/store/v1/purchases", {"product": product, "device": device}, token, again=again)
        except (RuntimeError, urllib.error.HTTPError):
            self.missing.add(product)
            raise
        receipt = self.ask(f"/store/v1/receipt?device={device}&bundle={BUNDLE}", token=token, repeats=True)["receipt"]
        self.devices.buy(device, product, receipt)
        with self.lock:
            self.paid.append(bought["transaction"]["id"])

    def ask(self, path, body=None, token=None, again=(503,), repeats=False):
        return ask(self.house.store_url + path, body, token, again=again, tried=self.note_try, repeats=repeats)

    def note_try(self):
        if self.is_over:
            raise RuntimeError("the day is over")
        with self.lock:
            self.tries += 1

    def give_back(self):
        """The purchase that was made longest ago, and was not given back."""
        with self.lock:
            transaction = self.paid.popleft()
        self.ask(f"/sandbox/v1/transactions/{transaction}/refund", {})
        with self.lock:
            self.refunded.append(transaction)

    def finish(self):
        finish(self.pool, "purchases", self.errors)

    def stop(self):
        """What has not begun does not begin any more, and what was refused is not tried again."""
        self.is_over = True
        self.pool.shutdown(cancel_futures=True)


class Operator:
    """Releases, backups and the log, each in its turn and beside all else."""

    def __init__(self, house, clock):
        self.house, self.clock = house, clock
        self.workers = {name: concurrent.futures.ThreadPoolExecutor(1) for name in ("release", "back up", "rotate")}
        self.backups, self.errors, self.written = [], [], 0
        self.environment = os.environ | clock.variables()

    def do(self, name, *values):
        work = {"release": self.release, "back up": self.back_up, "rotate": self.rotate}[name]

        def noting():
            # Buyers wait for a release, whose steps can all be repeated.
            for left in reversed(range(RELEASE_TRIES if name == "release" else 1)):
                try:
                    return work(*values)
                except Exception as error:  # pylint: disable=broad-except
                    say(f"  {name}: {error}")
                    if not left:
                        self.errors.append(f"{name}: {error}")
                time.sleep(1)

        self.workers[name].submit(noting)

    def release(self, product, percentage):
        path = f"/v1/operator/products/{product}"
        if percentage == SHARES[0]:
            body = document(product, publication=PUBLICATION, publicationDate=self.clock.date())
            self.house.operator(path, self.house.without_id(body), "PUT")
            self.house.publish(product, self.house.package)
            try:
                self.house.operator(path + "/versions/1.0/approve", {}, "POST")
            except urllib.error.HTTPError as error:
                # By a try before this one.
                if error.code != 409:
                    raise
        self.house.operator(path + "/versions/1.0/release", {"percentage": percentage}, "POST")

    def back_up(self):
        begun = time.monotonic()
        run(self.house.arguments.bin / "pullbox-server", "backup", self.house.backups, "--keep", GENERATIONS, "--state", self.house.state,
            env=self.environment, timeout=COMMAND_SECONDS)
        self.backups.append(time.monotonic() - begun)

    def rotate(self):
        """As the package's logrotate does once a day: moved, opened anew at SIGHUP, and what was moved before that compressed."""
        log = self.house.access_log
        aged = [log.with_name(f"access.log.{n}") for n in range(LOGS + 1)]
        for n in range(LOGS - 1, 0, -1):
            for suffix in ("", ".gz"):
                old = aged[n].with_name(aged[n].name + suffix)
                if old.exists():
                    old.rename(aged[n + 1].with_name(aged[n + 1].name + suffix))
        aged[LOGS].with_name(aged[LOGS].name + ".gz").unlink(missing_ok=True)
        log.rename(aged[1])
        self.house.server.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            if log.exists():
                break
            time.sleep(0.1)
        self.written += aged[1].stat().st_size
        if aged[2].exists():
            subprocess.run(["nice", "-n", "19", "gzip", "-1", "-f", aged[2]], check=True, timeout=COMMAND_SECONDS)

    def log_bytes(self):
        """All that the access log was ever written."""
        try:
            return self.written + self.house.access_log.stat().st_size
        except FileNotFoundError:
            return self.written

    def finish(self):
        for name, worker in self.workers.items():
            finish(worker, name, self.errors)

    def stop(self):
        """What has not begun does not begin any more."""
        for worker in self.workers.values():
            worker.shutdown(cancel_futures=True)


def finish(pool, name, errors):
    """Waits for what a pool has still to do; notes what is not done in time."""
    waiting = threading.Thread(target=pool.shutdown, daemon=True)
    waiting.start()
    waiting.join(LAST_SECONDS)
    if waiting.is_alive():
        errors.append(f"{name}: there was more to do {LAST_SECONDS} s behind the day")


def directory_bytes(path):
    """What a directory takes, each file once, whatever names it has."""
    seen, total = set(), 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                status = os.lstat(os.path.join(directory, name))
            except FileNotFoundError:
                continue
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * 512
    return total
