"""What a customer owns, told once more: from the store's own records of what was sold, renewed and given back, and from what the operator
published, by the rules of docs/entitlements.md. Nothing of the product's code is in it."""

import dataclasses
import hashlib

WEEK = 7 * 86_400_000
TOLERANCE = 300_000
BACK_ISSUES = 1
# A period of the store, in milliseconds.
MONTH = 30_000
# Stores date by whole seconds: what is closer than that to a moment that decides is not judged.
EDGE = 1_600
# A release takes less, unless a clock was wrong meanwhile.
DOUBT_SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Sale:
    """A transaction of a store, with times in milliseconds since 1970."""

    id: str
    product: str
    kind: str
    purchased: int
    expires: int | None
    revoked: int | None


def sales_of(store, account):
    """Everything that was ever sold to an account."""
    found = store.rows(
        "SELECT transactions.id AS id, product, type, purchased, expires, revoked FROM transactions JOIN accounts ON accounts.id = account "
        "WHERE accounts.title = ? AND transactions.state = 'purchased' ORDER BY transactions.id", account)
    return [Sale(str(row["id"]), row["product"], row["type"], row["purchased"], row["expires"], row["revoked"]) for row in found]


@dataclasses.dataclass
class Verdict:
    """`because` are the rules that speak for it; without any it is not owned, and `against` are those of which one at least says so. What is
    `uncertain` hangs on less than two seconds, or on a clock that was wrong."""

    because: set = dataclasses.field(default_factory=set)
    against: set = dataclasses.field(default_factory=set)
    uncertain: bool = False

    @property
    def is_owned(self):
        return bool(self.because)


class Model:
    def __init__(self, history, magazine):
        self.history, self.magazine = history, magazine

    def verdicts(self, sales, owner=None):
        """A verdict for every product that was published; `owner` is whose sales these are."""
        paid = [sale for sale in sales if sale.revoked is None]
        found = {product: Verdict() for product in self.history.products}
        for sale in paid:
            if sale.kind == "non-consumable" and sale.product in found:
                found[sale.product].because.add("purchased")
        periods = sorted((sale.purchased, sale.expires) for sale in paid if sale.kind == "auto-renewable-subscription" and sale.expires)
        issues = {name: one for name, one in self.history.products.items() if one["publication"] == self.magazine}
        for name, one in issues.items():
            self.judge(found[name], name, one["date"], periods)
        for start, end in periods:
            self.doubt_ends(found, issues, owner, start, end)
        for start in starts(periods):
            self.unlock(found, issues, start)
        if self.history.reversed & {sale.id for sale in sales}:
            self.doubt_starts(found, issues, periods)
        for name in issues:
            # Released by a clock that was wrong: the server's date of it may be any in this time.
            first, last = self.history.first_released.get(name, (0, 0))
            found[name].uncertain |= last - first > DOUBT_SECONDS and bool(periods)
        for name, verdict in found.items():
            self.judge_against(verdict, name, sales)
        return found

    def judge_against(self, verdict, name, sales):
        """The rules that speak against what is not owned."""
        own = [sale for sale in sales if sale.product == name]
        periods = [sale for sale in sales if sale.kind == "auto-renewable-subscription" and sale.expires]
        is_issue = self.history.products[name]["publication"] == self.magazine
        if any(sale.revoked for sale in own + (periods if is_issue else [])):
            verdict.against.add("revoked")
        if is_issue and periods and not own and all(sale.revoked for sale in periods):
            # What was taken back may have opened it, or nothing ever led to it.
            verdict.against.add("not-bought")
        if is_issue and any(sale.revoked is None for sale in periods):
            verdict.against.add("published-outside-periods")
        if not own and not (is_issue and periods):
            verdict.against.add("not-bought")

    def judge(self, verdict, name, date, periods):
        released = self.history.first_released.get(name)
        for start, end in periods:
            if start <= date < end:
                verdict.because.add("published-during-subscription")
            if near(date, start) or near(date, end):
                verdict.uncertain = True
            if released:
                first, last = (int(moment * 1000) for moment in released)
                if date < start and start + 1000 < first and last < end:
                    verdict.because.add("released-during-subscription")
                if first - EDGE < start + 1000 < last + EDGE or first - EDGE < end < last + EDGE:
                    verdict.uncertain = True

    def unlock(self, found, issues, start):
        """The latest issue when a run began, by date, and also the latest of those released by then; and those before."""
        for moment in (start - EDGE, start, start + EDGE):
            dated = sorted({one["date"] for one in issues.values() if one["date"] <= moment}, reverse=True)[:1 + BACK_ISSUES]
            out, perhaps = ({name for name in issues if self.is_out(name, moment, place)} for place in (1, 0))
            dates = sorted({issues[name]["date"] for name in out if issues[name]["date"] <= moment}, reverse=True)[:1 + BACK_ISSUES]
            for name, one in issues.items():
                found[name].uncertain |= out != perhaps
                rules = {rule for chosen in (dated, dates) for rule, some in (("unlocked-at-start", chosen[:1]), ("back-issue", chosen[1:]))
                         if one["date"] in some}
                if moment == start:
                    found[name].because |= rules
                elif bool(rules) != bool(found[name].because) or rules:
                    # What another second would decide otherwise.
                    found[name].uncertain |= not self.is_unlocked(issues, name, start)

    def doubt_ends(self, found, issues, owner, start, end):
        """A store whose clock is behind ends a period before the moment at which it does: an issue may have been granted by then, and stays so."""
        for name, moment in self.history.lapses:
            if name == owner and end + EDGE < moment < start + MONTH:
                for issue, one in issues.items():
                    released = self.history.first_released.get(issue, (0, 0))
                    opened = max(one["date"], int(released[0] * 1000))
                    found[issue].uncertain |= end - EDGE < opened < moment + EDGE

    def doubt_starts(self, found, issues, periods):
        """While an earlier period was taken back, each of these could begin a run: what that unlocked stays written down."""
        for start in {start for start, _ in periods} - set(starts(periods)):
            perhaps = {name: Verdict() for name in issues}
            self.unlock(perhaps, issues, start)
            for name, verdict in perhaps.items():
                found[name].uncertain |= verdict.uncertain or not verdict.because <= found[name].because

    def is_out(self, name, moment, place):
        """By the end of the time in which it was released (1), or by its beginning (0)."""
        released = self.history.first_released.get(name)
        return released is not None and int(released[place] * 1000) <= moment

    def is_unlocked(self, issues, name, start):
        """Whether two seconds more or less change nothing about an issue that a run's start opens."""
        date = issues[name]["date"]
        return not any(near(one["date"], start) for one in issues.values()) and date <= start

    def offered(self, product, device):
        """The version that a device is offered, nil where there is none."""
        place = int.from_bytes(hashlib.sha256(b"pullbox-release/1\0" + product.encode() + b"\0" + device.encode()).digest()[:8], "big") % 10_000
        chosen = None
        for version, one in self.history.of(product):
            if one["state"] == "released" and (one["share"] == 100 or place < one["share"] * 100):
                if chosen is None or one["share"] < 100:
                    chosen = version
        return chosen


def near(one, other):
    return abs(one - other) < EDGE


def starts(periods):
    """Where each run begins: a gap that is no longer than the tolerance, in proportion to the period before it, is no lapse."""
    found, end = [], None
    for start, until in periods:
        if end is None or start > end:
            found.append(start)
        tolerance = min(TOLERANCE, TOLERANCE * (until - start) // WEEK)
        end = max(end or 0, until + tolerance)
    return found
