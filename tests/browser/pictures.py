"""Pictures of a page, and how much two of them differ."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageChops
from playwright.sync_api import Locator, Page


def picture_around(page: Page, place: Locator) -> Image.Image:
    """Return a picture of an element and of 6 pixels on each side, where the browser draws its focus."""
    box = place.bounding_box()
    assert box is not None
    clip = {"x": box["x"] - 6, "y": box["y"] - 6, "width": box["width"] + 12, "height": box["height"] + 12}
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L")


def different_pixels(one: Image.Image, other: Image.Image) -> int:
    """Return how many pixels of two pictures differ by more than an eye overlooks."""
    return sum(ImageChops.difference(one, other).histogram()[16:])


def difference(one: Path, other: Path) -> float:
    """Return the mean difference of two pictures in grey, 0 to 1, at a size at which letters do not matter."""
    with Image.open(one) as first, Image.open(other) as second:
        greys = [picture.convert("L").resize((80, 56), Image.Resampling.BOX).tobytes() for picture in (first, second)]
    return sum(abs(a - b) for a, b in zip(*greys, strict=True)) / len(greys[0]) / 255
