"""A PostgreSQL of Debian's for the time of a benchmark, with its own settings."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from measuring import processor_time, run


class Primary:
    """Listens on a socket in its own directory alone, and lets everyone in who reaches that."""

    def __init__(self):
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
        if not binaries or int(binaries[-1].parts[4]) < 15:
            raise RuntimeError("Debian's postgresql-15 is not installed")
        self.binaries = binaries[-1].parent
        # The server does not run as root, and the path of its socket has to be short.
        self.directory = Path(tempfile.mkdtemp(prefix="pullbox-pg-", dir="/var/tmp"))
        self.account = []
        try:
            if os.getuid() == 0:
                shutil.chown(self.directory, "postgres")
                self.account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
            self.call("initdb", "-U", "pullbox", "-E", "UTF8", "--locale=C.UTF-8", "--auth=trust")
            self.call("pg_ctl", "-w", "-l", self.directory / "data/log", "-o",
                      f"-c listen_addresses= -c unix_socket_directories={self.directory}", "start")
        except BaseException:
            shutil.rmtree(self.directory)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.directory)

    def call(self, program, *words):
        run(*self.account, self.binaries / program, "-D", self.directory / "data", *words, cwd=self.directory, stdin=subprocess.DEVNULL)

    @property
    def socket(self):
        return self.directory / ".s.PGSQL.5432"

    def url(self, database="postgres", directory=None):
        return f"postgresql:///{database}?host={directory or self.directory}&user=pullbox"

    def ask(self, sql, database="postgres"):
        """The answer's text."""
        return run(self.binaries / "psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url(database)).strip()

    def log_position(self):
        """Bytes that the log has had so far."""
        return int(self.ask("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"))

    def size(self, database):
        return int(self.ask(f"SELECT pg_database_size('{database}')"))

    def processor_times(self):
        """Seconds of a processor that each of the server's processes has used."""
        first = (self.directory / "data/postmaster.pid").read_text().split("\n", 1)[0]
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return {pid: processor_time([pid]) for pid in (first, *children) if Path(f"/proc/{pid}").exists()}

    @staticmethod
    def used(before, after):
        """Seconds between two answers of `processor_times`; a process that began meanwhile counts as a whole."""
        return sum(seconds - before.get(pid, 0) for pid, seconds in after.items())
