// The measures of a network as a card.

import { html } from "./svg.js";

export function drawHealth(model, card) {
  const rows = card.rows.map(({ name, value, note }) => [
    html("dt", {}, name), html("dd", {}, html("strong", {}, value), note ? html("small", {}, ` ${note}`) : null),
  ]);
  return html("div", { class: "card" }, html("h3", {}, model.title), html("dl", {}, ...rows.flat()), html("p", {}, html("small", {}, card.note)));
}
