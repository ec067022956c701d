// Texts: counts words that are made and thrown away, and sorts them.
let text = "the cat sat on the mat and the dog sat on the cat and all of it was the same as before";
let counts = map();
for (round in 40) {
  for (word in split(text, " ")) {
    let key = word + "-" + round % 4;
    if (has(counts, key)) counts[key] += 1; else counts[key] = 1;
  }
}
let lines = [];
for (key in counts) push(lines, key + "=" + counts[key]);
lines = sort(lines);
print(len(counts), lines[0], lines[len(lines) - 1]);
let all = join(lines, ",");
print(len(all), len(split(all, ",")));
let backwards = sort(lines, fn(a, b) { return b < a; });
print(backwards[0]);
