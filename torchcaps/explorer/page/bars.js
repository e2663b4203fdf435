// Class scores as bars, and one score against the strength of a change as a line.

import { html, svg } from "./svg.js";

export function drawBars(answer, classes) {
  const list = html("ol", { class: "bars", "aria-label": "Class scores" });
  answer.probabilities.forEach((share, k) => {
    list.append(html("li", { class: k === answer.best ? "best" : "" },
      html("span", { class: "name" }, String(classes[k])),
      html("meter", { min: 0, max: 1, value: share, "aria-label": `class ${classes[k]}` }),
      html("span", { class: "value" }, `${(100 * share).toFixed(1)} %`)));
  });
  return list;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [420, 178, 40, 24, 36];

// curves: [{name, values: [[strength, share], …]}], all over the same strengths.
export function drawCurves(curves, now, unit) {
  const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curves", role: "img" });
  const strengths = curves[0].values.map(([x]) => x);
  const [low, high] = [strengths[0], strengths[strengths.length - 1]];
  const x = (v) => LEFT + ((v - low) / (high - low)) * (WIDTH - LEFT - 12);
  const y = (v) => TOP + (1 - v) * (HEIGHT - TOP - BOTTOM);
  for (const share of [0, 0.5, 1]) {
    root.append(svg("line", { x1: LEFT, x2: WIDTH - 12, y1: y(share), y2: y(share), class: "grid" }));
    root.append(svg("text", { x: LEFT - 6, y: y(share) + 4, class: "tick end" }, `${100 * share} %`));
  }
  for (const at of [low, (low + high) / 2, high]) {
    root.append(svg("text", { x: x(at), y: HEIGHT - 6, class: "tick middle" }, `${+at.toFixed(2)}${unit}`));
  }
  root.append(svg("line", { x1: x(now), x2: x(now), y1: y(1), y2: y(0), class: "now" }));
  curves.forEach(({ name, values }, k) => {
    const points = values.map(([s, v]) => `${x(s).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
    root.append(svg("polyline", { points, class: `curve curve-${k}` }, svg("title", {}, name)));
    root.append(svg("text", { x: LEFT, y: 12 + 14 * k, class: `tick legend curve-${k}` }, `${"—┄"[k]} ${name}`));
  });
  root.setAttribute("aria-label", curves.map(({ name, values }) => `${name}: ${values.map(([s, v]) => `${+s.toFixed(1)}${unit} ${(100 * v).toFixed(0)} %`).join(", ")}`).join("; "));
  return root;
}
