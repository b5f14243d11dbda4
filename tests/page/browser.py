"""Drives a headless Chromium over its debugging pipe: NUL-terminated JSON on its file descriptors 3
and 4. Needs nothing but Python's standard library."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--remote-debugging-pipe", "--no-sandbox", "--no-first-run", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb",
    "--disable-features=Translate,MediaRouter,OptimizationHints",
)


def find():
    """The path of a Chromium, or None."""
    for name in (os.environ.get("RIDGE_CHROMIUM"), *NAMES):
        path = name and shutil.which(name)
        if path:
            return path
    return None


# Notes when the timeline was first drawn.
FIRST_PICTURE = """const firstPictureLook = setInterval(() => {
    if (!window.ridge || !window.ridge.frames || window.ridge.frames.count === 0)
        return;
    window.firstPicture = performance.now() / 1000;
    clearInterval(firstPictureLook);
}, 2)"""
PATIENCE = 60  # seconds that a page may take to be ready


class BrowserError(Exception):
    pass


class Browser:
    def __init__(self, path):
        self.profile = tempfile.mkdtemp(prefix="ridge-page.")
        commands_read, self.commands = os.pipe()
        self.answers, answers_write = os.pipe()
        words = [path, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        redirected = f'exec "$@" 3<&{commands_read} 4>&{answers_write}'
        self.process = subprocess.Popen(
            ["sh", "-c", redirected, "sh", *words], pass_fds=(commands_read, answers_write),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_read)
        os.close(answers_write)
        self.pending = b""
        self.number = 0
        self.listeners = []
        self.call("Browser.getVersion", timeout=120)

    def close(self):
        try:
            self.call("Browser.close", timeout=10)
        except (BrowserError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        """One message, or None when the time is over."""
        while b"\0" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                return None
            read = os.read(self.answers, 1 << 20)
            if not read:
                raise BrowserError("the browser ended")
            self.pending += read
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, timeout=60, **parameters):
        self.number += 1
        number = self.number
        command = {"id": number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        deadline = time.monotonic() + timeout
        while True:
            message = self.receive(deadline)
            if message is None:
                raise BrowserError(f"no answer to {method} within {timeout} s")
            if message.get("id") == number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error'].get('message')}")
                return message["result"]
            if "method" in message:
                for listener in self.listeners:
                    listener(message)


class Page:
    """One tab, with all that it complained of and asked the network for."""

    def __init__(self, browser, width=1280, height=900, scale=1):
        self.browser = browser
        self.scale = scale
        self.complaints = []
        self.requests = []
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.listeners.append(self.hear)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=FIRST_PICTURE)
        self.resize(width, height)

    def call(self, method, timeout=120, **parameters):
        return self.browser.call(method, session=self.session, timeout=timeout, **parameters)

    def close(self):
        self.browser.listeners.remove(self.hear)
        self.browser.call("Target.closeTarget", targetId=self.target)

    def hear(self, message):
        if message.get("sessionId") != self.session:
            return
        method, parameters = message["method"], message["params"]
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(one.get("value", one.get("description"))) for one in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {parameters['message']}")

    def resize(self, width, height):
        self.width, self.height = width, height
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=self.scale, mobile=False)

    def dark(self, on):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def open(self, path):
        """Opens a page that ridge wrote and waits until all of it is there: seconds to the first picture of
        the timeline, and to that."""
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        deadline = time.monotonic() + PATIENCE
        while not self.run("location.protocol === 'file:' && Boolean(window.ridge && window.ridge.ready)"):
            if time.monotonic() > deadline:
                raise BrowserError(f"the page does not start: {'; '.join(self.complaints)}")
            time.sleep(0.02)
        ready = self.run(f"""Promise.race([
            ridge.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() / 1000))))),
            new Promise((done) => setTimeout(done, {PATIENCE * 1000}, null))])""")
        if ready is None:
            raise BrowserError(f"the page is not ready within {PATIENCE} s: {'; '.join(self.complaints)}")
        return self.run("window.firstPicture ?? null"), ready

    def run(self, expression, timeout=120):
        """The value of a JavaScript expression; a promise is awaited."""
        for _ in range(3):
            answer = None
            try:
                answer = self.call("Runtime.evaluate", timeout=timeout, expression=expression, awaitPromise=True,
                                   returnByValue=True, userGesture=True)
            except BrowserError as error:
                # The document that was asked went away meanwhile: ask the next.
                if "navigated" not in str(error) and "destroyed" not in str(error) and "context" not in str(error):
                    raise
                continue
            if "exceptionDetails" in answer:
                details = answer["exceptionDetails"]
                raise BrowserError(details.get("exception", {}).get("description") or details["text"])
            return answer["result"].get("value")
        raise BrowserError("the page keeps navigating")

    def settle(self):
        """Until everything is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def key(self, key, code=None, modifiers=0, text=None):
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}
        number = codes.get(key, ord(key[0].upper()) if len(key) == 1 else 0)
        word = text if text is not None else key if len(key) == 1 else "\r" if key == "Enter" else ""
        common = {"key": key, "code": code or (f"Key{key.upper()}" if key.isalpha() and len(key) == 1 else key),
                  "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if word else "rawKeyDown", **({"text": word} if word else {}), **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, **parameters):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **parameters)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, from_x, from_y, to_x, to_y, modifiers=0):
        self.mouse("mouseMoved", from_x, from_y, modifiers=modifiers)
        self.mouse("mousePressed", from_x, from_y, button="left", buttons=1, clickCount=1, modifiers=modifiers)
        for step in range(1, 6):
            self.mouse("mouseMoved", from_x + (to_x - from_x) * step / 5, from_y + (to_y - from_y) * step / 5,
                       button="left", buttons=1, modifiers=modifiers)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1, modifiers=modifiers)

    def box(self, selector):
        """Where an element is on the screen, brought into sight: x, y, width, height; None without one."""
        return self.run(f"""(() => {{
            const found = document.querySelector({json.dumps(selector)});
            if (!found) return null;
            found.scrollIntoView({{block: 'center', behavior: 'instant'}});
            const box = found.getBoundingClientRect();
            return [box.x, box.y, box.width, box.height];
        }})()""")

    def screenshot(self, path, selector=None):
        """The page from its top, or one element of it."""
        parameters = {}
        if selector:
            box = self.run(f"""(() => {{
                const found = document.querySelector({json.dumps(selector)});
                if (!found) return null;
                const box = found.getBoundingClientRect();
                return [box.x + scrollX, box.y + scrollY, box.width, box.height];
            }})()""")
            if not box:
                raise BrowserError(f"there is no {selector}")
            parameters = {"clip": {"x": box[0], "y": box[1], "width": max(1, box[2]), "height": max(1, min(box[3], 4000)), "scale": 1},
                          "captureBeyondViewport": True}
        data = self.call("Page.captureScreenshot", format="png", **parameters)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
