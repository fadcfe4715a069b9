#!/usr/bin/env python3
"""Fills the database of a delivery server with what years of sales leave behind, to measure how it fares with that.

    state.py DATABASE --grants 1000000 [--products 10000] [--bestseller ID] [--seed N]

DATABASE is the server.db of a state directory that a server has made, and that no server uses now. Half of the grants are
of one product: the one that --bestseller names, which must have a released version, or one that is made. The other half
is spread over --products others, which are made where there are fewer. What there was before stays.

Of the grants 94 of 100 are finished, 4 granted, 1 completed, 1 revoked. A transaction has one grant, every tenth three;
a device has five grants, but for those of the bestseller, which are a device each. Every grant has an obligation, its
history and its count of bytes; every transaction stands in the ledger, and every device has shown its customer's and has a
feed; proofs of the last three days are remembered; every finished transaction has a row in the outbox that is done, and every completed grant
one that is parked, which its store had refused: what waits would be called beside what is measured. Packages are not made, and
count as checked just now: no other product than one that was published can be fetched.
"""

import argparse
import json
import os
import sqlite3
import sys
import time

BULK = ("grants", "grant_events", "obligations", "outbox", "delivered_bytes", "transactions", "customer_devices", "feeds",
        "remembered_proofs")
YEARS = 2 * 365 * 86_400_000
# As many as park a call where nothing else is configured.
REFUSALS = 20

# What each grant is, by its place n: `n` counts from 1, `@first` is the number of the first, `@count` how many there are.
STATE = """CASE WHEN n % 100 < 94 THEN 'finished' WHEN n % 100 < 98 THEN 'granted' WHEN n % 100 = 98 THEN 'completed'
  WHEN n % 200 = 99 THEN 'revoked/granted' ELSE 'revoked/finished' END"""
IS_BEST = "n % 2 = 1"
# Three neighbors of thirty share a transaction.
TRANSACTION = """CAST(2000000000000000 + @seed * 1000000000000 +
  ((CASE WHEN n % 30 IN (4, 6) THEN n - n % 30 + 2 ELSE n END) * 7919) AS TEXT)"""
HOLDER = f"CASE WHEN {IS_BEST} THEN n ELSE 1000000000 + n / 10 END"
DEVICE = f"""printf('%08x-%04x-4%03x-9%03x-%012x', (({HOLDER}) * 2654435761 + @seed) & 4294967295,
  (({HOLDER}) * 40503) & 65535, ({HOLDER}) & 4095, ({HOLDER}) >> 12 & 4095, ({HOLDER}) * 1597334677 & 281474976710655)"""
# A customer a device, of 16 bytes.
CUSTOMER = "CAST(substr(replace(device, '-', ''), 1, 16) AS BLOB)"
CREATED = "@now - @years + CAST((n * 1.0 / @count) * @years AS INTEGER)"


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("database")
  parser.add_argument("--grants", type=int, required=True)
  parser.add_argument("--products", type=int, default=10_000)
  parser.add_argument("--bestseller", default="com.example.bench.bestseller")
  parser.add_argument("--seed", type=int, default=1)
  options = parser.parse_args()
  if not os.path.exists(options.database):
    sys.exit(f"{options.database} is not there: start a server on the state directory once")
  filler = Filler(options)
  filler.fill()


class Filler:
  def __init__(self, options):
    self.options = options
    self.begun = time.monotonic()
    self.connection = sqlite3.connect(options.database, isolation_level=None)
    self.run = self.connection.execute
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -524288", "threads = 2",
                   "locking_mode = EXCLUSIVE"):
      self.run("PRAGMA " + pragma)

  def fill(self):
    if self.run("SELECT count(*) FROM sqlite_schema WHERE name = 'counters'").fetchone()[0] == 0:
      sys.exit("this is not the schema that state.py knows: start a server of today on it once")
    laid_aside = self.lay_aside()
    self.run("BEGIN")
    self.products()
    self.grants()
    for sql in laid_aside:
      self.run(sql)
      self.say(" ".join(sql.split()[:5]))
    self.counters()
    self.run("COMMIT")
    self.run("PRAGMA analysis_limit = 400")
    self.run("ANALYZE")
    self.run("PRAGMA locking_mode = NORMAL")
    self.run("PRAGMA journal_mode = WAL")
    self.connection.close()
    self.say(f"{os.path.getsize(self.options.database) / 1e9:.2f} GB")

  def lay_aside(self):
    """Indexes and triggers of the large tables: made anew when the rows are there, which is faster by far."""
    rows = self.run(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('index', 'trigger') AND tbl_name IN "
      f"{BULK} ORDER BY type, name").fetchall()
    for kind, name, _ in rows:
      self.run(f"DROP {kind} {name}")
    return [sql for _, _, sql in rows]

  def products(self):
    """The others, and the bestseller where it is not there, each with a version that is released to all."""
    now = self.now = int(time.time() * 1000)
    have = {row[0] for row in self.run("SELECT id FROM products")}
    revision = self.run("UPDATE catalogue_state SET revision = revision + 1 RETURNING revision").fetchall()[0][0]
    names = [f"com.example.bench.series{n // 100}.issue{n % 100 + 1}" for n in range(self.options.products)]
    for name in names + [self.options.bestseller]:
      if name in have:
        continue
      publication = name.rpartition(".")[0] if ".series" in name else None
      document = {
        "id": name, "localizations": {"en-US": {"description": "Made for a benchmark", "title": name}},
        "prices": {"USA": {"amount": "2.99", "currency": "USD"}}, "type": "non-consumable"}
      if publication:
        document |= {"publication": publication, "publicationDate": "2025-01-01T00:00:00Z"}
      self.insert("products", {
        "id": "?1", "document": "?2", "type": "'non-consumable'", "publication": "?3", "created": "?4",
        "changed": "?4", "revision": "?5"}, "", (
        name, json.dumps(document, sort_keys=True, separators=(",", ":")), publication, now, revision))
      self.insert("versions", {
        "product": "?1", "version": "'1.0'", "ordering": "'00000001'", "state": "'released'", "percentage": "100",
        "digest": "randomblob(32)", "length": "1048576", "manifest_digest": "randomblob(32)", "pieces": "1",
        "files": "1", "created": "?2", "released": "?2"}, "", (name, now))
    # Their packages are not there: a server that looked for them would be busy with what it finds missing.
    self.run("INSERT INTO package_checks (digest, checked) SELECT DISTINCT digest, ? FROM versions "
             "WHERE product GLOB 'com.example.bench.*' ON CONFLICT DO NOTHING", (now,))
    self.run("CREATE TEMP TABLE sold (place INTEGER PRIMARY KEY, product, version, digest, length, manifest_digest)")
    released = "SELECT {}, product, version, digest, length, manifest_digest FROM versions WHERE state = 'released' AND "
    self.run("INSERT INTO sold " + released.format("-1") + "product = ? ORDER BY percentage DESC LIMIT 1",
             (self.options.bestseller,))
    if self.run("SELECT count(*) FROM sold").fetchone()[0] == 0:
      sys.exit(f"{self.options.bestseller} has no released version")
    self.run("INSERT INTO sold " + released.format("row_number() OVER (ORDER BY product) - 1")
             + "percentage = 100 AND product GLOB 'com.example.bench.series*' LIMIT ?", (self.options.products,))
    self.say(f"{len(names)} products")

  def grants(self):
    first = self.run("SELECT coalesce(max(number), 0) FROM grants").fetchone()[0]
    others = self.run("SELECT count(*) FROM sold").fetchone()[0] - 1
    numbers = """FROM (WITH RECURSIVE counting (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counting WHERE n < @count)
      SELECT n FROM counting)"""
    self.values = {
      "seed": self.options.seed, "first": first, "count": self.options.grants, "now": self.now, "years": YEARS,
      "others": max(1, others)}
    self.insert("grants", {
      "number": "@first + n", "id": "lower(hex(randomblob(16)))", "handle": "randomblob(16)", "store": "'sandbox'",
      "environment": "'Sandbox'",
      "transaction_id": TRANSACTION, "product": "product", "version": "version", "device": DEVICE, "digest": "digest",
      "length": "length", "manifest_digest": "manifest_digest", "state": STATE, "created": CREATED,
      "revoked_by": "CASE WHEN n % 100 = 99 THEN 'operator' END",
      "placed": f"CASE WHEN n % 100 < 94 OR n % 100 = 98 THEN {CREATED} + 60000 END"},
      numbers + f" JOIN sold ON place = CASE WHEN {IS_BEST} THEN -1 ELSE (n * 48271 / 2) % @others END")
    self.say("grants")
    made = "FROM (SELECT *, number - @first AS n FROM grants WHERE number > @first)"
    self.insert("grant_events", {
      "grant_number": "number", "state": "event.state", "at": "created + event.after", "detail": "event.detail"},
      "FROM (SELECT number, created, number - @first AS n FROM grants WHERE number > @first) JOIN (SELECT column1 AS "
      "state, column2 AS after, column3 AS detail, column4 AS kind FROM (VALUES ('granted', 0, NULL, 0), ('completed', "
      "60000, NULL, 1), ('finished', 61000, 'the store finished it', 2), ('revoked', 90000, 'by operator', 3))) AS event "
      "ON kind = 0 OR (kind = 1 AND (n % 100 < 94 OR n % 100 = 98)) OR (kind = 2 AND n % 100 < 94) OR (kind = 3 AND "
      "n % 100 = 99)")
    self.say("history")
    self.insert("obligations", {
      "store": "store", "environment": "environment", "transaction_id": "transaction_id", "device": "device",
      "product": "product"},
      made + " WHERE true ORDER BY store, environment, transaction_id, device, product ON CONFLICT DO NOTHING")
    self.say("obligations")
    self.insert("delivered_bytes", {
      "grant_number": "number", "node": "0",
      "bytes": "CASE WHEN state = 'granted' THEN length / 2 ELSE length END"}, made + " WHERE n % 100 <> 96")
    self.say("bytes sent")
    self.insert("outbox", {
      "store": "store", "environment": "environment", "kind": "'finish'", "subject": "transaction_id",
      "attempts": f"CASE WHEN state = 'finished' THEN 1 ELSE {REFUSALS} END",
      "refusals": f"CASE WHEN state = 'finished' THEN 0 ELSE {REFUSALS} END",
      "last_error": "CASE WHEN state = 'completed' THEN 'the store refuses it' END",
      "next_attempt": "created + 60000", "created": "created + 60000",
      "done": "CASE WHEN state = 'finished' THEN created + 61000 END",
      "parked": "CASE WHEN state = 'completed' THEN created + 86400000 END"},
      made + " WHERE state IN ('finished', 'completed') ORDER BY number "
      "ON CONFLICT DO NOTHING")
    self.say("outbox")
    self.ledger(made)

  def ledger(self, made):
    self.insert("transactions", {
      "store": "store", "environment": "environment", "transaction_id": "transaction_id", "as_of": "min(created)",
      "original_id": "transaction_id", "product": "product", "purchased": "min(created)", "quantity": "1",
      "customer": CUSTOMER}, made + " GROUP BY store, environment, transaction_id ON CONFLICT DO NOTHING")
    self.say("transactions")
    self.insert("customer_devices", {
      "customer": CUSTOMER, "device": "device", "first_seen": "min(created)", "last_seen": "max(created)"},
      made + " GROUP BY device ON CONFLICT DO NOTHING")
    self.insert("feeds", {
      "device": "device", "store": "store", "environment": "environment", "customer": CUSTOMER, "epoch": "abs(random() >> 11)",
      "sequence": "0", "used": "max(created)"}, made + " GROUP BY device, store ON CONFLICT DO NOTHING")
    self.say("devices")
    self.insert("remembered_proofs", {
      "store": "store", "digest": "randomblob(32)", "device": "device", "environment": "environment",
      "transactions": "transaction_id", "good": "created"}, made + " WHERE created > @now - 3 * 86400000")
    self.say("proofs")

  def counters(self):
    self.run("UPDATE counters SET value = (SELECT count(*) FROM grants WHERE 'grants ' || environment || ' ' || state = name) "
             "WHERE name LIKE 'grants %'")
    self.run("DELETE FROM outbox_counts")
    self.run("INSERT INTO outbox_counts (store, kind, waiting, parked) SELECT store, kind, sum(done IS NULL AND parked IS NULL), "
             "sum(done IS NULL AND parked IS NOT NULL) FROM outbox GROUP BY store, kind")
    self.say("counters")

  def insert(self, table, values, rest, bound=None):
    """Columns that this version of the table does not have are left out; those it has beside, and needs, are missed."""
    columns = {row[1]: row for row in self.run(f"PRAGMA table_info({table})")}
    keys = [row for row in columns.values() if row[5]]
    has_number = len(keys) == 1 and keys[0][2] == "INTEGER"
    needed = [name for name, row in columns.items()
              if row[3] and row[4] is None and not (row[5] and has_number) and name not in values]
    if needed:
      sys.exit(f"state.py does not know what to write into {table}: {', '.join(needed)}")
    chosen = {name: value for name, value in values.items() if name in columns}
    sql = f"INSERT INTO {table} ({', '.join(chosen)}) SELECT {', '.join(chosen.values())} {rest}"
    if bound is None:
      for name, value in sorted(self.values.items()):
        sql = sql.replace("@" + name, str(value))
    self.run(sql, bound or ())

  def say(self, what):
    print(f"{time.monotonic() - self.begun:7.1f} s  {what}", flush=True)


if __name__ == "__main__":
  main()
