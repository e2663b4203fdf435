// A slider for each number of one class capsule, and the drawing that follows.

import { bytes } from "./api.js";
import { html, paint } from "./svg.js";

const REACH = 0.5;

// Sliders are built once for a model and class; afterwards only the drawing changes, so that a drag is not cut off.
export class Capsule {
  constructor(element, changed) {
    this.element = element;
    this.changed = changed;
    this.built = "";
  }

  show(model, answer, state) {
    if (!model.decoder) {
      this.built = "";
      const why = model.layers.length ? "It was built without a decoder" : "It is a network without capsules";
      this.element.replaceChildren(html("p", {}, `${why}: there is nothing to draw from.`));
      return;
    }
    const label = state.label ?? answer.best;
    const key = `${model.id} ${state.label}`;
    if (this.built !== key) this.build(model, state, key);
    this.which.textContent = `class ${model.classes[label]}`;
    const shape = model.image;
    paint(this.plain, bytes(answer.reconstruction.plain), shape);
    paint(this.moved, bytes(answer.reconstruction.moved), shape);
    answer.reconstruction.pose.forEach((value, k) => {
      const delta = state.deltas[k] ?? 0;
      this.values[k].textContent = `${(value + delta).toFixed(2)}`;
    });
  }

  build(model, state, key) {
    this.built = key;
    this.which = html("strong", {});
    const choice = html("select", {
      id: "label", "aria-label": "Class capsule",
      onchange: (event) => this.changed({ label: event.target.value === "" ? null : +event.target.value, deltas: {} }),
    }, html("option", { value: "" }, "the class it names"), ...model.classes.map((name, k) => html("option", { value: k }, String(name))));
    choice.value = state.label ?? "";
    const canvas = (name) => html("canvas", { width: 112, height: 112, role: "img", "aria-label": name });
    [this.plain, this.moved] = [canvas("Reconstruction"), canvas("Reconstruction with the sliders' changes")];
    this.values = [];
    const rows = Array.from({ length: model.dim }, (_, k) => {
      const value = html("output", {});
      this.values.push(value);
      const slider = html("input", {
        type: "range", min: -REACH, max: REACH, step: 0.05, value: state.deltas[k] ?? 0, "data-dim": k,
        "aria-label": `dimension ${k} of the capsule, from ${REACH} less to ${REACH} more`,
        oninput: (event) => this.changed({ deltas: { [k]: +event.target.value } }, event.timeStamp),
      });
      return html("label", { class: "dimension" }, html("span", {}, `${k}`), slider, value);
    });
    this.element.replaceChildren(
      html("p", {}, choice, " ", this.which),
      html("div", { class: "drawings" },
        html("figure", {}, this.plain, html("figcaption", {}, "as it is")),
        html("figure", {}, this.moved, html("figcaption", {}, "as moved"))),
      html("div", { class: "dimensions" }, ...rows),
      html("button", { type: "button", id: "rest", onclick: () => { this.built = ""; this.changed({ deltas: null }); } }, "Back to rest"),
    );
  }
}
