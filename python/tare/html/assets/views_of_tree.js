// The tree as a view shows it: from callers down, from allocating functions up, or around one function. Boxes are made when a view asks
// for them, so that a tree of half a million nodes costs what is on the screen.

class Box {
  constructor(frame, parent) {
    this.frame = frame; // -1: everything
    this.type = 0; // of its blocks, where boxes are of one type
    this.parent = parent;
    this.depth = parent ? parent.depth + 1 : 0;
    this.value = 0;
    this.marked = 0; // of it tare, or shrunk in a difference
    this.lenses = []; // bytes of each lens, where boxes are coloured by them
    this.items = new Map(); // nodes of the store, with their amounts; going up, with those that came through them
    this.made = null;
  }
}

class Graph {
  constructor(store, { mode, key, markedKey, lensKeys = [], ownOnly, around }) {
    Object.assign(this, { store, mode, key, around });
    this.keys = [key, markedKey, ...lensKeys];
    this.shape = store.shape(ownOnly);
    this.up = mode !== 'down' && mode !== 'callees';
    this.root = new Box(-1, null);
    this.begin();
  }

  begin() {
    const { store, root, shape } = this;
    const amounts = this.amountsOf((key) => store.inclusive(key));
    if (this.mode === 'callers' || this.mode === 'callees') {
      // Outermost calls only: a recursive call is a part of the first.
      const inside = new Uint8Array(store.count);
      root.frame = this.around;
      for (let node = 1; node < store.count; node++) {
        const isIt = store.frame[node] === this.around;
        if (isIt && !inside[store.parent[node]]) this.put(root, node, amounts(node));
        inside[node] = isIt || inside[store.parent[node]] ? 1 : 0;
      }
      return;
    }
    this.put(root, 0, amounts(0));
    if (this.mode === 'down') return;
    const own = store.sums[this.key];
    const ownAmounts = this.amountsOf((key) => store.sums[key]);
    const byType = this.mode === 'types';
    const naming = byType || this.mode === 'sites' ? store.sites() : store.behindWrappers();
    const groups = new Map();
    for (let node = 0; node < store.count; node++) {
      if (own[node]) this.group(groups, root, shape.holder[naming[node]], ownAmounts(node), byType ? store.types[node] : 0);
    }
    root.made = sorted(groups);
  }

  // A function that gives the amounts of a node; `of` gives a measure's column.
  amountsOf(of) {
    const columns = this.keys.map((key) => (key ? of(key) : null));
    return (node) => columns.map((column) => (column ? column[node] : 0));
  }

  put(box, node, amounts) {
    const item = box.items.get(node);
    if (item) amounts.forEach((amount, i) => (item[i] += amount));
    else box.items.set(node, [...amounts]);
    box.value += amounts[0];
    box.marked += amounts[1];
    for (let i = 2; i < amounts.length; i++) box.lenses[i - 2] = (box.lenses[i - 2] || 0) + amounts[i];
  }

  group(groups, parent, node, amounts, type = 0) {
    const frame = this.store.frame[node];
    const key = frame + type * (this.store.functions.length + 1);
    let box = groups.get(key);
    if (!box) groups.set(key, (box = new Box(frame, parent)));
    box.type = type;
    this.put(box, node, amounts);
  }

  below(box) {
    if (box.made) return box.made;
    const { store, shape } = this;
    const groups = new Map();
    if (this.up) {
      for (const [node, amounts] of box.items) {
        const caller = shape.caller[node];
        if (caller > 0) this.group(groups, box, caller, amounts);
      }
    } else {
      const values = store.inclusive(this.key);
      const amounts = this.amountsOf((key) => store.inclusive(key));
      for (const node of box.items.keys()) {
        for (let i = shape.starts[node]; i < shape.starts[node + 1]; i++) {
          const callee = shape.callees[i];
          if (values[callee]) this.group(groups, box, callee, amounts(callee));
        }
      }
    }
    box.made = sorted(groups);
    return box.made;
  }

  // Without making the boxes below.
  hasBelow(box) {
    if (box.made) return box.made.length > 0;
    const { shape } = this;
    const values = this.up ? null : this.store.inclusive(this.key);
    for (const node of box.items.keys()) {
      if (this.up && shape.caller[node] > 0) return true;
      for (let i = shape.starts[node]; !this.up && i < shape.starts[node + 1]; i++) if (values[shape.callees[i]]) return true;
    }
    return false;
  }

  nameOf(box) {
    if (box.frame >= 0) return this.store.functions[box.frame].name;
    return box.parent ? '(foreign code only)' : this.up ? 'all allocating functions' : 'whole heap';
  }

  typeOf(box) {
    return this.store.facts.types[box.type - 1] || '';
  }

  // Frames from the root to the box, for the fragment; and back, as far as the path exists.
  pathOf(box) {
    const path = [];
    for (let at = box; at.parent; at = at.parent) path.unshift(at.frame);
    return path.join('.');
  }

  find(path) {
    let box = this.root;
    for (const frame of path ? path.split('.').map(Number) : []) {
      const next = this.below(box).find((each) => each.frame === frame);
      if (!next) break;
      box = next;
    }
    return box;
  }
}

function sorted(groups) {
  return [...groups.values()].sort((a, b) => b.value - a.value || a.frame - b.frame);
}
