// Numbers, colours and elements that all views share.

const STEPS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function humanBytes(count) {
  let size = Math.abs(count);
  const sign = count < 0 ? '-' : '';
  if (size < 999.5) return `${sign}${Math.round(size)} B`;
  let step = -1;
  while (size >= 999.5 && step < STEPS.length - 1) {
    size /= 1024;
    step++;
  }
  return `${sign}${size.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0)} ${STEPS[step]}`;
}

const NUMBERS = new Intl.NumberFormat('en-US');
const exact = (count) => NUMBERS.format(Math.round(count));
const share = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}%` : '-');

function inUnit(count, unit) {
  if (unit === 'bytes') return humanBytes(count);
  if (unit === 'byte-seconds') return `${humanBytes(count)}·s`;
  return `${exact(count)} ${unit}`;
}

const exactly = (count, unit) => `${exact(count)} ${unit}`;

// Text goes into elements as text: names of a program are never read as HTML.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const baseName = (path) => path.slice(path.lastIndexOf('/') + 1);

function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    fills: new Map(), // by function, see fillOf
    dark: colour('dark') === '1',
    text: colour('text'),
    paper: colour('paper'),
    faint: colour('faint'),
    waste: colour('waste'),
    accent: colour('accent'),
    grown: colour('grown'),
    shrunk: colour('shrunk'),
    boxText: colour('box-text'),
    foreign: colour('foreign'),
    lenses: [0, 1, 2, 3, 4].map((number) => colour(`t${number}`)),
  };
}

// A module's hue is that of its name, so that it is the same on every page. Amber is left out: it is the colour of tare.
function hueOf(text) {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) >>> 0;
  return 130 + (hash % 210);
}

function fillOf(graph, box, colours, colouring, isDiff) {
  if (isDiff) return colours.grown; // the part that shrank is drawn over it
  if (box.frame < 0) return colours.faint;
  const each = graph.store.functions[box.frame];
  if (colouring === 'own') return each.own ? `hsl(205 ${colours.dark ? '45% 38%' : '62% 74%'})` : colours.foreign;
  if (colouring === 'module') {
    if (!colours.fills.has(box.frame)) colours.fills.set(box.frame, fillOfModule(each, colours));
    return colours.fills.get(box.frame);
  }
  if (colouring === 'lens') {
    const most = Math.max(0, ...box.lenses);
    return most ? `${colours.lenses[box.lenses.indexOf(most) % 5]}a0` : colours.foreign;
  }
  const part = box.value ? Math.sqrt(box.marked / box.value) : 0;
  return colours.dark ? `hsl(33 ${8 + 72 * part}% ${27 + 16 * part}%)` : `hsl(40 ${15 + 80 * part}% ${91 - 33 * part}%)`;
}

function fillOfModule({ id, module }, { dark }) {
  const tint = (id * 37) % 7;
  return dark ? `hsl(${hueOf(module)} 30% ${31 + tint}%)` : `hsl(${hueOf(module)} 48% ${76 + tint}%)`;
}

// Diagonal lines: tare and shrunk are told apart without colour, too.
function hatch(context, x, y, width, height, colour, strength = 0.5) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.globalAlpha *= strength;
  context.lineWidth = 1.4;
  context.beginPath();
  for (let at = x - (x % 6) - height; at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

// Sets a canvas to its place's size in device pixels; the context draws in CSS pixels.
function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  if (canvas.style.width !== `${width}px`) canvas.style.width = `${width}px`;
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

class Tip {
  constructor() {
    this.element = make('div', { class: 'tip', 'aria-hidden': 'true' });
    document.body.append(this.element);
  }

  show(x, y, lines) {
    const text = lines.join('\n');
    if (text !== this.text) {
      this.text = text;
      this.element.replaceChildren(...lines.map((line, i) => make('div', { class: i ? '' : 'name' }, line)));
      this.element.style.display = 'block';
      this.size = [this.element.offsetWidth, this.element.offsetHeight]; // needs a layout
    }
    const [width, height] = this.size;
    this.element.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    this.element.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
  }

  hide() {
    this.text = null;
    this.element.style.display = 'none';
  }
}
