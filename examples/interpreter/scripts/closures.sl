// Closures: counters that share nothing, composition, and a memory of what was calculated.
fn counter() {
  let n = 0;
  return {more: fn() { n += 1; return n; }, less: fn() { n -= 1; return n; }};
}
let a = counter();
let b = counter();
for (i in 1000) a.more();
for (i in 10) { b.more(); b.less(); }
print(a.more(), b.more());

fn compose(f, g) { return fn(x) { return f(g(x)); }; }
let add = fn(n) { return fn(x) { return x + n; }; };
let many = add(0);
for (i in 100) many = compose(many, add(i));
print(many(0));

fn memoize(f) {
  let known = map();
  return fn(x) {
    if (!has(known, x)) known[x] = f(x);
    return known[x];
  };
}
let fibonacci = memoize(fn(n) {
  if (n < 2) return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
});
print(fibonacci(70));
