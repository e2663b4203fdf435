"""The page's own script: a real browser whose every question is answered from here, with numbers that are known."""

import base64
import json
from urllib.parse import unquote, urlsplit

import pytest

from torchcaps.explorer.app import PAGE

from .browser import Visit, answer, slide

ADDRESS = "http://localhost:8765/"
CLASSES, COUNT = ["ant", "bee", "cat"], 43  # test images, 20 in a row
LAYERS = [("primary", [0.5, 0.6, 0.7]), ("hidden 1", [0.8, 0.9]), ("classes", [0.1, 0.2, 0.3])]
LINKS = [[[0.9, 0.1], [0.1, 0.9], [0.2, 0.8]], [[0.9, 0.05, 0.05], [0.05, 0.05, 0.9]]]
CURVE = [[-180.0, 0.0], [0.0, 0.25], [180.0, 1.0]]


def introduced(name):
    layers = [{"name": layer, "grid": [1, 1], "types": len(strength)} for layer, strength in LAYERS]
    samples = [k % 3 for k in range(COUNT)]
    plain = {"id": name, "title": name, "classes": CLASSES, "image": [1, 2, 2], "layers": layers, "samples": samples}
    return {**plain, "decoder": True, "dim": 2}


def strengths(times):
    return [[round(times * value, 3) for value in strength] for _, strength in LAYERS]


def looked(question):
    """The first network names the first class, the second the second."""
    best = ["one", "two"].index(question["model"])
    pixels = base64.b64encode(bytes([0, 85, 170, 100 * best])).decode()
    layers = [
        {"name": name, "grid": [1, 1], "types": len(values), "measure": "activation", "strength": values,
         "dead": [False] * len(values)}
        for (name, _), values in zip(LAYERS, strengths(1 - best / 2), strict=True)
    ]  # fmt: skip
    return {
        "image": pixels, "shape": [1, 2, 2], "best": best, "probabilities": [0.6, 0.3, 0.1], "change": 0.0,
        "between": {"value": 0.5, "by": "edges"}, "open": None, "tree": {"layers": layers, "links": [LINKS]},
        "reconstruction": {"pose": [0.25, -0.5], "plain": pixels, "moved": pixels},
    }  # fmt: skip


class Script:
    """Answers the page; an answer to `look` can be held back."""

    def __init__(self):
        self.questions, self.held, self.hold = [], [], False

    def __call__(self, route):
        path = unquote(urlsplit(route.request.url).path).strip("/")
        kind, _, rest = path.removeprefix("api/").partition("/")
        if not path.startswith("api/"):
            route.fulfill(path=PAGE / (path or "index.html"))
        elif kind == "samples":
            route.fulfill(body=bytes(4 * COUNT))
        elif kind == "look":
            self.questions.append(route.request.post_data_json)
            self.held.append(route)
            if not self.hold:
                self.release()
        else:
            route.fulfill(json=self.plain(kind, rest))

    def release(self):
        """Answer what was held back."""
        while self.held:
            route = self.held.pop(0)
            route.fulfill(json=looked(route.request.post_data_json))

    @staticmethod
    def plain(kind, model):
        if kind == "models":
            return [introduced("one"), introduced("two")]
        if kind == "average":
            parts = {"mean": (0.5, LINKS), "deviation": (0.1, LINKS)}
            told = {name: {"strength": strengths(times), "links": links} for name, (times, links) in parts.items()}
            return {"images": 200, **told}
        return CURVE if kind == "strengths" else {"rows": [], "note": f"of {model}"}

    def asked(self, page, wanted):
        """Wait for a question of which something holds."""
        for _ in range(500):
            if self.questions and wanted(self.questions[-1]):
                return
            page.wait_for_timeout(10)
        raise AssertionError(f"never asked: {self.questions[-1]}")


@pytest.fixture
def script():
    return Script()


@pytest.fixture
def visit(chromium, script):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.route("**/*", script)
    made = Visit(context, ADDRESS)
    yield made
    context.close()
    assert made.wrong == []


def told(page, selector):
    return page.locator(selector).evaluate_all("(all) => all.map((one) => one.dataset.told)")


def test_one_network_is_explored(visit, script):
    page = visit.open("#" + json.dumps({"changes": {"rotation": 9999, "shear": 20}}))
    # A link asks for nothing that no slider allows.
    assert [page.locator(f"#value-{name}").inner_text() for name in ("rotation", "shear")] == ["0°", "20°"]
    assert script.questions[-1]["changes"] == {
        "rotation": 0, "shear": 20, "scale": 1, "shift_x": 0, "shift_y": 0, "noise": 0,
    }  # fmt: skip
    # Lines are compared with an equal share among parents.
    assert told(page, ".links line")[0] == "primary 0 to hidden 1 0: coupling 0.900, uniform would be 0.500"
    assert told(page, ".links line")[-1] == "hidden 1 1 to class cat: coupling 0.900, uniform would be 0.333"
    # Routes are followed down to the primary capsules: from the first class to the first hidden one, and on.
    page.locator(".node[data-layer='2'][data-type='0']").click()
    page.wait_for_selector(".node[aria-pressed='true']")
    seen = page.locator(".node").evaluate_all("(all) => all.map((one) => +one.getAttribute('opacity'))")
    assert seen == [1, 0.25, 0.25, 1, 0.25, 1, 0.25, 0.25]
    # The numbers beside a capsule's sliders are what the pose becomes.
    slide(page, "[data-dim='1']", 0.4)
    assert page.locator(".dimension output").all_inner_texts() == ["0.25", "-0.10"]
    assert script.questions[-1]["deltas"] == [0, 0.4]
    # Before the first test image comes the last; a click on the sheet picks what is there.
    page.click("#previous")
    page.wait_for_function("() => document.querySelector('#which').textContent.startsWith('test image 43 of 43: ant')")
    box = page.locator("#sheet").bounding_box()
    page.locator("#sheet").click(position={"x": 1.5 / 20 * box["width"], "y": 0.5 / 3 * box["height"]})
    page.wait_for_function("() => document.querySelector('#which').textContent.startsWith('test image 2 of 43: bee')")
    # Of several quick changes the last is asked for.
    page.locator("#slider-rotation").evaluate(
        "(slider) => [10, 20, 30].forEach((v) => { slider.value = v; slider.dispatchEvent(new Event('input')); })"
    )
    script.asked(page, lambda question: question["changes"]["rotation"] == 30)
    # The curve of a change lies as its axis says.
    page.wait_for_selector("#strengths svg")
    texts = page.locator(".curves .tick.end").evaluate_all(
        "(all) => all.map((one) => [one.textContent, +one.getAttribute('y')])"
    )
    height = {text: y - 4 for text, y in texts}  # the middle of the letters
    assert height["100 %"] < height["50 %"] < height["0 %"]
    points = [
        tuple(map(float, point.split(",")))
        for point in page.locator(".curve-0[points]").get_attribute("points").split()
    ]
    quarter = height["0 %"] + 0.25 * (height["100 %"] - height["0 %"])
    assert [y for _, y in points] == pytest.approx([height["0 %"], quarter, height["100 %"]], abs=0.06)
    assert points[0][0] < points[1][0] < points[2][0]
    # In place of the image's tree the deviation of the data set's.
    page.select_option("#against", "deviation")
    page.wait_for_function("() => document.querySelector('.readout').textContent.startsWith('The deviation over 200')")
    assert told(page, ".node")[:3] == [
        f"primary {k}: activation {value}" for k, value in enumerate(("0.050", "0.060", "0.070"))
    ]
    page.select_option("#against", "mean")
    page.wait_for_function("() => document.querySelector('.readout').textContent.startsWith('The mean over 200')")
    assert told(page, ".node")[0] == "primary 0: activation 0.250"


def test_networks_keep_their_answers_apart(visit, script):
    page = visit.open()
    assert answer(page) == "ant"
    script.hold = True
    page.click("#next")
    script.asked(page, lambda _: script.held)
    page.select_option("#model", "two")
    page.wait_for_function("() => document.querySelector('#model').value === 'two' && location.hash.includes('two')")
    page.wait_for_timeout(50)
    script.release()  # the answer of the network that was shown before comes too late
    script.asked(page, lambda question: question["model"] == "two" and script.held)
    page.wait_for_timeout(50)
    assert page.locator(".panel").get_attribute("data-model") == "one"
    script.hold = False
    script.release()
    page.wait_for_selector(".panel[data-model='two']")
    assert answer(page) == "bee"
    page.select_option("#other", "one")
    page.wait_for_selector(".panel[data-model='one']")
    with page.expect_download() as waiting:
        page.click("#json")
    saved = json.loads(waiting.value.path().read_bytes())["networks"]
    for one, name in zip(saved, ("two", "one"), strict=True):
        wanted = looked({"model": name})
        assert one["id"] == name
        assert {key: one[key] for key in ("image", "tree", "best")} == {
            key: wanted[key] for key in ("image", "tree", "best")
        }
