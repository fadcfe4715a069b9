"""How many bytes of packages were fetched for each that was needed. Every byte of a package is needed once by a device, and once more after
what a fault has spoiled, cut off or lost."""

import collections

# The most that is fetched for each byte that is needed; it is judged once so many bytes of a system are known.
LIMIT, ENOUGH_BYTES = 1.05, 16 << 20
# What came so long before a fault may not have been written down by then: it is needed again.
LOSS_SECONDS = 5


class Spread:
    """The bytes of a package that have come, as places that do not touch."""

    def __init__(self):
        self.parts = []

    def add(self, first, end):
        """How many of them were there before."""
        twice, rest = 0, []
        for one, other in self.parts:
            if other < first or end < one:
                rest.append((one, other))
                continue
            twice += max(0, min(end, other) - max(first, one))
            first, end = min(first, one), max(end, other)
        self.parts = sorted([*rest, (first, end)])
        return twice


class Bytes:
    def __init__(self, adversary):
        self.adversary = adversary
        # Flows that were not judged yet, by device.
        self.waiting = collections.defaultdict(list)
        # By device and digest.
        self.spreads = collections.defaultdict(Spread)
        self.fetched = self.again = self.twice = 0
        self.worst = collections.Counter()

    def totals(self):
        return {"fetched": self.fetched, "with faults": self.again, "twice": self.twice}

    def take(self, name, flow):
        # Where it has just begun, its bytes are yet to come.
        self.waiting[name].append(flow)

    def was_lost(self, name, flow):
        """Whether a fault may have kept the device from having what was sent: one of its own, or of a server's."""
        spans = [span for target, some in self.adversary.spans.items() if target == name or target.startswith("node") or target == "edge"
                 for span in some]
        return any(begun - LOSS_SECONDS < (flow.ended or flow.begun) and flow.begun < end for begun, end in spans)

    def judge(self, checks):
        """7: at a calm end, when nothing is on its way. A section is fetched by whole pieces, which have other files as well, and once more when it
        was dropped: a device that was asked for one is not judged by its product."""
        waiting, self.waiting = self.waiting, collections.defaultdict(list)
        asked = {(name, digest) for name, product in checks.people.asked_sections for digest in checks.digests_of(product)}
        for name, flows in waiting.items():
            if name not in checks.system.agents:
                continue
            for flow in sorted(flows, key=lambda one: one.begun):
                if not flow.is_over:
                    # A correction may be on its way at any time.
                    self.waiting[name].append(flow)
                    continue
                if not flow.sent:
                    continue
                self.fetched += flow.sent
                key = (name, flow.digest)
                if not flow.is_whole or key in asked or self.was_lost(name, flow):
                    self.again += flow.sent
                    # What came is there or not: it may be fetched again.
                    continue
                twice = self.spreads[key].add(flow.first, flow.first + flow.sent)
                self.twice += twice
                if twice:
                    self.worst[key] += twice
                    checks.transcript.note(f"{name} has fetched {twice} bytes of {flow.digest[:12]} twice, from {flow.first} on")
        if self.fetched <= ENOUGH_BYTES:
            return
        checks.look("bytes that were needed")
        if self.fetched > LIMIT * (self.fetched - self.twice):
            (name, digest), twice = self.worst.most_common(1)[0]
            checks.violate(f"7: {self.fetched} bytes were fetched, {self.twice} of them twice without a reason; {twice} of {digest[:12]} by {name}")
