"""Take the pictures of the explorer's page that the documentation shows.

torchcaps explore --no-browser --port 8765 &
python docs/explorer/shoot.py http://127.0.0.1:8765/
"""

import json
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

DEEP, WIDE, EM = "mitterreiter2023/capsnet", "sabour2017/capsnet", "gu2021/capsnet"
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
VIEWS = {
    "parse": ({"model": DEEP, "sample": 3}, "light", DESK),
    "mean": ({"model": DEEP, "against": "rings", "chosen": {"layer": 2, "type": 1}}, "light", DESK),
    "capsule-dark": ({"model": WIDE, "sample": 2, "deltas": {"3": 0.4, "5": -0.3}}, "dark", DESK),
    "open": ({"model": WIDE, "chosen": {"layer": 0, "type": 2}, "open": {"layer": 0, "type": 2}}, "light", DESK),
    "compare": ({"model": DEEP, "other": WIDE, "changes": {"rotation": 25}}, "light", DESK),
    "compare-dark": ({"model": EM, "other": "chen2019/lenet", "second": 3}, "dark", DESK),
    "phone": ({"model": DEEP, "sample": 5, "changes": {"rotation": -20}}, "light", PHONE),
    "phone-dark": ({"model": WIDE, "sample": 8}, "dark", PHONE),
}


def shoot(address: str) -> None:
    """Visit every view, and lay its picture beside this file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (state, scheme, size) in VIEWS.items():
            page = browser.new_page(viewport=size, color_scheme=scheme)
            page.goto(f"{address}#{json.dumps(state)}")
            page.wait_for_selector("body[data-ready=yes]")
            if "changes" in state:
                page.locator("#slider-rotation").press("ArrowRight")
                page.wait_for_selector("#strengths svg")
            file = Path(__file__).parent / f"{name}.png"
            page.screenshot(path=file, full_page=True)
            Image.open(file).convert("RGB").quantize(96, Image.Quantize.MAXCOVERAGE).save(file, optimize=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    shoot(sys.argv[1])
