// The embedded recording: a tree of functions in preorder with the sums of each node. python/tare/html/store.py writes it.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~';

// Four bytes of five characters; those that lack at the end are the highest digit.
function unpacked(text) {
  const digits = new Uint8Array(128).fill(84);
  for (let i = 0; i < 85; i++) digits[DIGITS.charCodeAt(i)] = i;
  const groups = Math.ceil(text.length / 5);
  const view = new DataView(new ArrayBuffer(4 * groups));
  for (let group = 0; group < groups; group++) {
    let value = 0;
    for (let i = 5 * group; i < 5 * group + 5; i++) value = value * 85 + (i < text.length ? digits[text.charCodeAt(i)] : 84);
    view.setUint32(4 * group, value);
  }
  return new Uint8Array(view.buffer, 0, 4 * groups - (5 * groups - text.length));
}

async function readStore(text) {
  const stream = new Blob([unpacked(text)]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Store(new Uint8Array(await new Response(stream).arrayBuffer()));
}

class Store {
  constructor(bytes) {
    const read = new Varints(bytes);
    this.facts = JSON.parse(new TextDecoder().decode(read.take(read.next())));
    const { strings, functions, own, wrappers } = this.facts;
    const [names, files, modules] = functions; // names by the distance from the one before
    let name = 0;
    this.functions = own.map((isOwn, i) => ({ id: i, name: strings[(name += names[i])], file: strings[files[i]], module: strings[modules[i]], own: isOwn === 1 }));
    this.isWrapper = new Uint8Array(own.length);
    for (const each of wrappers) this.isWrapper[each] = 1;
    this.mine = '';
    this.cache = new Map();
    this.sums = {}; // by measure: a column of nodes, made when it is used
    this.totals = {};
    this.readTree(read);
    const stored = this.facts.measures.filter(([, , , , quantity]) => !quantity);
    for (const [key] of stored) this.readMeasure(key, read);
    this.lives = this.facts.cells ? new Lives(this.facts, read, this.count) : null;
    this.readNames(read);
    this.addDerived();
    this.addBalance();
  }

  readTree(read) {
    const count = (this.count = this.facts.nodes);
    this.parent = new Int32Array(count);
    this.frame = new Int32Array(count).fill(-1);
    const path = new Int32Array(count);
    const rows = read.fill(new Int32Array(2 * (count - 1)));
    let depth = 0;
    for (let node = 1; node < count; node++) {
      depth -= rows[2 * node - 2];
      this.parent[node] = path[depth];
      this.frame[node] = rows[2 * node - 1];
      path[++depth] = node;
    }
  }

  // Few nodes have a value of their own.
  readMeasure(key, read) {
    const rows = read.fill(new Float64Array(2 * read.next()));
    let total = 0;
    for (let i = 1; i < rows.length; i += 2) total += rows[i];
    this.add(key, total, () => {
      const values = new Float64Array(this.count);
      for (let i = 0, node = 0; i < rows.length; i += 2) values[(node += rows[i])] = rows[i + 1];
      return values;
    });
  }

  readNames(read) {
    const { count, parent } = this;
    this.named = new Int32Array(count).fill(-1); // by node: the function that names the site of its stacks
    for (let node = 0; node < count; node++) if (node + 1 === count || parent[node + 1] !== node) this.named[node] = read.next() - 1;
    for (let left = read.next(), node = 0; left > 0; left--) this.named[(node += read.next())] = read.next() - 1;
    this.types = new Int32Array(count); // by node: of its blocks; 0: unknown
    for (let left = read.next(), node = 0; left > 0; left--) this.types[(node += read.next())] = read.next();
  }

  // A measure whose column is made at its first use: a page shows two or three of thirty.
  add(key, total, column) {
    this.totals[key] = total;
    const keep = (value) => Object.defineProperty(this.sums, key, { value, enumerable: true, configurable: true, writable: true });
    Object.defineProperty(this.sums, key, { enumerable: true, configurable: true, get: () => keep(column())[key] });
  }

  // Measures that are sums over the blocks of intervals.
  addDerived() {
    const { ends, peak_ns: peak, measures } = this.facts;
    const ranges = { peak: ['live', ends?.indexOf(peak)], end: ['live', ends?.length - 1], total: ['born', ends?.length - 1] };
    const made = {};
    for (const [key, , , , quantity] of measures) {
      if (!quantity) continue;
      const [life, to] = ranges[key.split('.')[0]];
      const chosen = (made[`${life}${to}`] ||= this.lives?.chosen({ life, from: -1, to, thread: null }));
      const total = chosen ? this.lives.total(quantity, chosen) : 0;
      this.add(key, total, () => (chosen ? this.lives.sum(quantity, chosen) : new Float64Array(this.count)));
    }
  }

  // Fills the measures time.* with what a range of time has.
  choose(range) {
    const signature = JSON.stringify(range);
    if (signature === this.timed) return;
    this.timed = signature;
    const chosen = this.lives.chosen(range);
    for (const name of QUANTITIES) {
      this.cache.delete(`time.${name}`);
      this.add(`time.${name}`, this.lives.total(name, chosen), () => this.lives.sum(name, chosen));
    }
  }

  // tare = the sum of the lenses; net = gross - tare. In a difference, each measure is what grew plus what shrank.
  addBalance() {
    const { sums, totals } = this;
    if (this.facts.diff) {
      for (const key of Object.keys(sums).filter((each) => each.endsWith(':grown'))) {
        const name = key.slice(0, -6);
        const shrunk = `${name}:shrunk`;
        this.add(name, totals[key] + totals[shrunk], () => sums[key].map((value, node) => value + sums[shrunk][node]));
      }
      return;
    }
    for (const moment of ['peak', 'end']) {
      const [gross, tare] = [`${moment}.gross`, `${moment}.tare`];
      if (!(gross in sums)) continue;
      const parts = Object.keys(sums).filter((key) => key.startsWith(`${tare}:`));
      const waste = parts.reduce((sum, key) => sum + totals[key], 0);
      this.add(tare, waste, () => {
        const made = new Float64Array(this.count);
        for (const key of parts) {
          const part = sums[key];
          for (let node = 0; node < made.length; node++) made[node] += part[node];
        }
        return made;
      });
      this.add(`${moment}.net`, totals[gross] - waste, () => sums[gross].map((value, node) => value - sums[tare][node]));
    }
  }

  // Of each node with all below it.
  inclusive(key) {
    if (!this.cache.has(key)) {
      const sums = this.sums[key].slice();
      const { parent } = this;
      for (let node = this.count - 1; node > 0; node--) sums[parent[node]] += sums[node];
      this.cache.set(key, sums);
    }
    return this.cache.get(key);
  }

  total(key) {
    return this.totals[key];
  }

  // Of each node of a stack the one that names its site, as in the report.
  sites() {
    if (!this.cache.has('sites')) {
      const found = this.behindWrappers().slice();
      for (let node = 1; node < this.count; node++) {
        let at = node;
        while (at && this.frame[at] !== this.named[node]) at = this.named[node] < 0 ? 0 : this.parent[at];
        if (at) found[node] = at;
      }
      this.cache.set('sites', found);
    }
    return this.cache.get('sites');
  }

  // Of each node the innermost that is no allocation wrapper, such as operator new.
  behindWrappers() {
    if (!this.cache.has('naming')) {
      const found = new Int32Array(this.count);
      for (let node = 1; node < this.count; node++) {
        const above = this.isWrapper[this.frame[node]] ? found[this.parent[node]] : 0;
        found[node] = above || node;
      }
      this.cache.set('naming', found);
    }
    return this.cache.get('naming');
  }

  // Own code is what matches by module or path; an empty text: what isn't of the system.
  chooseOwn(text) {
    if (text === this.mine) return;
    const expression = text ? new RegExp(text, 'i') : null;
    this.functions.forEach((each, i) => (each.own = expression ? expression.test(each.module) || expression.test(each.file) : this.facts.own[i] === 1));
    this.mine = text;
    this.cache.delete('own');
  }

  // The tree without frames of foreign code: their sums belong to the nearest own caller.
  shape(ownOnly) {
    const name = ownOnly ? 'own' : 'all';
    if (this.cache.has(name)) return this.cache.get(name);
    const caller = new Int32Array(this.count).fill(-1);
    const holder = new Int32Array(this.count); // the node itself, or the nearest own caller
    const starts = new Int32Array(this.count + 2);
    for (let node = 1; node < this.count; node++) {
      const above = holder[this.parent[node]];
      const kept = !ownOnly || this.functions[this.frame[node]].own;
      holder[node] = kept ? node : above;
      if (!kept) continue;
      caller[node] = above;
      starts[above + 2]++;
    }
    for (let node = 1; node < starts.length; node++) starts[node] += starts[node - 1];
    const callees = new Int32Array(starts[this.count + 1]);
    for (let node = 1; node < this.count; node++) if (caller[node] >= 0) callees[starts[caller[node] + 1]++] = node;
    const shape = { caller, holder, starts, callees };
    this.cache.set(name, shape);
    return shape;
  }

  // The share of a measure in stacks with a function that matches.
  matching(expression, key) {
    const hit = this.functions.map((each) => expression.test(each.name) || expression.test(each.file) || expression.test(each.module));
    const inside = new Uint8Array(this.count);
    const values = this.sums[key];
    let sum = 0;
    for (let node = 1; node < this.count; node++) {
      if (hit[this.frame[node]] || inside[this.parent[node]]) {
        inside[node] = 1;
        sum += values[node];
      }
    }
    return { hit, sum };
  }
}
