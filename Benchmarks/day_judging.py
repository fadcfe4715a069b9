"""What of a simulated day has to stay level, and whether it did: the rules, and the rows of the results."""
import contextlib
import os
import statistics
from pathlib import Path

from day_traffic import rush_hours, weight
from reporting import Target, row

# Latencies are compared where each side has so many, of two hours where there are two.
FEWEST, WINDOWS = 1000, (2, 1)
# Memory for a purchase is told where there were so many.
FEWEST_PURCHASES = 200
LEVEL, SLOWER = 1.1, 1.2
# How many of 1,000 may be told to come again, and be cut off; and what slow readers get at the end beside what they got at first.
FEW_REFUSED, FEW_CUT, MOST = 10, 1, 0.9
ROUTES = {
    "feed": "GET /v1/feed", "grants": "POST /v1/grants", "renewals": "POST /v1/grants/{grant}/tickets",
    "completions": "POST /v1/grants/{grant}/completion", "manifest": "GET /v1/content/{digest}/manifest",
    "ranges": "GET /v1/content/{digest}, 64 KiB", "openings": "GET /v1/content/{digest}, to the head", "metrics": "GET /metrics"}
# What is level by itself, and what is counted for each of something.
CURVES = {
    "memory": ("the server's anonymous memory", "MiB"), "descriptors": ("the server's descriptors without those of slow readers", ""),
    "threads": ("the server's threads", ""), "row": ("the database, for each row that is kept", "bytes"),
    "line": ("the access log, for each answer", "bytes")}
# What grows until it is emptied, again and again.
SAWTEETH = {"log": ("the database's write-ahead log", "MiB")}


def microseconds(place):
    """The middle of a class of Benchmarks/load/latencies.h."""
    if place < 32:
        return place + 0.5
    exponent, part = place // 32 + 4, place % 32
    return (32 + part + 0.5) * 2 ** (exponent - 5)


def percentile(classes, share):
    """Of latencies as they were counted in classes, in milliseconds; None of none."""
    total = sum(classes.values())
    if not total:
        return None
    passed = 0
    for place in sorted(classes):
        passed += classes[place]
        if passed > share * total:
            return microseconds(place) / 1000
    return microseconds(max(classes)) / 1000


def add_up(tellings, route):
    """The classes of a route over some tellings of the devices."""
    found = {}
    for told in tellings:
        for place, count in told["routes"][route]["classes"].items():
            found[int(place)] = found.get(int(place), 0) + count
    return found


def in_window(tellings, route, first, length):
    """Of some hours, from the tellings of their quarters: how many answers, and their p50 and p99 in milliseconds."""
    classes = add_up(tellings[first * 4:(first + length) * 4], route)
    return sum(classes.values()), percentile(classes, 0.5), percentile(classes, 0.99)


def by_hour(tellings, route, hours):
    """The same of each hour."""
    return [in_window(tellings, route, hour, 1) for hour in range(hours)]


def equal_windows(hours):
    """The last hours of the day, and the first ones behind its first tenth, that are equally busy and without a release, with their length:
    two where there are such, or one. None where the day is too short."""
    rush = rush_hours(hours)
    for length in WINDOWS:
        calm = {hour: sorted(weight(hour + n) for n in range(length)) for hour in range(hours - length + 1)
                if rush.isdisjoint(range(hour, hour + length))}
        for last in reversed(calm):
            for first in calm:
                if hours / 10 <= first <= last - length and calm[first] == calm[last]:
                    return first, last, length
    return None


def words_of(first, length):
    return f"hour {first + 1}" if length == 1 else f"hours {first + 1} and {first + 2}"


def level(samples):
    """The median of the last tenth beside that of the second one; None where a tenth has fewer than two samples."""
    tenth = len(samples) // 10
    if tenth < 2:
        return None
    early = statistics.median(samples[tenth:2 * tenth])
    return statistics.median(samples[-tenth:]) / early if early else None


def highest(samples):
    """The largest of the later half of what follows the first tenth beside that of the earlier half; None of fewer than ten samples."""
    rest = samples[len(samples) // 10:]
    if len(samples) < 10:
        return None
    half = len(rest) // 2
    return max(rest[half:]) / max(rest[:half]) if max(rest[:half]) else None


def curve_rows(samples):
    """`samples` has a list for each curve, of the day's quarters."""
    rules = [(CURVES, level, "the last tenth of the day beside the second"),
             (SAWTEETH, highest, "the highest of the second half of the day beside the first")]
    for curves, rule, words in rules:
        for name, (what, unit) in curves.items():
            ratio = rule(samples[name])
            details = {"unit_of_curve": unit, "curve": [round(one, 3) for one in samples[name]]}
            if ratio is None:
                yield row(name, f"{what}: too few samples to compare", unit, {"pullbox": samples[name]}, [], **details)
            else:
                yield row(name, f"{what}: {words}", "×", {"pullbox": [ratio]}, [Target(None, LEVEL)], **details)


def growth(samples, tellings):
    """KiB of memory for each purchase between the second tenth and the last; None of a day with too few."""
    tenth = len(samples) // 10
    if tenth < 1:
        return None
    bought = [told["ended"] for told in tellings[:len(samples)]]
    more = statistics.median(bought[-tenth:]) - statistics.median(bought[tenth:2 * tenth])
    if more < FEWEST_PURCHASES:
        return None
    return (statistics.median(samples[-tenth:]) - statistics.median(samples[tenth:2 * tenth])) * 1024 / more


def latency_rows(tellings, hours, others):
    """`others` says of each quarter how many processors all else took."""
    windows, hourly = equal_windows(hours), [others[hour * 4:hour * 4 + 4] for hour in range(hours)]
    late = [max(told["late"] for told in tellings[hour * 4:hour * 4 + 4]) / 1000 for hour in range(hours)]
    for route, what in ROUTES.items():
        found = by_hour(tellings, route, hours)
        details = {"hours": [
            {"answers": count, "p50": rounded(p50), "p99": rounded(p99), "others": rounded(statistics.mean(beside))}
            | ({"latest": rounded(behind)} if route == "feed" else {})
            for (count, p50, p99), beside, behind in zip(found, hourly, late, strict=True)]}
        compared = [in_window(tellings, route, begin, windows[2]) for begin in windows[:2]] if windows else []
        if not compared or min(count for count, _, _ in compared) < FEWEST:
            samples = [p99 for _, _, p99 in found if p99 is not None]
            if samples:
                yield row(f"p99-{route}", f"{what}: p99 of each hour, too few to compare", "ms", {"pullbox": samples}, [], **details)
            continue
        first, last, length = windows
        yield row(f"p99-{route}", f"{what}: p99 of {words_of(last, length)} beside {words_of(first, length)}", "×",
                  {"pullbox": [compared[1][2] / compared[0][2]]}, [Target(None, SLOWER)], **details)


def tcp_memory_limits():
    """The pages of all sockets together beyond which the kernel saves on them; None where nothing tells them."""
    told = os.environ.get("TCP_MEMORY_PAGES")
    if told is None:
        with contextlib.suppress(OSError):
            told = Path("/proc/sys/net/ipv4/tcp_mem").read_text()
    return told and [int(word) for word in told.split()]


def rounded(value):
    return None if value is None else round(value, 3)


def count_rows(day):
    """What must not have happened, or hardly ever, and what a day consists of."""
    told = day.tellings
    total = {name: told[-1][name] for name in ("dropped", "unexpected", "lost", "begun", "ended", "cut", "bytes")}
    refused = {route: sum(one["routes"][route]["refused"] for one in told) for route in told[-1]["routes"]}
    yield row("unexpected", "answers that no device can do with, and purchases that did not end", "",
              {"pullbox": [total["unexpected"] + total["begun"] - total["ended"]]}, [Target(None, 0)], told=total)
    count = sum(one["count"] for told_once in told for one in told_once["routes"].values())
    asked = count + sum(refused.values()) + total["dropped"]
    yield row("refused", "answers that say to come again, of a thousand", "", {"pullbox": [sum(refused.values()) * 1000 / max(1, asked)]},
              [Target(None, FEW_REFUSED)], refused=refused)
    yield row("dropped", "questions whose connection was closed without an answer, of a thousand", "",
              {"pullbox": [total["dropped"] * 1000 / max(1, asked)]}, [Target(None, FEW_CUT)], dropped=total["dropped"])
    sessions = sum(one["routes"]["openings"]["count"] for one in told)
    yield row("cut", "slow readers' connections that were cut, of a thousand", "", {"pullbox": [total["cut"] * 1000 / max(1, sessions)]},
              [Target(None, FEW_CUT)], cut=total["cut"], sessions=sessions)
    taken = [later["bytes"] - earlier["bytes"] for earlier, later in zip(told, told[1:day.arguments.hours * 4])]
    if (share := level(taken)) is not None:
        yield row("share", "bytes that slow readers get: the last tenth of the day beside the second", "×", {"pullbox": [share]},
                  [Target(None, MOST, "at least")], bytes=total["bytes"])
    yield row("operations", "purchases, refunds, releases, backups and rotations that failed", "", {"pullbox": [len(day.errors)]},
              [Target(None, 0)], errors=day.errors[:20], triedAgain=day.shop.tries)
    # Neither is told where it could not be looked up, which is a failure by itself.
    if day.standing is not None:
        yield row("refunds", "refunds whose grants still stand at the end", "", {"pullbox": [day.standing]}, [Target(None, 0)],
                  refunds=len(day.shop.refunded))
    if day.overdue is not None:
        yield row("retention", "histories and calls at the end that are older than they are kept, by an hour or more", "",
                  {"pullbox": [day.overdue]}, [Target(None, 0)], kept=day.kept)
    kibibytes = growth(day.samples["memory"], told)
    if kibibytes is not None:
        yield row("growth", "the server's anonymous memory for each purchase after the second tenth", "KiB", {"pullbox": [kibibytes]}, [])
    if day.operator.backups:
        yield row("backups", "a backup beside all this", "s", {"pullbox": day.operator.backups}, [], bytes=day.backup_bytes)
    yield row("answers", "answers over the day", "million", {"pullbox": [count / 1e6]}, [],
              readers=[one["streaming"] for one in told], unanswered=day.unanswered,
              socketMemory=[round(one, 1) for one in day.samples["tcp"]], socketMemoryPages=tcp_memory_limits(),
              processors={name: [round(one, 3) for one in taken] for name, taken in day.taken.items()})
