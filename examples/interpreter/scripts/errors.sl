// Errors on their way through calls, loops and handlers.
fn deep(n) {
  if (n == 0) throw {code: 7, path: []};
  try { deep(n - 1); } catch (error) { push(error.path, n); throw error; }
}
let caught = 0;
for (i in 50) {
  try { deep(20); } catch (error) { caught += error.code + len(error.path); }
}
print(caught);
try { nil.field; } catch (message) { print(message); }
try { [1, 2][2]; } catch (message) { print(message); }
fn endless(n) { return endless(n + 1); }
try { endless(0); } catch (message) { print(message); }
