// Weak maps: what is remembered of an object goes with the object, although it points back to it.
let notes = weakmap();
let kept = [];
for (i in 2000) {
  let node = {number: i};
  remember(notes, node, {about: node, text: "note " + i});
  if (i % 100 == 0) push(kept, node);
}
node = nil;
collect();
collect();
let found = 0;
for (one in kept) if (recall(notes, one).about == one) found += 1;
print(found, len(notes) >= 20 && len(notes) < 40);
