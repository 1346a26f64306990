"""Splits a plain-text SQL dump into tokens."""

import re
from dataclasses import dataclass
from pathlib import Path

from db.connecting import LoadError

END = "end"

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*)
    | (?P<comment>/\*)
    | (?P<escaped>[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*')
    | (?P<string>'[^']*(?:''[^']*)*')
    | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
    | (?P<quoted>"[^"]*(?:""[^"]*)*")
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<cast>::)
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Token:
    """One lexical unit: its kind (a group of the token pattern, or `end`), its text, and where it begins."""

    kind: str
    text: str
    position: int

    def is_one_of(self, *texts: str) -> bool:
        """Tell whether this is one of the given symbols, or keywords in any case."""
        return self.kind in ("symbol", "word") and self.text.upper() in texts


class Tokens:
    """A cursor over the dump's tokens, without blanks and comments."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self.position = 0

    def fail(self, reason: str, position: int | None = None) -> LoadError:
        """Return the error for this place of the dump."""
        line = self._text.count("\n", 0, self.position if position is None else position) + 1
        return LoadError(f"{self._path}, line {line}: {reason}")

    def next(self) -> Token:
        """Return the next token and advance past it."""
        while match := _TOKEN.match(self._text, self.position):
            kind, start = str(match.lastgroup), self.position
            self.position = match.end()
            if kind == "comment":
                self._skip_comment(start)
            elif kind == "dollar":
                tag, begin = match.group(), self.position
                if (end := self._text.find(tag, begin)) < 0:
                    raise self.fail(f"the text after {tag} doesn't end: the dump is truncated", start)
                self.position = end + len(tag)
                return Token(kind, self._text[begin:end], start)
            elif kind == "symbol" and match.group() in "'\"":
                raise self.fail("a quoted text doesn't end: the dump is truncated", start)
            elif kind != "blank":
                return Token(kind, match.group(), start)
        return Token(END, "", self.position)

    def peek(self) -> Token:
        """Return the next token without advancing."""
        before = self.position
        token = self.next()
        self.position = before
        return token

    def expect(self, text: str) -> None:
        """Advance past this symbol, or keyword in any case."""
        token = self.next()
        if not token.is_one_of(text):
            raise self.unexpected(token, text if text.isalpha() else f"'{text}'")

    def unexpected(self, token: Token, wanted: str) -> LoadError:
        """Return the error for a token that isn't the wanted one."""
        if token.kind == END:
            return self.fail(f"the dump ends where {wanted} should follow: it is truncated")
        return self.fail(f"{token.text[:40]!r} found where {wanted} should be", token.position)

    def rest_of_line(self) -> str | None:
        """Return the rest of the line and advance past it; None at the end of the dump."""
        if self.position >= len(self._text):
            return None
        end = self._text.find("\n", self.position)
        end = len(self._text) if end < 0 else end
        line = self._text[self.position : end]
        self.position = end + 1
        return line.removesuffix("\r")

    def _skip_comment(self, start: int) -> None:
        depth = 1
        while depth:
            edge = _COMMENT_EDGE.search(self._text, self.position)
            if edge is None:
                raise self.fail("a comment doesn't end: the dump is truncated", start)
            depth += 1 if edge.group() == "/*" else -1
            self.position = edge.end()
