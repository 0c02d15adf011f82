// The positions in the last events of a device, without a map, because the page sends no requests to other servers.

import { get, withQuery } from "../../api";
import { useLoad } from "../../load";
import { Time } from "../../time";
import type { PlatformEvent } from "../../types";
import { Card } from "../../ui/kit";
import { Standing } from "../../ui/standing";
import { apply } from "../../values/merge";
import { isPlace, positionInWords } from "../../values/track";
import { of } from "./channels";

const KEPT = 200;
const [WIDTH, HEIGHT, EDGE] = [320, 200, 14];

export function Track({ id }: { id: string }) {
  const places = useLoad(
    () =>
      get<{ events: PlatformEvent[] }>(
        withQuery("/event/events", { source: id, fragmentType: "plat_Position", pageSize: KEPT }),
      ).then((page) => page.events.filter(isPlace)),
    [id],
    {
      ...of("events", id),
      take: (messages) =>
        (places.data.value = apply(places.data.value ?? [], messages, isPlace)
          .sort((a, b) => Date.parse(b.time) - Date.parse(a.time))
          .slice(0, KEPT)),
    },
  );
  const list = places.data.value ?? [];
  if (list.length === 0) return null;
  const [newest] = list;
  return (
    <Card
      title="Where it is"
      aside={
        <span>
          <span class="faint">
            <Time at={newest.time} as="ago" />
          </span>{" "}
          <Standing of={places} />
        </span>
      }>
      <svg
        class="track"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`The last ${list.length} positions; the newest is at ${positionInWords(newest)}`}>
        <Way of={list} />
      </svg>
      <p class="faint">
        {positionInWords(newest)} · the last {list.length} positions, north is up
      </p>
    </Card>
  );
}

/** The track in the plane. A degree of longitude is shorter the farther it is from the equator. */
function Way({ of: list }: { of: PlatformEvent[] }) {
  const shrink = Math.cos((list[0].plat_Position!.lat! * Math.PI) / 180);
  const points = list.map(({ plat_Position: at }) => [at!.lng! * shrink, -at!.lat!]).reverse();
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const size = Math.max(
    (Math.max(...xs) - left) / (WIDTH - 2 * EDGE),
    (Math.max(...ys) - top) / (HEIGHT - 2 * EDGE),
    1e-9,
  );
  const [width, height] = [(Math.max(...xs) - left) / size, (Math.max(...ys) - top) / size];
  const place = ([x, y]: number[]) => [
    (x - left) / size + (WIDTH - width) / 2,
    (y - top) / size + (HEIGHT - height) / 2,
  ];
  const shown = points.map(place);
  const [x, y] = shown[shown.length - 1];
  return (
    <>
      <polyline points={shown.map((point) => point.map((one) => one.toFixed(1)).join(",")).join(" ")} />
      <circle cx={x} cy={y} r="5" />
    </>
  );
}
