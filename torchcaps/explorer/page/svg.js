// Elements of SVG and HTML in one line each.

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// An image of bytes (channels, height, width) on a canvas, each pixel a square.
export function paint(canvas, data, [channels, height, width]) {
  const small = new OffscreenCanvas(width, height);
  const image = new ImageData(width, height);
  for (let k = 0; k < width * height; k++) {
    for (let c = 0; c < 3; c++) image.data[4 * k + c] = data[(channels === 3 ? c : 0) * width * height + k];
    image.data[4 * k + 3] = 255;
  }
  small.getContext("2d").putImageData(image, 0, 0);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
}
