"""The page's own script: a real browser whose every question is answered from here, with numbers that are known."""

import base64
import json
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from PIL import Image

from torchcaps.explorer.app import PAGE

from .browser import Visit, answer, slide

ADDRESS = "http://localhost:8765/"
CLASSES, COUNT = ["ant", "bee", "cat"], 43  # test images, 20 in a row
LAYERS = [("primary", [0.5, 0.6, 0.7]), ("hidden 1", [0.8, 0.9]), ("classes", [0.1, 0.2, 0.3])]
LINKS = [[[0.9, 0.1], [0.1, 0.9], [0.2, 0.8]], [[0.9, 0.05, 0.05], [0.05, 0.05, 0.9]]]
CURVE = [[-180.0, 0.0], [0.0, 0.25], [180.0, 1.0]]


def introduced(name, channels):
    layers = [{"name": layer, "grid": [1, 1], "types": len(strength)} for layer, strength in LAYERS]
    samples = [k % 3 for k in range(COUNT)]
    plain = {"id": name, "title": name, "classes": CLASSES, "layers": layers, "samples": samples}
    plain["image"] = [channels, 2, 2]
    return {**plain, "decoder": True, "dim": 2}


def encoded(numbers):
    return base64.b64encode(bytes(numbers)).decode()


def strengths(times):
    return [[round(times * value, 3) for value in strength] for _, strength in LAYERS]


def looked(question, channels=1):
    """The first network names the first class, the second the second."""
    best = ["one", "two"].index(question["model"])
    pixels = encoded([0, 85, 170, 100 * best, *range(240, 240 + 4 * (channels - 1))])
    layers = [
        {"name": name, "grid": [1, 1], "types": len(values), "measure": "activation", "strength": values,
         "dead": [False] * len(values)}
        for (name, _), values in zip(LAYERS, strengths(1 - best / 2), strict=True)
    ]  # fmt: skip
    return {
        "image": pixels, "shape": [channels, 2, 2], "best": best, "probabilities": [0.6, 0.3, 0.1], "change": 0.0,
        "between": {"value": 0.5, "by": "edges"}, "open": None, "tree": {"layers": layers, "links": [LINKS]},
        "reconstruction": {"pose": [0.25, -0.5], "plain": pixels, "moved": encoded([255] * 4 * channels)},
    }  # fmt: skip


class Script:
    """Answers the page; an answer to `look` can be held back, or refused for a reason."""

    def __init__(self):
        self.questions, self.held, self.hold, self.refusal, self.channels = [], [], False, None, 1

    def __call__(self, route):
        path = unquote(urlsplit(route.request.url).path).strip("/")
        kind, _, rest = path.removeprefix("api/").partition("/")
        if not path.startswith("api/"):
            route.fulfill(path=PAGE / (path or "index.html"))
        elif kind == "samples":
            route.fulfill(body=bytes(range(4 * COUNT)) * self.channels)
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
            if self.refusal is None:
                route.fulfill(json=looked(route.request.post_data_json, self.channels))
            else:
                route.fulfill(status=422, json={"detail": self.refusal})

    def plain(self, kind, model):
        if kind == "models":
            return [introduced("one", self.channels), introduced("two", self.channels)]
        if kind == "average":
            parts = {"mean": (0.5, LINKS), "deviation": (0.1, LINKS)}
            told = {name: {"strength": strengths(times), "links": links} for name, (times, links) in parts.items()}
            return {"images": 200, **told}
        rows = [{"name": "accuracy", "value": "90 %", "note": "of 43"}, {"name": "dead", "value": "0", "note": ""}]
        return CURVE if kind == "strengths" else {"rows": rows, "note": f"of {model}"}

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


def inked(question):
    return [value > 100 for value in base64.b64decode(question["pixels"])]


def painted(page, canvas, across=2, down=2):
    """The colours in the middle of each pixel of an image, row by row."""
    return page.locator(canvas).evaluate(
        """(canvas, [across, down]) => {
            const { width, height, data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return Array.from({ length: across * down }, (_, k) => {
                const [x, y] = [((k % across) + 0.6) / across, (Math.floor(k / across) + 0.6) / down];
                const at = 4 * (Math.floor(y * height) * width + Math.floor(x * width));
                return Array.from(data.slice(at, at + 3));
            });
        }""",
        [across, down],
    )


def test_one_network_is_explored(visit, script):
    page = visit.open("#" + json.dumps({"changes": {"rotation": 9999, "shear": 20}, "deltas": {"0": "far"}}))
    # A link asks for nothing that no slider allows.
    assert [page.locator(f"#value-{name}").inner_text() for name in ("rotation", "shear")] == ["0°", "20°"]
    assert script.questions[-1]["changes"] == {
        "rotation": 0, "shear": 20, "scale": 1, "shift_x": 0, "shift_y": 0, "noise": 0,
    }  # fmt: skip
    assert script.questions[-1]["deltas"] == [0, 0]
    # Lines are compared with an equal share among parents.
    assert page.locator(".links line").evaluate_all("(all) => all.map((one) => one.getAttribute('class'))") == [
        "strong", "plain", "plain", "strong", "plain", "strong", "strong", "plain", "plain", "plain", "plain", "strong",
    ]  # fmt: skip
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
    # Another capsule has its sliders at rest.
    page.select_option("#label", "1")
    page.wait_for_function("() => document.querySelector('#capsule strong').textContent === 'class bee'")
    assert [page.locator(f"[data-dim='{k}']").input_value() for k in (0, 1)] == ["0", "0"]
    assert script.questions[-1]["deltas"] == [0, 0]
    # Before the first test image comes the last; a click on the sheet picks what is there.
    page.click("#previous")
    page.wait_for_function("() => document.querySelector('#which').textContent.startsWith('test image 43 of 43: ant')")
    script.asked(page, lambda question: question["pixels"] == encoded([168, 169, 170, 171]))
    assert [grey for grey, _, _ in painted(page, "#sheet", 20, 3)[:COUNT]] == [4 * k + 3 for k in range(COUNT)]
    box = page.locator("#sheet").bounding_box()
    page.locator("#sheet").click(position={"x": 3.5 / 20 * box["width"], "y": 2.5 / 3 * box["height"]})  # no image
    page.wait_for_timeout(50)
    assert page.locator("#which").inner_text().startswith("test image 43 of 43: ant")
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


ENDS = """async () => {
    const { SLIDERS, fresh, fromLink, toLink } = await import("/state.js");
    const back = (key, value) => {
        const state = fresh();
        state.changes[key] = value;
        return fromLink(toLink(state)).changes[key];
    };
    return SLIDERS.map(({ key, min, max, rest, step }) => [
        back(key, min) === min, back(key, max) === max, back(key, min - step) === rest, back(key, max + step) === rest,
    ]);
}"""


def test_a_link_brings_back_both_ends_of_every_slider_and_nothing_beyond(visit):
    assert visit.open().evaluate(ENDS) == [[True] * 4] * 6


ROUTES = """async ([links, start]) => {
    const { follow } = await import("/tree.js");
    const layers = [links[0].length, links[1].length, links[1][0].length].map(() => ({}));
    return follow({ layers, links: [links] }, 0, start).map((on) => [...on].sort());
}"""


@pytest.mark.parametrize(
    ("links", "start", "wanted"),
    [
        (LINKS, (1, 0), [[0], [0], [0]]),
        (LINKS, (2, 2), [[1, 2], [1], [2]]),
        ([[[-0.9, 0.1], [0.1, 0.9], [0.2, 0.8]], LINKS[1]], (0, 0), [[0], [0], [0]]),  # by size, whatever the sign
        ([[[0.5, 0.5]] * 3, [[0.3] * 3] * 2], (1, 1), [[0, 1, 2], [1], [0, 1, 2]]),  # all alike: all are followed
        ([[[0.0, 1.0]] * 3, LINKS[1]], (1, 0), [[], [0], [0]]),  # what passes nothing on is not
    ],
)
def test_routes_go_up_and_down_along_couplings_that_are_not_below_the_mean(visit, links, start, wanted):
    page = visit.open()
    assert page.evaluate(ROUTES, [links, dict(zip(("layer", "type"), start, strict=True))]) == wanted


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
    assert page.locator(".bars .best .name").inner_text() == "bee"
    assert page.locator(".between").count() == 0
    page.select_option("#label", "0")
    page.wait_for_function("() => document.querySelector('#capsule strong').textContent === 'class ant'")
    page.select_option("#other", "one")
    page.wait_for_selector(".panel[data-model='one']")
    assert page.locator(".between").inner_text().startswith("The two networks' trees differ by 0.500, edge by edge")
    with page.expect_download() as waiting:
        page.click("#json")
    saved = json.loads(waiting.value.path().read_bytes())["networks"]
    for one, name in zip(saved, ("two", "one"), strict=True):
        wanted = looked({"model": name})
        assert one["id"] == name
        assert {key: one[key] for key in ("image", "tree", "best")} == {
            key: wanted[key] for key in ("image", "tree", "best")
        }


def test_a_capsule_is_followed_in_the_first_networks_tree_alone(visit):
    page = visit.open("#" + json.dumps({"other": "two", "chosen": {"layer": 2, "type": 0}}))
    pressed = [f".panel[data-model='{name}'] .node[aria-pressed='true']" for name in ("one", "two")]
    page.wait_for_selector(pressed[0])
    page.wait_for_selector(".panel[data-model='two'] .node")
    assert [page.locator(selector).count() for selector in pressed] == [1, 0]


def test_two_trees_are_saved_side_by_side(visit):
    page = visit.open("#" + json.dumps({"other": "two"}))
    with page.expect_download() as waiting:
        page.click("#svg")
    drawing = ElementTree.fromstring(waiting.value.path().read_bytes())
    one, two = drawing.findall("{http://www.w3.org/2000/svg}svg")
    assert float(two.get("x")) >= float(one.get("x")) + float(one.get("width"))
    assert float(drawing.get("width")) == float(two.get("x")) + float(two.get("width"))
    with page.expect_download() as waiting:
        page.click("#png")
    with Image.open(waiting.value.path()) as picture:
        assert picture.size == (2 * float(drawing.get("width")), 2 * float(drawing.get("height")))


def test_an_image_is_drawn_and_changed_by_hand(visit, script):
    page = visit.open("#7")  # a link that says nothing
    assert painted(page, "#seen") == [[grey] * 3 for grey in (0, 85, 170, 0)]
    assert painted(page, "figure:has-text('as moved') canvas") == [[255] * 3] * 4
    page.click("#invert")
    script.asked(page, lambda question: question["pixels"] == encoded([255, 254, 253, 252]))
    page.click("#clear")
    script.asked(page, lambda question: question["pixels"] == encoded([0] * 4))
    box = page.locator("#pad").bounding_box()
    page.locator("#pad").click(position={"x": 0.75 * box["width"], "y": 0.25 * box["height"]})
    script.asked(page, lambda question: inked(question) == [False, True, False, False])
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp", "ArrowUp", "ArrowDown", "Space"):
        page.locator("#pad").press(key)
    script.asked(page, lambda question: inked(question) == [False, True, True, False])
    # Another image is laid over, and taken away; changes are undone, the sliders' own too.
    options = page.locator("#second option").all_inner_texts()
    assert (len(options), options[:3], options[-1]) == (
        41, ["nothing", "test image 1: ant", "test image 2: bee"], "test image 40: ant",
    )  # fmt: skip
    for k in ("2", "0"):
        page.select_option("#second", k)
        script.asked(page, lambda question, k=int(k): question["second"] == encoded(range(4 * k, 4 * k + 4)))
    page.select_option("#second", "")
    script.asked(page, lambda question: question["second"] is None)
    slide(page, "#slider-shear", 20)
    page.click("#reset")
    script.asked(page, lambda question: question["changes"]["shear"] == 0)
    assert page.locator("#slider-shear").input_value() == "0"


def test_what_the_server_says_is_shown(visit, script):
    script.channels = 3
    page = visit.open()
    assert painted(page, "#seen") == [[0, 240, 244], [85, 241, 245], [170, 242, 246], [0, 243, 247]]
    assert page.locator(".bars .value").all_inner_texts() == ["60.0 %", "30.0 %", "10.0 %"]
    assert page.locator(".change").inner_text().endswith("by 0.000.")
    page.wait_for_selector(".card dt")
    assert page.locator(".card dt").all_inner_texts() == ["accuracy", "dead"]
    assert page.locator(".card dd").evaluate_all("(all) => all.map((one) => one.textContent)") == ["90 % of 43", "0"]
    assert page.locator(".card p").inner_text() == "of one"
    for script.refusal, said in (("no such network", "no such network"), ([{"why": 1}], '[{"why":1}]')):
        page.click("#next")
        page.wait_for_function("(said) => document.querySelector('#message').textContent === said", arg=said)
