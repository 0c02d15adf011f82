// The frame of every page: the navigation, the state of the connection, the user.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { DEMO, mayBreak } from "./demo";
import { connect, connection, gap } from "./live";
import { endLogIn } from "./log_in";
import { Alarms } from "./pages/alarms";
import { Applications } from "./pages/applications";
import { Audit } from "./pages/audit";
import { BreakIt } from "./pages/break_it";
import { Certificates } from "./pages/certificates/page";
import { Consumers } from "./pages/consumers/page";
import { DevicePage } from "./pages/device/page";
import { Devices } from "./pages/devices/page";
import { LivePage } from "./pages/live";
import { Modules } from "./pages/modules";
import { Operations } from "./pages/operations/page";
import { Overview } from "./pages/overview/page";
import { Profile } from "./pages/profile/page";
import { Registration } from "./pages/registration";
import { ServerPage } from "./pages/server/page";
import { Tenants } from "./pages/tenants/page";
import { Users } from "./pages/users/page";
import { WhyPage } from "./pages/why/page";
import { link, route } from "./router";
import { can, canSee, session } from "./session";
import { Boundary } from "./ui/boundary";
import { Find } from "./ui/find";
import { Button, Icon, type IconName } from "./ui/kit";
import { timeOfDay } from "./values/times";

interface Entry {
  word: IconName | "profile";
  title: string;
  page: () => ComponentChildren;
  /** Returns whether the user may open the page. */
  offered: () => boolean;
  /** Whether the page tells a user who may not open it so, where others show the first page instead. */
  tellsDenial?: boolean;
}

const ENTRIES: Entry[] = [
  { word: "overview", title: "Overview", page: () => <Overview />, offered: () => true },
  { word: "devices", title: "Devices", page: () => <DevicesOrOne />, offered: () => true },
  { word: "alarms", title: "Alarms", page: () => <Alarms />, offered: () => canSee("ROLE_ALARM_READ") },
  {
    word: "operations",
    title: "Operations",
    page: () => <Operations />,
    offered: () => canSee("ROLE_DEVICE_CONTROL_READ"),
  },
  {
    word: "registration",
    title: "Registration",
    page: () => <Registration />,
    offered: () => can("ROLE_DEVICE_CONTROL_READ", "ROLE_DEVICE_CONTROL_ADMIN"),
  },
  { word: "live", title: "Live", page: () => <LivePage />, offered: () => true },
  { word: "modules", title: "Modules", page: () => <Modules />, offered: () => can("ROLE_CEP_MANAGEMENT_READ") },
  {
    word: "users",
    title: "Users",
    page: () => <Users />,
    offered: () => can("ROLE_USER_MANAGEMENT_READ", "ROLE_USER_MANAGEMENT_ADMIN"),
  },
  {
    word: "certificates",
    title: "Certificates",
    page: () => <Certificates />,
    offered: () => can("ROLE_USER_MANAGEMENT_READ"),
  },
  {
    word: "applications",
    title: "Applications",
    page: () => <Applications />,
    offered: () => can("ROLE_APPLICATION_MANAGEMENT_READ"),
  },
  {
    word: "tenants",
    title: "Tenants",
    page: () => <Tenants />,
    offered: () =>
      can(
        "ROLE_TENANT_MANAGEMENT_READ",
        "ROLE_TENANT_STATISTICS_READ",
        "ROLE_RETENTION_RULE_READ",
        "ROLE_OPTION_MANAGEMENT_READ",
      ),
  },
  { word: "audit", title: "Audit", page: () => <Audit />, offered: () => can("ROLE_AUDIT_READ") },
  { word: "consumers", title: "Consumers", page: () => <Consumers />, offered: () => true },
  {
    word: "why",
    title: "Why is it quiet?",
    page: () => <WhyPage />,
    offered: () => can("ROLE_NOTIFICATION_ADMIN"),
    tellsDenial: true,
  },
  {
    word: "server",
    title: "Server",
    page: () => <ServerPage />,
    offered: () => can("ROLE_TENANT_STATISTICS_READ", "ROLE_TENANT_MANAGEMENT_READ", "ROLE_USER_MANAGEMENT_READ"),
  },
  { word: "break", title: "Break it", page: () => <BreakIt />, offered: mayBreak },
];

/** The page of the user itself, which its name opens. */
const PROFILE: Entry = { word: "profile", title: "Profile", page: () => <Profile />, offered: () => true };

function DevicesOrOne() {
  const id = route.value.words[1];
  return id ? <DevicePage key={id} id={id} /> : <Devices />;
}

const ABOUT_DEMO =
  "These devices are simulated by `platform demo`. `platform demo --remove` deletes the tenant with all its data.";

export function Shell() {
  const menu = useSignal(false);
  const finding = useSignal(false);
  // The key works as soon as the page is there.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      finding.value = true;
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const word = route.value.words[0] ?? "overview";
  const offered = ENTRIES.filter((entry) => entry.offered());
  const reached = [PROFILE, ...ENTRIES.filter((entry) => entry.tellsDenial || entry.offered())];
  const entry = reached.find((one) => one.word === word) ?? offered[0];
  useSignalEffect(() => {
    // The menu of narrow windows closes when another page opens.
    route.value;
    menu.value = false;
  });
  const skip = (event: Event) => {
    event.preventDefault();
    document.querySelector<HTMLElement>("main h1")?.focus();
  };
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the page
      </a>
      <header class="top">
        <Button
          class="plain menu"
          aria-expanded={menu.value}
          aria-controls="navigation"
          label="Menu"
          onClick={() => (menu.value = !menu.value)}>
          <Icon name="menu" />
        </Button>
        <span class="brand">platform</span>
        {session.value?.tenant === DEMO && (
          <span class="demo" title={ABOUT_DEMO}>
            demo data
          </span>
        )}
        <Button class="find" label="Find Ctrl K" aria-keyshortcuts="Control+K" onClick={() => (finding.value = true)}>
          <Icon name="search" />
          <span class="way">Find</span> <kbd class="way">Ctrl K</kbd>
        </Button>
        <Connection />
      </header>
      <nav id="navigation" class={menu.value ? "open" : ""} aria-label="Pages">
        <ul>
          {offered.map((one) => (
            <li key={one.word}>
              <a href={link([one.word])} aria-current={one === entry ? "page" : undefined}>
                <Icon name={one.word as IconName} />
                {one.title}
              </a>
            </li>
          ))}
        </ul>
        <div class="who">
          <a href="/docs" target="_blank" rel="noreferrer">
            Documentation
          </a>
          <a href={link(["profile"])} title="Your profile" aria-current={word === "profile" ? "page" : undefined}>
            <span>
              {session.value?.tenant}/<b>{session.value?.user}</b>
            </span>
          </a>
          <Button class="plain" onClick={endLogIn}>
            Log out
          </Button>
        </div>
      </nav>
      <main id="main">
        <Gap />
        <div class="page" key={entry.word}>
          <Boundary address={route.value.words.join("/")}>{entry.page()}</Boundary>
        </div>
      </main>
      {finding.value && <Find pages={[...offered, PROFILE]} onClose={() => (finding.value = false)} />}
    </div>
  );
}

const WORDS = {
  connecting: ["Connecting", "The connection for live changes is being opened."],
  live: ["Live", "Each list says whether it is live"],
  interrupted: [
    "Interrupted",
    "The server cannot be reached. What you see may be outdated. It is tried again by itself.",
  ],
  resting: ["Resting", "This tab was hidden and receives no changes."],
  refused: ["Refused", "The server refused the connection for live changes."],
  off: ["Off", "There is no connection for live changes."],
} as const;

/** The state of the connection, always visible. */
function Connection() {
  const { state, transport } = connection.value;
  const [word, explanation] = WORDS[state];
  const way = transport === "websocket" ? "WebSocket" : transport === "long-polling" ? "long polling" : "";
  return (
    <div
      class={`connection ${state}`}
      role="status"
      title={state === "live" ? `Open over ${way}. ${explanation}.` : explanation}>
      <span class="pulse" aria-hidden="true" />
      {word}
      {way && <span class="way"> · {way}</span>}
      {(state === "refused" || state === "off") && (
        <Button class="plain" onClick={connect}>
          Connect
        </Button>
      )}
    </div>
  );
}

/** Shows that changes may have been missed, and that the lists are complete again. */
function Gap() {
  const last = gap.value;
  const { state } = connection.value;
  const interrupted = state === "interrupted";
  return (
    <div role="status">
      {interrupted && (
        <p class="notice warn">
          The connection is interrupted. What you see is the last known state; it is loaded again as soon as the server
          responds.
        </p>
      )}
      {(state === "refused" || state === "off") && (
        <p class="notice warn">There is no connection for live changes. What you see is the last known state.</p>
      )}
      {!interrupted && last && (
        <p class="notice">
          <span>
            {last.text} <span class="faint">{timeOfDay(last.at)}</span>
          </span>
          <Button class="plain" label="Dismiss" onClick={() => (gap.value = null)}>
            <Icon name="cross" />
          </Button>
        </p>
      )}
    </div>
  );
}
