import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { csvOf, firstRows, isSecret } from "../src/values/csv";

const line = (value: unknown) => csvOf([{ value }], { value: (one) => one.value }).split("\r\n")[1];

test("a file has a line of names, and one for each row", () => {
  const rows = [
    { id: "1", name: "pump" },
    { id: "2", name: undefined },
  ];
  equal(csvOf(rows, { id: (one) => one.id, title: (one) => one.name }), "id,title\r\n1,pump\r\n2,\r\n");
});

test("cells are quoted where they must be", () => {
  equal(line("a,b"), '"a,b"');
  equal(line("a;b"), '"a;b"');
  equal(line('say "no"'), '"say ""no"""');
  equal(csvOf([{}], { value: () => "a\nb" }), 'value\r\n"a\nb"\r\n');
  equal(line({ a: 1 }), '"{""a"":1}"');
  equal(line(null), "");
  equal(line(0), "0");
});

test("a spreadsheet runs no text as a formula", () => {
  for (const begin of ["=", "+", "-", "@"]) equal(line(`${begin}SUM(A1)`), `'${begin}SUM(A1)`);
  equal(line(-5), "-5");
});

test("a preview finds the separator of a file", () => {
  const rows = [
    ["ID", "NAME"],
    ["1", "a"],
  ];
  deepEqual(firstRows("ID;NAME\r\n1;a\r\n"), rows);
  deepEqual(firstRows("ID\tNAME\n1\ta"), rows);
  deepEqual(firstRows("\uFEFFID,NAME\n\n1,a\n"), rows);
  deepEqual(firstRows("sep=|\nID|NAME\n1|a"), rows);
});

test("a quoted cell may have anything in it", () => {
  deepEqual(firstRows('ID,NAME\n"a,b","c\nd ""e"""\n'), [
    ["ID", "NAME"],
    ["a,b", 'c\nd "e"'],
  ]);
});

test("a preview has six rows", () => equal(firstRows("ID\n1\n2\n3\n4\n5\n6\n7").length, 6));

test("cells that may be passwords are known by their column", () => {
  const head = ["ID", "credentials", "PASSWORD"];
  deepEqual(
    [0, 1, 2, 3].map((index) => isSecret(head, index)),
    [false, true, true, true],
  );
});
