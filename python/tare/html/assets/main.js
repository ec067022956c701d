// The page's controls and state: the fragment has all of it, so that a link shows the same view, and back goes back.

const KEYS = [
  ['/', 'search'],
  ['1 2 3', 'flame graph, treemap, table'],
  ['d u', 'from callers down, from allocating functions up'],
  ['c e', 'callers, callees of the selected function'],
  ['o', 'my code only, on and off'],
  ['t', 'the timeline: arrows choose a time, with Shift a range, p the peak, Escape clears'],
  ['m', 'choose the measure'],
  ['y', 'treemap and table by type, and back'],
  ['arrows', 'move between boxes of the graph or the tree'],
  ['Enter', 'zoom into the selected box'],
  ['Escape', 'one step back out'],
  ['r', 'reset'],
  ['?', 'this list'],
];
const LIFE_WORDS = { live: 'live at the end of the range', born: 'allocated', kept: 'allocated and still live at the end', freed: 'freed' };
const TIME_LABELS = { gross: 'gross', blocks: 'blocks', slop: 'slop', header: 'headers' };
const DEFAULTS = { view: 'flame', mode: 'down', measure: '', q: '', own: '', mine: '', colour: 'module', by: '', at: '', around: '', from: '', to: '', life: 'born', thread: '' };

// The statement for each line that allocates, or each type, where the one for the sum is a sum over kinds of allocations.
function bySite(query, byType) {
  const [, file, sum, table, where = ''] = /^tare sql (.*) "select (sum\(.*\)) from (site_sizes|lifetimes)( where .*)?"$/.exec(query) || [];
  if (!sum) return query;
  const types = '(select stack_id, min(type) as type from type_sites group by stack_id having count(distinct type) = 1)';
  if (byType) return `tare sql ${file} "select type, ${sum} from ${table} left join ${types} using (stack_id)${where} group by type order by 2 desc"`;
  const name = '(select min_by(function, inline_depth) from frames where location_id = site_location_id)';
  return `tare sql ${file} "select site_location_id, ${name}, ${sum} from ${table} join stack_sites using (stack_id) join sites using (site_id)${where} group by 1 order by 3 desc"`;
}

class Page {
  constructor(store) {
    this.store = store;
    this.isDiff = Boolean(store.facts.diff);
    this.tip = new Tip();
    this.later = new Later();
    this.entries = []; // changes of the fragment that wait
    this.colours = themeColours();
    this.units = Object.fromEntries(store.facts.measures.map(([key, , unit]) => [key.replace(/:grown$/, ''), unit]));
    for (const name of QUANTITIES) this.units[`time.${name}`] = name === 'blocks' ? 'blocks' : 'bytes';
    if (store.lives) store.facts.moments.time = 'in the chosen time';
    this.measures = this.listMeasures();
    DEFAULTS.measure = this.measures[0].key;
    this.state = { ...DEFAULTS };
    this.build();
    this.views = {
      flame: new Flame(this.places.flame, this),
      treemap: new Treemap(this.places.treemap, this),
      table: new FunctionTable(this.places.table, this),
    };
    this.outline = new Outline(this.places.outline, this);
    const timeline = document.querySelector('#timeline svg');
    this.brush = store.lives && timeline ? new Brush(timeline, this) : null;
    this.restore();
    addEventListener('hashchange', () => {
      this.entries = [];
      this.restore();
    });
    addEventListener('keydown', (event) => this.key(event));
    this.width = this.app.clientWidth;
    addEventListener('resize', () => this.restyle());
    new ResizeObserver(() => this.app.clientWidth !== this.width && this.restyle()).observe(this.app);
    for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)']) {
      matchMedia(query).addEventListener('change', () => this.restyle());
    }
  }

  listMeasures() {
    const { facts } = this.store;
    const stored = this.isDiff ? facts.measures.filter(([key]) => key.endsWith(':grown')) : facts.measures;
    const named = stored.map(([key, label, , query]) => ({ key: key.replace(/:grown$/, ''), label, query }));
    for (const moment of ['peak', 'end']) {
      const gross = named.find((each) => each.key === `${moment}.gross`);
      if (!gross || this.isDiff) continue;
      const jq = (what) => `tare report FILE --json | jq .${moment}.${what}_bytes`;
      named.splice(named.indexOf(gross) + 1, 0, { key: `${moment}.tare`, label: 'tare, all lenses', query: jq('tare') }, { key: `${moment}.net`, label: 'net', query: jq('net') });
    }
    const inTime = this.store.lives ? QUANTITIES.map((name) => ({ key: `time.${name}`, label: TIME_LABELS[name], query: '' })) : [];
    return [...named, ...inTime].filter(({ key }) => key.startsWith('time.') || this.isShown(key));
  }

  isShown(key) {
    const { facts } = this.store;
    return facts.moments[key.split('.')[0]] && key in this.store.sums && (this.store.total(key) || key === 'peak.gross');
  }

  build() {
    this.app = document.getElementById('app');
    const choice = (name, options, label) => {
      const select = make('select', { id: `choose-${name}`, onchange: () => this.change({ [name]: select.value }) }, ...options);
      return make('label', {}, `${label} `, select);
    };
    const option = ([value, text]) => make('option', { value }, text);
    const groups = Object.entries(this.store.facts.moments).map(([moment, label]) => {
      const inside = this.measures.filter(({ key }) => key.startsWith(`${moment}.`));
      return make('optgroup', { label }, ...inside.map(({ key, label: text }) => make('option', { value: key }, `${text} ${label}`)));
    });
    this.search = make('input', { type: 'search', id: 'search', placeholder: 'regular expression', spellcheck: 'false' });
    let wait = 0;
    this.search.addEventListener('input', () => {
      clearTimeout(wait);
      wait = setTimeout(() => this.change({ q: this.search.value }, true), 80);
    });
    this.own = make('input', { type: 'checkbox', id: 'own', onchange: () => this.change({ own: this.own.checked ? '1' : '', at: '' }) });
    this.mine = make('input', { type: 'search', id: 'mine', placeholder: 'not of the system', spellcheck: 'false', 'aria-label': 'My code: a regular expression over modules and paths', title: 'a regular expression over modules and paths', onchange: () => this.change({ mine: this.mine.value, own: '1', at: '' }) });
    const views = [['flame', 'Flame graph'], ['treemap', 'Treemap'], ['table', 'Functions']];
    this.tabs = views.map(([value, text]) => make('button', { type: 'button', 'data-view': value, onclick: () => this.change({ view: value }) }, text));
    const modes = [['down', 'from callers down'], ['up', 'from allocating functions up'], ['callees', 'callees of a function'], ['callers', 'callers of a function']];
    const groupings = [['', 'by module'], ['type', 'by type']];
    this.hasTypes = this.store.facts.types.length > 0;
    const colourings = [['module', 'by module'], ['own', 'own and foreign'], ['tare', 'by share of tare'], ['lens', 'by lens with most tare']];
    this.matched = make('output', { for: 'search', id: 'matched' });
    this.crumbs = make('p', { class: 'crumbs', id: 'crumbs' });
    this.command = make('code', { id: 'command' });
    this.live = make('p', { class: 'live', role: 'status', id: 'selected' });
    this.legendPlace = make('p', { class: 'note' });
    this.help = make('dialog', { 'aria-label': 'Keys' }, make('h3', {}, 'Keys'), make('dl', {}, ...KEYS.flatMap(([key, text]) => [make('dt', {}, make('kbd', {}, key)), make('dd', {}, text)])), make('form', { method: 'dialog' }, make('button', {}, 'Close')));
    this.places = Object.fromEntries(['flame', 'treemap', 'table', 'outline'].map((name) => [name, make('div', { class: `view ${name}` })]));
    const { lives } = this.store;
    const threads = lives && lives.threads.length > 1 ? [['', 'all'], ...lives.threads.map((each) => [String(each), String(each)])] : null;
    const lifes = Object.entries(LIFE_WORDS);
    this.life = lives ? choice('life', lifes.map(option), 'Blocks') : '';
    this.when = make('span', { id: 'when' });
    this.clear = make('button', { type: 'button', onclick: () => this.choose(null, null) }, 'Clear');
    const themes = [['', 'system'], ['light', 'light'], ['dark', 'dark'], ['contrast', 'high contrast']];
    const theme = make('select', { id: 'theme', onchange: () => this.setTheme(theme.value) }, ...themes.map(option));
    const folded = this.store.facts.folded;
    this.app.append(
      make('div', { class: 'controls' },
        make('div', { class: 'tabs', role: 'group', 'aria-label': 'View' }, ...this.tabs),
        make('label', {}, 'Measure ', make('select', { id: 'choose-measure', onchange: (event) => this.change({ measure: event.target.value }) }, ...groups)),
        choice('mode', modes.map(option), 'Order'),
        this.hasTypes ? choice('by', groupings.map(option), 'Treemap, table') : '',
        this.isDiff ? '' : choice('colour', colourings.map(option), 'Colour'),
        make('label', {}, 'Search ', this.search), this.matched,
        make('span', { class: 'pair' }, make('label', {}, this.own, ' my code only: '), this.mine),
        make('label', {}, 'Theme ', theme),
        make('button', { type: 'button', onclick: () => this.help.showModal(), 'aria-label': 'Keys' }, '?'),
      ),
      lives ? make('p', { class: 'controls chosen' }, this.when, this.life, threads ? make('label', {}, 'Thread ', this.threadChoice(threads, option)) : '', this.clear) : '',
      this.crumbs, this.places.flame, this.places.treemap, this.places.table,
      this.legendPlace, this.live,
      make('details', { class: 'outline-of', open: '' }, make('summary', {}, 'The same as a tree'), this.places.outline),
      make('p', { class: 'note' }, 'The numbers of this view: ', this.command),
      lives && this.store.facts.joined ? make('p', { class: 'note' }, `The timeline has ${lives.ends.length} steps: ${exact(this.store.facts.joined)} intervals are joined with others, so that the page stays small. All sums are exact.`) : '',
      folded ? make('p', { class: 'note' }, `${exact(folded)} small boxes are folded into their callers. All sums are exact.`) : '',
      this.help,
    );
    document.querySelectorAll('table.sortable').forEach(makeSortable);
  }

  threadChoice(threads, option) {
    const select = make('select', { id: 'choose-thread', onchange: () => this.chooseThread(select.value) }, ...threads.map(option));
    return select;
  }

  // The range of time that the measures time.* are of; null: another measure is shown.
  time() {
    const { lives } = this.store;
    const { measure, from, to, life, thread } = this.state;
    if (!lives || !measure.startsWith('time.')) return null;
    const last = lives.ends.length - 1;
    const number = (text, least, none) => (/^-?\d+$/.test(text) ? Math.max(least, Math.min(last, Number(text))) : none);
    const end = number(to, 0, last);
    const begin = number(from, -1, null);
    const isRange = begin !== null && begin < end;
    return { isRange, life: isRange && LIFE_WORDS[life] ? life : 'live', from: isRange ? begin : -1, to: end, thread: /^\d+$/.test(thread) ? Number(thread) : null };
  }

  // `from` null: one time; both: the measure of before.
  choose(from, to, replace = false) {
    const [moment, what] = this.state.measure.split('.');
    if (to === null) this.change({ from: '', to: '', thread: '', measure: DEFAULTS.measure });
    else this.change({ from: from === null ? '' : String(from), to: String(to), measure: `time.${QUANTITIES.includes(what) || moment === 'time' ? what : 'gross'}` }, replace);
  }

  // Null: events of one time stamp lie on both sides of the peak, so that the peak's own measures have to do.
  peakInterval() {
    const { lives, facts } = this.store;
    const isExact = facts.measures.some(([key, , , , quantity]) => key === 'peak.gross' && quantity);
    return isExact ? lives.nearest(facts.peak_ns) : null;
  }

  chooseThread(thread) {
    const to = this.time() ? this.state.to : String(this.store.lives.nearest(this.store.facts.peak_ns));
    this.change({ thread, to, measure: this.time() ? this.state.measure : 'time.gross' });
  }

  legend() {
    const key = (look, text) => make('span', { class: 'legend' }, make('span', { class: `key ${look}` }), text);
    if (this.isDiff) return [key('grown', 'grown (+) '), key('shrunk', 'shrunk (−), hatched '), `Widths are ${this.unit} grown plus ${this.unit} shrunk.`];
    const lenses = this.lensKeys().map((name, number) => (name ? key(`tare-${number % 5}`, `most tare: ${name.slice(name.indexOf(':') + 1)} `) : ''));
    const marked = this.markedKeyOf(this.state.measure) ? key('tare-0', `the share of ${this.time() ? 'slop' : 'tare'}, at the foot of each box `) : '';
    return [...(this.state.colour === 'lens' ? lenses : [marked]), this.state.view === 'treemap' ? 'Click a box for its callers. Keys: ?' : 'Click a box to zoom. Keys: ?'];
  }

  // The measure of each lens at the shown moment, in the order of the balance; '' where it has none.
  lensKeys() {
    const moment = this.state.measure.split('.')[0];
    return (this.store.facts.lenses || []).map((name) => `${moment}.tare:${name}`).map((key) => (key in this.store.sums ? key : ''));
  }

  setTheme(name) {
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    this.restyle();
  }

  restyle() {
    this.width = this.app.clientWidth;
    this.colours = themeColours();
    this.views.flame.measure();
    const view = this.views[this.state.view];
    if (this.state.view === 'flame') view.layOut();
    if (view.draw) view.draw();
  }

  restore() {
    const text = location.hash.slice(1);
    if (text && !text.includes('=')) return; // a section of the page
    this.hash = location.hash;
    const given = Object.fromEntries(new URLSearchParams(text));
    this.state = { ...DEFAULTS };
    for (const name of Object.keys(DEFAULTS)) if (typeof given[name] === 'string') this.state[name] = given[name];
    if (!this.measures.some(({ key }) => key === this.state.measure)) this.state.measure = DEFAULTS.measure;
    if (!this.views[this.state.view]) this.state.view = 'flame';
    if (!this.hasTypes) this.state.by = '';
    if (this.search.value !== this.state.q) this.search.value = this.state.q;
    this.update();
  }

  change(values, replace = false) {
    Object.assign(this.state, values);
    const kept = Object.entries(this.state).filter(([name, value]) => value !== DEFAULTS[name]);
    const hash = `#${new URLSearchParams(kept.length ? kept : [['view', this.state.view]])}`;
    // The browser takes up to 5 ms for an entry of the history.
    if (replace) this.entries.push(() => history.replaceState(null, '', hash));
    else if (hash !== this.hash) this.entries.push(() => history.pushState(null, '', hash));
    this.later.put('history', () => this.entries.splice(0).forEach((enter) => enter()));
    this.hash = hash;
    this.update();
  }

  markedKeyOf(key) {
    if (this.isDiff) return `${key}:shrunk`;
    if (key === 'time.gross') return 'time.slop';
    const [moment, what] = key.split('.');
    return what === 'gross' && `${moment}.tare` in this.store.sums ? `${moment}.tare` : null;
  }

  update() {
    const begun = performance.now();
    const { state, store } = this;
    const key = state.measure;
    if ((state.mode === 'callers' || state.mode === 'callees') && !store.functions[state.around]) state.mode = 'down';
    this.chooseOwn();
    const lensKeys = state.colour === 'lens' ? this.lensKeys() : [];
    const graphOf = (mode) => new Graph(store, { mode, key, markedKey: this.markedKeyOf(key), lensKeys, ownOnly: state.own === '1', around: Number(state.around) });
    const time = this.time();
    if (time) store.choose(time);
    const signature = [state.mode, key, state.own, state.mine, state.around, lensKeys, JSON.stringify(time)].join('|');
    if (signature !== this.signature) this.graph = graphOf(state.mode);
    this.signature = signature;
    this.unit = this.units[key] || 'bytes';
    this.colouring = state.colour;
    this.find(key);
    const focus = this.graph.find(state.at);
    for (const name of ['flame', 'treemap', 'table']) this.places[name].hidden = state.view !== name;
    if (state.view === 'flame') this.views.flame.show(this.graph, focus);
    else if (state.view === 'treemap') this.views.treemap.show(graphOf(state.by ? 'types' : 'sites'));
    else this.views.table.show(store, key, this.markedKeyOf(key), state.by ? graphOf('types') : null);
    this.later.put('outline', () => this.outline.show(this.graph, focus));
    this.describe(focus);
    const controls = JSON.stringify({ ...state, at: '' });
    if (controls !== this.controls) this.showControls(key, time);
    this.controls = controls;
    performance.measure('tare-update', { start: begun });
  }

  showControls(key, time) {
    const { state } = this;
    this.legendPlace.replaceChildren(...this.legend());
    this.showTime(time);
    for (const [name, value] of [['measure', key], ['mode', state.mode], ['colour', state.colour], ['by', state.by], ['life', state.life], ['thread', state.thread]]) {
      const select = document.getElementById(`choose-${name}`);
      if (select) select.value = value;
    }
    this.own.checked = state.own === '1';
    this.tabs.forEach((tab) => tab.setAttribute('aria-pressed', String(tab.dataset.view === state.view)));
  }

  showTime(time) {
    if (!this.brush) return;
    this.brush.draw(time);
    this.when.textContent = time ? `Chosen: ${this.brush.words(time)}` : 'Click or drag on the timeline to choose a time or a range.';
    this.life.hidden = !(time && time.isRange);
    this.clear.hidden = !time;
  }

  chooseOwn() {
    if (document.activeElement !== this.mine) this.mine.value = this.state.mine;
    this.mine.removeAttribute('aria-invalid');
    try {
      this.store.chooseOwn(this.state.mine);
    } catch {
      this.mine.setAttribute('aria-invalid', 'true');
    }
  }

  find(key) {
    const signature = `${this.signature} ${this.state.q}`;
    if (signature === this.found) return;
    this.found = signature;
    this.hit = null;
    this.matched.textContent = '';
    this.search.removeAttribute('aria-invalid');
    if (!this.state.q) return;
    try {
      const { hit, sum } = this.store.matching(new RegExp(this.state.q, 'i'), key);
      this.hit = hit;
      this.matched.textContent = `${this.amount(sum)} (${share(sum, this.store.total(key))}) match`;
      this.matched.dataset.exact = String(sum);
    } catch {
      this.search.setAttribute('aria-invalid', 'true');
      this.matched.textContent = 'not a regular expression';
    }
  }

  describe(focus) {
    const { graph, state } = this;
    const chain = [];
    for (let box = focus; box; box = box.parent) chain.unshift(box);
    const shown = chain.length > 5 ? [chain[0], null, ...chain.slice(-3)] : chain;
    this.crumbs.replaceChildren(
      ...shown.flatMap((box, i) => [
        i ? ' › ' : '',
        box ? make('button', { type: 'button', class: 'link', onclick: () => this.zoom(box) }, graph.nameOf(box)) : '…',
      ]),
      make('span', { class: 'sum', 'data-exact': String(focus.value) }, `  ${exactly(focus.value, this.unit)}`),
      this.isDiff ? ` grown plus shrunk, ${this.signed(focus)} in all` : '',
      ` (${share(focus.value, this.store.total(state.measure))})`,
    );
    const time = this.time();
    const query = time ? this.store.lives.query(state.measure.slice(5), time) : this.measures.find(({ key }) => key === state.measure).query;
    this.command.textContent = (state.view === 'flame' ? query : bySite(query, state.by)).replace('FILE', () => this.store.facts.file);
  }

  amount(count) {
    return inUnit(count, this.unit);
  }

  signed(box) {
    const change = box.value - 2 * box.marked;
    return `${change > 0 ? '+' : change < 0 ? '−' : ''}${this.amount(Math.abs(change))}`;
  }

  wordsOf(graph, box) {
    const each = box.frame >= 0 ? this.store.functions[box.frame] : null;
    const words = [graph.nameOf(box)];
    if (this.isDiff) words.push(`${this.signed(box)}: grown ${exact(box.value - box.marked)}, shrunk ${exactly(box.marked, this.unit)}`);
    else words.push(`${this.amount(box.value)}: ${exactly(box.value, this.unit)}`);
    words.push(`${share(box.value, this.store.total(this.state.measure))} of all${box.parent ? `, ${share(box.value, box.parent.value)} of the box above` : ''}`);
    if (box.marked && !this.isDiff) words.push(`${this.time() ? 'slop' : 'tare'} ${exactly(box.marked, 'bytes')} (${share(box.marked, box.value)})`);
    box.lenses.forEach((amount, number) => amount && words.push(`${this.store.facts.lenses[number]} ${exactly(amount, 'bytes')}`));
    if (graph.mode === 'types') words.push(`type: ${graph.typeOf(box) || 'unknown'}`);
    if (each && each.file) words.push(each.file);
    if (each && each.module) words.push(each.module);
    return words;
  }

  announce(graph, box) {
    this.live.textContent = this.wordsOf(graph, box).slice(0, 3).join('; ');
  }

  zoom(box) {
    this.change({ at: this.graph.pathOf(box) });
  }

  around(frame, mode = 'callers') {
    if (frame >= 0) this.change({ view: 'flame', mode, around: String(frame), at: '' });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const selected = this.views.flame.selected;
    const acts = {
      '/': () => this.search.focus(),
      1: () => this.change({ view: 'flame' }),
      2: () => this.change({ view: 'treemap' }),
      3: () => this.change({ view: 'table' }),
      d: () => this.change({ mode: 'down', at: '' }),
      u: () => this.change({ mode: 'up', at: '' }),
      c: () => selected && this.around(selected.frame),
      e: () => selected && this.around(selected.frame, 'callees'),
      o: () => this.change({ own: this.state.own ? '' : '1', at: '' }),
      y: () => this.hasTypes && this.change({ by: this.state.by ? '' : 'type', view: this.state.view === 'flame' ? 'treemap' : this.state.view }),
      t: () => this.brush && this.brush.svg.focus(),
      m: () => document.getElementById('choose-measure').focus(),
      r: () => this.change({ ...DEFAULTS }),
      '?': () => this.help.open || this.help.showModal(),
    };
    if (!acts[event.key] || this.help.open) return;
    event.preventDefault();
    acts[event.key]();
  }
}

async function start() {
  try {
    const page = new Page(await readStore(document.getElementById('store').textContent));
    page.later.settle();
    window.tare = page; // tests and consoles read it
    performance.mark('tare-interactive');
  } catch (error) {
    document.getElementById('app').textContent = `The graphs can't be drawn in this browser: ${error.message}`;
  }
}

// The static page is painted first.
afterFrame(start);
