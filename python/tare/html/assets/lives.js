// Blocks by the intervals of time that they were allocated and freed in: what was live at a time, or happened in a range of time.

const NEVER = 1 << 20; // no interval has this number
const QUANTITIES = ['gross', 'blocks', 'slop', 'header']; // columns of a cell; python/tare/html/lives.py writes them

class Lives {
  constructor({ ends, intervals, cells: count, threaded, units }, column, nodes) {
    this.ends = ends; // of intervals, in ns; the last is the end of the run
    this.intervals = intervals; // their numbers in the table of that name
    this.count = count;
    this.nodes = nodes; // of the tree
    this.node = Int32Array.from(column());
    for (let i = 1; i < count; i++) this.node[i] += this.node[i - 1];
    this.birth = Int32Array.from(column(), (value) => value - 1); // -1: before the recording
    this.death = Int32Array.from(column(), (value, i) => (value ? Math.max(this.birth[i], 0) + value - 1 : NEVER));
    this.thread = Int32Array.from(threaded ? column() : { length: count }, (value) => value || 0);
    this.threads = [...new Set(this.thread)].sort((a, b) => a - b);
    this.blocks = column();
    ['gross', 'slop', 'header'].forEach((name, number) => {
      const [each, rest] = [column(), column()];
      this[name] = each.map((value, i) => (value * this.blocks[i] + rest[i]) * units[number]);
    });
  }

  // Sums of each node. `from` and `to` are intervals: the range is what follows the end of `from`, up to the end of `to`.
  sums({ life, from, to, thread }) {
    const made = Object.fromEntries(QUANTITIES.map((name) => [name, new Float64Array(this.nodes)]));
    const { node, birth, death } = this;
    const has = {
      live: (i) => birth[i] <= to && death[i] > to,
      born: (i) => birth[i] > from && birth[i] <= to,
      kept: (i) => birth[i] > from && birth[i] <= to && death[i] > to,
      freed: (i) => death[i] > from && death[i] <= to,
    }[life];
    for (let i = 0; i < this.count; i++) {
      if (!has(i) || (thread !== null && this.thread[i] !== thread)) continue;
      for (const name of QUANTITIES) made[name][node[i]] += this[name][i];
    }
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
