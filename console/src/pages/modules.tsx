// Event-processing modules: their texts, their errors, their rows.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { call, get, path } from "../api";
import { useArrivals } from "../arrivals";
import { useList } from "../list";
import { asError, useLoad } from "../load";
import type { Module } from "../reference";
import { link, open, route, unsaved } from "../router";
import { can } from "../session";
import { Time } from "../time";
import { ArrivalsStanding } from "../ui/arrivals";
import { Action, Card, Page, StatusMark, tell } from "../ui/kit";
import { States } from "../ui/loaded";
import { ListStanding, MoreRows } from "../ui/standing";
import { timeOfDay } from "../values/times";

const NEW = `module hot;

@Name('too_hot') insert into CreateAlarm
select m.measurement.source as source, m.measurement.time as time, 'too_hot' as type,
       'ACTIVE' as status, 'MAJOR' as severity,
       'It has ' || getNumber(m, 'plat_TemperatureMeasurement.T.value') || ' degrees' as text
from MeasurementCreated m where getNumber(m, 'plat_TemperatureMeasurement.T.value') > 80;
`;

export function Modules() {
  const chosen = route.value.words[1];
  const modules = useList<Module>({ path: "/cep/modules", member: "modules", pageSize: 2000 });
  const one = modules.data.value?.find((module) => module.id === chosen);
  const mayChange = can("ROLE_CEP_MANAGEMENT_ADMIN");
  return (
    <Page
      title="Modules"
      sub={<ListStanding of={modules} noun="module" />}
      actions={
        mayChange && (
          <a class="button primary" href={link(["modules", "new"])}>
            New module
          </a>
        )
      }>
      <div class="with-side">
        <nav class="groups" aria-label="Modules">
          <h2>Deployed here</h2>
          <States of={modules} isEmpty={(list) => list.length === 0} empty={<p>There is no module yet.</p>}>
            {(list) => (
              <ul>
                {list.map((module) => (
                  <li key={module.id}>
                    <a href={link(["modules", module.id])} aria-current={module.id === chosen ? "true" : undefined}>
                      <span class={`dot ${module.status === "DEPLOYED" ? "available" : "unwatched"}`} />
                      {module.name}
                    </a>
                  </li>
                ))}
              </ul>
            )}
          </States>
          <MoreRows of={modules} noun="module" />
        </nav>
        <div class="fill column">
          {chosen ? (
            (one || chosen === "new") && <Editor key={chosen} module={one} onChanged={modules.reload} />
          ) : (
            <div class="state">
              <p>A module watches what devices send: it raises alarms, computes averages, calls other servers.</p>
              {mayChange && (
                <a class="button" href={link(["modules", "new"])}>
                  Write one
                </a>
              )}
            </div>
          )}
        </div>
      </div>
    </Page>
  );
}

/** Returns the position of an error from the server's message. */
function placeOf(message: string): { line: number; column: number } | null {
  const [, line, column] = message.match(/line (\d+), column (\d+)/) ?? [];
  return line ? { line: Number(line), column: Number(column) } : null;
}

function Editor({ module, onChanged }: { module?: Module; onChanged: () => void }) {
  const text = useSignal("");
  const mistake = useSignal("");
  const warnings = useSignal<string[]>(module?.warnings ?? []);
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const loaded = useLoad(
    () => (module ? get<string>(path`/cep/modules/${module.id}`, { accept: "text/plain" }) : Promise.resolve(NEW)),
    [module?.id],
  );
  useEffect(() => {
    // A list that loads again after a gap must not replace what somebody writes.
    if (loaded.data.value !== undefined && !isChanged.current) text.value = loaded.data.value;
  }, [loaded.data.value]);
  const isChanged = useRef(false);
  const setChanged = (changed: boolean) => {
    isChanged.current = changed;
    unsaved.value = changed ? "the text of the module" : null;
  };
  useLayoutEffect(() => () => setChanged(false), []);
  const mayChange = can("ROLE_CEP_MANAGEMENT_ADMIN");
  const place = placeOf(mistake.value);
  const deploy = async () => {
    const options = { body: text.value, type: "text/plain" };
    try {
      const deployed = await (module
        ? call<Module>("PUT", path`/cep/modules/${module.id}`, options)
        : call<Module>("POST", "/cep/modules", options));
      [mistake.value, warnings.value] = ["", deployed.warnings ?? []];
      setChanged(false);
      tell(`The module ${deployed.name} runs.`);
      onChanged();
      // A changed text is a new module with a new id.
      if (deployed.id !== module?.id) open(link(["modules", deployed.id]));
    } catch (error) {
      mistake.value = asError(error).message;
      const at = placeOf(mistake.value);
      if (at && area.current) {
        const start = text.value
          .split("\n")
          .slice(0, at.line - 1)
          .reduce((sum, line) => sum + line.length + 1, at.column - 1);
        area.current.focus();
        area.current.setSelectionRange(start, start + 1);
      }
    }
  };
  const setStatus = (status: string) =>
    call("PUT", path`/cep/modules/${module!.id}`, { body: { status } }).then(onChanged);
  const remove = () =>
    call("DELETE", path`/cep/modules/${module!.id}`).then(() => {
      setChanged(false);
      onChanged();
      open(link(["modules"]));
    });
  const lines = text.value.split("\n").length;
  return (
    <>
      <Card
        title={
          module ? (
            <>
              {module.name} <StatusMark of={module.status} />
            </>
          ) : (
            "New module"
          )
        }
        aside={
          module && (
            <span class="faint">
              changed <Time at={module.lastModified} as="ago" />
            </span>
          )
        }>
        <States of={loaded}>
          {() => (
            <div class="editor">
              <div class="numbers" aria-hidden="true">
                <div ref={numbers}>
                  {Array.from({ length: lines }, (_, index) => (
                    <div key={index} class={place?.line === index + 1 ? "wrong" : ""}>
                      {index + 1}
                    </div>
                  ))}
                </div>
              </div>
              <textarea
                ref={area}
                aria-label="Text of the module"
                aria-invalid={!!mistake.value}
                class="code"
                spellcheck={false}
                wrap="off"
                readOnly={!mayChange}
                rows={Math.min(30, Math.max(12, lines + 1))}
                value={text.value}
                onInput={(event) => {
                  text.value = event.currentTarget.value;
                  setChanged(text.value !== loaded.data.value);
                }}
                onScroll={(event) =>
                  (numbers.current!.style.transform = `translateY(${-event.currentTarget.scrollTop}px)`)
                }
                onKeyDown={(event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && deploy()}
              />
            </div>
          )}
        </States>
        {mistake.value && (
          <pre class="mistake" role="alert" tabIndex={0}>
            {mistake.value}
          </pre>
        )}
        {warnings.value.map((warning) => (
          <p key={warning} class="notice warn">
            {warning}
          </p>
        ))}
        {mayChange && (
          <div class="between">
            <span class="row-actions">
              <Action class="primary" run={deploy}>
                {module ? "Replace" : "Deploy"}
              </Action>
              {module &&
                (module.status === "DEPLOYED" ? (
                  <Action run={() => setStatus("NOT_DEPLOYED")} done="It no longer runs.">
                    Undeploy
                  </Action>
                ) : (
                  <Action run={() => setStatus("DEPLOYED")} done="It runs.">
                    Deploy
                  </Action>
                ))}
            </span>
            {module && (
              <Action
                run={remove}
                confirm={{
                  title: `Delete the module ${module.name}?`,
                  text: "It stops at once, and its text is deleted.",
                  button: "Delete module",
                }}
                done="The module was deleted.">
                Delete
              </Action>
            )}
          </div>
        )}
      </Card>
      {module?.status === "DEPLOYED" && can("ROLE_NOTIFICATION_READ") && <Rows module={module} />}
    </>
  );
}

/** The rows that are kept. */
const KEPT = 50;

/** The rows of all statements, as they arrive in notifications. */
function Rows({ module }: { module: Module }) {
  const channel = `/${module.name}/*`;
  const arrivals = useArrivals([channel], KEPT);
  const rows = arrivals.rows.value;
  const denied = arrivals.denied.value[channel];
  return (
    <Card title="Rows" aside={!denied && <ArrivalsStanding of={arrivals} />}>
      {denied && <p class="problem">{denied}</p>}
      {rows.length === 0 ? (
        <div class="state">
          <p>No statement gave a row since this page was opened.</p>
        </div>
      ) : (
        <ul class="rows">
          {rows.map(({ number, at, message }) => (
            <li key={number} class="arrives">
              <span class="faint">{timeOfDay(at)}</span>
              <b>{message.channel.split("/").at(-1)}</b>
              <code class="grow clip" title={JSON.stringify(message.data)}>
                {JSON.stringify(message.data)}
              </code>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
