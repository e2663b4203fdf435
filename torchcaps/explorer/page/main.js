// The page: state in, questions to the server, pictures out.

import * as api from "./api.js";
import { drawBars, drawCurves } from "./bars.js";
import { Capsule } from "./capsule.js";
import { drawHealth } from "./health.js";
import { Pad } from "./pad.js";
import { asPng, asSvg, download } from "./save.js";
import { SLIDERS, fresh, fromLink, toLink } from "./state.js";
import { html, paint } from "./svg.js";
import { drawTree } from "./tree.js";

const $ = (id) => document.getElementById(id);
let state = fresh();
let models = [];
let answers = [];
let overlay = null; // the pixels of the image laid over
const averages = new Map(), cards = new Map(), sheets = new Map();
const pad = new Pad($("pad"), () => change({ pixels: pad.pixels }));
const capsule = new Capsule($("capsule"), (told) => {
  const deltas = told.deltas === null ? {} : { ...state.deltas, ...told.deltas };
  change("label" in told ? { label: told.label, deltas: {} } : { deltas });
});

const shown = () => models.filter(({ id }) => id === state.model || id === state.other)
  .sort((a, b) => (a.id === state.model ? -1 : b.id === state.model ? 1 : 0));

function say(text) {
  $("message").textContent = text;
}

// ---- questions ------------------------------------------------------------------------------------------------

let asking = null, again = false;

function picture(model) {
  return { model: model.id, pixels: pad.pixels, shape: pad.shape, second: overlay, changes: state.changes };
}

function question(model) {
  const first = model.id === state.model;
  return {
    ...picture(model), label: state.label, open: first ? state.open : null, beside: first && state.other ? state.other : null,
    deltas: Array.from({ length: model.dim }, (_, k) => state.deltas[k] ?? 0),
  };
}

// One question at a time: while one is under way, only the newest state waits.
async function ask() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  const began = performance.now();
  try {
    answers = await Promise.all(shown().map((model) => api.look(question(model))));
    say("");
    show();
    requestAnimationFrame(() => performance.measure("look", { start: began }));
  } catch (error) {
    say(error.message);
  } finally {
    asking = null;
  }
  if (again) {
    again = false;
    ask();
  }
}

let curvesTimer = null;

function askCurves() {
  clearTimeout(curvesTimer);
  curvesTimer = setTimeout(async () => {
    try {
      const slider = SLIDERS.find(({ key }) => key === state.last);
      const label = answers[0]?.best ?? 0;
      const found = await Promise.all(shown().map((model) =>
        api.strengths({ ...picture(model), factor: slider.key, label })));
      const curves = found.map((values, k) => ({ name: shown()[k].title, values }));
      $("strengths-chart").replaceChildren(drawCurves(curves, state.changes[slider.key], slider.unit));
      $("strengths").hidden = false;
    } catch (error) {
      say(error.message);
    }
  }, 250);
}

// ---- changes --------------------------------------------------------------------------------------------------

function change(part) {
  state = { ...state, ...part };
  history.replaceState(null, "", toLink(state));
  ask();
}

function slide(key, value) {
  change({ changes: { ...state.changes, [key]: value }, last: key });
  $(`value-${key}`).textContent = told(key);
  askCurves();
}

const told = (key) => {
  const { unit } = SLIDERS.find((slider) => slider.key === key);
  return `${state.changes[key]}${unit}`;
};

async function pick(sample) {
  const model = shown()[0];
  const count = model.samples.length;
  if (!count) return;
  state.sample = ((sample % count) + count) % count;
  pad.set(await tile(model, state.sample), model.image);
  change({ sample: state.sample, pixels: null });
  which();
}

function which() {
  const model = shown()[0];
  $("which").textContent = state.pixels === null && model.samples.length
    ? `test image ${state.sample + 1} of ${model.samples.length}: ${model.classes[model.samples[state.sample]]}` : "your own image";
}

// ---- test images ----------------------------------------------------------------------------------------------

async function sheet(model) {
  if (!sheets.has(model.id)) {
    const response = await fetch(`api/samples/${encodeURIComponent(model.id)}`);
    sheets.set(model.id, new Uint8Array(await response.arrayBuffer()));
  }
  return sheets.get(model.id);
}

async function tile(model, k) {
  const size = model.image.reduce((a, b) => a * b);
  const all = await sheet(model);
  return api.base64(all.subarray(k * size, (k + 1) * size));
}

async function drawSheet() {
  const model = shown()[0], canvas = $("sheet");
  const across = 20, size = 24, rows = Math.ceil(model.samples.length / across);
  canvas.width = across * size;
  canvas.height = rows * size;
  const all = await sheet(model), length = model.image.reduce((a, b) => a * b);
  const one = document.createElement("canvas");
  one.width = one.height = size;
  for (let k = 0; k < model.samples.length; k++) {
    paint(one, all.subarray(k * length, (k + 1) * length), model.image);
    canvas.getContext("2d").drawImage(one, (k % across) * size, Math.floor(k / across) * size);
  }
  canvas.onclick = (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * across);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    if (row * across + column < model.samples.length) pick(row * across + column);
  };
}

// ---- pictures -------------------------------------------------------------------------------------------------

function show() {
  const both = shown();
  paint($("seen"), api.bytes(answers[0].image), answers[0].shape);
  const iterations = Math.max(...answers.map(({ tree }) => tree.links.length), 1);
  const iteration = state.iteration > 0 ? Math.min(state.iteration, iterations) : iterations;
  $("iteration").max = iterations;
  $("iteration").value = iteration;
  $("iteration").disabled = iterations < 2;
  $("iteration-value").textContent = `${iteration} of ${iterations}`;
  $("panels").replaceChildren(...both.map((model, k) => panel(model, answers[k], iteration)));
  capsule.show(both[0], answers[0], state);
}

function panel(model, answer, iteration) {
  const first = model.id === state.model;
  const parts = [html("h3", {}, `${model.title}: `, html("strong", { class: "answer" }, String(model.classes[answer.best])))];
  if (!answer.tree.layers.length) parts.push(html("p", {}, "A network without capsules: there is no parse to show."));
  else {
    parts.push(drawTree(answer.tree, {
      iteration: Math.min(iteration, answer.tree.links.length) - 1, classes: model.classes, best: answer.best,
      chosen: first ? state.chosen : null, average: state.average ? averages.get(model.id) : null,
      onChoose: (node) => choose(model, node),
    }));
    parts.push(html("p", { class: "change" },
      answer.change === null ? "The couplings of its routing are no shares of a child: its trees cannot be compared."
        : `Its tree differs from that of the image without changes by ${answer.change.toFixed(3)}` +
          (answer.between === null ? "." : `; the two networks' trees differ by ${answer.between.toFixed(3)}.`)));
    if (first && answer.open) parts.push(opened(answer.open));
  }
  parts.push(drawBars(answer, model.classes));
  return html("article", { class: "panel", "data-model": model.id }, ...parts);
}

function choose(model, node) {
  if (model.id !== state.model) return;
  const same = state.chosen && state.chosen.layer === node.layer && state.chosen.type === node.type;
  const [h, w] = model.layers[node.layer].grid;
  change({ chosen: same ? null : node, open: same || h * w === 1 ? null : node });
}

// A type of capsule at every position of its grid, and how much of each goes to the parent that gets most.
function opened({ layer, type, grid, strength, coupling, parent, uniform }) {
  const map = (values, name) => {
    const canvas = html("canvas", { width: 96, height: 96, role: "img", "aria-label": name });
    const most = Math.max(...values.map(Math.abs), 1e-9);
    paint(canvas, Uint8Array.from(values, (v) => (255 * Math.abs(v)) / most), [1, ...grid]);
    return html("figure", {}, canvas, html("figcaption", {}, `${name}, up to ${most.toFixed(2)}`));
  };
  const maps = [map(strength, "activation")];
  if (coupling) maps.push(map(coupling, `coupling to ${parent} (uniform: ${uniform.toFixed(2)})`));
  return html("div", { class: "opened" }, html("p", {}, `${layer}, capsule ${type}, by position`), html("div", { class: "drawings" }, ...maps));
}

// ---- start ----------------------------------------------------------------------------------------------------

async function lay(second) {
  overlay = second === null ? null : await tile(shown()[0], second);
}

function buildSliders() {
  for (const { key, name, min, max, step } of SLIDERS) {
    $("sliders").append(html("label", {}, html("span", {}, name), html("input", {
      id: `slider-${key}`, type: "range", min, max, step, oninput: (event) => slide(key, +event.target.value),
    }), html("output", { id: `value-${key}` })));
  }
  const second = html("select", { id: "second", onchange: async (event) => {
    const second = event.target.value === "" ? null : +event.target.value;
    await lay(second);
    change({ second });
  } });
  $("sliders").append(html("label", {}, html("span", {}, "overlay"), second));
  $("sliders").append(html("button", { type: "button", id: "reset", onclick: reset }, "Undo changes"));
}

function reset() {
  state.changes = fresh().changes;
  $("second").value = "";
  overlay = null;
  for (const { key } of SLIDERS) { $(`slider-${key}`).value = state.changes[key]; $(`value-${key}`).textContent = told(key); }
  $("strengths").hidden = true;
  change({ second: null });
}

async function settle() {
  const model = shown()[0];
  $("model").value = state.model;
  $("other").value = state.other;
  $("second").replaceChildren(html("option", { value: "" }, "nothing"),
    ...model.samples.slice(0, 40).map((label, k) => html("option", { value: k }, `test image ${k + 1}: ${model.classes[label]}`)));
  $("second").value = state.second ?? "";
  await lay(state.second);
  for (const { key } of SLIDERS) { $(`slider-${key}`).value = state.changes[key]; $(`value-${key}`).textContent = told(key); }
  $("average").checked = state.average;
  drawSheet();
  if (state.pixels !== null) pad.set(state.pixels, model.image);
  else if (model.samples.length) pad.set(await tile(model, Math.min(state.sample, model.samples.length - 1)), model.image);
  which();
  if (state.average) await loadAverages();
  showHealth();
  return ask();
}

async function loadAverages() {
  for (const { id, layers } of shown()) {
    if (layers.length && !averages.has(id)) {
      say("Walking over the test images …");
      averages.set(id, await api.average(id));
    }
  }
}

async function showHealth() {
  for (const { id } of shown()) {
    if (!cards.has(id)) {
      $("health").replaceChildren(html("p", {}, "Measuring …"));
      try {
        cards.set(id, await api.health(id));
      } catch (error) {
        cards.set(id, { rows: [], note: error.message });
      }
    }
  }
  $("health").replaceChildren(...shown().map((model) => drawHealth(model, cards.get(model.id) ?? { rows: [], note: "" })));
}

async function runAttack() {
  const bar = $("attack-progress");
  bar.hidden = false; // how far an attack is, nobody can tell: the bar moves without an end
  $("run-attack").disabled = true;
  try {
    const found = await api.attack({ ...picture(shown()[0]), method: $("method").value, eps: +$("eps").value });
    state.changes = fresh().changes;
    pad.set(found.image, found.shape);
    overlay = null;
    change({ pixels: found.image, second: null, changes: state.changes });
    for (const { key } of SLIDERS) { $(`slider-${key}`).value = state.changes[key]; $(`value-${key}`).textContent = told(key); }
    which();
    say(`${$("method").selectedOptions[0].text}, eps ${$("eps").value}: ${found.before} became ${found.after}.`);
  } catch (error) {
    say(error.message);
  } finally {
    bar.hidden = true;
    $("run-attack").disabled = false;
  }
}

function listen() {
  $("model").onchange = (event) => { state = { ...state, model: event.target.value, chosen: null, open: null, label: null, deltas: {}, pixels: null }; settle(); history.replaceState(null, "", toLink(state)); };
  $("other").onchange = (event) => { state.other = event.target.value; settle(); history.replaceState(null, "", toLink(state)); };
  $("clear").onclick = () => { pad.clear(); which(); };
  $("previous").onclick = () => pick(state.sample - 1);
  $("next").onclick = () => pick(state.sample + 1);
  $("pad").addEventListener("pointerup", which);
  $("iteration").oninput = (event) => { state.iteration = +event.target.value; history.replaceState(null, "", toLink(state)); show(); };
  $("average").onchange = async (event) => { state.average = event.target.checked; await loadAverages(); say(""); change({}); };
  $("run-attack").onclick = runAttack;
  $("file").onchange = async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (!file) return;
    try {
      const found = await api.upload(state.model, file);
      pad.set(found.pixels, found.shape);
      change({ pixels: found.pixels });
      which();
    } catch (error) {
      say(`${file.name}: ${error.message}`);
    }
  };
  $("link").onclick = async () => { await navigator.clipboard?.writeText(location.href); say("The link is in the clipboard; it is also in the address."); };
  $("svg").onclick = () => saveTree(async (tree) => download("parse.svg", new Blob([asSvg(tree)], { type: "image/svg+xml" })));
  $("png").onclick = () => saveTree(async (tree) => download("parse.png", await asPng(tree)));
  $("json").onclick = () => download("parse.json", new Blob([JSON.stringify({ state, answers }, null, 1)], { type: "application/json" }));
  window.addEventListener("hashchange", () => { state = restored(); settle(); });
}

function saveTree(save) {
  const tree = document.querySelector("svg.tree");
  if (tree) save(tree).catch((error) => say(error.message));
  else say("There is no tree to save.");
}

function restored() {
  const found = fromLink(location.hash);
  if (!models.some(({ id }) => id === found.model)) found.model = models[0].id;
  if (!models.some(({ id }) => id === found.other)) found.other = "";
  return found;
}

async function start() {
  models = await api.models();
  const options = models.map(({ id, title }) => html("option", { value: id }, title));
  $("model").replaceChildren(...options.map((option) => option.cloneNode(true)));
  $("other").replaceChildren(html("option", { value: "" }, "none"), ...options);
  state = restored();
  buildSliders();
  listen();
  await settle();
  document.body.dataset.ready = "yes";
}

start().catch((error) => say(error.message));
