// Test images: fetched once for each network, drawn as a sheet of tiles, picked one by one.

import { base64 } from "./api.js";
import { paint } from "./svg.js";

const [ACROSS, SIZE] = [20, 24];
const sheets = new Map();

const length = (model) => model.image.reduce((a, b) => a * b);

async function all(model) {
  if (!sheets.has(model.id)) {
    const response = await fetch(`api/samples/${encodeURIComponent(model.id)}`);
    if (!response.ok) throw new Error(`The test images cannot be had: ${response.status}`);
    sheets.set(model.id, new Uint8Array(await response.arrayBuffer()));
  }
  return sheets.get(model.id);
}

export async function tile(model, k) {
  return base64((await all(model)).subarray(k * length(model), (k + 1) * length(model)));
}

export async function drawSheet(canvas, model, onPick) {
  const rows = Math.ceil(model.samples.length / ACROSS);
  const images = await all(model);
  canvas.width = ACROSS * SIZE;
  canvas.height = rows * SIZE;
  const one = new OffscreenCanvas(SIZE, SIZE);
  for (let k = 0; k < model.samples.length; k++) {
    paint(one, images.subarray(k * length(model), (k + 1) * length(model)), model.image);
    canvas.getContext("2d").drawImage(one, (k % ACROSS) * SIZE, Math.floor(k / ACROSS) * SIZE);
  }
  canvas.onclick = (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * ACROSS);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    if (row * ACROSS + column < model.samples.length) onPick(row * ACROSS + column);
  };
}
