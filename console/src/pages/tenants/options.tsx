// The options of the tenant: texts that applications and the server read.

import { useSignal } from "@preact/signals";
import { call, path } from "../../api";
import { useList } from "../../list";
import type { Option } from "../../reference";
import { can } from "../../session";
import { Action, Button, Field, FormDialog, type WindowProps } from "../../ui/kit";
import { ListCard } from "../../ui/loaded";

const nameOf = (one: Option) => `${one.category} / ${one.key}`;

export function Options() {
  const options = useList<Option>({ path: "/tenant/options", member: "options", keyOf: nameOf });
  const editing = useSignal<Option | "new" | null>(null);
  const mayChange = can("ROLE_OPTION_MANAGEMENT_ADMIN");
  return (
    <ListCard
      title="Options"
      of={options}
      noun="option"
      actions={mayChange && <Button onClick={() => (editing.value = "new")}>New option</Button>}
      below={
        editing.value && (
          <Edit
            option={editing.value === "new" ? undefined : editing.value}
            onClose={() => (editing.value = null)}
            onChanged={options.reload}
          />
        )
      }
      empty={<p>No option is set.</p>}>
      {(list) => (
        <ul class="rows">
          {list.map((one) => (
            <li key={nameOf(one)}>
              <span class="grow clip" title={one.value}>
                <span class="faint">{one.category} /</span> {one.key} <code>{one.value}</code>
              </span>
              {mayChange && (
                <span class="row-actions">
                  <Button class="small" label={`Edit the option ${nameOf(one)}`} onClick={() => (editing.value = one)}>
                    Edit
                  </Button>
                  <Action
                    class="small"
                    label={`Delete the option ${nameOf(one)}`}
                    confirm={{
                      title: `Delete the option ${nameOf(one)}?`,
                      text: "A predefined option gets its predefined value back.",
                      button: "Delete option",
                    }}
                    run={() => call("DELETE", path`/tenant/options/${one.category}/${one.key}`).then(options.reload)}>
                    Delete
                  </Action>
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </ListCard>
  );
}

function Edit({ option, onClose, onChanged }: WindowProps & { option?: Option }) {
  const send = async (form: FormData) => {
    const value = String(form.get("value"));
    if (option) await call("PUT", path`/tenant/options/${option.category}/${option.key}`, { body: { value } });
    else
      await call("POST", "/tenant/options", {
        body: { category: String(form.get("category")).trim(), key: String(form.get("key")).trim(), value },
      });
  };
  return (
    <FormDialog
      title={option ? nameOf(option) : "New option"}
      onClose={onClose}
      onChanged={onChanged}
      send={send}
      action="Save">
      {!option && (
        <Field label="Category">
          <input name="category" required maxLength={256} spellcheck={false} autocapitalize="none" />
        </Field>
      )}
      {!option && (
        <Field label="Key" hint="The value of a key that begins with credentials. is encrypted and never shown.">
          <input name="key" required maxLength={256} spellcheck={false} autocapitalize="none" />
        </Field>
      )}
      <Field label="Value">
        <textarea name="value" rows={4} class="code" spellcheck={false}>
          {option?.value}
        </textarea>
      </Field>
    </FormDialog>
  );
}
