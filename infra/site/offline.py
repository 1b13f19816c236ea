"""Makes the built site whole without a network: its search runs where the pages are opened as files."""

from __future__ import annotations

import json
import os
from pathlib import Path

#: The generator's pages ask another host for this script, which lets a page that is a file have a worker.
FOREIGN = '<script src="https://unpkg.com/iframe-worker/shim" type="text/javascript"></script>'
LOCAL = Path("assets/javascripts/worker-of-files.js")

# A browser refuses a page that is a file a worker from another file. It allows one from a blob of the page itself.
_SCRIPT = """(() => {
  if (location.protocol !== "file:") return;
  const source = %s;
  const FromUrl = window.Worker;
  window.Worker = class extends FromUrl {
    constructor() { super(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))); }
  };
})();
"""


def keep_to_itself(site: Path) -> None:
    """Replace the script of another host in every page by one of the site's own.

    Raises
    ------
    ValueError
        When pages or the worker of the search are not as this version of the generator writes them.
    """
    workers = list((site / "assets" / "javascripts" / "workers").glob("search.*.js"))
    if len(workers) != 1:
        raise ValueError(f"{len(workers)} workers of the search, where one is expected")
    (site / LOCAL).write_text(_SCRIPT % json.dumps(workers[0].read_text(encoding="utf-8")), encoding="utf-8")
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if text.count(FOREIGN) != 1:
            raise ValueError(f"{page.relative_to(site)} does not have the script that is replaced, once")
        local = Path(os.path.relpath(site / LOCAL, page.parent)).as_posix()
        page.write_text(text.replace(FOREIGN, f'<script src="{local}"></script>'), encoding="utf-8")
