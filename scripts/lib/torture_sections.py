"""Sections: what a device says to have of one, what lies there, and what its reader wants."""

import time

from torture_content import SECTION, SECTION_FOLDER, has_section

# So long an agent may take to answer, behind a start.
ANSWER_SECONDS = 30


def see_sections(checks):
    """4: a device says of a section that it is there where its files are, and nowhere else; what its reader wanted last is so. What is being moved
    out of sight, or replaced, is looked at again."""
    for (name, product), wanted in list(checks.people.sections.items()):
        if (name, product) in checks.adversary.rots.ever:
            continue
        end = time.monotonic() + ANSWER_SECONDS
        while fault := fault_of(checks, checks.system.agents[name], product, wanted):
            if time.monotonic() > end:
                checks.violate(f"4: {name}: {fault}")
                return
            time.sleep(0.2)


def fault_of(checks, agent, product, wanted):
    status, document = answer_of(agent, product) or (None, None)
    if status is None:
        return f"the sections of {product} are not told"
    if status != 200:
        # It is not owned any more, or not here.
        return None
    version = document["version"]
    known = checks.history.versions.get((product, version))
    if known is None or not has_section(known["files"]):
        return None
    # What is owned no more is kept out of sight.
    there = any((root / product / version / SECTION_FOLDER).is_dir() for root in (agent.library, agent.library / ".withdrawn"))
    told = next((one["here"] for one in document["sections"] if one["tag"] == SECTION), None)
    if told != there:
        return f"it says of the section of {product} {version} that it is {'' if told else 'not '}here, and it is {'' if there else 'not '}on its disk"
    # Behind a version that was taken back an earlier one is read, with the section that it had.
    versions = checks.history.of(product)
    was_taken_back = any(one["state"] == "withdrawn" for _, one in versions[[name for name, _ in versions].index(version) + 1:])
    if wanted is not None and wanted != there and not was_taken_back and not (wanted and has_failed(agent, product)):
        return (f"its reader was told that {product} {version} comes {'with' if wanted else 'without'} its section, and that is "
                f"{'' if there else 'not '}there")
    checks.look("sections")
    return None


def answer_of(agent, product):
    answer = agent.call("GET", f"/v1/library/{product}/sections")
    return None if answer[0] in (429, 500, 502, 503, 504) else answer


def has_failed(agent, product):
    """Whether the last that is told of the section is that it could not come."""
    last = agent.rows("SELECT state FROM downloads WHERE product = ? AND section = ? ORDER BY sequence DESC LIMIT 1", product, SECTION)
    return bool(last) and last[0]["state"] in ("failed", "cancelled")
