// Questions to the server; an answer that is an error becomes an Error with the server's own words.

async function answer(response) {
  if (response.ok) return response.json();
  let detail = `${response.status} ${response.statusText}`;
  try {
    const said = (await response.json()).detail;
    detail = typeof said === "string" ? said : JSON.stringify(said);
  } catch {
    // not JSON: the status must do
  }
  throw new Error(detail);
}

const json = (body) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export const models = () => fetch("api/models").then(answer);
export const health = (model) => fetch(`api/health/${encodeURIComponent(model)}`, { method: "POST" }).then(answer);
export const average = (model) => fetch(`api/average/${encodeURIComponent(model)}`, { method: "POST" }).then(answer);
export const look = (question, signal) => fetch("api/look", { ...json(question), signal }).then(answer);
export const strengths = (question) => fetch("api/strengths", json(question)).then(answer);
export const upload = (model, file) =>
  fetch(`api/upload/${encodeURIComponent(model)}`, { method: "POST", body: file }).then(answer);

export const attack = (question) => fetch("api/attack", json(question)).then(answer);

export function bytes(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

export function base64(array) {
  return btoa(String.fromCharCode(...array));
}
