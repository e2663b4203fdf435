// What is looked at, kept in the address so that a link restores it.

export const SLIDERS = [
  { key: "rotation", name: "rotate", unit: "°", min: -180, max: 180, step: 1, rest: 0 },
  { key: "shear", name: "shear", unit: "°", min: -45, max: 45, step: 1, rest: 0 },
  { key: "scale", name: "scale", unit: "×", min: 0.5, max: 1.5, step: 0.05, rest: 1 },
  { key: "shift_x", name: "right", unit: " px", min: -10, max: 10, step: 0.5, rest: 0 },
  { key: "shift_y", name: "down", unit: " px", min: -10, max: 10, step: 0.5, rest: 0 },
  { key: "noise", name: "noise", unit: "", min: 0, max: 1, step: 0.05, rest: 0 },
];

export function fresh() {
  const changes = Object.fromEntries(SLIDERS.map(({ key, rest }) => [key, rest]));
  return {
    model: "", other: "", sample: 0, pixels: null, second: null, changes, last: "rotation",
    iteration: 0, label: null, deltas: {}, open: null, chosen: null, against: "none",
  };
}

export function toLink(state) {
  const kept = { ...state, changes: {} };
  for (const { key, rest } of SLIDERS) if (state.changes[key] !== rest) kept.changes[key] = state.changes[key];
  const bare = fresh();
  const told = Object.entries(kept).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(bare[key]));
  return "#" + encodeURIComponent(JSON.stringify(Object.fromEntries(told)));
}

const place = (v) => v === null || (Number.isInteger(v.layer) && Number.isInteger(v.type) && Math.min(v.layer, v.type) >= 0);

// A link may come from anywhere: what does not fit is left as it is on a first visit.
export function fromLink(hash) {
  const state = fresh();
  let told;
  try {
    told = JSON.parse(decodeURIComponent(hash.slice(1)));
  } catch {
    return state;
  }
  if (told === null || typeof told !== "object") return state;
  const is = {
    model: (v) => typeof v === "string", other: (v) => typeof v === "string", sample: Number.isInteger,
    pixels: (v) => v === null || typeof v === "string", second: (v) => v === null || Number.isInteger(v),
    last: (v) => SLIDERS.some(({ key }) => key === v), iteration: Number.isInteger,
    label: (v) => v === null || (Number.isInteger(v) && v >= 0), against: (v) => ["none", "rings", "mean", "deviation"].includes(v),
    open: place, chosen: place, deltas: (v) => v !== null && typeof v === "object" && Object.values(v).every(Number.isFinite),
  };
  for (const [key, fits] of Object.entries(is)) if (key in told && fits(told[key])) state[key] = told[key];
  for (const { key, min, max } of SLIDERS) {
    const value = told.changes?.[key];
    if (typeof value === "number" && value >= min && value <= max) state.changes[key] = value;
  }
  return state;
}
