"""The log of SQLite when power fails: the file system that gathers it (Sources/CSQLiteLog), beside SQLite's own, with the same steps."""

import hashlib
import pathlib
import random
import signal
import sqlite3
import subprocess

from node_engines import Failure, run
from power_recording import Recorded

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "Sources/CSQLiteLog"
TABLES = """CREATE TABLE pages (number INTEGER PRIMARY KEY, name TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX names ON pages (name); CREATE TABLE done (number INTEGER PRIMARY KEY);"""


# What is broken on purpose in the file system that gathers: what it says now, and what it says then.
SYNC = "return result == SQLITE_OK ? log->file->pMethods->xSync(log->file, flags) : result;"
BROKEN = {
    "the log is synced before what was gathered is written": (
        "  int result = write_out(log);\n  " + SYNC, "  int result = log->file->pMethods->xSync(log->file, flags);\n  return result ? result : write_out(log);"),
    "what is gathered is written, and not synced": (SYNC, "return result;"),
}


def compile_program(directory, broken=None):
    source, program = directory / "log.c", directory / "power_log"
    text = (SOURCES / "log.c").read_text()
    if broken:
        before, after = BROKEN[broken]
        if text.count(before) != 1:
            raise Failure(f"Sources/CSQLiteLog/log.c does not say any more: {before}")
        text = text.replace(before, after)
    source.write_text(text)
    run("cc", "-O1", "-Wall", "-Werror", f"-I{SOURCES}/include", HERE / "power_log.c", source, "-o", program, "-lsqlite3")
    return program


class Steps:
    """What a seed has the program do, and what the database holds after each transaction."""

    def __init__(self, seed, transactions):
        self.chance, self.lines, self.after, self.number = random.Random(seed), [], {}, 0
        # By number of line: how many transactions are whole once it is done.
        self.done, self.model = [], sqlite3.connect(":memory:", isolation_level=None)
        self.add("W BEGIN IMMEDIATE; " + TABLES.replace("\n", " ") + " INSERT INTO done VALUES (0); COMMIT", 0)
        while self.number < transactions:
            self.act()

    def add(self, line, number=None):
        self.lines.append(line)
        if number is not None:
            self.model.executescript(line[2:])
            self.after[number] = summary(self.model)
        self.done.append(self.number)

    def changes(self, most):
        """Statements that change up to so many rows; some bodies take pages of their own."""
        chance, statements = self.chance, []
        for _ in range(chance.randint(1, most)):
            name, row = f"{chance.getrandbits(40):010x}", chance.randint(1, 150)
            body = f"X'{chance.randbytes(chance.choice((20, 300, 300, 3000))).hex()}' || zeroblob({chance.choice((0, 0, 0, 9000))})"
            statements.append(chance.choices((
                f"INSERT OR REPLACE INTO pages VALUES ({row}, '{name}', {body})", f"UPDATE pages SET name = '{name}' WHERE number < {row}",
                f"UPDATE pages SET body = {body} WHERE number = {row}", f"DELETE FROM pages WHERE number BETWEEN {row} AND {row + 4}"),
                (6, 1, 3, 1))[0])
        return "; ".join(statements)

    def commit(self, most):
        self.number += 1
        undone = f"SAVEPOINT body; {self.changes(6)}; ROLLBACK TO body; RELEASE body; " if self.chance.random() < 0.3 else ""
        self.add(f"W BEGIN IMMEDIATE; {self.changes(most)}; {undone}{self.changes(2)}; INSERT INTO done VALUES ({self.number}); COMMIT",
                 self.number)

    def act(self):
        """Mostly small transactions; at times one that has more pages than are gathered, or than the cache holds; undone ones, which had
        left for the log already; checkpoints, after which the log begins anew with other salts over what it held."""
        kind = self.chance.choices(("small", "large", "undone", "passive", "restart", "truncate", "again", "gone"), (12, 2, 3, 4, 3, 1, 1, 1))[0]
        if kind in ("small", "large"):
            self.commit(4 if kind == "small" else 60)
        elif kind in ("undone", "gone"):
            self.add(f"W BEGIN IMMEDIATE; {self.changes(self.chance.choice((3, 60)))}; INSERT INTO done VALUES ({self.number + 1000})")
            self.add("U ROLLBACK" if kind == "undone" else "X")
        elif kind == "again":
            self.add("O")
        else:
            self.add({"passive": "C 0", "restart": "C 2", "truncate": "C 3"}[kind])


def summary(database):
    """Which transactions are there, and a digest of all rows."""
    digest = hashlib.blake2b(digest_size=16)
    for row in database.execute("SELECT number, name, hex(body) FROM pages ORDER BY number"):
        digest.update(repr(row).encode())
    return [number for number, in database.execute("SELECT number FROM done ORDER BY number")], digest.hexdigest()


class LogTrial:
    """One recording of the steps."""

    judges_alone = True

    def __init__(self, name, directory, program, steps, is_plain):
        self.name, self.steps, self.root = name, steps, directory / "database"
        self.roots = [self.root]
        self.root.mkdir(parents=True)
        self.command = [program, self.root / "log.db", *(["--plain"] if is_plain else [])]
        self.recorded = Recorded(self.command, directory / "log")

    def record(self):
        """The calls, and how many transactions are whole with each number that was told."""
        self.recorded.start(subprocess.PIPE, subprocess.PIPE)
        told, _ = self.recorded.process.communicate("".join(line + "\n" for line in self.steps.lines).encode(), 300)
        if self.recorded.process.returncode or len(told.split()) != len(self.steps.lines):
            raise Failure(f"{self.name}: {self.recorded.log.read_text()[-500:]}")
        self.recorded.end(signal.SIGKILL)
        calls = self.recorded.calls()
        told = [call for call in calls if call.name == "write" and call.number(0) == 1]
        return calls, [(call.begun, self.steps.done[place]) for place, call in enumerate(told)]

    def promises(self, placed, moment):
        """How many transactions have been answered."""
        return max([done for begun, done in placed if begun <= moment], default=-1)

    def judge(self, place, answered):
        """What is wrong with a state."""
        path = place / "log.db"
        if not path.exists():
            return [] if answered < 0 else ["the database is gone"]
        database = sqlite3.connect(path, isolation_level=None)
        try:
            if not database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                return [] if answered < 0 else [f"{answered} transactions were answered, and nothing is there"]
            faults = [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
            done, digest = summary(database)
            last = done[-1] if done else -1
            if not answered <= last <= answered + 1:
                faults.append(f"{answered} transactions were answered, and the last one that is there is {last}")
            elif (done, digest) != self.steps.after[last]:
                faults.append(f"after transaction {last} there are other rows than there were")
            return faults
        except sqlite3.DatabaseError as error:
            return [f"SQLite says: {error}"]
        finally:
            database.close()
