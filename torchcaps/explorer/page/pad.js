// Drawing with mouse, finger, pen or keys, in pixels of the network's image.

import { base64, bytes } from "./api.js";
import { paint } from "./svg.js";

const INK = 1.1; // radius of the pen, in pixels of a 28-pixel image

export class Pad {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.shape = [1, 28, 28];
    this.data = new Uint8Array(28 * 28);
    this.pen = null;
    this.at = [14, 14];
    this.keys = false;
    canvas.addEventListener("pointerdown", (event) => this.start(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (this.pen = null));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => { this.keys = false; this.show(); });
  }

  get pixels() {
    return base64(this.data);
  }

  set(base, shape) {
    this.shape = shape;
    this.data = base === null ? new Uint8Array(shape[0] * shape[1] * shape[2]) : bytes(base);
    this.show();
  }

  clear() {
    this.data.fill(0);
    this.show();
    this.changed();
  }

  invert() {
    this.data = this.data.map((v) => 255 - v);
    this.show();
    this.changed();
  }

  start(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pen = this.place(event);
    this.stroke(this.pen, this.pen);
    event.preventDefault();
  }

  move(event) {
    if (!this.pen) return;
    const to = this.place(event);
    this.stroke(this.pen, to);
    this.pen = to;
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    this.keys = true;
    if (step) {
      const [, h, w] = this.shape;
      const to = [Math.min(w - 1, Math.max(0, this.at[0] + step[0])), Math.min(h - 1, Math.max(0, this.at[1] + step[1]))];
      if (event.shiftKey) this.stroke(this.at, to);
      this.at = to;
    } else if (event.key === " ") this.stroke(this.at, this.at);
    else return;
    event.preventDefault();
    this.show();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const [, h, w] = this.shape;
    return [((event.clientX - box.left) / box.width) * w - 0.5, ((event.clientY - box.top) / box.height) * h - 0.5];
  }

  stroke(from, to) {
    const [channels, h, w] = this.shape;
    const radius = INK * (h / 28);
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    for (let y = 0; y < h; y++) {
      for (let x = 0; x < w; x++) {
        const along = length ? Math.min(1, Math.max(0, ((x - from[0]) * dx + (y - from[1]) * dy) / length ** 2)) : 0;
        const far = Math.hypot(x - from[0] - along * dx, y - from[1] - along * dy);
        const ink = Math.round(255 * Math.min(1, Math.max(0, radius + 0.5 - far)));
        for (let c = 0; c < channels; c++) {
          const k = (c * h + y) * w + x;
          if (ink > this.data[k]) this.data[k] = ink;
        }
      }
    }
    this.show();
    this.changed();
  }

  show() {
    paint(this.canvas, this.data, this.shape);
    if (!this.keys) return;
    const context = this.canvas.getContext("2d");
    const size = this.canvas.width / this.shape[2];
    context.strokeStyle = "#e69f00";
    context.lineWidth = 2;
    context.strokeRect(this.at[0] * size, this.at[1] * size, size, size);
  }
}
