"""Reads the samples of Tests/PullboxAPITests/Samples: the JSON of each type, as it stands in the Swift text."""

import json
import pathlib
import re

# A string literal of Swift, in one line or several, with `#` around it or without. JSON in one line has no `"#`.
LITERAL = re.compile(
    r'(?P<marks>#*)"""\n(?P<lines>.*?)\n *"""(?P=marks)|#"(?P<raw>[^\n]*?)"#|"(?P<plain>(?:\\.|[^"\\\n])*)"', re.S)
DECLARATION = re.compile(r"static let (\w+)\s*=\s*(?=#*\")")
SAMPLE = re.compile(r"WireSample\(\s*([\w.]+)\.self,\s*")
NEXT = re.compile(r",\s*(?:minimal:\s*)?")
PLUS = re.compile(r"\s*\+\s*(?=#*\")")
NAME = re.compile(r"\w+")


class Samples:
    """What the files of a directory declare."""

    def __init__(self, directory):
        self.fragments = {}
        self.texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(directory).glob("WireSample*.swift"))}
        for text in self.texts.values():
            for match in DECLARATION.finditer(text):
                self.fragments[match.group(1)] = LITERAL.match(text, match.end())

    def text(self, literal):
        """A literal with what it interpolates."""
        raw, plain = literal.group("raw"), literal.group("plain")
        marks = "#" if raw is not None else literal.group("marks") or ""
        text = next(text for text in (raw, plain, literal.group("lines")) if text is not None)
        text = re.sub(r"\\" + marks + r"\((\w+)\)", lambda match: self.text(self.fragments[match.group(1)]), text)
        return text if marks else re.sub(r"\\([\"\\])", r"\1", text)

    def value(self, text, position):
        """The text of a literal or of the name of one, and where it ends."""
        literal = LITERAL.match(text, position)
        if literal:
            made, end = self.text(literal), literal.end()
            while following := PLUS.match(text, end):
                literal = LITERAL.match(text, following.end())
                made, end = made + self.text(literal), literal.end()
            return made, end
        name = NAME.match(text, position)
        return self.text(self.fragments[name.group()]), name.end()

    def of_file(self, name, types=None):
        """Of each sample of a file, or of these types: the type's name, the full document and the minimal one."""
        text = self.texts[name]
        for match in SAMPLE.finditer(text):
            if types is not None and match.group(1) not in types:
                continue
            full, end = self.value(text, match.end())
            minimal = full
            following = NEXT.match(text, end)
            if following and not text.startswith(")", following.end()):
                minimal, _ = self.value(text, following.end())
            yield match.group(1), json.loads(full), json.loads(minimal)
