"""The delivery server's tables in SQLite and in PostgreSQL: what they are made of, and what they do (check-postgresql-sql)."""

import json
import random
import re

KINDS = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea", "REAL": "double precision"}
# Columns that PostgreSQL has alone, behind a column of the primary key.
STRIPED = {"counters": "stripe", "outbox_counts": "stripe"}

COLUMNS = """
    SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS kind, l.collname AS collation,
      a.attnotnull AS required, a.attidentity AS identity, a.attgenerated AS generated, pg_get_expr(d.adbin, d.adrelid) AS value
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum LEFT JOIN pg_collation l ON l.oid = a.attcollation
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum"""
INDEXES = """
    SELECT t.relname AS table, i.relname AS name, x.indisunique AS is_unique, x.indisprimary AS is_primary, x.indpred IS NOT NULL AS is_partial,
      EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = x.indexrelid AND o.contype IN ('p', 'u')) AS is_constraint,
      (SELECT json_agg(pg_get_indexdef(x.indexrelid, k, true) ORDER BY k) FROM generate_series(1, x.indnkeyatts) AS k) AS columns
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
    WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r'"""
TRIGGERS = """
    SELECT c.relname AS table, t.tgname AS name, pg_get_triggerdef(t.oid) AS text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace"""
CONSTRAINTS = """
    SELECT c.relname AS table, o.contype AS kind, pg_get_constraintdef(o.oid) AS text FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
    WHERE o.contype IN ('c', 'f') AND c.relnamespace = current_schema()::regnamespace"""


def compare_tables(sqlite, session):
    """Has the session ask for what PostgreSQL has; answers a function from its answers to the differences."""
    places = {
        name: session.ask(f"SELECT coalesce(json_agg(found), '[]') FROM ({text}) AS found")
        for name, text in (("columns", COLUMNS), ("indexes", INDEXES), ("triggers", TRIGGERS), ("constraints", CONSTRAINTS))}

    def differences(answers):
        found = {name: json.loads("".join(answers[place])) for name, place in places.items()}
        ours, theirs = _of_sqlite(sqlite), _of_postgresql(found)
        lines = []
        for kind in ours:
            for name in sorted(ours[kind].keys() | theirs[kind].keys()):
                a, b = ours[kind].get(name), theirs[kind].get(name)
                if kind == "index" and a and b:
                    # SQLite's indexes end with the primary key; where a list goes by it, PostgreSQL's names it.
                    key = [column for column in theirs["key"].get(b[0], ()) if column not in a[1]]
                    if not b[2] and b[1] in [a[1] + tuple(key[:count]) for count in range(len(key) + 1)]:
                        b = (b[0], a[1], *b[2:])
                if a != b:
                    lines.append(f"{kind} {name}: {_text(a)} in SQLite and {_text(b)} in PostgreSQL")
        return lines

    return differences


def _text(value):
    return "missing" if value is None else str(value)


def _without(table, columns):
    return tuple(column for column in columns if column != STRIPED.get(table))


def _of_sqlite(sqlite):
    columns, keys, indexes, unnamed, references, checks = {}, {}, {}, {}, {}, {}
    tables = sqlite.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()
    for table, text in tables:
        key = {}
        for _, name, kind, required, value, place, hidden in sqlite.execute(f"PRAGMA table_xinfo({table})"):
            if place:
                key[place] = name
            columns[table, name] = (KINDS[kind], bool(required or place), _plain(value), hidden in (2, 3))
        if key:
            keys[table] = tuple(key[place] for place in sorted(key))
        for _, name, is_unique, origin, is_partial in sqlite.execute(f"PRAGMA index_list({table})").fetchall():
            names = tuple(row[2] for row in sqlite.execute(f"PRAGMA index_xinfo({name})") if row[5] and row[1] >= 0)
            if origin == "c":
                indexes[name] = (table, names, bool(is_unique), bool(is_partial))
            elif origin == "u":
                unnamed[table, names] = True
        for row in sqlite.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            references.setdefault((table, row[0]), []).append((row[3], row[2], row[4], row[6]))
        checks[table] = len(re.findall(r"\bCHECK \(", text))
    foreign = {}
    for (table, _), rows in references.items():
        names, other, others, deleting = zip(*rows)
        foreign[table, names] = (other[0], others, deleting[0])
    triggers = {
        name: (table, _moment(text)) for name, table, text in
        sqlite.execute("SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger'")}
    return {"column": columns, "key": keys, "index": indexes, "unique": unnamed, "reference": foreign, "checks": checks,
            "trigger": triggers, "identity": _numbered(sqlite, tables)}


def _numbered(sqlite, tables):
    """The tables in which the database gives numbers: those of an integer key that is nothing else."""
    found = {}
    for table, text in tables:
        if (re.search(r"\b(\w+) INTEGER PRIMARY KEY(?: AUTOINCREMENT)?,", text)
                and "grant_number INTEGER PRIMARY KEY" not in text and "WITHOUT ROWID" not in text):
            found[table] = True
    return found


def _of_postgresql(found):
    columns, keys, indexes, unnamed, foreign, checks, identities = {}, {}, {}, {}, {}, {}, {}
    for row in found["columns"]:
        table, name = row["table"], row["name"]
        checks.setdefault(table, 0)
        if row["identity"]:
            identities[table] = True
        if STRIPED.get(table) == name:
            continue
        kind = row["kind"] if row["kind"] != "text" or row["collation"] == "C" else f"text of collation {row['collation']}"
        is_generated = bool(row["generated"])
        columns[table, name] = (kind, row["required"], None if is_generated else _plain(row["value"]), is_generated)
    for row in found["indexes"]:
        table, names = row["table"], tuple(column.strip('"') for column in row["columns"])
        if row["is_primary"]:
            keys[table] = _without(table, names)
        elif row["is_constraint"]:
            unnamed[table, names] = True
        else:
            indexes[row["name"]] = (table, names, row["is_unique"], row["is_partial"])
    for row in found["constraints"]:
        table = row["table"]
        if row["kind"] == "c":
            checks[table] += 1
            continue
        names, other, others, deleting = re.fullmatch(
            r"FOREIGN KEY \((.*?)\) REFERENCES (\w+)\((.*?)\)(?: ON DELETE (\w+))?", row["text"]).groups()
        foreign[table, tuple(names.split(", "))] = (other, tuple(others.split(", ")), deleting or "NO ACTION")
    triggers = {row["name"]: (row["table"], _moment(row["text"])) for row in found["triggers"]}
    return {"column": columns, "key": keys, "index": indexes, "unique": unnamed, "reference": foreign, "checks": checks,
            "trigger": triggers, "identity": identities}


def _plain(value):
    """The default of a column, as both databases write it."""
    if value is None:
        return None
    value = re.sub(r"::\w+(?: \w+)*$", "", value)
    return {"x''": "''", r"'\x'": "''"}.get(value, value)


def _moment(text):
    """When a trigger runs."""
    moment, change, columns = re.search(r"\b(BEFORE|AFTER) (INSERT|UPDATE|DELETE)(?: OF ([\w, ]+?))? ON\b", text).groups()
    return moment, change, columns


GRANT_STATES = ("granted", "completed", "finished", "reading", "revoked/granted", "revoked/completed", "revoked/finished", "revoked/reading")


class Effects:
    """The same changes in both, which triggers and generated columns follow, and changes that both refuse."""

    COMPARED = (
        ("counters", "SELECT name, sum(value) AS value FROM counters GROUP BY name HAVING sum(value) <> 0 ORDER BY name"),
        ("outbox_counts", "SELECT store, kind, sum(waiting) AS waiting, sum(parked) AS parked FROM outbox_counts GROUP BY store, kind"
         " HAVING sum(waiting) <> 0 OR sum(parked) <> 0 ORDER BY store, kind"),
        ("audit", "SELECT action, subject, product FROM audit ORDER BY action, subject"),
        ("outbox", "SELECT subject, state FROM outbox ORDER BY subject"),
        ("catalogue_state", "SELECT id, revision, changed, price_tiers FROM catalogue_state"),
        ("reader_keys", "SELECT name, changes FROM reader_keys ORDER BY name"))
    # With the condition by which PostgreSQL refuses: a row, a reference, a check.
    REFUSED = (
        ("UPDATE audit SET actor = 'no one'", "23514"), ("DELETE FROM audit", "23514"),
        ("INSERT INTO audit (id, at, actor, action, subject) SELECT min(id), 0, 'a', 'a', 'a' FROM audit", "23514"),
        ("UPDATE versions SET length = 2", "23514"), ("UPDATE versions SET ordering = '2'", "23514"),
        ("INSERT INTO grant_events (grant_number, state, at) VALUES (-1, 'granted', 0)", "23503"),
        ("INSERT INTO catalogue_state (id, revision, changed) VALUES (2, 1, 0)", "23514"),
        ("UPDATE grants SET operator_decision = 'perhaps'", "23514"),
        (f"UPDATE outbox SET payload = '{'é' * 32_769}'", "23514"),
        (f"INSERT INTO account_feeds VALUES ('{'é' * 128}', 'a', 'Sandbox', 'a', 0)", "23514"),
        ("INSERT INTO feeds (device, store, epoch, sequence, used) VALUES ('d', 'a', 0, 0, 0), ('d', 'a', 0, 0, 0)", "23505"),
        ("INSERT INTO versions (product, version, state, digest, length, manifest_digest, pieces, files, created)"
         " VALUES ('none', '1', 'draft', BLOB:00, 1, BLOB:00, 1, 1, 0)", "23503"))

    def __init__(self, sqlite, session):
        self.sqlite, self.session = sqlite, session
        self.findings, self.compared, self.refused, self.changed = [], [], [], []
        self.random = random.Random(7)
        self._catalog()
        for number in range(600):
            for text in self._change(number):
                self._make(text)
            if number % 50 == 49:
                # Another connection would count in other rows.
                for table in ("counters", "outbox_counts"):
                    session.add(f"UPDATE {table} SET stripe = stripe + 64;")
                self._compare()
        for text, state in self.REFUSED:
            place = session.ask(_of(text, is_sqlite=False))
            try:
                sqlite.execute(_of(text, is_sqlite=True))
                self.findings.append(f"SQLite takes {text[:80]}")
            except Exception as error:  # pylint: disable=broad-except
                if "constraint" not in str(error).lower() and "only grows" not in str(error) and "never changes" not in str(error):
                    self.findings.append(f"SQLite: {error}: {text[:80]}")
            self.refused.append((text, state, place))
        self._compare()
        self.count = len(self.changed)

    def _catalog(self):
        self._make("INSERT INTO products (id, document, type, created, changed) VALUES ('com.example.a', '{}', 'consumable', 0, 0)")
        self._make("INSERT INTO versions (product, version, ordering, state, digest, length, manifest_digest, pieces, files, created)"
                   " VALUES ('com.example.a', '1', '1', 'draft', BLOB:00, 1, BLOB:00, 1, 1, 0)")
        for number in range(6):
            self._make("INSERT INTO reader_keys (name, customer, device, title, digest, created)"
                       f" VALUES ('{number}', BLOB:{number % 4:032x}, 'd', 't', BLOB:00, 0)")
        for action, subject in (("version.release", "com.example.a 1"), ("product.create", "com.example.a"), ("Product.Old", "a b"),
                                ("grant.revoke", "a"), ("versionsrelease", "c"), ("product.", "")):
            self._make(f"INSERT INTO audit (at, actor, action, subject) VALUES (0, 'ada', '{action}', '{subject}')")

    def _make(self, text):
        self.sqlite.execute(_of(text, is_sqlite=True))
        self.changed.append((text, self.session.ask(_of(text, is_sqlite=False))))

    def _compare(self):
        for name, text in self.COMPARED:
            rows = ["|".join("" if value is None else str(value) for value in row) for row in self.sqlite.execute(text)]
            self.compared.append((name, len(self.changed), rows, self.session.ask(text)))

    def _change(self, number):
        one, row = self.random.randrange(10), self.random.randrange(60)
        state, other = self.random.choice(GRANT_STATES), self.random.choice(("NULL", "7"))
        store, kind = "ab"[row % 2], ("finish", "consume", "consumption")[row % 3]
        if one <= 1:
            yield ("INSERT INTO grants (id, handle, store, environment, transaction_id, product, version, device, digest, length,"
                   f" manifest_digest, state, created) VALUES ('{number}', BLOB:{number:032x}, 'a',"
                   f" '{('Sandbox', 'Production')[row % 2]}', '{row}', 'p', '1', 'd{number}', BLOB:00, 0, BLOB:00, '{state}', 0)")
        elif one == 2:
            yield f"UPDATE grants SET state = '{state}', placed = {number} WHERE transaction_id = '{row}'"
        elif one == 3:
            yield (f"DELETE FROM grants WHERE transaction_id = '{row}'"
                   " AND NOT EXISTS (SELECT 1 FROM unconfirmed_grants WHERE grant_number = number)")
        elif one == 4:
            yield (f"INSERT INTO outbox (store, kind, subject, next_attempt, created, done, parked) VALUES ('{store}', '{kind}', '{row}', 0, 0,"
                   f" {self.random.choice(('NULL', 'NULL', '7'))}, {other}) ON CONFLICT (store, kind, subject, environment) DO UPDATE"
                   " SET done = excluded.done, parked = excluded.parked, created = excluded.created")
        elif one == 5:
            yield f"UPDATE outbox SET {self.random.choice(('done', 'parked', 'dropped'))} = {other} WHERE subject = '{row}'"
        elif one == 6:
            yield f"DELETE FROM outbox WHERE subject = '{row}'"
        elif one == 7:
            yield ("INSERT INTO irregularities (kind, store, environment, subject, transaction_id, first_seen, last_seen, refused)"
                   f" VALUES ('{kind}', 'a', 'Sandbox', '{row}', 't', 0, 0, 0) ON CONFLICT (kind, store, environment, subject) DO NOTHING")
            yield f"DELETE FROM irregularities WHERE subject = '{self.random.randrange(60)}'"
        elif one == 8:
            yield ("INSERT INTO transactions (store, environment, transaction_id, as_of, revoked, product, purchased, customer)"
                   f" VALUES ('a', 'Sandbox', '{row}', {number}, {other}, 'p', 0, BLOB:{row % 5:032x})"
                   " ON CONFLICT (store, environment, transaction_id) DO UPDATE SET as_of = excluded.as_of, revoked = excluded.revoked,"
                   " product = excluded.product, purchased = excluded.purchased, customer = excluded.customer")
            yield f"UPDATE transactions SET customer = BLOB:{number % 5:032x} WHERE transaction_id = '{self.random.randrange(60)}'"
        else:
            proof = f"(SELECT id FROM unconfirmed_proofs WHERE since = {row % 6})"
            yield (f"INSERT INTO unconfirmed_proofs (store, digest, proof, length, since) VALUES ('a', BLOB:{row % 6:064x}, BLOB:00, {row + 1},"
                   f" {row % 6}) ON CONFLICT (store, digest) DO NOTHING")
            yield (f"INSERT INTO unconfirmed_grants (grant_number, proof, since) SELECT number, {proof}, 0 FROM grants"
                   f" WHERE transaction_id = '{row}' ON CONFLICT (grant_number) DO NOTHING")
            if row % 4 == 0:
                yield f"DELETE FROM unconfirmed_grants WHERE proof = {proof}"
                yield f"DELETE FROM unconfirmed_proofs WHERE since = {row % 6}"

    def compare(self, answers):
        """The differences."""
        for text, place in self.changed:
            if answers[place]:
                self.findings.append(f"PostgreSQL: {answers[place][0][2:]}: {text}")
        for name, count, rows, place in self.compared:
            if answers[place] != rows:
                different = sorted(set(rows) ^ set(answers[place]))[:4]
                self.findings.append(f"{name} after {count} changes: {different} are in one of the two")
        for text, state, place in self.refused:
            if not "".join(answers[place]).startswith(f"!!{state} "):
                self.findings.append(f"PostgreSQL answers {answers[place] or 'nothing'} and not {state}: {text[:80]}")
        return self.findings


def _of(text, is_sqlite):
    """The statement, with blobs as each of the databases writes them."""
    return re.sub(r"BLOB:([0-9a-f]*)", r"x'\1'" if is_sqlite else r"'\\x\1'::bytea", text)
