// Eight queens, by arrays that come and go.
let solutions = 0;
fn place(row, columns, falling, rising) {
  if (row == 8) { solutions += 1; return; }
  for (column in 8) {
    if (columns[column] || falling[row + column] || rising[row - column + 7]) continue;
    fn with(taken, i) { let copy = slice(taken, 0, len(taken)); copy[i] = true; return copy; }
    place(row + 1, with(columns, column), with(falling, row + column), with(rising, row - column + 7));
  }
}
fn none(n) { let list = []; for (i in n) push(list, false); return list; }
place(0, none(8), none(15), none(15));
print(solutions);
