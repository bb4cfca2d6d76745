#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The page of a twelve-run ablation in a real Chromium without a network: it draws everything, says
nothing on the console, its numbers are those of results.json, it fits a phone, it is dark where that is
wanted, and keys do what pointers do. usage: page_test.py PROGRAM SOURCE_DIR [FOLDER for pictures]"""
import fcntl
import json
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from ablation import HOSTILE, LENGTHS, SEEDS, make_ablation
from browser import Browser

MOST_BYTES = 3_000_000

# How many pixels of each plot are painted: of dygraphs' canvases the one with the lines.
PAINTED = """[...document.querySelectorAll('.plot')].map((plot) => {
  const counts = [...plot.querySelectorAll('canvas')].map((canvas) => {
    if (!canvas.width || !canvas.height) return 0;
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let i = 3; i < data.length; i += 4) count += data[i] > 0;
    return count;
  });
  return [plot.parentNode.id, Math.max(...counts)];
})"""

COLOURS = """[...document.querySelectorAll('.heat canvas')].map((canvas) => {
  const words = new Uint32Array(canvas.getContext('2d').getImageData(
      0, 0, canvas.width, canvas.height).data.buffer);
  return [canvas.id, new Set(words).size, canvas.getBoundingClientRect().height];
})"""

OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


def number(text):
    """The first number that a cell shows."""
    return float(text.split("±")[0].split("(")[0].replace("−", "-").replace("\u202f", "")
                 .replace("\u00a0", "").replace(" ", ""))


def same_number(shown, exact):
    """Shown is exact, rounded to as many digits as are shown."""
    digits = len(shown.split("±")[0].strip().split(".")[1].split()[0]) if "." in shown else 0
    return abs(number(shown) - exact) <= 0.5000001 * 10 ** -digits


def check_drawing(browser):
    painted = dict(browser.evaluate(PAINTED))
    assert {"chart-curves", "chart-length-1", "chart-position-1"} <= set(painted), painted
    for name, count in painted.items():
        assert count > 500, f"{name} is blank: {count} pixels"
    browser.evaluate(OPEN_ALL)
    browser.wait("document.querySelectorAll('.heat canvas').length >= 30")
    browser.evaluate(OPEN_ALL)  # each picture brought a table
    for name, colours, height in browser.evaluate(COLOURS):
        assert colours > 1 and height > 5, f"{name}: {colours} colours, {height} pixels high"
    browser.wait("document.querySelectorAll('details.numbers table tr').length > 1000")


def check_numbers(browser, folder, results):
    cells = browser.evaluate("""[...document.querySelectorAll('td[data-run]')].map((cell) =>
        [cell.dataset.run, cell.dataset.key, cell.dataset.value, cell.textContent])""")
    assert len(cells) > 50, len(cells)
    for run, key, exact, shown in cells:
        path = folder / "runs" / run / "results.json"
        value = json.loads(path.read_text()) if path.exists() else {}
        for part in key.split("."):
            value = value.get(part, {}) if isinstance(value, dict) else {}
        if value == {}:
            assert exact == "" and shown == "–", (run, key, exact, shown)
            continue
        assert float(exact) == value, (run, key, exact, value)
        assert same_number(shown, value), (run, key, shown, value)
    means = browser.evaluate("""[...document.querySelectorAll('td[data-arm]')].map((cell) =>
        [cell.dataset.arm, cell.dataset.measure, cell.dataset.value, cell.textContent])""")
    assert len(means) == len(results["cells"]), means
    for arm, measure, exact, shown in means:
        cell = next(one for one in results["cells"] if (one["arm"], one["measure"]) == (arm, measure))
        assert float(exact) == cell["mean"] and same_number(shown, cell["mean"]), (arm, measure, shown)
        spread = shown.split("±")[1]
        assert same_number(spread, cell["sd"]), (shown, cell["sd"])
        assert ("(2/3)" in shown) == (cell["n"] == 2), shown


def check_words(browser):
    text = browser.evaluate("document.body.innerText")
    for part in ("✓ holds", "✗ contradicted", "≈ within noise", "? not measured",
                 "0.2 would be expected", "xl@at64 better than xl@at16", "Shaw et al. 2018",
                 "loss is not finite at step 12", "damaged", "xl/seed-3: results.json"):
        assert part in text, f"the page does not say '{part}'"
    tables = browser.evaluate("""[...document.querySelectorAll('#verdicts .beside table')].map(
        (table) => [...new Set([...table.querySelectorAll('td[data-measure]')].map((cell) =>
          cell.dataset.measure))])""")
    assert ["exact"] in tables, f"measures of different units share a table: {tables}"
    lines = browser.evaluate("tapemeasure.charts.map((chart) => [chart.root.id, chart.series.length])")
    assert dict(lines)["chart-length-1"] == 4 and dict(lines)["chart-curves"] == 12, lines
    colours = browser.evaluate("""tapemeasure.charts.map((chart) => Object.fromEntries(
        chart.series.map((one) => [one.group, one.index])))""")
    assert all(one == colours[0] for one in colours), f"an arm changes its colour: {colours}"
    lengths = browser.evaluate("tapemeasure.charts.find((one) => one.root.id === 'chart-length-1')"
                               ".series[0].x")
    assert lengths == list(LENGTHS), lengths
    peaks = browser.evaluate("tapemeasure.charts[0].series.map((one) => Math.max(...one.y))")
    assert all(peak == 9.5 for peak in peaks), f"thinning lost a peak: {peaks}"


def check_hostile_names(browser):
    text = browser.evaluate("document.body.textContent")
    for part in (f"T5 {HOSTILE}", f"Raffel {HOSTILE}", f"t5 positions{HOSTILE}"):
        assert part in text, f"the page does not say '{part}'"
    assert browser.evaluate("window.hacked === undefined"), "a name has been run"
    made = browser.evaluate("[...document.querySelectorAll('main img')].map((one) => one.outerHTML)")
    assert not any("onerror" in one for one in made), made


def check_damaged(browser, program, folder, page):
    """Files that are JSON but not what they should be: named, and the rest of the page is there."""
    run = folder / "runs/none/seed-1"
    results = json.loads((run / "results.json").read_text())
    for validation, evaluations in (("x", 5), ({"positions": 7}, [1]), (None, {"lengths": "x"})):
        (run / "results.json").write_text(json.dumps({**results, "validation": validation, "best": 3}))
        (run / "evaluations.json").write_text(json.dumps(evaluations))
        subprocess.run([program, "report", run, folder / "runs/none/seed-2", "--out", page, "--cache",
                        folder / "cache"], check=True)
        browser.open(f"file://{page}")
        sections = browser.evaluate("[...document.querySelectorAll('main > section')].map((one) => one.id)")
        assert {"results", "curves", "length", "positions", "config", "machine"} <= set(sections), sections
        assert not browser.problems, browser.problems


def check_controls(browser):
    browser.evaluate("document.querySelector('#chart-curves .plot').focus()")
    read = "document.querySelector('#chart-curves .readout').textContent"
    browser.keys("ArrowRight", "ArrowRight")
    first = browser.evaluate(read)
    assert first.startswith("step "), first
    browser.keys("ArrowDown")
    browser.keys(*["ArrowRight"] * 3)
    assert browser.evaluate(read) != first
    span = "(() => { const [a, b] = tapemeasure.charts[0].graph.xAxisRange(); return b - a; })()"
    whole = browser.evaluate(span)
    browser.keys("+", "+")
    assert browser.evaluate(span) < whole / 2
    browser.keys("0")
    assert browser.evaluate(span) == whole
    browser.drag("#chart-curves .plot", 0.3, 0.6)
    assert browser.evaluate(span) < whole / 2
    assert browser.evaluate(read).startswith("step "), browser.evaluate(read)
    browser.evaluate("document.querySelector('#chart-curves .controls button').click()")
    assert browser.evaluate(span) == whole
    browser.evaluate("document.querySelector('.heat canvas').focus()")
    browser.keys("ArrowRight", "ArrowRight")
    said = browser.evaluate("document.querySelector('.heat .readout').textContent")
    assert "layer 1, head 1" in said, said
    browser.evaluate("""(() => {
      document.querySelectorAll('.controls input').forEach((box) => box.click());
      const smoothing = document.querySelectorAll('#curves select')[1];
      smoothing.value = '50';
      smoothing.dispatchEvent(new Event('change'));
      document.querySelector('#chart-curves .legend button').click();
    })()""")
    text = browser.evaluate("document.getElementById('curves').innerText")
    assert "Smoothed: each point is the mean" in text and "(moving mean)" in text, text
    shown = browser.evaluate("tapemeasure.charts[0].graph.visibility()")
    assert shown.count(False) == len(SEEDS), shown


def check_views(browser, address, pictures):
    for name, width, dark, phone in (("desktop", 1280, False, False), ("dark", 1280, True, False),
                                     ("phone", 360, False, True)):
        browser.view(width, 800, dark, phone)
        browser.open(address)
        wide = browser.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name}: {wide} pixels wide"
        light = browser.evaluate("""getComputedStyle(document.body).backgroundColor
            .match(/\\d+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0)""")
        assert (light < 200) == dark, f"{name}: background {light}"
        assert not browser.problems, browser.problems
        if pictures:
            browser.picture(f"{pictures}/{name}.png", whole=True)


def check_served(browser, program, folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([program, "report", folder, "--serve", str(port), "--cache",
                               folder / "cache"], stdout=subprocess.PIPE, text=True)
    assert str(port) in server.stdout.readline()
    browser.view(1280, 800)
    browser.open(f"http://127.0.0.1:{port}/", offline=False)
    browser.wait("document.getElementById('live').textContent.startsWith('Live')")
    with open(folder / "runs/xl/seed-3/lock", "w") as lock:  # as if it were at work
        fcntl.flock(lock, fcntl.LOCK_EX)
        browser.wait("document.getElementById('live').textContent.includes('xl/seed-3 at step')")
    assert not browser.problems, browser.problems
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=30) == 0
    browser.wait("document.getElementById('live').textContent.startsWith('No longer live')")


def main():
    program, source = (Path(word).resolve() for word in sys.argv[1:3])
    pictures = sys.argv[3] if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory() as temporary, Browser() as browser:
        folder = make_ablation(program, source, Path(temporary) / "study")
        page = Path(temporary) / "page.html"
        subprocess.run([program, "report", folder, "--out", page, "--cache", folder / "cache"],
                       cwd=source, check=True)
        size = page.stat().st_size
        assert size < MOST_BYTES, f"the page has {size} bytes"
        address = f"file://{page}"
        browser.view(1280, 800)
        browser.open(address)
        print(f"12 runs: {size / 1e6:.2f} MB, drawn after "
              f"{browser.evaluate('tapemeasure.drawnAfter'):.0f} ms")
        check_drawing(browser)
        check_numbers(browser, folder, json.loads((folder / "results.json").read_text()))
        check_words(browser)
        check_hostile_names(browser)
        check_controls(browser)
        foreign = [url for url in browser.requests if not url.startswith(("file:", "data:"))]
        assert not foreign, f"the page asks for {foreign}"
        assert not browser.problems, browser.problems
        check_views(browser, address, pictures)
        check_served(browser, program, folder)
        check_damaged(browser, program, folder, page)
    print("the page is as it should be")


main()
