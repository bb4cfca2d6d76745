#!/usr/bin/env python3
"""Writes docs/reproduce.md from the tables of ablations; sections of ablations that are not in DIR stay.
Of all-methods the README shows the table too.

  scripts/write_reproduce.py DIR     DIR/NAME/table.md of any of configs/ablations/tiny/NAME.yaml
"""
import collections
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/reproduce.md"
README = ROOT / "README.md"
PLANS = ROOT / "configs/ablations/tiny"
COMMAND = "`tapemeasure ablate configs/ablations/tiny/{}.yaml`"
VERDICTS = ["holds", "within noise", "contradicted", "not measured"]
HEAD = """\
# The papers' ablations, reproduced

Made by `scripts/reproduce.sh` and not by hand: ablations of `configs/ablations/tiny/` on the King James
Bible, with the papers' own numbers beside ours. A paper's perplexity or BLEU is not our bits per character;
what compares is the order and the gaps, which the verdicts judge ([ablations.md](ablations.md) says how).
"Size-dependent" claims are those that a model of 100 000 parameters may not show, or shows reversed.
"""


def kept_sections():
    """Of the document as it is: the text of each ablation's section, by name."""
    sections = {}
    if not DOCUMENT.exists():
        return sections
    for section in re.split(r"(?m)^(?=## )", DOCUMENT.read_text())[1:]:
        name = re.search(re.escape(COMMAND).replace(r"\{\}", r"([\w-]+)"), section)
        if name:
            sections[name[1]] = section.strip()
    return sections


def new_section(name, table):
    return re.sub(r"(?m)^#", "##", table.read_text()).strip() + "\n\n" + COMMAND.format(name)


def finished(table):
    """Whether every cell beside `table` has all its seeds; says so where not."""
    cells = json.loads((table.parent / "results.json").read_text())["cells"]
    missing = sum(cell["wanted"] - cell["n"] for cell in cells)
    if missing:
        print(f"{table.parent} is left out: {missing} of its values are missing", file=sys.stderr)
    return not missing


def verdict_counts(sections):
    """Rows "core" and "size-dependent", a count for each verdict."""
    counts = {kind: collections.Counter() for kind in ("core", "size-dependent")}
    for section in sections.values():
        claims = section[section.find("### Claims"):] if "### Claims" in section else ""
        for row in re.findall(r"(?m)^\| [a-z0-9-]+ .*$", claims):
            cells = [cell.strip(" *") for cell in row.strip("|").split("|")]
            kind = "size-dependent" if "size-dependent" in cells[0] else "core"
            counts[kind].update(cell for cell in cells if cell in VERDICTS)
    return counts


def show_in_readme(table):
    """Puts the means of all-methods between the README's two marks."""
    rows = re.search(r"(?m)(^\|.*\n)+", table.read_text())[0]
    begin, end = "<!-- all-methods -->\n", "<!-- /all-methods -->"
    before, rest = README.read_text().split(begin)
    after = rest.split(end)[1]
    README.write_text(before + begin + rows + end + after)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    tables = {path.parent.name: path for path in sorted(Path(sys.argv[1]).glob("*/table.md"))}
    tables = {name: path for name, path in tables.items() if (PLANS / f"{name}.yaml").exists()}
    tables = {name: path for name, path in tables.items() if finished(path)}
    if not tables:
        sys.exit(f"write_reproduce.py: no finished ablation of {PLANS} in {sys.argv[1]}")
    sections = kept_sections()
    sections.update({name: new_section(name, path) for name, path in tables.items()})
    order = sorted(sections, key=lambda name: (name != "all-methods", name))
    lines = [HEAD, "| claims | " + " | ".join(VERDICTS) + " |", "| --- " * (len(VERDICTS) + 1) + "|"]
    for kind, counts in verdict_counts(sections).items():
        lines.append(f"| {kind} | " + " | ".join(str(counts[v]) for v in VERDICTS) + " |")
    missing = sorted(path.stem for path in PLANS.glob("*.yaml") if path.stem not in sections)
    if missing:
        lines.append("\nNot run here: " + ", ".join(f"`{name}`" for name in missing) + ".")
    DOCUMENT.write_text("\n".join(lines) + "\n\n" + "\n\n".join(sections[name] for name in order) + "\n")
    if "all-methods" in tables:
        show_in_readme(tables["all-methods"])


main()
