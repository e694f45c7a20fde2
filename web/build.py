"""Joins the page's parts into one file: dist/index.html."""

import pathlib

here = pathlib.Path(__file__).parent
src = here / "src"
assets = here.parent / "crates" / "banister-report" / "assets"


def bare(text):
    """A module without its imports, and with its exports as plain declarations."""
    lines = [line for line in text.splitlines() if not line.startswith("import ")]
    return "\n".join(line.removeprefix("export ") for line in lines)


def read(path):
    return path.read_text(encoding="utf-8").strip()


modules = [bare(read(src / name)) for name in read(src / "ORDER").splitlines()]
parts = [read(assets / "uPlot.iife.min.js"), "(function () {", '"use strict";', *modules, "})();"]
script = "\n".join(parts)
style = "\n".join([read(assets / "uPlot.min.css"), read(src / "style.css")])
assert "</script" not in script and "</style" not in style
page = read(src / "index.html")
page = page.replace("<!-- style -->", f"<style>\n{style}\n</style>")
page = page.replace("<!-- script -->", f"<script>\n{script}\n</script>")
(here / "dist").mkdir(exist_ok=True)
(here / "dist" / "index.html").write_text(page + "\n", encoding="utf-8")
print(f"dist/index.html: {len(page.encode()) // 1024} kB")
