# SPDX-License-Identifier: MIT
"""A real headless Chromium, spoken to through its DevTools protocol (python3-websocket)."""
import base64
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import websocket
except ImportError:
    sys.exit("python3-websocket is missing: scripts/build.sh --tests installs it")


class Browser:
    """`with Browser() as browser`; one page at a time, without a network but for loopback."""

    def __enter__(self):
        program = shutil.which("chromium")
        if not program:
            sys.exit("chromium is missing: scripts/build.sh --tests installs it")
        self.folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-port=0", "--remote-allow-origins=*", "--no-first-run",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             f"--user-data-dir={self.folder}", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            found = re.search(r"DevTools listening on (ws://\S+)", line)
            if found:
                break
        else:
            sys.exit("chromium ended before it could be spoken to")
        self.socket = websocket.create_connection(found.group(1), timeout=60)
        self.count = 0
        self.session = None
        self.problems = []
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait(timeout=30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Keeps what a page complains of, and what it asks for."""
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"])[:2000])
        elif event.get("method") == "Runtime.consoleAPICalled":
            if parameters["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(parameters["args"])[:2000])
        elif event.get("method") == "Log.entryAdded":
            if parameters["entry"]["level"] in ("error", "warning"):
                self.problems.append(parameters["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {json.dumps(result['exceptionDetails'])[:2000]}")
        return result["result"].get("value")

    def view(self, width, height, dark=False, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url, offline=True):
        """Opens a page and waits until it says that it is drawn."""
        self.problems.clear()
        self.requests.clear()
        self.call("Network.emulateNetworkConditions", offline=offline, latency=0,
                  downloadThroughput=-1, uploadThroughput=-1)
        self.call("Page.navigate", url=url)
        self.wait(f"location.href !== 'about:blank' && document.readyState === 'complete' && "
                  f"window.tapemeasure && window.tapemeasure.drawnAfter > 0")

    def wait(self, expression, seconds=30):
        end = time.time() + seconds
        while time.time() < end:
            if self.evaluate(f"Boolean({expression})"):
                return
            time.sleep(0.05)
        raise TimeoutError(f"never true: {expression}; the page said: {self.problems}")

    def keys(self, *names):
        """Presses keys on what has the focus."""
        for name in names:
            text = name if len(name) == 1 else ""
            self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def drag(self, selector, start, end):
        """Moves the pointer over an element, pressed, between two shares of its width."""
        box = self.evaluate(f"""(() => {{
          const node = document.querySelector('{selector}');
          node.scrollIntoView({{block: 'center', behavior: 'instant'}});
          const box = node.getBoundingClientRect();
          return [box.x, box.y, box.width, box.height];
        }})()""")
        y = box[1] + box[3] / 2
        steps = [box[0] + box[2] * (start + (end - start) * i / 4) for i in range(5)]
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=steps[0], y=y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=steps[0], y=y, button="left",
                  clickCount=1)
        for x in steps[1:]:
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left")
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=steps[-1], y=y, button="left",
                  clickCount=1)

    def picture(self, path, whole=False):
        options = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {**size, "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
