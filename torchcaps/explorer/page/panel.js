// One network's understanding of the image: its answer, its tree, how much that moved, and its scores.

import { drawBars } from "./bars.js";
import { html, paint } from "./svg.js";
import { drawTree } from "./tree.js";

// options: {first, iteration, state, average, beside, onChoose}
export function drawPanel(model, answer, options) {
  const { first, state, average } = options;
  const parts = [html("h3", {}, `${model.title}: `, html("strong", { class: "answer" }, String(model.classes[answer.best])))];
  if (!answer.tree.layers.length) parts.push(html("p", {}, "A network without capsules: there is no parse to show."));
  else {
    const tree = laid(answer.tree, average, state.against);
    parts.push(drawTree(tree, {
      iteration: Math.min(options.iteration, tree.links.length) - 1, classes: model.classes, best: answer.best,
      chosen: first ? state.chosen : null, average: average && state.against === "rings" ? average : null,
      onChoose: options.onChoose,
    }));
    parts.push(html("output", { class: "readout" }, what(state.against, average)));
    parts.push(html("p", { class: "change" }, moved(answer)));
    if (first && answer.open) parts.push(opened(answer.open));
  }
  if (options.beside) parts.push(html("p", { class: "between" }, between(answer.between)));
  parts.push(drawBars(answer, model.classes));
  return html("article", { class: "panel", "data-model": model.id, "aria-label": model.title }, ...parts);
}

// The tree of the image, or in its place the mean of the data set's trees, or their deviation.
function laid(tree, average, against) {
  if (!average || (against !== "mean" && against !== "deviation")) return tree;
  const { strength, links } = average[against];
  return { layers: tree.layers.map((layer, k) => ({ ...layer, strength: strength[k], dead: layer.dead.map(() => false) })), links: [links] };
}

function what(against, average) {
  if (!average || against === "none") return "Point at a capsule or a line for its numbers.";
  const over = `over ${average.images} test images`;
  return { rings: `Orange rings: the mean ${over}.`, mean: `The mean ${over}, not this image.`, deviation: `The deviation ${over}, not this image.` }[against];
}

function moved({ change }) {
  if (change === null) return "The couplings of its routing are no shares of a child: its trees cannot be compared.";
  return `Its tree differs from that of the image without changes by ${change.toFixed(3)}.`;
}

function between(found) {
  if (!found) return "The two networks have no trees that can be compared.";
  const how = found.by === "edges" ? "edge by edge" : "by what arrives at each class";
  return `The two networks' trees differ by ${found.value.toFixed(3)}, ${how}: 0 is the same, 1 nothing in common.`;
}

// A type of capsule at every position of its grid, and how much of each goes to the parent that gets most.
function opened({ layer, type, grid, strength, coupling, parent, uniform }) {
  const map = (values, name) => {
    const canvas = html("canvas", { width: 96, height: 96, role: "img", "aria-label": `${name}, position by position` });
    const most = Math.max(...values.map(Math.abs), 1e-9);
    paint(canvas, Uint8Array.from(values, (v) => (255 * Math.abs(v)) / most), [1, ...grid]);
    return html("figure", {}, canvas, html("figcaption", {}, `${name}, up to ${most.toFixed(2)}`));
  };
  const maps = [map(strength, "activation")];
  if (coupling) maps.push(map(coupling, `coupling to ${parent} (uniform: ${uniform.toFixed(2)})`));
  return html("div", { class: "opened" }, html("p", {}, `${layer}, capsule ${type}, by position`), html("div", { class: "drawings" }, ...maps));
}
