"""24 hours of a delivery server's traffic in two, and whether anything but the rows grows meanwhile. Run through scripts/bench day."""
import argparse
import contextlib
import http.client
import json
import os
import resource
import signal
import sqlite3
import sys
import time
import urllib.request
from pathlib import Path

from day_curves import picture
from day_judging import CURVES, ROUTES, SAWTEETH, by_hour, count_rows, curve_rows, latency_rows
from day_state import TRIES, Clock, House
from day_traffic import BEGINS, Devices, Operator, Shop, directory_bytes, plan, weight
from measuring import busy_time, memory, processor_time, say
from reporting import Results, show

# Connections of feeds that are asked at once (Benchmarks/load/day.c), and what a server has open beside its clients.
POLLING, BESIDE = 2000, 900
# Rows of these come with the traffic. Those that stay for good are among them.
TABLES = ("grants", "grant_events", "obligations", "outbox", "delivered_bytes", "transactions", "customer_devices", "feeds", "feed_items",
          "remembered_proofs", "notifications")
# What is measured, by the beginning of its rows' names.
ROWS = {"curves": (*CURVES, *SAWTEETH), "latencies": ("p99-",),
        "counts": ("unexpected", "refused", "dropped", "cut", "share", "operations", "refunds", "retention", "growth", "backups", "answers")}
# Whose processor time is drawn; "others" is what all else took.
PROCESSES = ("server", "store", "devices", "bench")
HOUR, MEBIBYTE = 3600, 1 << 20
# A server looks for what is old once in an hour of its clock; a look takes its time.
LATE_LOOK = 1.1 * HOUR
# How often the size of the database's log is looked at, in seconds of the machine; a quarter's is its largest.
LOG_LOOK = 2
# So long an answer about the server's own figures is awaited, as often as TRIES says.
METRICS_SECONDS = 2


def positive(text):
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is expected, not '{text}'")
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench day")
    parser.add_argument("--hours", type=positive, default=24, metavar="N", help="hours that are simulated, 24 at most (24)")
    parser.add_argument("--seconds", type=positive, default=7200, metavar="N", help="what they take (7200)")
    parser.add_argument("--devices", type=positive, default=100_000, metavar="N", help="devices with a feed (100,000)")
    parser.add_argument("--readers", type=positive, default=10_000, metavar="N", help="slow readers (10,000)")
    parser.add_argument("--waiting", type=int, metavar="N", help="of the devices, those that wait in their feeds; a fiftieth unless given")
    parser.add_argument("--purchases", type=positive, metavar="N", help="purchases in 24 hours; a fifth of the devices unless given")
    parser.add_argument("--interval", type=positive, default=60, metavar="SECONDS",
                        help="of the machine's clock, between two questions of a device in the busiest hour (60, as agents do)")
    parser.add_argument("--drip", type=positive, default=4096, metavar="BYTES", help="a second that a slow reader takes (4096)")
    parser.add_argument("--clock", type=positive, metavar="N",
                        help="how fast the clock of server and store goes, 60 at most; as the day, but 12 at most, unless given")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the plan of the day (1)")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROWS",
                        help=f"write down only these; may be repeated: {', '.join(ROWS)}")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the samples here, and the curves beside them as .svg")
    parser.add_argument("--port-base", type=int, default=29480, metavar="PORT", help="first of the ports used")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    check(parser, arguments)
    return arguments


def check(parser, arguments):
    pace = arguments.hours * HOUR / arguments.seconds
    if arguments.waiting is None:
        arguments.waiting = arguments.devices // 50
    if arguments.purchases is None:
        arguments.purchases = max(1, arguments.devices // 5)
    if arguments.clock is None:
        arguments.clock = max(1, min(12, int(pace)))
    if arguments.hours > 24:
        parser.error(f"--hours {arguments.hours}: a day has 24")
    if arguments.seconds < arguments.hours:
        parser.error(f"--seconds {arguments.seconds}: an hour takes a second at least, so {arguments.hours} of them take {arguments.hours}")
    if arguments.clock > 60:
        parser.error(f"--clock {arguments.clock}: 60 at most; a server with shorter seconds than that refuses what it has no time for")
    if not 0 <= arguments.waiting < arguments.devices:
        parser.error(f"--waiting {arguments.waiting}: fewer than the {arguments.devices} devices")
    if not 1024 <= arguments.port_base <= 65525:
        parser.error(f"--port-base {arguments.port_base}: 1024 to 65525")
    needed, allowed = connections(arguments) + BESIDE, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allowed != resource.RLIM_INFINITY and needed > allowed:
        parser.error(f"the server and its devices need {needed:,} descriptors each, and 'ulimit -Hn' allows {allowed:,}: raise it (as root, "
                     "ulimit -n), or give fewer --readers or --waiting")


def connections(arguments):
    return arguments.readers + arguments.waiting + POLLING + 200


class Day:
    """One day: the server, all who use it, and what was measured of each quarter of an hour."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.hour = arguments.seconds / arguments.hours
        self.kept = max(60, arguments.seconds * arguments.clock // 12)
        self.house = House(arguments)
        self.samples = {name: [] for name in (*CURVES, *SAWTEETH, "store", "size", "rows", "backups", "tcp")}
        self.taken = {name: [] for name in (*PROCESSES, "others")}
        self.tellings, self.errors, self.used = [], [], {}
        self.standing = self.overdue = None
        self.backup_bytes = self.unanswered = self.largest_log = 0
        self.next_look = 0
        self.shop = self.operator = self.devices = None

    def run(self):
        self.house.make()
        clock = Clock(self.arguments.work / "quick_clock.so", self.arguments.clock)
        self.clock = clock
        self.house.begin(clock, connections(self.arguments), self.kept)
        try:
            # The first answer comes when the catalog is in memory.
            with urllib.request.urlopen(self.house.server_url + "/v1/products?id=com.example.day.single0", timeout=60) as answer:
                answer.read()
            self.devices = Devices(self.house, self.arguments, self.hour)
            self.shop, self.operator = Shop(self.house, self.devices), Operator(self.house, clock)
            self.follow(plan(self.arguments.hours, self.arguments.purchases, self.arguments.seed))
            self.close()
        finally:
            for one in (self.shop, self.operator, self.devices, self.house):
                if one:
                    self.attempt(one.stop)

    def attempt(self, step):
        """What goes wrong behind the day does not take its results away."""
        try:
            step()
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(f"{step.__qualname__}: {error}")
            say(f"  {self.errors[-1]}")

    def follow(self, steps):
        begun, self.page, asked = time.monotonic(), self.metrics() or {}, None
        self.written = self.operator.log_bytes()
        self.processors()
        for when, what, value in steps:
            while (pause := begun + when * self.hour - time.monotonic()) > 0:
                hour = (time.monotonic() - begun) / self.hour
                if weight(hour) != asked:
                    asked = weight(hour)
                    self.devices.rate(self.arguments.devices / self.arguments.interval * asked)
                self.look_at_log()
                time.sleep(min(pause, 0.25))
            if what == "buy":
                self.shop.buy(value)
            elif what == "refund":
                self.shop.refund()
            elif what == "sample":
                self.sample(value)
            else:
                self.operator.do(what, *(value or ()))

    # ---- what is measured

    def look_at_log(self):
        if time.monotonic() >= self.next_look:
            self.next_look = time.monotonic() + LOG_LOOK
            with contextlib.suppress(FileNotFoundError):
                self.largest_log = max(self.largest_log, self.house.database.with_name("server.db-wal").stat().st_size)

    def metrics(self):
        """A server that is too busy for them is asked again: it waits as long as two seconds of its own clock for a turn. None where it has
        no answer."""
        for _ in range(TRIES):
            try:
                with urllib.request.urlopen(self.house.server_url + "/metrics", timeout=METRICS_SECONDS) as page:
                    lines = page.read().decode().splitlines()
                break
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)
        else:
            self.unanswered += 1
            self.errors.append("/metrics: there was no answer")
            return None
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line and line[0] != "#")}

    def sample(self, quarter):
        house, pid = self.house, self.house.server.pid
        for daemon in (house.server, house.store):
            if daemon.process.poll() is not None:
                raise RuntimeError(f"{daemon.executable.name} has ended:\n{(daemon.directory / 'log').read_text()[-4000:]}")
        told = self.devices.tell()
        self.tellings.append(told)
        page, written = self.metrics(), self.operator.log_bytes()
        # What one quarter could not be told counts in the next.
        line = self.samples["line"][-1] if self.samples["line"] else 0
        if page is not None:
            answers = sum(value - self.page.get(name, 0) for name, value in page.items() if name.startswith("pullbox_http_responses_total"))
            line = (written - self.written) / max(1, answers)
            self.page, self.written = page, written
        self.next_look = 0
        self.look_at_log()
        log, self.largest_log = self.largest_log, 0
        size, rows = house.database.stat().st_size, self.rows()
        for name, value in {
                "memory": memory(pid, "RssAnon") / MEBIBYTE, "descriptors": len(os.listdir(f"/proc/{pid}/fd")) - told["streaming"],
                "threads": len(os.listdir(f"/proc/{pid}/task")), "log": log / MEBIBYTE, "tcp": socket_memory() / MEBIBYTE,
                "row": size / rows, "line": line, "store": memory(house.store.pid, "RssAnon") / MEBIBYTE,
                "size": size / MEBIBYTE, "rows": rows, "backups": directory_bytes(house.backups) / MEBIBYTE}.items():
            self.samples[name].append(value)
        for name, value in self.processors().items():
            self.taken[name].append(value)
        if quarter % 4 == 0:
            self.attempt(self.keep)
            at = {name: values[-1] for name, values in self.samples.items()}
            feeds = by_hour(self.tellings[-4:], "feed", 1)[0]
            say(f"  hour {quarter // 4:2}: {at['memory']:.0f} MiB, {at['descriptors']} descriptors beside readers', database {at['size']:.0f} MiB, its log "
                f"{at['log']:.1f}; {feeds[0]:,} feeds, p99 {feeds[2] or 0:.2f} ms; {told['streaming']:,} readers, {told['ended']:,} purchases, "
                f"{told['unexpected']} unexpected answers, {told['dropped']} connections cut")

    def processors(self):
        """How many each has taken since the last time."""
        pids = dict(zip(PROCESSES, (self.house.server.pid, self.house.store.pid, self.devices.process.pid, os.getpid()), strict=True))
        now = {name: processor_time([pid]) for name, pid in pids.items()} | {"all": busy_time(), "moment": time.monotonic()}
        taken = {name: value - self.used.get(name, value) for name, value in now.items()}
        self.used, pause = now, taken["moment"] or 1
        found = {name: taken[name] / pause for name in pids}
        return found | {"others": max(0, taken["all"] / pause - sum(found.values()))}

    def read(self, statement, *values):
        connection = sqlite3.connect(f"file:{self.house.database}?mode=ro", uri=True, timeout=60)
        try:
            return connection.execute(statement, values).fetchone()[0]
        finally:
            connection.close()

    def rows(self):
        return sum(self.read(f"SELECT count(*) FROM {table}") for table in TABLES)

    def keep(self):
        """What was measured so far, for the case that the rest of the day is lost."""
        self.arguments.partial.write_text(json.dumps({
            "samples": self.samples, "taken": self.taken, "tellings": self.tellings, "backups": self.operator.backups,
            "errors": self.errors + self.shop.errors + self.operator.errors}))

    def close(self):
        """What runs at the end of the day is awaited, and what became of it all is looked up."""
        for step in (self.finish, self.look_up):
            self.attempt(step)
        self.errors += self.shop.errors + self.operator.errors

    def finish(self):
        self.devices.rate(0)
        self.shop.finish()
        self.operator.finish()
        for _ in range(100):
            closing = self.devices.tell()
            self.tellings.append(closing)
            if closing["begun"] == closing["ended"] + closing["lost"]:
                break
            time.sleep(0.2)

    def look_up(self):
        self.backup_bytes = directory_bytes(self.house.backups)
        bound = time.monotonic() + 30
        while (standing := self.unrevoked()) and time.monotonic() < bound:
            time.sleep(0.5)
        self.standing = standing
        early = self.clock.now() - (self.kept + LATE_LOOK) * 1000
        self.overdue = self.read(
            "SELECT count(*) FROM grant_events WHERE at < ? AND grant_number IN (SELECT number FROM grants WHERE state IN "
            "('finished', 'revoked/finished'))", early) + self.read("SELECT count(*) FROM outbox WHERE done < ?", early)

    def unrevoked(self):
        return sum(self.read("SELECT count(*) FROM grants WHERE transaction_id = ? AND revoked_by IS NULL", str(transaction))
                   for transaction in self.shop.refunded)

    # ---- what is made of it

    def draw(self, path):
        hours = self.arguments.hours

        def quarters(name, samples=self.samples):
            return [((n + 1) / 4, value) for n, value in enumerate(samples[name])]

        def latencies(place):
            return {route: [(hour + 0.5, one[place]) for hour, one in enumerate(by_hour(self.tellings, route, hours))] for route in ROUTES}

        panels = [
            ("Load, beside the busiest hour", {"load": [(n / 4, weight(min(n / 4, hours - 0.01))) for n in range(hours * 4 + 1)]}),
            ("Anonymous memory, MiB", {"server": quarters("memory"), "store": quarters("store")}),
            ("Open descriptors of the server, without slow readers'", {"descriptors": quarters("descriptors")}),
            ("What all sockets keep in the kernel, MiB", {"sockets": quarters("tcp")}),
            ("Threads of the server", {"threads": quarters("threads")}),
            ("Processors that are taken", {name: quarters(name, self.taken) for name in self.taken}),
            ("Database, MiB", {"file": quarters("size"), "write-ahead log": quarters("log")}),
            ("Rows that are kept, thousands", {"rows": [(hour, value / 1000) for hour, value in quarters("rows")]}),
            ("Database, bytes a row", {"bytes": quarters("row")}), ("Access log, bytes an answer", {"bytes": quarters("line")}),
            ("Generations of the backup, MiB", {"all": quarters("backups")}),
            ("p50 of each hour, ms", latencies(1)), ("p99 of each hour, ms", latencies(2))]
        arguments = self.arguments
        title = (f"{hours} h in {arguments.seconds:,} s: {arguments.devices:,} devices, {arguments.readers:,} slow readers, "
                 f"{arguments.purchases:,} purchases in 24 h, the server's clock × {arguments.clock}")
        path.write_text(picture(title, [(*one, one[0].startswith("p")) for one in panels], hours, BEGINS))


def socket_memory():
    """The bytes that the kernel counts for all sockets of TCP."""
    for line in Path("/proc/net/sockstat").read_text().splitlines():
        name, *words = line.split()
        if name == "TCP:":
            return int(words[words.index("mem") + 1]) * resource.getpagesize()
    return 0


def main():
    arguments = parse_arguments()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Ends the programs, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    path = arguments.results or arguments.root / "Benchmarks/results/day.json"
    if not os.access(path.parent, os.W_OK):
        sys.exit(f"bench day: {path.parent} is no directory that can be written")
    arguments.partial = path.with_name(path.name + ".partial")
    day = Day(arguments)
    say(f"{arguments.hours} hours in {arguments.seconds} s; the clock of server and store goes {arguments.clock} times as fast as this "
        f"machine's, and rows are kept for {day.kept} s of it")
    try:
        day.run()
    except BaseException:
        # What was seen until then says most about why.
        if any(day.samples.values()):
            day.draw(path.with_suffix(".failed.svg"))
        raise
    results = Results(path, "day", {name: getattr(arguments, name) for name in (
        "hours", "seconds", "devices", "readers", "waiting", "purchases", "interval", "drip", "clock", "seed")})
    if not arguments.only:
        # No rows of an earlier day stand beside those of this one.
        results.rows = []
    wanted = tuple(prefix for name in arguments.only or ROWS for prefix in ROWS[name])
    for measured in (*curve_rows(day.samples), *latency_rows(day.tellings, arguments.hours, day.taken["others"]), *count_rows(day)):
        if measured["name"].startswith(wanted):
            results.add(measured)
            show(measured)
    day.draw(path.with_suffix(".svg"))
    arguments.partial.unlink(missing_ok=True)
    say(f"{path} and {path.with_suffix('.svg')}")


if __name__ == "__main__":
    sys.exit(main())
