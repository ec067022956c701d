// Loads a page for bench/page_loads.py, which appends the call: parses the source, and makes elements with attributes, a style, a box and listeners.
let node = {
  width: fn() { return self.box.right - self.box.left; },
  append: fn(child) { child.parent = self; push(self.children, child); return child; }
};
fn style_of(parent) {
  return {display: "block", color: parent.style.color, size: parent.style.size, weight: 400, margin: 8, padding: 4};
}
fn element(document, parent, words) {
  let made = {tag: words[1], parent: nil, children: [], attributes: map(), style: style_of(parent), box: nil, listener: nil};
  derive(node, made);
  for (i in len(words) - 2) {
    let pair = split(words[i + 2], "=");
    made.attributes[pair[0]] = pair[1];
    if (pair[0] == "id") document.by_id[pair[1]] = made;
    if (pair[0] == "onclick") made.listener = fn(event) { document.clicks += 1; return made.width() + num(pair[1]); };
  }
  return parent.append(made);
}
fn layout(each, left, top) {
  each.box = {left: left, top: top, right: left + 800, bottom: top};
  if (each.children == nil) return top + 20;
  for (child in each.children) each.box.bottom = layout(child, left + 4, each.box.bottom);
  return each.box.bottom + 16;
}
fn load_page(source) {
  let document = {by_id: map(), clicks: 0, root: nil};
  let root = {tag: "html", parent: nil, children: [], attributes: map(), style: {color: "black", size: 16}, box: nil, listener: nil};
  document.root = derive(node, root);
  let at = document.root;
  for (line in split(source, "\n")) {
    let words = split(line, " ");
    if (words[0] == "open") at = element(document, at, words);
    if (words[0] == "text") at.append({tag: "text", parent: nil, children: nil, style: at.style, box: nil, text: slice(line, 5, len(line))});
    if (words[0] == "close") at = at.parent;
  }
  layout(document.root, 0, 0);
  return document;
}
