// The graph as a tree of text: the form for keyboards and screen readers. Branches are made when they open.

const MOST_SHOWN = 60; // boxes of a branch

class Outline {
  constructor(place, page) {
    this.page = page;
    this.list = make('ul', { role: 'tree', 'aria-label': 'Tree of functions' });
    this.list.addEventListener('keydown', (event) => this.key(event));
    this.list.addEventListener('click', (event) => {
      const item = event.target.closest('[role=treeitem]');
      if (!item) return;
      this.focus(item);
      this.toggle(item);
    });
    place.append(this.list);
    this.boxes = new WeakMap();
  }

  show(graph, focus) {
    this.graph = graph;
    this.total = graph.root.value;
    const item = this.item(focus, 1);
    this.list.replaceChildren(item);
    item.tabIndex = 0;
    this.toggle(item);
  }

  item(box, level) {
    const { page, graph } = this;
    const marked = box.marked && !page.isDiff ? `${share(box.marked, box.value)} tare` : '';
    const amount = page.isDiff ? page.signed(box) : page.amount(box.value);
    const name = make('code', {}, graph.nameOf(box));
    name.style.marginLeft = `${14 * Math.min(level - 1, 24)}px`; // amounts stay in their columns
    const label = make(
      'span',
      { class: 'row' },
      make('span', { class: 'amount' }, amount),
      make('span', { class: 'share' }, share(box.value, this.total)),
      name,
      make('span', { class: 'place' }, marked),
    );
    const item = make('li', { role: 'treeitem', tabindex: '-1', 'aria-level': String(level) }, label);
    if (graph.hasBelow(box)) item.setAttribute('aria-expanded', 'false');
    this.boxes.set(item, box);
    return item;
  }

  toggle(item, open = item.getAttribute('aria-expanded') === 'false') {
    if (!item.hasAttribute('aria-expanded')) return;
    item.setAttribute('aria-expanded', String(open));
    item.querySelector(':scope > ul')?.remove();
    if (!open) return;
    const below = this.graph.below(this.boxes.get(item));
    const level = Number(item.getAttribute('aria-level')) + 1;
    const items = below.slice(0, MOST_SHOWN).map((box) => this.item(box, level));
    if (below.length > items.length) items.push(make('li', { role: 'none', class: 'note' }, `${exact(below.length - items.length)} more`));
    item.append(make('ul', { role: 'group' }, ...items));
  }

  focus(item) {
    if (!item) return;
    this.list.querySelectorAll('[tabindex="0"]').forEach((each) => (each.tabIndex = -1));
    item.tabIndex = 0;
    item.focus();
  }

  key(event) {
    const item = event.target.closest('[role=treeitem]');
    if (!item) return;
    const every = [...this.list.querySelectorAll('[role=treeitem]')];
    const at = every.indexOf(item);
    const isOpen = item.getAttribute('aria-expanded') === 'true';
    const acts = {
      ArrowDown: () => this.focus(every[at + 1]),
      ArrowUp: () => this.focus(every[at - 1]),
      ArrowRight: () => (isOpen ? this.focus(every[at + 1]) : this.toggle(item, true)),
      ArrowLeft: () => (isOpen ? this.toggle(item, false) : this.focus(item.parentElement.closest('[role=treeitem]'))),
      Home: () => this.focus(every[0]),
      End: () => this.focus(every[every.length - 1]),
      Enter: () => this.page.zoom(this.boxes.get(item)),
      ' ': () => this.toggle(item),
    };
    if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]();
    }
  }
}
