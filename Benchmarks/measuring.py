"""What the benchmarks share: running commands, and what processes have used."""
import contextlib
import os
import platform
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

GIGABYTE = 1e9


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[1]}: exit code {result.returncode}\n{result.stderr}{result.stdout}")
    return result.stdout


def wait_until(condition, what, seconds=60):
    """The first true value of `condition`; asks a hundred times a second."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.01)
    raise RuntimeError(f"{what} did not happen within {seconds} s")


def memory(pid, field):
    """A field of /proc/PID/status in bytes: VmHWM is the peak, RssAnon what is no file's."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} tells no {field}")


def peak_memory(pid):
    return memory(pid, "VmHWM")


def processor_time(pids):
    """Seconds that the threads of these processes have run, user and system together, to the nanosecond."""
    nanoseconds = 0
    for pid in pids:
        # A process may end before its threads are listed, and a thread between being listed, opened and read.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            for task in tasks:
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    nanoseconds += int((task / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9


def settle(pids, window=0.5, seconds=10):
    """Waits until these processes need as much of a processor as before: what a server does when it starts, or when many
    connections come at once, is over. Half a second must take at most a tenth more or less than the one before, or next to
    nothing; after ten seconds what they take is what they take."""
    last = float("inf")
    for _ in range(round(seconds / window)):
        before = processor_time(pids)
        time.sleep(window)
        taken = processor_time(pids) - before
        if taken < 0.01 * window or abs(taken - last) <= 0.1 * last:
            return
        last = taken


def place(pids, processors):
    """Lets the threads of these processes, and those they make, run on these processors only."""
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), processors)


def median_ratio(ours, peers):
    """The median of the ratios of pairs that were measured right after each other."""
    return statistics.median(our / peer for our, peer in zip(ours, peers, strict=True))


def machine():
    return {"kernel": platform.release(), "processors": os.cpu_count(), "model": processor_model(),
            "congestion": congestion_control(), "load": os.getloadavg()[0]}


def congestion_control():
    """What paces connections over loopback here; scripts/bench pins it where it may."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def read_ahead(path):
    """KiB that the kernel reads ahead on the device of the file; None where it has none of its own."""
    device = os.stat(path).st_dev
    for above in ("", "../"):
        setting = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/{above}queue/read_ahead_kb")
        if setting.exists():
            return int(setting.read_text())
    return None


def busy_processors(seconds=1):
    """How many processors were busy over that time, whoever used them: while the caller only sleeps, that is the others."""
    before = busy_time()
    time.sleep(seconds)
    return (busy_time() - before) / seconds


def busy_time():
    fields = [int(one) for one in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, _idle, _waiting, interrupts, soft, stolen = fields
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def processor_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def thread_runs(pid):
    """How often the threads of a process were put on a processor."""
    runs = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            runs += int((task / "schedstat").read_text().split()[2])
        except FileNotFoundError:
            pass
    return runs


def wake_ups(pid, seconds):
    """How often a second a process that slept began to run: what runs within 20 ms of it is one wake-up."""
    count, known, was_busy = 0, thread_runs(pid), False
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.02)
        now = thread_runs(pid)
        count += now != known and not was_busy
        known, was_busy = now, now != known
    return count / seconds
