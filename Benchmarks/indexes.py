"""What a new row costs when the names in its unique indexes are random, and when those of an hour or of a moment lie beside each other.

    python3 Benchmarks/indexes.py [ROWS]

Fills a table with three unique indexes, inserts 9,600 rows, 32 a commit, and prints pages in the log and processor time of each.
"""

import os
import shutil
import sqlite3
import sys
import tempfile
import time

COMMITS, SIZE = 300, 32
INSERT = "INSERT INTO grants (id, handle, device, rest) VALUES (?, ?, ?, ?)"


def row(time=b""):
    return [time + os.urandom(16 - len(time)), time + os.urandom(16 - len(time)), "device-" + os.urandom(8).hex(), b"x" * 180]


def fill(path, rows):
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    connection.execute("CREATE TABLE grants (number INTEGER PRIMARY KEY, id BLOB, handle BLOB, device TEXT, rest BLOB)")
    connection.executemany(INSERT, (row() for _ in range(rows)))
    for name in ("id", "handle", "device"):
        connection.execute(f"CREATE UNIQUE INDEX grants_by_{name} ON grants ({name})")
    connection.commit()
    connection.close()


def measure(path, time_of):
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "wal_autocheckpoint = 0", "synchronous = OFF", "cache_size = -8192"):
        connection.execute(f"PRAGMA {pragma}")
    begun = time.process_time()
    for commit in range(COMMITS):
        connection.execute("BEGIN")
        for _ in range(SIZE):
            connection.execute(INSERT, row(time_of(commit)))
        connection.execute("COMMIT")
    took = time.process_time() - begun
    page = connection.execute("PRAGMA page_size").fetchone()[0] + 24
    pages = os.path.getsize(path + "-wal") / page
    connection.close()
    return pages / COMMITS / SIZE, took / COMMITS / SIZE * 1e6


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as work:
        full, copy = os.path.join(work, "full.db"), os.path.join(work, "copy.db")
        fill(full, rows)
        for title, time_of in (
                ("random", lambda commit: b""), ("by the hour", lambda commit: b"\x40"),
                # Seven commits within a sixteenth of a second.
                ("by the moment", lambda commit: (0x400000 + commit // 7).to_bytes(3, "big"))):
            shutil.copy(full, copy)
            pages, microseconds = measure(copy, time_of)
            print(f"{title}: {pages:.2f} pages a row, {microseconds:.0f} µs")


if __name__ == "__main__":
    main()
