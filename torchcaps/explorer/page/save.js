// What is seen, as a file: SVG with its colours inside, PNG, or the parse as JSON.

const COLOURS = ["--ink", "--soft", "--paper", "--accent", "--strong", "--dead", "--second", "--line"];

export function asSvg(element) {
  const copy = element.cloneNode(true);
  const style = getComputedStyle(document.documentElement);
  const names = COLOURS.map((name) => `${name}:${style.getPropertyValue(name).trim()}`).join(";");
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText)
    .filter((text) => /^\.(tree|links|node|layer|class|curve)/.test(text)).join("\n");
  const sheet = document.createElementNS("http://www.w3.org/2000/svg", "style");
  sheet.textContent = `svg{${names};background:var(--paper);font-family:sans-serif}\n${rules}`;
  copy.prepend(sheet);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const [, , width, height] = element.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return new XMLSerializer().serializeToString(copy);
}

export async function asPng(element, scale = 2) {
  const url = URL.createObjectURL(new Blob([asSvg(element)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  await image.decode();
  URL.revokeObjectURL(url);
  const canvas = new OffscreenCanvas(image.width * scale, image.height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/png" });
}

export function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
