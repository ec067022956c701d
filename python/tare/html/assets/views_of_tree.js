// The tree as a view shows it: from callers down, from allocating functions up, or around one function. Boxes are made when a view asks
// for them, so that a tree of half a million nodes costs what is on the screen.

class Box {
  constructor(frame, parent) {
    this.frame = frame; // -1: everything
    this.parent = parent;
    this.depth = parent ? parent.depth + 1 : 0;
    this.value = 0;
    this.marked = 0; // of it tare, or shrunk in a difference
    this.items = new Map(); // nodes of the store; going up, with the weight that came through them
    this.made = null;
  }
}

class Graph {
  constructor(store, { mode, key, markedKey, ownOnly, around }) {
    Object.assign(this, { store, mode, key, markedKey, around });
    this.shape = store.shape(ownOnly);
    this.up = mode === 'up' || mode === 'callers';
    this.root = new Box(-1, null);
    this.begin();
  }

  begin() {
    const { store, root, shape } = this;
    const values = store.inclusive(this.key);
    const marks = this.markedKey ? store.inclusive(this.markedKey) : null;
    if (this.mode === 'callers' || this.mode === 'callees') {
      // Outermost calls only: a recursive call is a part of the first.
      const inside = new Uint8Array(store.count);
      root.frame = this.around;
      for (let node = 1; node < store.count; node++) {
        const isIt = store.frame[node] === this.around;
        if (isIt && !inside[store.parent[node]] && values[node]) this.put(root, node, values[node], marks ? marks[node] : 0);
        inside[node] = isIt || inside[store.parent[node]] ? 1 : 0;
      }
      return;
    }
    root.value = values[0];
    root.marked = marks ? marks[0] : 0;
    if (this.mode === 'down') {
      root.items.set(0, [values[0], root.marked]);
      return;
    }
    const own = store.sums[this.key];
    const ownMarks = this.markedKey ? store.sums[this.markedKey] : null;
    const groups = new Map();
    for (let node = 0; node < store.count; node++) {
      if (own[node]) this.group(groups, root, shape.holder[node], own[node], ownMarks ? ownMarks[node] : 0);
    }
    root.made = sorted(groups);
  }

  put(box, node, value, marked) {
    const item = box.items.get(node);
    if (item) {
      item[0] += value;
      item[1] += marked;
    } else box.items.set(node, [value, marked]);
    box.value += value;
    box.marked += marked;
  }

  group(groups, parent, node, value, marked) {
    const frame = this.store.frame[node];
    let box = groups.get(frame);
    if (!box) groups.set(frame, (box = new Box(frame, parent)));
    this.put(box, node, value, marked);
  }

  below(box) {
    if (box.made) return box.made;
    const { store, shape } = this;
    const groups = new Map();
    if (this.up) {
      for (const [node, [value, marked]] of box.items) {
        const caller = shape.caller[node];
        if (caller > 0) this.group(groups, box, caller, value, marked);
      }
    } else {
      const values = store.inclusive(this.key);
      const marks = this.markedKey ? store.inclusive(this.markedKey) : null;
      for (const node of box.items.keys()) {
        for (let i = shape.starts[node]; i < shape.starts[node + 1]; i++) {
          const callee = shape.callees[i];
          if (values[callee]) this.group(groups, box, callee, values[callee], marks ? marks[callee] : 0);
        }
      }
    }
    box.made = sorted(groups);
    return box.made;
  }

  nameOf(box) {
    if (box.frame >= 0) return this.store.functions[box.frame].name;
    return box.parent ? '(foreign code only)' : this.up ? 'all allocating functions' : 'whole heap';
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
