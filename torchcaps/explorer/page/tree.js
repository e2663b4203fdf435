// The parse of an image as SVG: layers are columns, capsules circles, couplings lines.

import { svg } from "./svg.js";

const [WIDTH, HEIGHT, TOP, SIDE] = [560, 380, 34, 46];
const LEAST = 0.02; // thinner lines are not drawn
const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

export function drawTree(tree, { iteration, chosen, average, onChoose, classes, best }) {
  const root = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "tree", role: "group",
    "aria-label": "Parse tree, layer by layer. Arrow keys walk, Enter follows a capsule's routes.",
  });
  const places = tree.layers.map((layer, depth) => column(layer, depth, tree.layers.length));
  const followed = chosen ? follow(tree, iteration, chosen) : null;
  const name = (depth, type) => (tree.layers[depth].name === "classes" ? `class ${classes[type]}` : `${tree.layers[depth].name} ${type}`);
  tree.links[iteration].forEach((link, depth) => root.append(lines(link, depth, places, followed, tree, name)));
  const start = chosen ?? { layer: tree.layers.length - 1, type: best };
  tree.layers.forEach((layer, depth) => {
    const at = places[depth];
    root.append(svg("text", { x: at[0].x, y: 16, class: "layer" }, title(layer)));
    layer.strength.forEach((strength, type) => {
      root.append(node({
        layer, depth, type, strength, at: at[type], followed, known: average ? { mean: average.mean.strength[depth][type], deviation: average.deviation.strength[depth][type] } : null,
        name: name(depth, type), best: layer.name === "classes" && type === best, label: layer.name === "classes" ? classes[type] : null,
        first: depth === start.layer && type === start.type, pressed: chosen?.layer === depth && chosen?.type === type,
      }));
    });
  });
  listen(root, tree, onChoose);
  return root;
}

// Point for numbers, click to follow, walk with the arrow keys: only one capsule at a time is a stop of the tab key.
function listen(root, tree, onChoose) {
  const of = (event) => event.target.closest?.(".node");
  const place = (element) => ({ layer: +element.dataset.layer, type: +element.dataset.type });
  const tell = (event) => {
    const told = event.target.closest?.("[data-told]")?.dataset.told;
    const readout = root.parentElement?.querySelector(".readout");
    if (told && readout) readout.textContent = told;
  };
  root.addEventListener("pointerover", tell);
  root.addEventListener("focusin", tell);
  root.addEventListener("click", (event) => { if (of(event)) onChoose(place(of(event))); });
  root.addEventListener("keydown", (event) => {
    const from = of(event), step = STEPS[event.key];
    if (!from || !(step || event.key === "Enter" || event.key === " ")) return;
    event.preventDefault();
    if (!step) return onChoose(place(from));
    const layer = Math.min(tree.layers.length - 1, Math.max(0, place(from).layer + step[0]));
    const type = Math.min(tree.layers[layer].types - 1, Math.max(0, place(from).type + step[1]));
    const to = root.querySelector(`.node[data-layer="${layer}"][data-type="${type}"]`);
    from.setAttribute("tabindex", -1);
    to.setAttribute("tabindex", 0);
    to.focus();
  });
}

function title(layer) {
  const [h, w] = layer.grid;
  return h * w > 1 ? `${layer.name} ${h}×${w}` : layer.name;
}

function column(layer, depth, depths) {
  const x = depths === 1 ? WIDTH / 2 : SIDE + (depth * (WIDTH - 2 * SIDE)) / (depths - 1);
  const step = (HEIGHT - TOP - 14) / layer.types;
  return layer.strength.map((_, type) => ({ x, y: TOP + step * (type + 0.5), r: Math.min(13, step * 0.46) }));
}

function lines(link, depth, places, followed, tree, name) {
  const group = svg("g", { class: "links" });
  const uniform = 1 / tree.layers[depth + 1].types;
  link.forEach((row, child) => {
    row.forEach((coupling, parent) => {
      const size = Math.abs(coupling);
      if (size < LEAST) return;
      const on = !followed || (followed[depth].has(child) && followed[depth + 1].has(parent));
      const [a, b] = [places[depth][child], places[depth + 1][parent]];
      group.append(svg("line", {
        x1: a.x + a.r, y1: a.y, x2: b.x - b.r, y2: b.y, "stroke-width": (0.3 + 5 * size).toFixed(2),
        "stroke-opacity": (on ? Math.min(1, 0.12 + 0.9 * size) : 0.03).toFixed(2),
        class: coupling < 0 ? "negative" : size > 1.5 * uniform ? "strong" : "plain",
        "data-told": `${name(depth, child)} to ${name(depth + 1, parent)}: coupling ${coupling.toFixed(3)}, uniform would be ${uniform.toFixed(3)}`,
      }));
    });
  });
  return group;
}

function node({ layer, depth, type, strength, at, followed, known, name, best, label, first, pressed }) {
  const full = layer.measure === "length" ? Math.max(...layer.strength.map(Math.abs), 1e-9) : 1;
  const radius = (value) => (at.r * Math.sqrt(Math.min(1, Math.abs(value) / full))).toFixed(2);
  const dead = layer.dead[type];
  const told = `${name}: ${layer.measure} ${strength.toFixed(3)}${dead ? ", dead" : ""}` +
    (known ? `; over the data set ${known.mean.toFixed(3)} ± ${known.deviation.toFixed(3)}` : "");
  const group = svg("g", {
    class: `node${dead ? " dead" : ""}${best ? " best" : ""}`, tabindex: first ? 0 : -1, role: "button", "aria-pressed": String(pressed),
    "aria-label": told, "data-told": told, opacity: !followed || followed[depth].has(type) ? 1 : 0.25, "data-layer": depth, "data-type": type,
  });
  group.append(svg("circle", { cx: at.x, cy: at.y, r: at.r, class: "frame" }));
  const shade = 0.35 + 0.65 * Math.min(1, Math.abs(strength) / full);
  group.append(svg("circle", { cx: at.x, cy: at.y, r: radius(strength), class: "fill", opacity: shade.toFixed(2) }));
  if (known) group.append(svg("circle", { cx: at.x, cy: at.y, r: radius(known.mean), class: "mean" }));
  if (dead) {
    const d = at.r * 0.6;
    group.append(svg("path", { d: `M${at.x - d} ${at.y - d}l${2 * d} ${2 * d}m0 ${-2 * d}l${-2 * d} ${2 * d}`, class: "cross" }));
  }
  if (label !== null) group.append(svg("text", { x: at.x + at.r + 6, y: at.y + 4, class: "class" }, String(label)));
  return group;
}

// The capsules on routes through one capsule: up and down, along couplings above what uniform would give.
export function follow(tree, iteration, { layer, type }) {
  const on = tree.layers.map(() => new Set());
  if (!on[layer]) return null;
  on[layer].add(type);
  const links = tree.links[iteration];
  for (let depth = layer; depth < links.length; depth++) {
    for (const child of on[depth]) for (const parent of above(links[depth][child] ?? [])) on[depth + 1].add(parent);
  }
  for (let depth = layer - 1; depth >= 0; depth--) {
    for (const parent of on[depth + 1]) for (const child of above(links[depth].map((row) => row[parent] ?? 0))) on[depth].add(child);
  }
  return on;
}

function above(values) {
  const mean = values.reduce((a, b) => a + Math.abs(b), 0) / values.length;
  return values.map((v, k) => [Math.abs(v), k]).filter(([v]) => v >= mean && v > 0).map(([, k]) => k);
}
