"""Cut the top of a dashboard's picture for the README, which must not push its first command off the screen."""

from __future__ import annotations

import sys

from PIL import Image

SHOWN_ROWS = 900  # the first screen: the answer and the grid


def main() -> None:
    """Crop the picture named first into the file named second."""
    source, target = sys.argv[1:]
    with Image.open(source) as picture:
        top = picture.crop((0, 0, picture.width, min(SHOWN_ROWS, picture.height)))
        # 256 colours are plenty for charts. By coverage, so that a small mark keeps its hue.
        top.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            target, optimize=True
        )


if __name__ == "__main__":
    main()
