// The parse of an image as SVG: layers are columns, capsules circles, couplings lines.

import { svg } from "./svg.js";

const [WIDTH, HEIGHT, TOP, SIDE] = [560, 380, 34, 46];
const LEAST = 0.02; // thinner lines are not drawn

export function drawTree(tree, { iteration, chosen, average, onChoose, classes, best }) {
  const root = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "tree", role: "group", "aria-label": "Parse tree, layer by layer",
  });
  const places = tree.layers.map((layer, depth) => column(layer, depth, tree.layers.length));
  const followed = chosen ? follow(tree, iteration, chosen) : null;
  tree.links[iteration].forEach((link, depth) => root.append(lines(link, depth, places, followed, tree)));
  tree.layers.forEach((layer, depth) => {
    const at = places[depth];
    root.append(svg("text", { x: at[0].x, y: 16, class: "layer" }, title(layer)));
    layer.strength.forEach((strength, type) => {
      const known = average?.layers[depth];
      root.append(node({ layer, depth, type, strength, at: at[type], followed, classes, best, known, onChoose }));
    });
  });
  return root;
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

function lines(link, depth, places, followed, tree) {
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
      }));
    });
  });
  return group;
}

function node({ layer, depth, type, strength, at, followed, classes, best, known, onChoose }) {
  const shown = Math.min(1, Math.abs(strength) / (layer.measure === "length" ? layer.scale : 1));
  const dead = layer.dead[type];
  const last = layer.name === "classes";
  const name = last ? `class ${classes[type]}` : `${layer.name}, capsule ${type}`;
  const told = `${name}: ${layer.measure} ${strength.toFixed(3)}${dead ? ", dead" : ""}` +
    (known ? `; over the data set ${known.mean[type].toFixed(3)} ± ${known.deviation[type].toFixed(3)}` : "");
  const on = !followed || followed[depth].has(type);
  const choose = () => onChoose({ layer: depth, type });
  const group = svg("g", {
    class: `node${dead ? " dead" : ""}${last && type === best ? " best" : ""}`, tabindex: 0, role: "button",
    "aria-label": told, opacity: on ? 1 : 0.25, onclick: choose, "data-layer": depth, "data-type": type,
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } },
  });
  group.append(svg("title", {}, told));
  group.append(svg("circle", { cx: at.x, cy: at.y, r: at.r, class: "frame" }));
  group.append(svg("circle", { cx: at.x, cy: at.y, r: (at.r * Math.sqrt(shown)).toFixed(2), class: "fill" }));
  if (known) {
    const r = at.r * Math.sqrt(Math.min(1, Math.abs(known.mean[type]) / (layer.measure === "length" ? layer.scale : 1)));
    group.append(svg("circle", { cx: at.x, cy: at.y, r: r.toFixed(2), class: "mean" }));
  }
  if (dead) {
    const d = at.r * 0.6;
    group.append(svg("path", { d: `M${at.x - d} ${at.y - d}l${2 * d} ${2 * d}m0 ${-2 * d}l${-2 * d} ${2 * d}`, class: "cross" }));
  }
  if (last) group.append(svg("text", { x: at.x + at.r + 6, y: at.y + 4, class: "class" }, String(classes[type])));
  return group;
}

// The capsules on routes through one capsule: up and down, along couplings above what uniform would give.
export function follow(tree, iteration, { layer, type }) {
  const on = tree.layers.map(() => new Set());
  if (!on[layer]) return null;
  on[layer].add(type);
  const links = tree.links[iteration];
  for (let depth = layer; depth < links.length; depth++) {
    for (const child of on[depth]) for (const parent of above(links[depth][child])) on[depth + 1].add(parent);
  }
  for (let depth = layer - 1; depth >= 0; depth--) {
    for (const parent of on[depth + 1]) for (const child of above(links[depth].map((row) => row[parent]))) on[depth].add(child);
  }
  return on;
}

function above(values) {
  const mean = values.reduce((a, b) => a + Math.abs(b), 0) / values.length;
  return values.map((v, k) => [Math.abs(v), k]).filter(([v]) => v >= mean && v > 0).map(([, k]) => k);
}
