import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { PlatformEvent } from "../src/types";
import { isPlace, positionInWords, trackOf } from "../src/values/track";

const at = (lat?: unknown, lng?: unknown) => ({ plat_Position: { lat, lng } }) as PlatformEvent;
const PICTURE = { width: 100, height: 50, edge: 10 };

test("a place has two numbers", () => {
  ok(isPlace(at(0, 0)));
  for (const event of [at(1), at("1", "2"), {} as PlatformEvent]) ok(!isPlace(event));
  equal(positionInWords(at(1.23456, -7)), "1.2346, -7.0000");
});

test("north is up and east is right, from the oldest place to the newest", () => {
  const [[oldX, oldY], [newX, newY]] = trackOf([at(1, 1), at(0, 0)], PICTURE);
  ok(newX > oldX);
  ok(newY < oldY);
});

test("the track fills the picture up to its edge", () => {
  deepEqual(trackOf([at(0, 8), at(0, 0)], PICTURE), [
    [10, 25],
    [90, 25],
  ]);
  const ys = trackOf([at(1, 0), at(-1, 0)], PICTURE).map(([, y]) => y);
  deepEqual(ys, [40, 10]);
});

test("a degree of longitude is half as long at 60 degrees", () => {
  const [[left, bottom], [right, top]] = trackOf([at(60, 1), at(59, 0)], PICTURE);
  ok(Math.abs((right - left) / (bottom - top) - 0.5) < 1e-9);
});

test("one place is in the middle", () => deepEqual(trackOf([at(48, 9)], PICTURE), [[50, 25]]));
