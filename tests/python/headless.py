"""A headless Chromium over its debugging pipe, with the standard library alone."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Chromium reads commands from its file 3 and writes replies to 4; the two are first moved out of the way of each other.
START = """
import fcntl, os, sys
commands, replies = (fcntl.fcntl(int(file), fcntl.F_DUPFD, 10) for file in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(replies, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page. What it logs, asks to load or pops up is kept in `events`, by the protocol's names."""

    def __init__(self, profile: Path) -> None:
        commands_out, commands_in = os.pipe()
        replies_out, replies_in = os.pipe()
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(commands_out), str(replies_in), PROGRAM, *options],
            pass_fds=(commands_out, replies_in),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_out)
        os.close(replies_in)
        self._commands = os.fdopen(commands_in, "wb", buffering=0)
        self._replies = os.fdopen(replies_out, "rb", buffering=0)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        page = next(target for target in self.send("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        self._commands.close()  # a browser whose pipe ends goes
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._replies.close()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                piece = self._replies.read(1 << 16)
                assert piece, "the browser ended"
                self._rest += piece
            line, self._rest = self._rest.split(b"\0", 1)
            reply = json.loads(line)
            if reply.get("id") == self._number:
                assert "error" not in reply, f"{method}: {reply['error']}"
                return reply["result"]
            if "method" in reply:
                self.events.append(reply)

    def open(self, url: str) -> None:
        self.send(
            "Page.navigate", url="about:blank"
        )  # an address that differs in its fragment alone would not load again
        self.events.clear()
        self.send("Page.navigate", url=url)
        self.wait(lambda: self.run("document.readyState") == "complete" and self.run("location.href").startswith(url))

    def run(self, script: str) -> Any:
        """The value of an expression in the page; its exceptions are raised here."""
        reply = self.send(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]["exception"].get("description")
        return reply["result"].get("value")

    def wait(self, condition: Callable[[], Any], seconds: float = 30) -> Any:
        end = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.02)
        return value

    def click(self, selector: str) -> None:
        place = self.run(f"""(() => {{ const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{ block: "center", behavior: "instant" }});
            const box = element.getBoundingClientRect();
            return {{ x: box.x + Math.min(box.width / 2, 40), y: box.y + box.height / 2 }}; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key)

    def complaints(self) -> list[dict[str, Any]]:
        """What a page that behaves never does: errors, log entries, dialogs."""
        bad = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening")
        return [event for event in self.events if event["method"] in bad]

    def requests(self) -> list[str]:
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]
