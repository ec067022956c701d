// The example's language: what scripts mean, and what is said of wrong ones.
#include "interpreter.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace script {
namespace {

std::string result_of(std::string_view source) {
  tare::gc::HeapOptions options;
  options.verifies = true;
  options.least_growth_bytes = std::size_t{64} << 10;  // collects often
  Interpreter interpreter(options);
  try {
    return interpreter.to_text(interpreter.run(source));
  } catch (const std::runtime_error& error) {
    return std::string("error: ") + error.what();
  }
}

TEST(Interpreter, Calculates) {
  EXPECT_EQ(result_of("return 1 + 2 * 3 - 8 / 4;"), "5");
  EXPECT_EQ(result_of("return -(2 + 3) % 4;"), "-1");
  EXPECT_EQ(result_of("return 0.1 + 0.2;"), "0.3");
  EXPECT_EQ(result_of("return 1 / 0;"), "inf");
  EXPECT_EQ(result_of("let x = 0 / 0; return x == x;"), "false");
  EXPECT_EQ(result_of("return 2 > 1 && 1 >= 1 && !(1 < 1) && 1 <= 1 && 1 != 2;"), "true");
  EXPECT_EQ(result_of("return \"a\" < \"b\" && \"ab\" + 1 == \"ab1\";"), "true");
  EXPECT_EQ(result_of("return nil || false || 7;"), "7");
}

TEST(Interpreter, KeepsVariablesWhereTheyWereDeclared) {
  EXPECT_EQ(result_of("let x = 1; fn f(x) { x += 1; return x; } return [f(5), x];"), "[6, 1]");
  EXPECT_EQ(result_of("fn outer() { let n = 0; return fn() { n += 1; return n; }; }"
                      "let f = outer(); let g = outer(); f(); return [f(), g()];"),
            "[2, 1]");
  EXPECT_EQ(result_of("fn even(n) { if (n == 0) return true; return odd(n - 1); }"
                      "fn odd(n) { if (n == 0) return false; return even(n - 1); } return even(10);"),
            "error: line 1: nothing is called odd");  // it is declared later, and no global
}

TEST(Interpreter, HasRecordsWithMethodsAndPrototypes) {
  EXPECT_EQ(result_of("let shape = {area: fn() { return self.w * self.h; }};"
                      "let box = derive(shape, {w: 3, h: 4}); return [box.area(), has(box, \"area\"), len(box)];"),
            "[12, true, 2]");
  EXPECT_EQ(result_of("let a = {}; derive(a, a);"), "error: line 1: a record can't be its own prototype");
  EXPECT_EQ(result_of("let r = {a: 1}; r.b = 2; drop(r, \"a\"); return r;"), "{b: 2}");
}

TEST(Interpreter, HasMapsWithKeysOfAllKinds) {
  EXPECT_EQ(result_of("let m = map(); let k = []; m[1] = \"one\"; m[\"1\"] = \"text\"; m[k] = 3; m[true] = 4;"
                      "return [m[1], m[\"1\"], m[k], m[[]], m[true], len(m)];"),
            "[one, text, 3, nil, 4, 4]");
  EXPECT_EQ(result_of("let m = map(); for (i in 1000) m[i] = i * i; for (i in 1000) if (i % 3 != 0) drop(m, i);"
                      "let sum = 0; for (k in m) sum += m[k]; return [len(m), sum];"),
            "[334, 111277611]");  // of 0, 9, 36, ...: 9 * 333 * 334 * 667 / 6
}

TEST(Interpreter, GoesThroughLoops) {
  EXPECT_EQ(result_of("let n = 0; while (true) { n += 1; if (n == 3) continue; if (n > 5) break; } return n;"), "6");
  EXPECT_EQ(result_of("for (x in [1, 2, 3]) if (x == 2) return x; return 0;"), "2");
  EXPECT_EQ(result_of("let s = \"\"; for (k in {b: 1, a: 2}) s += k; return s;"), "ba");
}

TEST(Interpreter, SortsByAnyOrder) {
  EXPECT_EQ(result_of("return sort([3, 1, 2]);"), "[1, 2, 3]");
  EXPECT_EQ(result_of("return sort([\"b\", \"a\"], fn(x, y) { return y < x; });"), "[b, a]");
  // An order that isn't one, and an array that changes meanwhile, do no harm.
  EXPECT_EQ(result_of("let a = []; for (i in 100) push(a, i);"
                      "let s = sort(a, fn(x, y) { push(a, 0); return true; }); return len(s);"),
            "100");
}

TEST(Interpreter, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(result_of("let x = ;"), "error: line 1: a value is expected before ';'");
  EXPECT_EQ(result_of("\n\nreturn (1;"), "error: line 3: ')' is expected before ';'");
  EXPECT_EQ(result_of("{ {"), "error: line 1: a block without an end");
  EXPECT_EQ(result_of("return \"abc"), "error: line 1: a text without an end");
  EXPECT_EQ(result_of("1 = 2;"), "error: line 1: what stands before '=' can't be assigned to");
  EXPECT_EQ(result_of("return 1 # 2;"), "error: line 1: '#' is no sign of the language");
  EXPECT_EQ(result_of("return 1();"), "error: line 1: 1 can't be called");
  EXPECT_EQ(result_of("return nil + 1;"), "error: line 1: no such operation of nil and 1");
  EXPECT_EQ(result_of("throw {code: 3};"), "error: {code: 3}");
  EXPECT_EQ(result_of(std::string(1000, '(')), "error: line 1: an expression is nested too deep");
  EXPECT_EQ(result_of(std::string(1000, '-') + "1;"), "error: line 1: an expression is nested too deep");
}

TEST(Interpreter, EndsAScriptThatWantsMoreThanTheBudget) {
  tare::gc::HeapOptions options;
  options.budget_bytes = std::size_t{4} << 20;
  Interpreter interpreter(options);
  EXPECT_THROW(interpreter.run("let a = []; while (true) push(a, [a]);"), std::runtime_error);
  interpreter.heap().collect(tare::gc::StackState::HoldsNone);  // old frames may still look as if they held it
  EXPECT_EQ(interpreter.to_text(interpreter.run("return 1 + 1;")), "2");
}

TEST(Interpreter, ForgetsCodeThatNobodyCallsAnyMore) {
  Interpreter interpreter;
  const auto live = [&] {
    interpreter.heap().collect(tare::gc::StackState::HoldsNone);
    return interpreter.heap().use().live_objects;
  };
  const std::size_t before = live();
  interpreter.run("for (i in 100) load(\"return fn(x) { return x * \" + i + \"; };\")();");
  EXPECT_EQ(live(), before);
}

}  // namespace
}  // namespace script
