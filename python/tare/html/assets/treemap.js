// The treemap of waste: modules or types, and in them the functions that allocate. The hatched part of a box is tare.

const HEAD = 18; // pixels for a module's name
const SMALL = 3; // pixels below which a box isn't drawn

// Squarified: rows along the shorter side, as long as boxes get no thinner.
function squarify(items, x, y, width, height, put) {
  let rest = items.reduce((sum, each) => sum + each.value, 0);
  let from = 0;
  while (from < items.length && rest > 0 && width > SMALL && height > SMALL) {
    const side = Math.min(width, height);
    const scale = (width * height) / rest;
    let sum = 0;
    let to = from;
    let worst = Infinity;
    while (to < items.length) {
      const with_ = sum + items[to].value;
      const thick = (with_ * scale) / side;
      const first = (items[from].value * scale) / thick;
      const last = (items[to].value * scale) / thick;
      const ratio = Math.max(first / thick, thick / first, last / thick, thick / last);
      if (ratio > worst) break;
      worst = ratio;
      sum = with_;
      to++;
    }
    const thick = (sum * scale) / side;
    let along = 0;
    for (let i = from; i < to; i++) {
      const long = (items[i].value * scale) / thick;
      if (width >= height) put(items[i], x, y + along, thick, long);
      else put(items[i], x + along, y, long, thick);
      along += long;
    }
    if (width >= height) {
      x += thick;
      width -= thick;
    } else {
      y += thick;
      height -= thick;
    }
    rest -= sum;
    from = to;
  }
}

class Treemap {
  constructor(place, page) {
    this.page = page;
    this.canvas = make('canvas', { role: 'img', 'aria-label': 'Treemap of modules or types, and of functions that allocate. The table has the same content.' });
    this.place = place;
    place.append(this.canvas);
    this.canvas.addEventListener('mousemove', (event) => this.hover(event));
    this.canvas.addEventListener('mouseleave', () => page.tip.hide());
    this.canvas.addEventListener('click', (event) => {
      const found = this.at(event);
      if (found) page.around(found.box.frame);
    });
  }

  show(graph) {
    this.graph = graph; // going up: its first row are the functions that allocate
    this.places = [];
    const modules = new Map();
    for (const box of graph.below(graph.root)) {
      const name = graph.mode === 'types' ? graph.typeOf(box) : box.frame < 0 ? '' : graph.store.functions[box.frame].module;
      if (!modules.has(name)) modules.set(name, { name, value: 0, marked: 0, boxes: [] });
      const module = modules.get(name);
      module.value += box.value;
      module.marked += box.marked;
      module.boxes.push(box);
    }
    this.modules = [...modules.values()].sort((a, b) => b.value - a.value);
    this.draw();
  }

  draw() {
    if (!this.graph) return;
    const width = this.place.clientWidth;
    const height = Math.round(Math.min(Math.max(width * 0.5, 300), innerHeight * 0.7));
    const context = fit(this.canvas, width, height);
    const colours = this.page.colours;
    context.clearRect(0, 0, width, height);
    context.textBaseline = 'middle';
    this.places = [];
    squarify(this.modules, 0, 0, width, height, (module, x, y, wide, high) => {
      const hasHead = high > 3 * HEAD && wide > 60;
      const top = hasHead ? HEAD : 0;
      if (hasHead) {
        context.fillStyle = colours.text;
        context.font = '600 12px system-ui, sans-serif';
        const words = `${(this.graph.mode === 'types' ? module.name : baseName(module.name)) || 'unknown'}  ${this.page.amount(module.value)}`;
        this.write(context, words, x + 3, y + HEAD / 2, wide - 8);
      }
      squarify(module.boxes, x, y + top, wide - 2, high - top - 2, (box, ...area) => this.drawBox(context, box, area, colours));
    });
  }

  drawBox(context, box, [x, y, width, height], colours) {
    const { hit, colouring, isDiff } = this.page;
    this.places.push({ box, x, y, width, height });
    const [wide, high] = [Math.max(width - 1, 0.5), Math.max(height - 1, 0.5)];
    context.globalAlpha = hit && !(box.frame >= 0 && hit[box.frame]) ? 0.35 : 1;
    context.fillStyle = fillOf(this.graph, box, colours, colouring, isDiff);
    context.fillRect(x, y, wide, high);
    const marked = box.value ? (high * box.marked) / box.value : 0;
    if (marked >= 0.5) {
      context.fillStyle = isDiff ? colours.shrunk : colours.waste;
      context.fillRect(x, y + high - marked, wide, marked);
      hatch(context, x, y + high - marked, wide, marked, colours.paper);
    }
    context.fillStyle = colours.boxText;
    context.font = FONT;
    if (high - marked > 16 && wide > 40) {
      this.write(context, this.graph.nameOf(box), x + 4, y + 10, wide - 8);
      if (high - marked > 32) this.write(context, this.page.amount(box.value), x + 4, y + 25, wide - 8);
    }
    context.globalAlpha = 1;
  }

  write(context, text, x, y, room) {
    let shown = text;
    while (shown.length > 3 && context.measureText(shown).width > room) shown = `${shown.slice(0, Math.floor(shown.length * 0.85) - 1)}…`;
    if (shown.length > 3 || shown === text) context.fillText(shown, x, y);
  }

  at(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    return this.places.find((each) => x >= each.x && x < each.x + each.width && y >= each.y && y < each.y + each.height);
  }

  hover(event) {
    const found = this.at(event);
    if (found) this.page.tip.show(event.clientX, event.clientY, this.page.wordsOf(this.graph, found.box));
    else this.page.tip.hide();
  }
}
