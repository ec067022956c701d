// Code that is made at run time, called, and forgotten.
let sum = 0;
for (i in 300) {
  let f = load("let step = fn(x) { return x * 2 + " + i + "; }; return fn(x) { return step(step(x)); };");
  sum += f()(i);
}
print(sum);
