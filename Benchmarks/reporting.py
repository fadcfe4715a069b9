"""Results with every sample as JSON, and as a table."""
import datetime
import json
import statistics

from measuring import machine, median_ratio, say


class Target:
    """Ours against a peer's samples, or against a bound. `sense` is "at most" or "at least"."""

    def __init__(self, peer, bound, sense="at most"):
        self.peer, self.bound, self.sense = peer, bound, sense

    def judge(self, value):
        return value <= self.bound if self.sense == "at most" else value >= self.bound


class Extra(Target):
    """What ours takes more than the peer, in the row's unit: the median of pairs measured right after each other."""


class Median(Target):
    """A bound on the median of our own samples."""


def measure(target, ours, peers):
    if isinstance(target, Extra):
        return statistics.median(our - peer for our, peer in zip(ours, peers, strict=True))
    return median_ratio(ours, peers)


def row(name, work, unit, samples, targets, ours="pullbox", **details):
    """A row of results: `samples` holds a list a contender, `targets` name those that ours is measured against; one that
    names nobody is a bound on our own samples: on the worst of them, or their median."""
    judged = []
    for target in targets:
        if target.peer is None:
            worst = statistics.median if isinstance(target, Median) else max if target.sense == "at most" else min
            value = round(worst(samples[ours]), 3)
            judged.append({"peer": None, "sense": target.sense, "target": target.bound, "measured": value,
                           "held": target.judge(value)})
        elif target.peer in samples:
            value = round(measure(target, samples[ours], samples[target.peer]), 3)
            judged.append({"peer": target.peer, "sense": target.sense, "target": target.bound, "measured": value,
                           "held": target.judge(value)} | ({"extra": True} if isinstance(target, Extra) else {}))
    return {"name": name, "work": work, "unit": unit, "ours": ours,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "targets": judged, "samples": {peer: [round(one, 4) for one in all] for peer, all in samples.items()},
            **details}


class Results:
    """A results file: rows measured again take the place of their predecessors."""

    def __init__(self, path, benchmark, settings):
        self.path, self.benchmark, self.settings = path, benchmark, settings
        self.rows = json.loads(path.read_text())["rows"] if path.exists() else []

    def add(self, row):
        for position, old in enumerate(self.rows):
            if old["name"] == row["name"]:
                self.rows[position] = row
                break
        else:
            self.rows.append(row)
        self.write()

    def write(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({
            "benchmark": self.benchmark, "command": f"scripts/bench {self.benchmark}", "machine": machine(),
            "settings": self.settings, "rows": self.rows}, indent=1) + "\n")


def show(measured):
    say(f"{measured['work']} ({measured['unit']})")
    for peer, samples in measured["samples"].items():
        say(f"    {peer:24} {statistics.median(samples):12.2f}   {' '.join(f'{one:.3g}' for one in samples)}")
    for target in measured["targets"]:
        sign = "more than" if target.get("extra") else "×"
        against = f"{target['measured']:.3f} {sign} {target['peer']}" if target["peer"] else f"{target['measured']:.3f}"
        say(f"  {against}, {target['sense']} {target['target']}: {'held' if target['held'] else 'MISSED'}")
