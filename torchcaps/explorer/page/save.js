// What is seen, as a file: SVG with its colours inside, PNG, or the parse as JSON.

import { svg } from "./svg.js";

const COLOURS = ["--ink", "--soft", "--paper", "--accent", "--strong", "--dead", "--second", "--line", "--border"];
const [GAP, TITLE] = [20, 26];

export async function save(kind, { state, models, answers }) {
  if (kind === "json") {
    const text = JSON.stringify({ state, networks: models.map(({ id }, k) => ({ id, ...answers[k] })) }, null, 1);
    return download("parse.json", new Blob([text], { type: "application/json" }));
  }
  const drawing = composed();
  const text = new Blob([new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" });
  return kind === "svg" ? download("parse.svg", text) : download("parse.png", await asPng(text, drawing));
}

// Every tree that is seen, side by side under its network's answer, and the curves below.
function composed() {
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg" }, style());
  let [x, bottom] = [0, 0];
  for (const panel of document.querySelectorAll(".panel")) {
    const tree = panel.querySelector("svg.tree");
    if (!tree) continue;
    const [, , width, height] = tree.getAttribute("viewBox").split(" ").map(Number);
    root.append(svg("text", { x: x + 10, y: 18, class: "title" }, panel.querySelector("h3").textContent));
    root.append(placed(tree, x, TITLE, width, height));
    [x, bottom] = [x + width + GAP, TITLE + height];
  }
  const curves = document.querySelector("#strengths:not([hidden]) svg");
  if (curves) {
    const [, , width, height] = curves.getAttribute("viewBox").split(" ").map(Number);
    root.append(placed(curves, 0, bottom + GAP, width, height));
    [x, bottom] = [Math.max(x, width + GAP), bottom + GAP + height];
  }
  if (!x) throw new Error("There is no tree to save.");
  for (const [name, value] of [["width", x - GAP], ["height", bottom], ["viewBox", `0 0 ${x - GAP} ${bottom}`]]) root.setAttribute(name, value);
  return root;
}

function placed(drawing, x, y, width, height) {
  const copy = drawing.cloneNode(true);
  for (const [name, value] of Object.entries({ x, y, width, height })) copy.setAttribute(name, value);
  return copy;
}

function style() {
  const computed = getComputedStyle(document.documentElement);
  const names = COLOURS.map((name) => `${name}:${computed.getPropertyValue(name).trim()}`).join(";");
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText)
    .filter((text) => /^\.(tree|links|node|curves)/.test(text)).join("\n");
  return svg("style", {}, `:root{color-scheme:${scheme};${names};background:var(--paper);font:11px sans-serif} .title{fill:var(--ink);font-size:14px}\n${rules}`);
}

async function asPng(text, drawing, scale = 2) {
  const url = URL.createObjectURL(text);
  const image = new Image();
  image.src = url;
  await image.decode();
  URL.revokeObjectURL(url);
  const canvas = new OffscreenCanvas(drawing.getAttribute("width") * scale, drawing.getAttribute("height") * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/png" });
}

function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
