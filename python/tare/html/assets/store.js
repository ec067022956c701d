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
    let at = 0;
    const next = () => {
      let value = 0;
      let factor = 1; // sums exceed 32 bits, so no shifts
      for (;;) {
        const byte = bytes[at++];
        value += (byte & 127) * factor;
        if (byte < 128) return value;
        factor *= 128;
      }
    };
    const length = next();
    this.facts = JSON.parse(new TextDecoder().decode(bytes.subarray(at, at + length)));
    at += length;
    const { strings, functions, own, wrappers } = this.facts;
    const [names, files, modules] = functions; // names by the distance from the one before
    let name = 0;
    this.functions = own.map((isOwn, i) => ({ id: i, name: strings[(name += names[i])], file: strings[files[i]], module: strings[modules[i]], own: isOwn === 1 }));
    this.isWrapper = new Uint8Array(own.length);
    for (const each of wrappers) this.isWrapper[each] = 1;
    this.mine = '';
    const count = (this.count = this.facts.nodes);
    this.parent = new Int32Array(count);
    this.frame = new Int32Array(count).fill(-1);
    const path = [0];
    for (let node = 1; node < count; node++) {
      path.length -= next();
      this.parent[node] = path[path.length - 1];
      this.frame[node] = next();
      path.push(node);
    }
    this.sums = {};
    for (const [key, , , , quantity] of this.facts.measures) {
      if (quantity) continue;
      const values = (this.sums[key] = new Float64Array(count));
      let node = 0;
      for (let left = next(); left > 0; left--) {
        node += next();
        values[node] = next();
      }
    }
    const { cells, ends, peak_ns: peak } = this.facts;
    const column = () => Float64Array.from({ length: cells }, next);
    this.lives = cells ? new Lives(this.facts, column, count) : null;
    this.named = new Int32Array(count).fill(-1); // by node: the function that names the site of its stacks
    for (let node = 0; node < count; node++) if (node + 1 === count || this.parent[node + 1] !== node) this.named[node] = next() - 1;
    for (let left = next(), node = 0; left > 0; left--) {
      node += next();
      this.named[node] = next() - 1;
    }
    this.types = new Int32Array(count); // by node: of its blocks; 0: unknown
    for (let left = next(), node = 0; left > 0; left--) this.types[(node += next())] = next();
    const ranges = { peak: ['live', ends?.indexOf(peak)], end: ['live', ends?.length - 1], total: ['born', ends?.length - 1] };
    const made = {};
    for (const [key, , , , quantity] of this.facts.measures) {
      if (!quantity) continue;
      const moment = key.split('.')[0];
      const [life, to] = ranges[moment];
      made[moment] ||= this.lives ? this.lives.sums({ life, from: -1, to, thread: null }) : {};
      this.sums[key] = (made[moment][quantity] || new Float64Array(count)).slice();
    }
    this.cache = new Map();
    this.addBalance();
  }

  // Fills the measures time.* with what a range of time has.
  choose(range) {
    const signature = JSON.stringify(range);
    if (signature === this.chosen) return;
    this.chosen = signature;
    const made = this.lives.sums(range);
    for (const name of QUANTITIES) {
      this.sums[`time.${name}`] = made[name];
      this.cache.delete(`time.${name}`);
    }
  }

  // tare = the sum of the lenses; net = gross - tare. In a difference, each measure is what grew plus what shrank.
  addBalance() {
    if (this.facts.diff) {
      for (const key of Object.keys(this.sums).filter((each) => each.endsWith(':grown'))) {
        const name = key.slice(0, -6);
        const shrunk = this.sums[`${name}:shrunk`];
        this.sums[name] = this.sums[key].map((value, node) => value + shrunk[node]);
      }
      return;
    }
    for (const moment of ['peak', 'end']) {
      const gross = this.sums[`${moment}.gross`];
      if (!gross) continue;
      const tare = (this.sums[`${moment}.tare`] = new Float64Array(this.count));
      for (const key of Object.keys(this.sums)) {
        if (key.startsWith(`${moment}.tare:`)) this.sums[key].forEach((value, node) => (tare[node] += value));
      }
      this.sums[`${moment}.net`] = gross.map((value, node) => value - tare[node]);
    }
  }

  // Of each node with all below it.
  inclusive(key) {
    if (!this.cache.has(key)) {
      const sums = Float64Array.from(this.sums[key]);
      for (let node = this.count - 1; node > 0; node--) sums[this.parent[node]] += sums[node];
      this.cache.set(key, sums);
    }
    return this.cache.get(key);
  }

  total(key) {
    return this.inclusive(key)[0];
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
