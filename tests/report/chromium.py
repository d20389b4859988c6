"""A headless Chromium, spoken to in the DevTools protocol over two pipes: no port and no package is needed."""

import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time

PATIENCE_S = 120
"""After so long without an answer a browser counts as dead: a test must fail, not hang."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
AS_3_AND_4 = (
    "import fcntl, os, sys; ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]];"
    "os.dup2(ends[0], 3); os.dup2(ends[1], 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
"""Chromium reads its orders from descriptor 3 and answers on 4."""


def found():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """A browser that runs until `close`."""

    def __init__(self, profile):
        read, self._out = os.pipe()
        self._in, write = os.pipe()
        command = [sys.executable, "-c", AS_3_AND_4, str(read), str(write), found(), *FLAGS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}"],
            pass_fds=(read, write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._numbers, self._rest, self.events = itertools.count(1), b"", []

    def call(self, method, session=None, **values):
        """The answer to an order; what happens meanwhile is added to `events`."""
        number = next(self._numbers)
        order = {"id": number, "method": method, "params": values} | ({"sessionId": session} if session else {})
        os.write(self._out, json.dumps(order).encode() + b"\0")
        while True:
            message = self._read()
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def wait(self, method, session):
        """The first event of a kind, which may have come already."""
        while True:
            for event in self.events:
                if (event.get("method"), event.get("sessionId")) == (method, session):
                    return event["params"]
            self.events.append(self._read())

    def _read(self):
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            block = os.read(self._in, 1 << 20) if ready else b""
            if not block:
                raise RuntimeError("the browser does not answer")
            self._rest += block
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def close(self):
        """End the browser."""
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE_S)
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)


class Tab:
    """A page in a browser, as wide as a screen or a phone."""

    def __init__(self, browser, path, width, height=900, dark=False):
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._browser = browser
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **sizes)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.bringToFront")
        self.call("Page.navigate", url=path.resolve().as_uri())
        browser.wait("Page.loadEventFired", self._session)

    def call(self, method, **values):
        """The answer to an order to this page."""
        return self._browser.call(method, self._session, **values)

    def ask(self, script):
        """What a script in the page comes to, as plain values."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def settle(self):
        """Wait until the page has been painted, so that what follows from a scroll has happened."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def point(self, x, y, what="mouseMoved", **more):
        """Move the mouse, or press and release it, at a place of the window."""
        self.call("Input.dispatchMouseEvent", type=what, x=x, y=y, **more)

    def drag(self, x, y, to_x):
        """Press, move along x, release."""
        self.point(x, y)
        self.point(x, y, "mousePressed", button="left", clickCount=1)
        self.point(to_x, y, button="left", buttons=1)
        self.point(to_x, y, "mouseReleased", button="left", clickCount=1)

    def click(self, x, y):
        """Press and release."""
        for what in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.point(x, y, what, **({} if what == "mouseMoved" else {"button": "left", "clickCount": 1}))

    def heard(self, method):
        """The events of a kind in this page so far."""
        self.ask("0")
        mine = (event for event in self._browser.events if event.get("sessionId") == self._session)
        return [event["params"] for event in mine if event.get("method") == method]
