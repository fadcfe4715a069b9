"""Secrets that have names, the forms in which they may be seen, and the places where each of them may lie (check-secrets)."""

import base64
import collections
import fnmatch
import os
import pathlib
import re
import subprocess
import urllib.parse

# So much of a form in one piece is a leak: less of a key than that opens nothing, and letters at random are not as long.
TEXT_PIECE, BASE64_PIECE, HEXADECIMAL_PIECE, BYTE_PIECE = 12, 20, 24, 10


class Leak:
    """A form of a secret at a place where it must not be."""

    def __init__(self, mark, form, place):
        self.mark, self.form, self.place = mark, form, place

    def __str__(self):
        return f"{self.mark.name}, {self.form}, in {self.place}"


class Mark:
    """A secret: its name, its bytes, and patterns of the places that may hold it, each with the reason."""

    def __init__(self, name, value, holders=None):
        self.name, self.value, self.holders = name, value.encode() if isinstance(value, str) else value, holders or {}
        # Whether it was found where it may lie.
        self.is_seen = False
        self.pieces = list(pieces_of(self.value))

    def may_lie_in(self, place):
        return any(fnmatch.fnmatchcase(place, pattern) for pattern in self.holders)


def pieces_of(value):
    """What to look for: the name of a form, and pieces of it one of which every long part of that form holds."""
    is_text = all(0x20 <= byte < 0x7F for byte in value)
    if is_text:
        yield from cut("as it is", value, TEXT_PIECE)
    else:
        yield from cut("as its bytes", value, BYTE_PIECE)
    text = value.hex()
    yield from cut("in hexadecimal digits", text.encode(), HEXADECIMAL_PIECE)
    yield from cut("in hexadecimal digits", text.upper().encode(), HEXADECIMAL_PIECE)
    yield from cut("in hexadecimal digits with colons", value.hex(":").encode(), HEXADECIMAL_PIECE)
    for digits in ("%{:02x}", "%{:02X}", "\\x{:02x}", "\\u00{:02x}", "\\u00{:02X}"):
        yield from cut("escaped byte by byte", "".join(map(digits.format, value)).encode(), 30)
    quoted = urllib.parse.quote(value, safe="").encode()
    if quoted != value:
        yield from cut("in an address", quoted, TEXT_PIECE)
    for shift in range(3):
        for form, encode in (("in base 64", base64.b64encode), ("in base64url", base64.urlsafe_b64encode)):
            yield from cut(form, inner_base64(encode, value, shift), BASE64_PIECE)


def inner_base64(encode, value, shift):
    """The digits that stand for nothing but the value where `shift` other bytes stand before it."""
    digits = encode(bytes(shift) + value)
    whole = (shift + len(value)) * 8 // 6
    return digits[(shift * 8 + 5) // 6:whole]


def cut(form, text, length):
    """Pieces of that length one behind the other, and the last ones; the whole where it is shorter."""
    if len(text) <= length:
        yield form, text
        return
    for start in range(0, len(text) - length + 1, length):
        yield form, text[start:start + length]
    yield form, text[-length:]


class Marks:
    """All secrets of a run."""

    def __init__(self):
        self.all = []
        # By place, the names of those that were found there, rightly or not.
        self.found_in = collections.defaultdict(set)

    def add(self, name, value, holders=None):
        if len(value) < 8:
            raise ValueError(f"{name} is too short to be told from anything else")
        self.all.append(Mark(name, value, holders))
        return value

    def add_key(self, name, pem, holders=None):
        """The secret numbers of a private key in PEM, PKCS #8 or of its own form; the public half is in certificates."""
        for number, secret in private_numbers(pem):
            self.add(f"{name} ({number})", secret, holders)

    def suspects(self, paths):
        """The files that hold a piece of a secret, right or wrong: found in one go, whoever's it is."""
        return [pathlib.Path(os.fsdecode(name)) for name in self.grep("--null", "--files-with-matches", "--", *map(str, paths)).split(b"\0") if name]

    def extract(self, path):
        """The pieces of secrets that a large file holds, each on a line; all else is left out."""
        return b"\n".join(sorted(set(self.grep("--only-matching", "--", str(path)).split(b"\n"))))

    def grep(self, *words):
        lines = {piece for mark in self.all for _, piece in mark.pieces if not set(piece) & {0x00, 0x0A}}
        # A form that has no piece without a line feed and a zero would be a key of chance that is rarer than any.
        done = subprocess.run(
            ["grep", "--fixed-strings", "--text", "--file=-", *words], input=b"\n".join(sorted(lines)) + b"\n", stdout=subprocess.PIPE,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
        if done.returncode > 1:
            raise ValueError("grep does not search")
        return done.stdout

    def search(self, place, data):
        """The leaks of one place, each secret and form once; and notes where a secret was found rightly."""
        for mark in self.all:
            found = {form for form, piece in mark.pieces if piece in data}
            if found:
                self.found_in[place].add(mark.name)
            if found and mark.may_lie_in(place):
                # That a program works with it says nothing about where it was kept.
                mark.is_seen = mark.is_seen or not place.startswith("cores/")
            else:
                for form in sorted(found):
                    yield Leak(mark, form, place)

    def unseen(self):
        """The names of those that were found nowhere, not even where they may be: the run did not plant them."""
        return [mark.name for mark in self.all if not mark.is_seen]


def private_numbers(pem):
    """Name and bytes of the numbers that make a key private: Ed25519, EC on P-256, RSA."""
    blocks = re.findall(r"-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----(.*?)-----END", pem, re.S)
    if not blocks:
        raise ValueError("there is no private key")
    for _, body in blocks:
        yield from numbers_of(base64.b64decode("".join(body.split())))


def numbers_of(der):
    content = elements(elements(der)[0][1])
    tags = [tag for tag, _ in content]
    if tags[:3] == [0x02, 0x30, 0x04]:
        algorithm, inner = content[1][1], content[2][1]
        if bytes.fromhex("2b6570") in algorithm:
            yield "seed", elements(inner)[0][1]
        else:
            yield from numbers_of(inner)
    elif tags[:2] == [0x02, 0x04]:
        yield "number", content[1][1]
    elif tags[:9] == [0x02] * 9:
        # Version, modulus, public exponent, private exponent, two primes and what follows from them.
        for name, index in (("exponent", 3), ("first prime", 4), ("second prime", 5)):
            yield name, content[index][1].lstrip(b"\0")
    else:
        raise ValueError("a private key of another kind")


def elements(der):
    """Tags and contents of what stands in DER one behind the other."""
    found, place = [], 0
    while place < len(der):
        tag, length, place = der[place], der[place + 1], place + 2
        if length & 0x80:
            count = length & 0x7F
            length, place = int.from_bytes(der[place:place + count], "big"), place + count
        found.append((tag, der[place:place + length]))
        place += length
    return found
