"""What happens, in which order: made from a seed alone, so that the same seed makes the same events again."""

import dataclasses
import random

# Weights: how often each kind is among a hundred and some events. The first ones are what people do, the others what goes wrong.
ACTS = {
    "buy": 14, "token": 4, "publish": 4, "issue": 4, "correct": 4, "share": 3, "withdraw": 1, "subscribe": 4, "lapse": 3, "refund": 4,
    "reverse": 2, "section": 5, "code": 2}
FAULTS = {
    "kill": 14, "restart": 2, "still": 4, "cut": 5, "away": 4, "slow": 3, "alter": 5, "double": 3, "short": 4, "portal": 3, "redirect": 2,
    "lose": 3, "repeat": 3, "clock": 3, "full": 3, "readonly": 2, "rotate": 2, "restore": 1,
    "sync": 3, "unplug": 2,
    "lag": 3, "misread": 3, "rot": 2, "refuse": 3, "drift": 2, "summer": 2, "upgrade": 3}
KINDS = ACTS | FAULTS
AGENTS = ("ada1", "ada2", "bob1", "bob2")
DEVICES = AGENTS + ("gina",)
STORES = ("apple", "google")
# Where there is one: an nginx.
EDGES = ("edge",)
# Every so often a round ends with everything that is to come to its end.
CALM = 3
LONGEST_PAUSE = 0.12


@dataclasses.dataclass(frozen=True)
class Event:
    """`number` counts from 1; `place` is a number from 0 to 1 by which one of several is chosen that nobody knows before."""

    number: int
    round: int
    kind: str
    target: str
    place: float
    amount: float
    pause: float

    def __str__(self):
        return f"event {self.number}: {self.kind} {self.target} ({self.place:.3f}, {self.amount:.3f}), then {self.pause * 1000:.0f} ms"


@dataclasses.dataclass(frozen=True)
class Round:
    number: int
    events: tuple
    is_calm: bool


def target(chance, kind, nodes):
    if kind in ("buy", "subscribe", "section", "code", "cut", "away", "slow", "alter", "double", "short", "portal", "redirect", "unplug"):
        some = DEVICES if kind in ("cut", "alter", "short") else AGENTS
        return chance.choice(some)
    if kind in ("lose", "repeat"):
        # What is lost of the other store is believed for minutes, in which nothing can be said about it.
        return chance.choice(("apple",) * 7 + ("google",)) if kind == "lose" else chance.choice(STORES)
    if kind in ("lapse",):
        return chance.choice(("ada", "bob"))
    if kind == "refund":
        # Most is bought at the first store.
        return chance.choice(("apple", "apple", "google"))
    if kind == "reverse":
        # The other one takes no refund back.
        return "apple"
    servers = tuple(f"node{number + 1}" for number in range(nodes))
    if kind in ("kill", "still", "restart"):
        return chance.choice(servers * (4 if nodes == 1 else 2) + AGENTS + STORES * 2 + EDGES)
    if kind in ("sync", "misread"):
        return chance.choice(servers + AGENTS)
    if kind == "rot":
        return chance.choice(servers * (4 if nodes == 1 else 1) + AGENTS)
    if kind in ("full", "readonly", "lag", "refuse", "clock", "drift", "summer", "upgrade"):
        return chance.choice(servers * (2 if nodes == 1 else 1) + AGENTS + STORES)
    return "operator"


def schedule(seed, rounds, nodes=1, only=None):
    """The rounds of a system. The same seed with fewer rounds is the beginning of the same."""
    chance = random.Random(f"torture {seed}")
    weights = {kind: weight for kind, weight in KINDS.items() if kind in ACTS or not only or kind in only}
    kinds, number, made = list(weights), 0, []
    # What there is to buy at first.
    opening = ["publish", "publish", "issue", "buy"]
    for place in range(rounds):
        events = []
        wanted = opening if place == 0 else chance.choices(kinds, list(weights.values()), k=chance.randint(3, 7))
        for kind in wanted:
            number += 1
            events.append(Event(number, place + 1, kind, target(chance, kind, nodes), chance.random(), chance.random(),
                                chance.uniform(0, LONGEST_PAUSE)))
        made.append(Round(place + 1, tuple(events), (place + 1) % CALM == 0 or place + 1 == rounds))
    return made


def shortened(rounds, events):
    """The first events alone; what is left ends calmly."""
    kept = [Round(one.number, tuple(event for event in one.events if event.number <= events), one.is_calm) for one in rounds]
    kept = [one for one in kept if one.events]
    if kept:
        kept[-1] = dataclasses.replace(kept[-1], is_calm=True)
    return kept
