// Functions as a table: what each allocated itself and with all that it calls. Any table of numbers sorts by its heads.

const MOST_ROWS = 200;

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make('button', { type: 'button', class: 'sort' }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') !== 'descending';
      heads.forEach((each) => each.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const keyOf = (row) => {
        const text = row.cells[column].textContent;
        const number = Number(text.replace(/[,%]/g, ''));
        return Number.isNaN(number) ? text : number;
      };
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const [x, y] = [keyOf(a), keyOf(b)];
        const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}

class FunctionTable {
  constructor(place, page) {
    this.page = page;
    this.place = place;
  }

  show(store, key, markedKey, ofTypes) {
    if (ofTypes) this.showTypes(ofTypes, store.total(key), markedKey);
    else this.showFunctions(store, key, markedKey);
  }

  fill(titles, body, note) {
    const table = make(
      'table',
      { class: 'numbers' },
      make('thead', {}, make('tr', {}, ...titles.map((title) => make('th', { scope: 'col' }, title)))),
      make('tbody', {}, ...body),
    );
    makeSortable(table);
    this.place.replaceChildren(make('div', { class: 'wide' }, table), make('p', { class: 'note' }, note));
  }

  showTypes(graph, total, markedKey) {
    const sums = new Map();
    for (const box of graph.below(graph.root)) {
      const sum = sums.get(box.type) || { name: graph.typeOf(box), value: 0, marked: 0 };
      sums.set(box.type, { ...sum, value: sum.value + box.value, marked: sum.marked + box.marked });
    }
    const body = [...sums.values()]
      .sort((a, b) => b.value - a.value)
      .map(({ name, value, marked }) =>
        make(
          'tr',
          {},
          make('td', { title: this.page.amount(value) }, exact(value)),
          make('td', {}, share(value, total)),
          make('td', {}, markedKey ? exact(marked) : ''),
          make('th', { scope: 'row' }, make('code', {}, name || 'unknown')),
        ),
      );
    this.fill(['amount', 'share', 'tare', 'type'], body, '');
  }

  showFunctions(store, key, markedKey) {
    const rows = this.rows(store, key, markedKey);
    const total = store.total(key);
    const { hit, isDiff } = this.page;
    const chosen = rows.filter((row) => !hit || hit[row.id]);
    const titles = ['itself', 'with callees', 'share', isDiff ? 'shrunk itself' : 'tare itself', 'function', 'file of code'];
    const body = chosen.slice(0, MOST_ROWS).map((row) => {
      const each = store.functions[row.id];
      const name = make('button', { type: 'button', class: 'link', onclick: () => this.page.around(row.id) }, make('code', {}, each.name));
      return make(
        'tr',
        {},
        make('td', { title: this.page.amount(row.self) }, exact(row.self)),
        make('td', { title: this.page.amount(row.all) }, exact(row.all)),
        make('td', {}, share(row.all, total)),
        make('td', {}, markedKey ? exact(row.marked) : ''),
        make('th', { scope: 'row' }, name),
        make('td', { class: 'text' }, baseName(each.module)),
      );
    });
    const more = chosen.length - body.length;
    const note = !chosen.length ? 'No function matches.' : more > 0 ? `${exact(more)} more functions; search to find them.` : '';
    this.fill(titles, body, note);
  }

  // A recursive function's bytes count once: only calls that aren't inside another call of it.
  rows(store, key, markedKey) {
    const rows = store.functions.map((each) => ({ id: each.id, self: 0, all: 0, marked: 0 }));
    const own = store.sums[key];
    const marks = markedKey ? store.sums[markedKey] : null;
    const values = store.inclusive(key);
    const naming = store.sites();
    const path = [];
    const active = new Int32Array(rows.length);
    for (let node = 1; node < store.count; node++) {
      while (path.length && path[path.length - 1] !== store.parent[node]) active[store.frame[path.pop()]]--;
      const frame = store.frame[node];
      const site = store.frame[naming[node]];
      rows[site].self += own[node];
      if (marks) rows[site].marked += marks[node];
      if (!active[frame]) rows[frame].all += values[node];
      active[frame]++;
      path.push(node);
    }
    return rows.filter((row) => row.all > 0).sort((a, b) => b.self - a.self || b.all - a.all);
  }
}
