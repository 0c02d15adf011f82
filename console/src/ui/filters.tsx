// The filters of a list, which are part of the address.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { chooseParams, route } from "../router";
import { Button, Choice } from "./kit";

/** A parameter of the address that is typed. It is applied when its field is left or Enter is pressed. */
export function TextFilter({ label, param }: { label: string; param: string }) {
  const chosen = route.value.params.get(param) ?? "";
  const typed = useSignal(chosen);
  useEffect(() => {
    typed.value = chosen;
  }, [chosen]);
  return (
    <label class="search small">
      <span class="hidden">{label}</span>
      <input
        placeholder={label}
        value={typed.value}
        spellcheck={false}
        autocapitalize="none"
        onInput={(event) => (typed.value = event.currentTarget.value)}
        onChange={() => chooseParams({ [param]: typed.value.trim() })}
      />
    </label>
  );
}

/** A parameter of the address that is one of a few words. Without it all rows are shown. */
export function WordFilter({ label, param, words }: { label: string; param: string; words: readonly string[] }) {
  const options = words.map((word): [string, string] => [word, word[0] + word.slice(1).toLowerCase()]);
  return (
    <Choice
      label={label}
      value={route.value.params.get(param) ?? ""}
      options={[["", "All"], ...options]}
      onChange={(value) => chooseParams({ [param]: value })}
    />
  );
}

/** A parameter of the address that a link has set, and the button that removes it. */
export function Chip({ text, label, param }: { text: string; label: string; param: string }) {
  if (!route.value.params.get(param)) return null;
  return (
    <span class="chip">
      {text}{" "}
      <Button class="plain" label={label} onClick={() => chooseParams({ [param]: "" })}>
        ×
      </Button>
    </span>
  );
}

/** What a list shows where its filters leave nothing, and the button that removes them. */
export function NoMatch({ text, button, showAll }: { text: string; button: string; showAll: () => void }) {
  return (
    <>
      <p>{text}</p>
      <Button onClick={showAll}>{button}</Button>
    </>
  );
}
