// The output of the suite.

import { wayName } from "./stage.mjs";

const COLUMNS = ["run", "sent", "got", "lost", "twice", "unordered", "handshakes", "connects", "sockets", ""];

/** One line about a stage, printed as it ends. */
export function line(stage, runs) {
  const passed = runs.filter((run) => run.problems.length === 0).length;
  const problems = [...shared(runs)].map(([problem, ways]) => {
    return `\n    ${ways.length === runs.length ? "all" : ways.join(", ")}: ${problem}`;
  });
  return `${passed === runs.length ? "ok    " : "FAILED"} ${stage.name}: ${passed} of ${runs.length}${problems.join("")}`;
}

/** Problems, each with the runs that have it. */
function shared(runs) {
  const problems = new Map();
  for (const run of runs) {
    for (const problem of new Set(run.problems)) problems.set(problem, [...(problems.get(problem) ?? []), wayName(run.way)]);
  }
  return problems;
}

/** A row for each run. */
export function table(runs) {
  const rows = [COLUMNS, ...runs.map(row)];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((cells) => String(cells[column]).length)));
  return rows.map((cells) => cells.map((cell, column) => pad(cell, widths[column], column)).join("  ").trimEnd()).join("\n");
}

/** The last line. */
export function summary(runs) {
  const failed = runs.filter((run) => run.problems.length > 0).length;
  return `${runs.length - failed} passed, ${failed} failed`;
}

function row(run) {
  const sum = (count) => run.ledgers.reduce((total, ledger) => total + count(ledger), 0);
  return [
    `${run.problems.length === 0 ? "ok    " : "FAILED"} ${run.name}`,
    sum((ledger) => ledger.sent),
    sum((ledger) => ledger.received.length),
    sum((ledger) => ledger.lost.length),
    sum((ledger) => ledger.doubled.length),
    sum((ledger) => ledger.disordered.length),
    run.watch?.handshakes ?? "-",
    run.watch?.connects ?? "-",
    run.relay?.accepted ?? "-",
    run.note,
  ];
}

const pad = (cell, width, column) => (column === 0 || column === COLUMNS.length - 1 ? String(cell).padEnd(width) : String(cell).padStart(width));
