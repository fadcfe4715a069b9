"""Counts, metrics and reports, and the rows that they count."""

import collections
import datetime
import fractions

from node_clients import ask
from node_engines import until

# So long after a node's death another one tells what stands in the database.
LEASE_SECONDS = 60
# That of the only territory; what costs nothing names none at its store.
CURRENCY = "USD"

# What must find no row while nothing is asked for.
RULES = {
    "the counters of grants differ from the rows": """
      SELECT name AS a, total AS b FROM (SELECT name, sum(value) AS total FROM counters WHERE name LIKE 'grants %' GROUP BY name) AS counted
      WHERE total <> (SELECT count(*) FROM grants WHERE 'grants ' || environment || ' ' || state = counted.name)""",
    "there are grants that no counter counts": """
      SELECT environment AS a, state AS b FROM grants WHERE NOT EXISTS (SELECT 1 FROM counters
        WHERE name = 'grants ' || environment || ' ' || state)""",
    "the counters of calls differ from the rows": """
      SELECT store AS a, kind AS b FROM (SELECT store, kind, sum(waiting) AS waiting, sum(parked) AS parked FROM outbox_counts
        GROUP BY store, kind) AS counted
      WHERE waiting <> (SELECT count(*) FROM outbox WHERE outbox.store = counted.store AND outbox.kind = counted.kind AND state = 'waiting')
        OR parked <> (SELECT count(*) FROM outbox WHERE outbox.store = counted.store AND outbox.kind = counted.kind AND state = 'parked')""",
    "a transaction has several calls that end it": """
      SELECT store AS a, min(subject) AS b FROM outbox WHERE kind IN ('finish', 'acknowledge', 'consume')
      GROUP BY store, environment, subject HAVING count(*) > 1""",
    "a grant is there twice": """
      SELECT device AS a, product AS b FROM grants GROUP BY store, environment, transaction_id, device, product, version HAVING count(*) > 1""",
    "a history does not end with the grant's state": """
      SELECT number AS a, grants.state AS b FROM grants WHERE CASE WHEN grants.state LIKE 'revoked/%' THEN 'revoked' ELSE grants.state END <>
        (SELECT state FROM grant_events WHERE grant_number = number ORDER BY id DESC LIMIT 1)""",
    "a purchase is finished that no device has": """
      SELECT outbox.store AS a, subject AS b FROM outbox JOIN obligations ON obligations.store = outbox.store
        AND obligations.environment = outbox.environment AND obligations.transaction_id = subject JOIN transactions ON transactions.store = outbox.store
        AND transactions.environment = outbox.environment AND transactions.transaction_id = subject
        AND transactions.product = obligations.product
      WHERE done IS NOT NULL AND NOT EXISTS (SELECT 1 FROM grants JOIN transactions AS first ON first.store = grants.store
        AND first.environment = grants.environment AND first.transaction_id = grants.transaction_id
        WHERE grants.product = obligations.product AND (grants.state = 'finished' AND first.customer = transactions.customer
        OR grants.state LIKE '%finished' AND first.store = outbox.store AND first.original_id = transactions.original_id))""",
}

# The same of the records of the only server; of several, one is told of the death of another only after some heartbeats.
RULES_OF_ONE = {
    "a run is over and neither ended nor died": """
      SELECT id AS a, node AS b FROM runs WHERE ended IS NULL AND died IS NULL AND id < (SELECT max(id) FROM runs AS later
        WHERE coalesce(later.node, 0) = coalesce(runs.node, 0))""",
}


def see_counts(checks):
    """6: counts, metrics and reports are those of the rows."""
    for text, statement in (RULES if checks.system.database else RULES | RULES_OF_ONE).items():
        if found := checks.system.rows(statement):
            checks.violate(f"6: {text}: {[tuple(row) for row in found[:3]]}")
    checks.look("rules of counts")
    see_metrics(checks)
    see_report(checks)
    see_money(checks)


def grants_by_state(system):
    counts = collections.Counter()
    for row in system.rows("SELECT state AS state, environment AS environment, count(*) AS n FROM grants GROUP BY state, environment"):
        # One that was revoked remembers what it was.
        counts[f'state="{row["state"].partition("/")[0]}",environment="{row["environment"]}"'] += int(row["n"])
    return counts


def told_by_nodes(system):
    """What the pages of all nodes say of grants: of several, the one with a lease tells it."""
    pages = [ask(node.port, "GET", "/metrics", None, system.key).body.decode() for node in system.nodes]
    return {line.split("{")[1].split("}")[0]: float(line.split()[-1])
            for page in pages for line in page.splitlines() if line.startswith("pullbox_grants{")}


def see_metrics(checks):
    """Read between two looks at the rows that are the same: a correction may be on its way to a device at any time."""
    def read():
        before = grants_by_state(checks.system)
        told = told_by_nodes(checks.system)
        return (before, told) if told and before == grants_by_state(checks.system) else None

    before, told = until(LEASE_SECONDS, "6: the metrics of grants are told, and the rows stay the same meanwhile", read)
    if {name: count for name, count in told.items() if count} != dict(before):
        checks.violate(f"6: the metrics of grants are {told}, and the rows {dict(before)}")
    checks.look("pages of metrics")


def see_report(checks):
    units, refunds = collections.Counter(), collections.Counter()
    for row in checks.system.operator("GET", "/v1/operator/reports")["rows"]:
        units[row["store"], row["product"]] += row["units"]
        refunds[row["store"], row["product"]] += row["refunds"]
    sold, back = collections.Counter(), collections.Counter()
    for kind, store in checks.system.stores.items():
        # What a code gave was paid by nobody, and is a unit all the same. That a refund was reversed may have been lost on its way.
        may_be_back = checks.history.reversed if kind == "apple" and checks.system.relays[kind].lost else set()
        for row in store.rows("SELECT id, product, finished, revoked FROM transactions WHERE state = 'purchased' AND reason IS NOT 'restore'"):
            sold[kind, row["product"]] += 1
            back[kind, row["product"]] += row["revoked"] is not None or str(row["id"]) in may_be_back
    for key in units:
        if units[key] > sold[key] or refunds[key] > back[key]:
            checks.violate(f"6: the report has {units[key]} units and {refunds[key]} refunds of {key}, and its store sold {sold[key]} and "
                         f"gave back {back[key]}")
    checks.look("reports of sales")


def see_money(checks):
    """What is told of money paid and given back is the sum of the store's own prices, over the sales of which the server knows a price."""
    for kind, store in checks.system.stores.items():
        def read(kind=kind):
            before = known_sales(checks, kind)
            report = checks.system.operator("GET", f"/v1/operator/reports/money?store={kind}&environment=Sandbox")
            return (before, report) if before == known_sales(checks, kind) else None

        known, report = until(LEASE_SECONDS, "6: the sales that the server knows stay the same while their money is told", read)
        prices = {checks.order(str(row["id"])) if kind == "google" else str(row["id"]): row for row in store.rows(
            "SELECT id, price, currency, reason FROM transactions")}
        first, end = (milliseconds(report[member]) for member in ("from", "to"))
        sums, without = collections.Counter(), 0
        for name, (price, purchased, revoked) in known.items():
            sale = prices.get(name)
            if sale is None or price is not None and fractions.Fraction(price) != fractions.Fraction(sale["price"] or 0):
                checks.violate(f"6: the server has {name} of {kind} for {price}, and the store for {sale and sale['price']}")
                continue
            for number, sum_of, moment in (("sales", "sold", purchased), ("refunds", "refunded", revoked)):
                # What was restored was no sale; what a code gave was one for nothing, or without a price.
                if moment is not None and first <= moment < end and sale["reason"] != "restore":
                    if price is None:
                        without += number == "sales"
                    else:
                        sums[sale["currency"] or CURRENCY, number] += 1
                        sums[sale["currency"] or CURRENCY, sum_of] += fractions.Fraction(sale["price"] or 0)
        told = collections.Counter()
        for row in report["rows"]:
            for name in ("sales", "refunds", "sold", "refunded"):
                told[row["currency"], name] += fractions.Fraction(row[name])
        if +told != +sums or report["withoutPrice"] != without:
            checks.violate(f"6: of {kind} {report['rows']} is told, {report['withoutPrice']} without a price, and the store's prices make {dict(sums)}, "
                           f"{without} without")
        checks.look("sums of money")


def known_sales(checks, kind):
    """Price, date and date of the refund of what the server's ledger has of a store, by transaction."""
    found = checks.system.rows("SELECT transaction_id AS id, price AS price, purchased AS purchased, revoked AS revoked FROM transactions "
                               f"WHERE store = '{kind}' AND product IS NOT NULL AND purchased IS NOT NULL")
    return {row["id"]: (row["price"] or None, int(row["purchased"]), int(row["revoked"]) if row["revoked"] not in (None, "") else None)
            for row in found}


def milliseconds(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
