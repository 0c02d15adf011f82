// The positions in the last events of a device, without a map, because the page sends no requests to other servers.

import { withQuery } from "../../api";
import { readPage } from "../../collection";
import { useLoad } from "../../load";
import { Time } from "../../time";
import type { PlatformEvent } from "../../types";
import { LoadedCard } from "../../ui/loaded";
import { apply, byTime } from "../../values/merge";
import { isPlace, positionInWords, trackOf } from "../../values/track";
import { of } from "./channels";

const KEPT = 200;
const SIZE = { width: 320, height: 200, edge: 14 };

export function Track({ id }: { id: string }) {
  const params = { source: id, fragmentType: "plat_Position", pageSize: KEPT };
  const places = useLoad(
    async () => (await readPage<PlatformEvent>(withQuery("/event/events", params), "events")).items.filter(isPlace),
    [id],
    {
      ...of("events", id),
      take: (messages) =>
        (places.data.value = apply(places.data.value ?? [], messages, isPlace)
          .sort(byTime)
          .slice(0, KEPT)),
    },
  );
  const [newest] = places.data.value ?? [];
  if (!newest && !places.error.value) return null;
  return (
    <LoadedCard title="Where it is" about={newest && <Time at={newest.time} as="ago" />} of={places}>
      {(list) => <Places of={list} />}
    </LoadedCard>
  );
}

function Places({ of: list }: { of: PlatformEvent[] }) {
  const words = positionInWords(list[0]);
  return (
    <>
      <svg
        class="track"
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        role="img"
        aria-label={`The last ${list.length} positions; the newest is at ${words}`}>
        <Way of={list} />
      </svg>
      <p class="faint">
        {words} · the last {list.length} positions, north is up
      </p>
    </>
  );
}

function Way({ of: list }: { of: PlatformEvent[] }) {
  const shown = trackOf(list, SIZE);
  const [x, y] = shown[shown.length - 1];
  return (
    <>
      <polyline points={shown.map((point) => point.map((one) => one.toFixed(1)).join(",")).join(" ")} />
      <circle cx={x} cy={y} r="5" />
    </>
  );
}
