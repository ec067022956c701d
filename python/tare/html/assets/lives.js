// Blocks by the intervals of time that they were allocated and freed in: what was live at a time, or happened in a range of time.

const NEVER = 1 << 20; // no interval has this number
const QUANTITIES = ['gross', 'blocks', 'slop', 'header']; // columns of a cell; python/tare/html/lives.py writes them

class Lives {
  constructor({ ends, intervals, cells: count, threaded, units }, read, nodes) {
    this.ends = ends; // of intervals, in ns; the last is the end of the run
    this.intervals = intervals; // their numbers in the table of that name
    this.count = count;
    this.nodes = nodes; // of the tree
    const whole = () => read.fill(new Int32Array(count));
    this.node = whole();
    for (let i = 1; i < count; i++) this.node[i] += this.node[i - 1];
    this.birth = whole(); // -1: before the recording
    this.death = whole();
    for (let i = 0; i < count; i++) {
      this.birth[i]--;
      this.death[i] = this.death[i] ? Math.max(this.birth[i], 0) + this.death[i] - 1 : NEVER;
    }
    this.thread = threaded ? whole() : new Int32Array(count);
    this.threads = [...new Set(this.thread)].sort((a, b) => a - b);
    const column = () => read.fill(new Float64Array(count));
    this.blocks = column();
    ['gross', 'slop', 'header'].forEach((name, number) => {
      const [each, rest, unit] = [column(), column(), units[number]];
      for (let i = 0; i < count; i++) each[i] = (each[i] * this.blocks[i] + rest[i]) * unit;
      this[name] = each;
    });
  }

  // Cells of a range. `from` and `to` are intervals: the range is what follows the end of `from`, up to the end of `to`.
  chosen({ life, from, to, thread }) {
    const { birth, death } = this;
    const [bornAfter, bornUntil] = life === 'live' ? [-2, to] : life === 'freed' ? [-2, NEVER] : [from, to];
    const [freedAfter, freedUntil] = life === 'born' ? [-2, NEVER] : life === 'freed' ? [from, to] : [to, NEVER];
    const found = new Int32Array(this.count);
    let count = 0;
    for (let i = 0; i < found.length; i++) {
      const isBorn = birth[i] > bornAfter && birth[i] <= bornUntil;
      if (isBorn && death[i] > freedAfter && death[i] <= freedUntil && (thread === null || this.thread[i] === thread)) found[count++] = i;
    }
    return found.subarray(0, count);
  }

  total(quantity, cells) {
    const values = this[quantity];
    let sum = 0;
    for (let i = 0; i < cells.length; i++) sum += values[cells[i]];
    return sum;
  }

  // By node.
  sum(quantity, cells) {
    const [values, { node }, made] = [this[quantity], this, new Float64Array(this.nodes)];
    for (let i = 0; i < cells.length; i++) made[node[cells[i]]] += values[cells[i]];
    return made;
  }

  // The statement that has the same sums.
  query(what, { life, from: begin, to: end, thread }) {
    const [from, to] = [begin < 0 ? begin : this.intervals[begin], this.intervals[end]];
    const size = { gross: 'blocks * (usable_bytes + header_bytes)', blocks: 'blocks', slop: 'blocks * (usable_bytes - requested_bytes)', header: 'blocks * header_bytes' }[what];
    const after = 'freed_interval is null or freed_interval';
    const inRange = (name) => `${name}_interval > ${from} and ${name}_interval <= ${to}`;
    const where = {
      live: `(allocated_interval is null or allocated_interval <= ${to}) and (${after} > ${to})`,
      born: inRange('allocated'),
      kept: `${inRange('allocated')} and (${after} > ${to})`,
      freed: inRange('freed'),
    }[life];
    return `tare sql FILE "select sum(${size}) from lifetimes where ${where}${thread === null ? '' : ` and thread = ${thread}`}"`;
  }

  // Gross live at the end of each interval.
  course() {
    const change = new Float64Array(this.ends.length + 1);
    for (let i = 0; i < this.count; i++) {
      change[Math.max(this.birth[i], 0)] += this.gross[i];
      if (this.death[i] !== NEVER) change[this.death[i]] -= this.gross[i];
    }
    for (let at = 1; at < change.length; at++) change[at] += change[at - 1];
    return change.subarray(0, this.ends.length);
  }

  // The interval whose end lies nearest to a time.
  nearest(ns) {
    let best = 0;
    this.ends.forEach((end, at) => {
      if (Math.abs(end - ns) < Math.abs(this.ends[best] - ns)) best = at;
    });
    return best;
  }
}
