// The icicle graph: callers above callees, widths by the measure. The hatched foot of a box is its share of tare.

const ROW = 20;
const LEAST = 1; // pixels below which a box isn't drawn
const ANCESTORS = 3; // rows above the focus
const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

class Flame {
  constructor(place, page) {
    this.page = page;
    this.canvas = make('canvas', {
      tabindex: '0',
      role: 'application',
      'aria-label': 'Flame graph. Arrow keys move between boxes, Enter zooms, Escape goes back. The tree has the same content.',
    });
    this.spacer = make('div', { class: 'spacer' }, this.canvas);
    this.scroller = make('div', { class: 'scroller' }, this.spacer);
    place.append(this.scroller);
    this.scroller.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.canvas.addEventListener('mousemove', (event) => this.hover(event));
    this.canvas.addEventListener('mouseleave', () => this.leave());
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('focus', () => this.draw());
    this.rows = [];
    this.top = 0; // scrolled pixels
    this.canvasHeight = 0;
    this.under = null;
  }

  // Reading a size makes the browser lay out the page: 10 ms of a frame. So sizes are read when they may have changed.
  measure() {
    this.width = this.scroller.clientWidth;
    this.most = Math.max(160, Math.round(innerHeight * 0.7));
  }

  scrolled() {
    this.top = this.scroller.scrollTop;
    this.draw();
  }

  scrollTo(top) {
    if (top === this.top) return;
    this.scroller.scrollTop = top;
    this.top = this.scroller.scrollTop;
  }

  show(graph, focus) {
    this.graph = graph;
    this.focus = focus;
    if (!this.selected || !this.contains(this.selected)) this.selected = focus;
    if (!this.width) this.measure();
    this.scrollTo(0);
    this.layOut();
    this.draw();
  }

  contains(box) {
    for (let at = box; at; at = at.parent) if (at === this.focus) return true;
    return false;
  }

  layOut() {
    this.rows = [];
    this.places = new Map(); // of boxes: where they are drawn
    const above = [];
    for (let at = this.focus.parent; at && above.length < ANCESTORS; at = at.parent) above.unshift(at);
    for (const box of above) this.rows.push([{ box, x: 0, width: this.width, above: true }]);
    let row = [{ box: this.focus, x: 0, width: this.width }];
    while (row.length) {
      this.rows.push(row);
      const next = [];
      for (const { box, x, width } of row) {
        let left = x;
        for (const child of this.graph.below(box)) {
          const wide = (width * child.value) / box.value;
          if (wide < LEAST) break; // sorted: all that follow are smaller
          next.push({ box: child, x: left, width: wide });
          left += wide;
        }
      }
      row = next;
    }
    this.rows.forEach((places, at) => places.forEach((place) => this.places.set(place.box, { place, y: at * ROW })));
    this.height = Math.max(160, Math.min(this.rows.length * ROW + 2, this.most));
    this.canvasHeight = Math.min(Math.max(this.canvasHeight, this.height), this.most); // a new size costs the canvas's memory
    this.scroller.style.height = `${this.height}px`;
    this.spacer.style.height = `${Math.max(this.rows.length * ROW + 2, this.height)}px`;
  }

  draw() {
    if (!this.graph) return;
    const context = (this.context = fit(this.canvas, this.width, this.canvasHeight));
    context.clearRect(0, 0, this.width, this.canvasHeight);
    context.font = FONT;
    context.textBaseline = 'middle';
    this.letter ||= context.measureText('m').width;
    const { top } = this;
    const last = Math.min(this.rows.length, Math.ceil((top + this.height) / ROW));
    for (let at = Math.floor(top / ROW); at < last; at++) {
      for (const place of this.rows[at]) this.drawBox(context, place, at * ROW - top, this.letter, this.page.colours);
    }
  }

  // One box alone, when its frame comes or goes.
  redraw(box) {
    const found = this.places.get(box);
    if (!found) return;
    const { place, y } = found;
    this.context.clearRect(place.x, y - this.top, place.width - 1, ROW - 1);
    this.drawBox(this.context, place, y - this.top, this.letter, this.page.colours);
  }

  drawBox(context, { box, x, width, above }, y, letter, colours) {
    const { hit, colouring, isDiff } = this.page;
    const shown = Math.max(width - 1, 0.5);
    const faded = above || (hit && box.frame >= 0 && !hit[box.frame]);
    context.globalAlpha = faded ? 0.45 : 1;
    context.fillStyle = fillOf(this.graph, box, colours, colouring, isDiff);
    context.fillRect(x, y, shown, ROW - 1);
    const marked = box.value ? (shown * box.marked) / box.value : 0;
    if (marked > 0.5) {
      const foot = isDiff ? ROW - 1 : 4;
      context.fillStyle = isDiff ? colours.shrunk : colours.waste;
      context.fillRect(x, y + ROW - 1 - foot, marked, foot);
      if (isDiff) hatch(context, x, y, marked, ROW - 1, colours.paper, 0.28);
    }
    if (hit && box.frame >= 0 && hit[box.frame]) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 1.5;
      context.strokeRect(x + 1, y + 1, Math.max(shown - 2, 0), ROW - 3);
    }
    const letters = Math.floor((shown - 8) / letter);
    if (letters >= 3) {
      const name = this.graph.nameOf(box);
      context.fillStyle = colours.boxText;
      context.fillText(name.length > letters ? `${name.slice(0, letters - 1)}…` : name, x + 4, y + ROW / 2 - 2);
    }
    context.globalAlpha = 1;
    if (box === this.under || (box === this.selected && document.activeElement === this.canvas)) {
      context.strokeStyle = colours.text;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(shown - 2, 1), ROW - 3);
    }
  }

  at(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top + this.top];
    const row = this.rows[Math.floor(y / ROW)] || [];
    const found = row.find((place) => x >= place.x && x < place.x + place.width);
    return found ? found.box : null;
  }

  hover(event) {
    const box = this.at(event);
    this.canvas.style.cursor = box ? 'pointer' : 'default';
    if (box) this.page.tip.show(event.clientX, event.clientY, this.page.wordsOf(this.graph, box));
    else this.page.tip.hide();
    this.mark(box);
  }

  mark(box) {
    const before = this.under;
    if (box === before) return;
    this.under = box;
    const isNarrow = (each) => this.places.get(each)?.place.width < 6; // its frame covers neighbours
    if (isNarrow(before) || isNarrow(box)) {
      this.draw();
    } else {
      this.redraw(before);
      this.redraw(box);
    }
  }

  leave() {
    this.page.tip.hide();
    this.mark(null);
  }

  click(event) {
    const box = this.at(event);
    if (!box) return;
    this.select(box);
    this.page.zoom(box);
  }

  select(box) {
    this.selected = box;
    this.page.announce(this.graph, box);
    const found = this.places.get(box);
    const top = found ? found.y : -ROW;
    if (found && top < this.top) this.scrollTo(top);
    else if (top + ROW > this.top + this.height) this.scrollTo(top + ROW - this.height);
    this.draw();
  }

  key(event) {
    const { selected: box, graph } = this;
    const siblings = box.parent ? graph.below(box.parent) : [box];
    const at = siblings.indexOf(box);
    const target = {
      ArrowDown: () => graph.below(box)[0],
      ArrowUp: () => box.parent,
      ArrowLeft: () => siblings[at - 1],
      ArrowRight: () => siblings[at + 1],
      Home: () => graph.root,
    }[event.key];
    if (target) {
      event.preventDefault();
      const found = target();
      if (found) this.select(found);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.page.zoom(box);
    } else if (event.key === 'Escape' || event.key === 'Backspace') {
      event.preventDefault();
      this.page.zoom(this.focus.parent || this.focus);
    }
  }
}
