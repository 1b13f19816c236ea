"""The documentation site in a real browser, opened as files: the search finds, and no other host is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]


def test_the_search_works_without_a_server(tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run([ROOT / ".venv/bin/python", ROOT / "infra/site/build.py", "--out", site], check=True)
    chromium = os.environ.get("SOJOURN_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"file://{site}/docs/api.html")
        page.keyboard.press("Control+k")
        page.keyboard.type("pseudonym")
        result = page.get_by_text("rotation of the key, forgetting a host").first
        result.wait_for(timeout=60_000)
        result.click()
        page.wait_for_url("**/how-to/addresses.html**", timeout=60_000)
        assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
        browser.close()
