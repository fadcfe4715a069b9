"""Judges feeds and entries of OPDS 1.2 by the RELAX NG grammar that was published with it, which is not this project's to pass on: two files
in one directory, `opds.rnc` (schema/1.2 of the project opds-community/specs) and `atom.rnc` (RFC 4287, appendix B)."""

import pathlib
import re
import shutil
import subprocess
import tempfile

# The published class of characters that an address may not have was meant to end in a carriage return and a tab: as it stands it refuses
# every address with an r or a t.
WRONG, MEANT = r"\nrt]", r"\n\r\t]"
# The addresses of pages are templates, whose braces no address of Atom may have.
TEMPLATE = re.compile(rb"<link [^>]*href=\"[^\"]*\{[^>]*/>")


def why_not(directory):
    """Says why the grammar cannot judge here; None where it can."""
    if not directory:
        return "no --grammar names a directory with opds.rnc and atom.rnc"
    if not all((pathlib.Path(directory) / name).is_file() for name in ("opds.rnc", "atom.rnc")):
        return f"{directory} has no opds.rnc and atom.rnc"
    return None if shutil.which("jing") else "there is no jing"


def judge(server, directory, paths, faults, headers=()):
    """Fetches each of the paths and adds what jing says of it; how many documents there were."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name in ("opds.rnc", "atom.rnc"):
            text = (pathlib.Path(directory) / name).read_text(encoding="utf-8")
            (work / name).write_text(text.replace(WRONG, MEANT), encoding="utf-8")
        names = {}
        for number, path in enumerate(sorted(paths)):
            document = work / f"{number}.xml"
            document.write_bytes(TEMPLATE.sub(b"", server.ask(path, headers=headers)[2]))
            names[str(document)] = path
        done = subprocess.run(["jing", "-c", str(work / "opds.rnc"), *names], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            document = line.split(":", 1)[0]
            faults.append(line.replace(document, f"{names[document]}: jing says", 1) if document in names else f"jing: {line}")
        if done.returncode and not done.stdout:
            faults.append(f"jing ends with {done.returncode}: {done.stderr}")
    return len(names)
