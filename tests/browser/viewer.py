"""Views a page: the browser's messages, the page's requests, and its layout."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, expect

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
LOOPBACK = {"127.0.0.1", "localhost"}
# Generous for a busy machine; the page's own tests measure its speed.
PATIENCE_MS = 60_000

# Text and drawings outside the window: they are cut off at its edge, or at a box that can't be scrolled.
CUT = """() => {
  const cut = [], inside = document.documentElement.clientWidth, whole = document.scrollingElement.scrollWidth;
  if (whole > inside) cut.push(`the page is ${whole} wide`);
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const drawn = own || element.tagName === "CANVAS";
    const hidden = element.closest("thead") && getComputedStyle(element.closest("thead")).position === "absolute";
    if (!drawn || hidden || !element.checkVisibility() || element.closest("script, style")) continue;
    const {left, right} = element.getBoundingClientRect();
    if (left < -1 || right > inside + 1) cut.push(`${element.tagName} ${element.textContent.slice(0, 60)}`);
    for (let box = element; box !== document.body; box = box.parentElement)
      if (box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).display !== "inline")
        cut.push(`${box.tagName}.${box.className} hides ${element.textContent.slice(0, 60)}`);
  }
  return [...new Set(cut)];
}"""

Scheme = Literal["light", "dark"]


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A window: its size in CSS pixels, and the system's preferences."""

    width: int
    height: int
    scheme: Scheme = "light"

    def __str__(self) -> str:
        return f"{self.width}x{self.height}-{self.scheme}"


LAPTOP = Screen(width=1280, height=800)
PHONE = Screen(width=390, height=844)
# The width alone decides what is cut off, and the scheme alone what can be read.
SCREENS = (LAPTOP, replace(PHONE, scheme="dark"))


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """A page in a window; `said` are the console's warnings and errors, `asked` the URLs of requests and sockets."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Raise AssertionError if the browser complained or anything but loopback was requested."""
        assert self.said == []
        hosts = {urlsplit(url).hostname for url in self.asked if not url.startswith(("data:", "blob:"))}
        assert hosts
        assert hosts <= LOOPBACK

    def cut(self) -> list[str]:
        """Return what the window cuts off on the side."""
        found: list[str] = self.page.evaluate(CUT)
        return found

    def violations(self) -> list[str]:
        """Return axe's violations (for users who don't see, don't hear or don't use a mouse), and where they are."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = self.page.evaluate("axe.run().then((result) => result.violations)")
        return [f"{one['impact']}: {one['id']} at {node['target']}" for one in found for node in one["nodes"]]


@contextlib.contextmanager
def viewing(browser: Browser, url: str, screen: Screen = LAPTOP) -> Iterator[Viewer]:
    """View a page in a fresh browser."""
    context = browser.new_context(
        viewport={"width": screen.width, "height": screen.height}, color_scheme=screen.scheme, timezone_id="UTC"
    )
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    try:
        viewer = Viewer(page=context.new_page())

        def hear(message: ConsoleMessage) -> None:
            if message.type in ("warning", "error"):
                viewer.said.append(f"{message.type}: {message.text}")

        viewer.page.on("console", hear)
        viewer.page.on("pageerror", lambda error: viewer.said.append(f"uncaught: {error}"))
        viewer.page.on("websocket", lambda socket: viewer.asked.append(socket.url))
        context.on("request", lambda request: viewer.asked.append(request.url))
        viewer.page.goto(url)
        yield viewer
    finally:
        context.close()
