// One field finds pages, devices and groups. Ctrl+K opens it on every page.

import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { useGroups } from "../groups";
import { useLoad } from "../load";
import { link, open } from "../router";
import { findDevices } from "../search";
import { Dialog } from "./dialog";

interface Hit {
  kind: string;
  text: string;
  about: string;
  address: string;
}

const MOST = 12;
const TYPING_MS = 200;
/** The types of the attributes allow this role only for fields with a list of the browser. */
const COMBOBOX: object = { role: "combobox" };
const has = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());

export function Find({ pages, onClose }: { pages: { word: string; title: string }[]; onClose: () => void }) {
  const id = useId();
  const typed = useSignal("");
  const text = useSignal("");
  const chosen = useSignal(0);
  useEffect(() => {
    const timer = setTimeout(() => (text.value = typed.value.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const groups = useGroups();
  const devices = useLoad(
    () => (text.value ? findDevices(text.value, MOST) : Promise.resolve({ devices: [], isAll: true })),
    [text.value],
  );
  const part = typed.value.trim();
  const hits: Hit[] = [
    ...pages
      .filter(({ title }) => has(title, part))
      .map(({ word, title }) => ({ kind: "page", text: title, about: "", address: link([word]) })),
    ...(devices.data.value?.devices ?? []).map((one) => ({
      kind: "device",
      text: one.name ?? one.id,
      about: `${one.type ?? ""} ${one.id}`,
      address: link(["devices", one.id]),
    })),
    ...(part ? (groups.data.value?.all ?? []) : [])
      .filter(({ path }) => has(path, part))
      .slice(0, MOST)
      .map((one) => ({
        kind: "group",
        text: one.path,
        about: "",
        address: link(["devices"], { group: one.object.id }),
      })),
  ];
  const at = Math.min(chosen.value, hits.length - 1);
  const go = (hit?: Hit) => {
    if (!hit) return;
    onClose();
    open(hit.address);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && hits.length > 0) chosen.value = (at + step + hits.length) % hits.length;
    else if (event.key === "Enter") go(hits[at]);
    else return;
    event.preventDefault();
  };
  const isSearching = devices.loading.value || text.value !== part;
  return (
    <Dialog title="Find" onClose={onClose}>
      <input
        type="search"
        autofocus
        {...COMBOBOX}
        aria-label="A page, a name, a type, an id or a serial number"
        aria-controls={`${id}-hits`}
        aria-expanded={hits.length > 0}
        aria-activedescendant={hits.length > 0 ? `${id}-${at}` : undefined}
        placeholder="A page, a name, a type, an id or a serial number"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        value={typed.value}
        onInput={(event) => ([typed.value, chosen.value] = [event.currentTarget.value, 0])}
        onKeyDown={onKey}
      />
      <ul id={`${id}-hits`} class="hits" role="listbox" aria-label="What was found">
        {hits.map((hit, index) => (
          <li
            key={hit.kind + hit.address}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(hit)}>
            <span class="grow clip">
              {hit.text} <span class="faint">{hit.about}</span>
            </span>{" "}
            <span class="mark">{hit.kind}</span>
          </li>
        ))}
      </ul>
      <p class="hint" role="status">
        {(devices.error.value ?? groups.error.value)?.message ??
          (part && isSearching
            ? "Searching"
            : part && hits.length === 0
              ? "Nothing was found."
              : devices.data.value && !devices.data.value.isAll
                ? `The first ${MOST} devices; type more to find others.`
                : "")}
      </p>
    </Dialog>
  );
}
