// The time that all views show, chosen on the timeline: a click or an arrow key takes a time, a drag or Shift with an arrow a range.

const SVG = 'http://www.w3.org/2000/svg';

function seconds(ns) {
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  return ns < 1e9 ? `${(ns / 1e6).toPrecision(3)} ms` : `${(ns / 1e9).toFixed(3)} s`;
}

class Brush {
  constructor(svg, page) {
    this.svg = svg;
    this.page = page;
    this.lives = page.store.lives;
    const { left, right, bottom, end } = svg.dataset;
    [this.left, this.right, this.bottom, this.end] = [left, right, bottom, end].map(Number);
    const shape = (name, look) => {
      const made = document.createElementNS(SVG, name);
      made.setAttribute('class', look);
      svg.append(made);
      return made;
    };
    this.range = shape('rect', 'brush');
    this.at = shape('line', 'cursor');
    this.under = shape('line', 'cursor hover');
    svg.setAttribute('tabindex', '0');
    svg.setAttribute('role', 'slider');
    svg.setAttribute('aria-label', 'Time of all views. Arrow keys move it, with Shift they extend a range, Escape clears it, p goes to the peak.');
    svg.setAttribute('aria-valuemin', '0');
    svg.setAttribute('aria-valuemax', String(this.lives.ends.length - 1));
    svg.classList.add('active');
    svg.addEventListener('pointerdown', (event) => this.press(event));
    svg.addEventListener('pointermove', (event) => this.move(event));
    svg.addEventListener('pointerup', (event) => this.release(event));
    svg.addEventListener('pointerleave', () => this.leave());
    svg.addEventListener('keydown', (event) => this.key(event));
  }

  // Gross at the end of each interval.
  get course() {
    this.made ||= this.lives.course();
    return this.made;
  }

  // -1 is the start.
  xOf(interval) {
    const ns = interval < 0 ? 0 : this.lives.ends[interval];
    return this.left + ((this.right - this.left) * ns) / this.end;
  }

  intervalAt(event) {
    const bounds = this.svg.getBoundingClientRect();
    const x = ((event.clientX - bounds.left) * 1000) / bounds.width;
    const ns = ((x - this.left) / (this.right - this.left)) * this.end;
    return this.lives.ends[0] > 2 * ns ? -1 : this.lives.nearest(ns);
  }

  place(line, interval) {
    line.style.display = interval === null ? 'none' : '';
    if (interval === null) return;
    line.setAttribute('x1', this.xOf(interval));
    line.setAttribute('x2', this.xOf(interval));
    line.setAttribute('y1', '8');
    line.setAttribute('y2', String(this.bottom));
  }

  draw(time = this.page.time()) {
    this.svg.setAttribute('aria-valuenow', String(time ? time.to : this.lives.ends.length - 1));
    this.svg.setAttribute('aria-valuetext', time ? this.words(time) : 'no time is chosen');
    this.place(this.at, time ? time.to : null);
    const isRange = time && time.isRange;
    this.range.style.display = isRange ? '' : 'none';
    if (!isRange) return;
    this.range.setAttribute('x', this.xOf(time.from));
    this.range.setAttribute('width', Math.max(this.xOf(time.to) - this.xOf(time.from), 1));
    this.range.setAttribute('y', '8');
    this.range.setAttribute('height', String(this.bottom - 8));
  }

  words({ isRange, life, from, to }) {
    const end = seconds(this.lives.ends[to]);
    if (!isRange) return `at ${end}`;
    const start = from < 0 ? 'the start' : seconds(this.lives.ends[from]);
    return `${LIFE_WORDS[life]} from ${start} to ${end}`;
  }

  press(event) {
    if (event.button) return;
    this.svg.setPointerCapture(event.pointerId);
    this.begun = this.intervalAt(event);
  }

  move(event) {
    const here = this.intervalAt(event);
    this.place(this.under, here);
    const time = here < 0 ? 0 : this.lives.ends[here];
    const gross = here < 0 ? 0 : this.course[here];
    this.page.tip.show(event.clientX, event.clientY, [seconds(time), `${humanBytes(gross)} gross: ${exact(gross)} bytes`]);
    if (this.begun === undefined || this.begun === here) return;
    const [from, to] = [Math.min(this.begun, here), Math.max(this.begun, here)];
    this.draw({ isRange: true, life: 'born', from, to });
    clearTimeout(this.wait);
    this.wait = setTimeout(() => this.page.choose(from, to, true), 30);
  }

  release(event) {
    clearTimeout(this.wait);
    if (this.begun === undefined) return;
    const [begun, here] = [this.begun, this.intervalAt(event)];
    this.begun = undefined;
    if (begun === here) this.page.choose(null, Math.max(here, 0));
    else this.page.choose(Math.min(begun, here), Math.max(begun, here));
  }

  leave() {
    this.under.style.display = 'none';
    this.page.tip.hide();
  }

  key(event) {
    const last = this.lives.ends.length - 1;
    const time = this.page.time();
    const to = time ? time.to : last;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10, Home: -last, End: last }[event.key];
    const bounded = (value) => Math.max(0, Math.min(last, value));
    if (step && event.shiftKey) this.page.choose(time && time.isRange ? time.from : bounded(to) - (to ? 1 : 0), bounded(to + step));
    else if (step) this.page.choose(null, bounded(to + step));
    else if (event.key === 'p') this.page.choose(null, this.page.peakInterval());
    else if (event.key === 'Escape') this.page.choose(null, null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
