// Binary trees: one that stays, many that don't.
fn grow(depth) {
  if (depth == 0) return {left: nil, right: nil};
  return {left: grow(depth - 1), right: grow(depth - 1)};
}
fn count(tree) {
  if (tree.left == nil) return 1;
  return 1 + count(tree.left) + count(tree.right);
}
let kept = grow(10);
let nodes = 0;
for (round in 20) nodes += count(grow(6));
print("nodes:", nodes);
print("kept:", count(kept));
