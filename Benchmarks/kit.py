"""The build of an app that depends on the kit alone, from nothing, now and as it was before the kit had parts of its own. Run through
scripts/bench kit."""
import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from measuring import run, say
from reporting import Results, Target, row, show

# The last commit at which an app of the kit built all that the programs are made of.
BEFORE = "d133a1da"
MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "App",
  dependencies: [.package(path: "../{name}")],
  targets: [
    .executableTarget(name: "App", dependencies: [.product(name: "PullboxKit", package: "{name}")])
  ])
"""
MAIN = """import PullboxKit

print(AgentClient.self)
"""


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench kit")
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT", help=f"what is compared with ({BEFORE})")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="times each is built")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def unpack(root, commit, directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    archive = directory.with_suffix(".tar")
    run("git", "-C", root, "archive", "--output", archive, commit)
    run("tar", "-C", directory, "-xf", archive)
    archive.unlink()


def build(package, app):
    """Seconds of processors, and seconds, that the app takes from nothing: those of all processes that it takes."""
    shutil.rmtree(app, ignore_errors=True)
    (app / "Sources/App").mkdir(parents=True)
    (app / "Package.swift").write_text(MANIFEST.format(name=package.name))
    (app / "Sources/App/main.swift").write_text(MAIN)
    begin = time.monotonic()
    log = app.with_suffix(".log")
    with open(log, "wb") as output:
        process = subprocess.Popen(["swift", "build", "--package-path", str(app)], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"the app of {package.name} does not build:\n{log.read_text(errors='replace')[-3000:]}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin


def main():
    arguments = parse_arguments()
    results = Results(arguments.root / "Benchmarks/results/kit.json", "kit", {"before": arguments.before, "runs": arguments.runs})
    samples = {"processor": {"now": [], "before": []}, "time": {"now": [], "before": []}}
    commits = [("now", "HEAD"), ("before", arguments.before)]
    for name, commit in commits:
        unpack(arguments.root, commit, arguments.work / name)
    say("Building an app once, so that the compiler is in memory")
    build(arguments.work / "now", arguments.work / "app-now")
    for turn in range(arguments.runs):
        for name, commit in commits if turn % 2 else commits[::-1]:
            say(f"Building an app with the kit of {commit}")
            processor, seconds = build(arguments.work / name, arguments.work / f"app-{name}")
            samples["processor"][name].append(processor)
            samples["time"][name].append(seconds)
    rows = [
        row("processor", "an app that depends on the kit alone, built from nothing: processor time", "s", samples["processor"],
            [Target("before", 0.6)], ours="now"),
        row("time", "the same, until it was done", "s", samples["time"], [], ours="now")]
    for measured in rows:
        results.add(measured)
        show(measured)


if __name__ == "__main__":
    main()
