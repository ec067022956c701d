// Reads and writes JSON: texts character by character, arrays and records.
fn parse(text) {
  let at = 0;
  fn skip() { while (at < len(text) && (text[at] == " " || text[at] == "\n")) at += 1; }
  fn word() {
    let begin = at;
    while (at < len(text) && text[at] != "," && text[at] != "]" && text[at] != "}" && text[at] != " ") at += 1;
    return slice(text, begin, at);
  }
  fn quoted() {
    at += 1;
    let begin = at;
    while (text[at] != "\"") at += 1;
    at += 1;
    return slice(text, begin, at - 1);
  }
  fn value() {
    skip();
    if (text[at] == "\"") return quoted();
    if (text[at] == "[") {
      let list = [];
      at += 1;
      skip();
      while (text[at] != "]") {
        push(list, value());
        skip();
        if (text[at] == ",") at += 1;
        skip();
      }
      at += 1;
      return list;
    }
    if (text[at] == "{") {
      let fields = map();
      at += 1;
      skip();
      while (text[at] != "}") {
        let key = quoted();
        skip();
        at += 1;
        fields[key] = value();
        skip();
        if (text[at] == ",") at += 1;
        skip();
      }
      at += 1;
      return fields;
    }
    let plain = word();
    if (plain == "null") return nil;
    if (plain == "true") return true;
    if (plain == "false") return false;
    return num(plain);
  }
  return value();
}
fn is_list(value) { try { push(value, 0); pop(value); return true; } catch (error) { return false; } }
fn is_map(value) { try { has(value, 0); return true; } catch (error) { return false; } }
fn write(value) {
  if (value == nil) return "null";
  if (is_list(value)) {
    let parts = [];
    for (item in value) push(parts, write(item));
    return "[" + join(parts, ",") + "]";
  }
  if (is_map(value)) {
    let parts = [];
    for (key in value) push(parts, "\"" + key + "\":" + write(value[key]));
    return "{" + join(parts, ",") + "}";
  }
  if (value == true || value == false) return str(value);
  if (value == "" || "" + value == value) return "\"" + value + "\"";
  return str(value);
}
let source = "{\"name\":\"tare\",\"sizes\":[16,32,48,64,null],\"nested\":{\"deep\":[[],[1,[2,[3]]],{\"x\":true}]},\"flag\":false}";
let text = source;
for (round in 5) text = write(parse(text));
print(text == source, len(text));
print(parse(text)["nested"]["deep"][1][1][1][0]);
