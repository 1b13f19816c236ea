"""The documentation site in a real browser, opened as files: the search finds, and no other host is asked."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 600
"""Of a browser on a busy machine."""


def test_the_search_works_without_a_server(tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run([ROOT / ".venv/bin/python", ROOT / "infra/site/build.py", "--out", site], check=True)
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(WITHIN_S * 1000)
        urls: list[str] = []
        page.on("request", lambda request: urls.append(request.url))
        page.goto(f"file://{site}/docs/api.html")
        # The keys of a page do nothing until its scripts have run, some of them after it is loaded.
        field = page.get_by_role("combobox", name="Search")
        deadline = time.monotonic() + WITHIN_S
        while not field.is_visible():
            assert time.monotonic() < deadline, "the search does not open"
            page.keyboard.press("Control+k")
            page.wait_for_timeout(2_000)
        field.fill("pseudonym")
        page.get_by_text("key rotation, forgetting a host").first.click()
        page.wait_for_url("**/how-to/addresses.html**")
        assert [url for url in urls if not url.startswith(("file:", "blob:"))] == []
        browser.close()
