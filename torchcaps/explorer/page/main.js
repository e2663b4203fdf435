// The page: state in, questions to the server, pictures out.

import * as api from "./api.js";
import { drawCurves } from "./bars.js";
import { Capsule } from "./capsule.js";
import { Controls } from "./controls.js";
import { drawHealth } from "./health.js";
import { Pad } from "./pad.js";
import { drawPanel } from "./panel.js";
import { drawSheet, tile } from "./samples.js";
import { save } from "./save.js";
import { SLIDERS, fresh, fromLink, toLink } from "./state.js";
import { html, paint } from "./svg.js";

const $ = (id) => document.getElementById(id);
let state = fresh();
let models = [];
let answers = [];
let overlay = null; // the pixels of the image laid over
const averages = new Map(), cards = new Map();
const pad = new Pad($("pad"), () => { change({ pixels: pad.pixels }); which(); });
const capsule = new Capsule($("capsule"), (told, when) => {
  const deltas = told.deltas === null ? {} : { ...state.deltas, ...told.deltas };
  change("label" in told ? { label: told.label, deltas: {} } : { deltas }, when);
});
const controls = new Controls($("sliders"), {
  onSlide: (key, value, when) => { change({ changes: { ...state.changes, [key]: value }, last: key }, when); askCurves(); },
  onOverlay: async (second) => { await lay(second); change({ second }); },
  onReset: () => { overlay = null; $("strengths").hidden = true; change({ changes: fresh().changes, second: null }); controls.show(state); },
});

const found = (id) => models.find((model) => model.id === id);
const shown = () => [found(state.model), ...(state.other && state.other !== state.model ? [found(state.other)] : [])];

function say(text) {
  $("message").textContent = text;
}

// Show what went wrong with whatever is done in answer to an event.
const careful = (work) => async (...given) => {
  try {
    await work(...given);
  } catch (error) {
    say(error.message);
  }
};

// ---- questions ------------------------------------------------------------------------------------------------

let asking = false, waiting = null;

function picture(model) {
  return { model: model.id, pixels: pad.pixels, shape: pad.shape, second: overlay, changes: state.changes };
}

function question(model) {
  const first = model.id === state.model;
  return {
    ...picture(model), label: state.label, open: first ? state.open : null, beside: first && shown()[1] ? state.other : null,
    deltas: Array.from({ length: model.dim }, (_, k) => state.deltas[k] ?? 0),
  };
}

// One question at a time: while one is under way, only the newest state waits.
async function ask(when = performance.now()) {
  if (asking) {
    waiting = when;
    return;
  }
  asking = true;
  const both = shown();
  try {
    const replies = await Promise.all(both.map((model) => api.look(question(model))));
    if (both.every((model, k) => model === shown()[k])) {
      answers = replies;
      show();
      painted(when);
    }
  } catch (error) {
    say(error.message);
  } finally {
    asking = false;
  }
  if (waiting !== null) {
    const newest = waiting;
    waiting = null;
    await ask(newest);
  }
}

// After the next frame: from the event to what is seen.
function painted(when) {
  requestAnimationFrame(() => setTimeout(() => performance.measure("seen", { start: when }), 0));
}

let curvesTimer = null;

function askCurves() {
  clearTimeout(curvesTimer);
  curvesTimer = setTimeout(careful(async () => {
    const slider = SLIDERS.find(({ key }) => key === state.last);
    const both = shown(), label = answers[0]?.best ?? 0;
    const values = await Promise.all(both.map((model) => api.strengths({ ...picture(model), factor: slider.key, label })));
    const curves = values.map((points, k) => ({ name: both[k].title, values: points }));
    $("strengths-chart").replaceChildren(drawCurves(curves, state.changes[slider.key], slider.unit));
    $("strengths-what").textContent = `Score of class ${both[0].classes[label]} while “${slider.name}” grows`;
    $("strengths").hidden = false;
  }), 300);
}

// ---- changes --------------------------------------------------------------------------------------------------

function keep() {
  history.replaceState(null, "", toLink(state));
}

function change(part, when) {
  state = { ...state, ...part };
  keep();
  say("");
  return ask(when);
}

async function pick(sample) {
  const model = shown()[0], count = model.samples.length;
  if (!count) return;
  const at = ((sample % count) + count) % count;
  pad.set(await tile(model, at), model.image);
  change({ sample: at, pixels: null });
  which();
}

function which() {
  const model = shown()[0];
  $("which").textContent = state.pixels === null && model.samples.length
    ? `test image ${state.sample + 1} of ${model.samples.length}: ${model.classes[model.samples[state.sample]]}` : "your own image";
}

async function lay(second) {
  overlay = second === null ? null : await tile(shown()[0], second);
}

// ---- pictures -------------------------------------------------------------------------------------------------

function show() {
  paint($("seen"), api.bytes(answers[0].image), answers[0].shape);
  const iterations = Math.max(...answers.map(({ tree }) => tree.links.length), 1);
  const iteration = state.iteration > 0 ? Math.min(state.iteration, iterations) : iterations;
  $("iteration").max = iterations;
  $("iteration").value = iteration;
  $("iteration").disabled = iterations < 2;
  $("iteration-value").textContent = `${iteration} of ${iterations}`;
  const held = document.activeElement?.closest?.(".node")?.dataset;
  $("panels").replaceChildren(...shown().map((model, k) => drawPanel(model, answers[k], {
    first: k === 0, beside: k === 0 && answers.length > 1, iteration, state, average: averages.get(model.id) ?? null,
    onChoose: (node) => (k === 0 ? choose(model, node) : null),
  })));
  if (held) document.querySelector(`.node[data-layer="${held.layer}"][data-type="${held.type}"]`)?.focus();
  capsule.show(shown()[0], answers[0], state);
}

function choose(model, node) {
  const same = state.chosen && state.chosen.layer === node.layer && state.chosen.type === node.type;
  const [h, w] = model.layers[node.layer].grid;
  change({ chosen: same ? null : node, open: same || h * w === 1 ? null : node });
}

async function loadAverages() {
  if (state.against === "none") return;
  for (const { id, layers } of shown()) {
    if (layers.length && !averages.has(id)) {
      say("Walking over the test images …");
      averages.set(id, await api.average(id));
      say("");
    }
  }
}

async function showHealth() {
  const both = shown();
  for (const { id } of both) {
    if (!cards.has(id)) {
      $("health").replaceChildren(html("p", {}, "Measuring …"));
      cards.set(id, await api.health(id).catch((error) => ({ rows: [], note: error.message })));
    }
  }
  $("health").replaceChildren(...both.map((model) => drawHealth(model, cards.get(model.id))));
}

async function runAttack() {
  const bar = $("attack-progress"), method = $("method").selectedOptions[0].text, eps = +$("eps").value;
  bar.hidden = false; // how far an attack is, nobody can tell: the bar moves without an end
  $("run-attack").disabled = true;
  try {
    const hit = await api.attack({ ...picture(shown()[0]), method: $("method").value, eps });
    pad.set(hit.image, hit.shape);
    overlay = null;
    await change({ pixels: hit.image, second: null, changes: fresh().changes });
    controls.show(state);
    which();
    const what = hit.before === hit.after ? `the attack failed, the answer is still ${hit.after}` : `${hit.before} became ${hit.after}`;
    say(`${method}, eps ${eps}: ${what}.`);
  } finally {
    bar.hidden = true;
    $("run-attack").disabled = false;
  }
}

async function upload(event) {
  const [file] = event.target.files;
  event.target.value = "";
  if (!file) return;
  try {
    const read = await api.upload(state.model, file);
    pad.set(read.pixels, read.shape);
    change({ pixels: read.pixels });
    which();
  } catch (error) {
    throw new Error(`${file.name}: ${error.message}`);
  }
}

// ---- start ----------------------------------------------------------------------------------------------------

// Bring everything on the page to the state: after the start, a link, or another network.
async function settle() {
  const model = shown()[0];
  $("model").value = state.model;
  $("other").value = state.other;
  $("against").value = state.against;
  controls.offer(model);
  await lay(state.second !== null && state.second < model.samples.length ? state.second : null);
  controls.show(state);
  if (state.pixels !== null) pad.set(state.pixels, model.image);
  else if (model.samples.length) {
    state.sample = Math.min(Math.max(0, state.sample), model.samples.length - 1);
    pad.set(await tile(model, state.sample), model.image);
  } else pad.set(null, model.image);
  which();
  await loadAverages();
  await Promise.all([ask(), drawSheet($("sheet"), model, careful(pick)), showHealth()]);
}

function another(part) {
  state = { ...state, ...part };
  keep();
  return settle();
}

function listen() {
  const rest = { chosen: null, open: null, label: null, deltas: {}, pixels: null };
  $("model").onchange = careful((event) => another({ ...rest, model: event.target.value }));
  $("other").onchange = careful((event) => another({ other: event.target.value }));
  $("clear").onclick = () => pad.clear();
  $("invert").onclick = () => pad.invert();
  $("previous").onclick = careful(() => pick(state.sample - 1));
  $("next").onclick = careful(() => pick(state.sample + 1));
  $("iteration").oninput = (event) => { state.iteration = +event.target.value; keep(); show(); painted(event.timeStamp); };
  $("against").onchange = careful(async (event) => { state.against = event.target.value; keep(); await loadAverages(); show(); });
  $("run-attack").onclick = careful(runAttack);
  $("file").onchange = careful(upload);
  $("link").onclick = careful(async () => { await navigator.clipboard.writeText(location.href); say("The link is in the clipboard."); });
  for (const kind of ["svg", "png", "json"]) $(kind).onclick = careful(() => save(kind, { state, models: shown(), answers }));
  window.addEventListener("hashchange", careful(() => { state = restored(); return settle(); }));
}

function restored() {
  const told = fromLink(location.hash);
  if (!found(told.model)) told.model = models[0].id;
  if (!found(told.other)) told.other = "";
  return told;
}

async function start() {
  models = await api.models();
  const options = () => models.map(({ id, title }) => html("option", { value: id }, title));
  $("model").replaceChildren(...options());
  $("other").replaceChildren(html("option", { value: "" }, "none"), ...options());
  state = restored();
  listen();
  await settle();
  document.body.dataset.ready = "yes";
}

careful(start)();
