// The sliders that change an image, and what is laid over it.

import { SLIDERS } from "./state.js";
import { html } from "./svg.js";

const OVERLAYS = 40;

export class Controls {
  constructor(element, { onSlide, onOverlay, onReset }) {
    this.inputs = new Map();
    for (const { key, name, unit, min, max, step } of SLIDERS) {
      const value = html("output", { id: `value-${key}` });
      const input = html("input", {
        id: `slider-${key}`, type: "range", min, max, step,
        oninput: (event) => {
          value.textContent = `${+input.value}${unit}`;
          onSlide(key, +input.value, event.timeStamp);
        },
      });
      this.inputs.set(key, { input, value, unit });
      element.append(html("label", {}, html("span", {}, name), input, value));
    }
    this.second = html("select", { id: "second", onchange: () => onOverlay(this.second.value === "" ? null : +this.second.value) });
    element.append(html("label", {}, html("span", {}, "overlay"), this.second));
    element.append(html("button", { type: "button", id: "reset", onclick: onReset }, "Undo changes"));
  }

  offer(model) {
    const images = model.samples.slice(0, OVERLAYS);
    this.second.replaceChildren(html("option", { value: "" }, "nothing"),
      ...images.map((label, k) => html("option", { value: k }, `test image ${k + 1}: ${model.classes[label]}`)));
  }

  show({ changes, second }) {
    for (const [key, { input, value, unit }] of this.inputs) {
      input.value = changes[key];
      value.textContent = `${changes[key]}${unit}`;
    }
    this.second.value = second ?? "";
  }
}
