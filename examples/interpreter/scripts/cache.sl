// A cache of the last hundred: a map and a list through its entries, forth and back.
fn cache(room) {
  let entries = map();
  let ends = {};
  ends.next = ends;
  ends.previous = ends;
  fn unlink(entry) {
    entry.previous.next = entry.next;
    entry.next.previous = entry.previous;
  }
  fn link(entry) {
    entry.previous = ends.previous;
    entry.next = ends;
    ends.previous.next = entry;
    ends.previous = entry;
  }
  return {
    get: fn(key, make) {
      let entry = entries[key];
      if (entry == nil) {
        entry = {key: key, value: make(key)};
        entries[key] = entry;
        if (len(entries) > room) {
          let oldest = ends.next;
          drop(entries, oldest.key);
          unlink(oldest);
        }
      } else {
        unlink(entry);
      }
      link(entry);
      return entry.value;
    },
    size: fn() { return len(entries); }
  };
}
let made = 0;
let kept = cache(100);
let sum = 0;
let seed = 1;
for (i in 5000) {
  seed = (seed * 16807) % 2147483647;
  sum += len(kept.get(seed % 150, fn(key) { made += 1; return [key, key + 1, "page " + key]; }));
}
print(sum, kept.size(), made > 1000 && made < 2500);
