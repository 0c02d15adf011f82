// The choice of channels of notifications: a field that completes their kinds, and those that are chosen.

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { channelsLike } from "../values/channels";
import { Button, Field } from "./kit";

interface InputProps {
  hint: string;
  required?: boolean;
  pattern?: string;
  /** Takes a channel out of the field, for a form that is about more than this channel. */
  onAdd?: (channel: string) => void;
}

/** A field for one channel, with the name `channel` in its form. */
export function ChannelInput({ hint, onAdd, ...rules }: InputProps) {
  const typed = useSignal("");
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const add = () => {
    onAdd?.(input.current!.value);
    input.current!.value = typed.value = "";
    input.current!.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    if (!onAdd || event.key !== "Enter" || typed.value.trim() === "") return;
    // The form is not sent yet.
    event.preventDefault();
    add();
  };
  return (
    <>
      <Field label="Channel" hint={hint}>
        <input
          ref={input}
          name="channel"
          list={id}
          spellcheck={false}
          autocapitalize="none"
          autocomplete="off"
          onInput={(event) => (typed.value = event.currentTarget.value)}
          onKeyDown={onKey}
          {...rules}
        />
      </Field>
      <datalist id={id}>
        {channelsLike(typed.value).map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      {onAdd && <Button onClick={add}>Add</Button>}
    </>
  );
}

/** The chosen channels, each with a button that takes it away, and those that are offered. */
export function ChannelChips(props: {
  chosen: string[];
  offered: string[];
  /** Why the server refuses a channel. */
  problems?: Record<string, string>;
  /** What the button of a chosen channel does. */
  verb: string;
  onChange: (channels: string[]) => void;
}) {
  const { chosen, problems = {} } = props;
  return (
    <ul class="chips">
      {chosen.map((channel) => (
        <li key={channel} class={problems[channel] ? "chip bad" : "chip"}>
          <code>{channel}</code> {problems[channel] && <span role="alert">{problems[channel]}</span>}
          <Button
            class="plain"
            label={`${props.verb} ${channel}`}
            onClick={() => props.onChange(chosen.filter((one) => one !== channel))}>
            ×
          </Button>
        </li>
      ))}
      {props.offered
        .filter((one) => !chosen.includes(one))
        .map((one) => (
          <li key={one}>
            <Button class="chip small" onClick={() => props.onChange([...chosen, one])}>
              + {one}
            </Button>
          </li>
        ))}
    </ul>
  );
}
