// A set of faults in the console, and the flows that must notice them. Run before a release:
//
//   node mutations.mjs --server <program> [--browser <program>] [--only <parts of faults, between |>]
//   node mutations.mjs --check
//
// Each fault replaces one text of the console's source, which must occur exactly once. It counts as noticed when the
// flows whose names contain the given text fail; the same flows pass without the fault. Fewer than nine in ten noticed
// faults are a failure. `--check` runs no flow; it only says which faults no longer fit the source or the flows.

import { spawn } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = path.dirname(fileURLToPath(import.meta.url));
const CONSOLE = path.resolve(here, "../../../console");
/** The longest time for the flows of one fault. */
const LONGEST_MS = 240_000;
const LEAST_NOTICED = 0.9;

/** Name of the fault, file below console/src, text, replacement, part of the names of flows. */
const FAULTS = [
  ["charts draw nothing", "ui/chart.tsx", "width: 1.75,", "width: 1.75,\n        show: false,", "chart shows peaks"],
  ["the middle instead of the most", "values/series.ts", '[...columns.map(column("max")),', '[...columns.map(column("min")),', "chart shows peaks"],
  ["outages are bridged", "values/series.ts", "const LONG = 3;", "const LONG = 3000;", "chart shows peaks"],
  ["the axis follows the data", "ui/chart.tsx", "if (props.span && !zoomed.current)", "if (false)", "chart shows peaks"],
  ["single values are not drawn", "ui/chart.tsx", "(show ? null : isolated(chart.data[index]))", "[]", "single value"],
  ["zoom does nothing", "ui/chart.tsx", "(zoomed.current = chart.select.width > 0)", "(zoomed.current = false)", "drag zooms"],
  ["a double click keeps the zoom", "ui/chart.tsx", "const unzoom = () => (zoomed.current = false);", "const unzoom = () => {};", "drag zooms"],
  ["the identity provider is not offered", "pages/login.tsx", 'type === "OAUTH2"', 'type === "BASIC"', "identity provider of the tenant"],
  ["the code of the second factor is not asked for", "pages/login.tsx", "if (reason === CODE_MISSING) asksCode.value = true;", "if (reason === CODE_MISSING) error.value = message;", "sets up a second factor"],
  ["the code is not sent", "api.ts", "if (options.code) headers.TFAToken = options.code;", "", "sets up a second factor"],
  ["a required second factor cannot be set up", "pages/login.tsx", "reason === NOT_SET_UP", 'reason === ""', "group requires a second factor"],
  ["the log-out stays in the console", "log_in.ts", "if (isOfProvider) location.assign", "if (false) location.assign", "identity provider of the tenant"],
  ["a refusal of the provider is not shown", "main.tsx", "loggedOutBecause.value = refusalOfPage();", "refusalOfPage();", "identity provider of the tenant"],
  ["the QR code is that of the secret alone", "parts/second_factor.tsx", "<QrCode of={begun.secret.uri}", "<QrCode of={begun.secret.secret}", "sets up a second factor"],
  ["the QR code has the colours of the page", "style.css", ".qr { width: min(220px, 100%); background: #fff;", ".qr { width: min(220px, 100%);", "group requires a second factor"],
  ["everybody seems to have a second factor", "pages/users/page.tsx", 'if (isActive) return', 'if (true) return', "person who lost it"],
  ["a missing second factor is not told", "pages/users/page.tsx", 'group.secondFactor === "REQUIRED"', 'group.secondFactor === undefined', "person who lost it"],
  ["the second factor stays", "pages/users/page.tsx", 'run={() => call("DELETE", `${address}/totpSecret`).then(props.onChanged)}', "run={async () => props.onChanged()}", "person who lost it"],
  ["the page keeps a removed second factor", "pages/users/page.tsx", 'call("DELETE", `${address}/totpSecret`).then(props.onChanged)', 'call("DELETE", `${address}/totpSecret`)', "person who lost it"],
  ["everybody sees the certificates", "shell.tsx", 'page: () => <Certificates />,\n    offered: () => can("ROLE_USER_MANAGEMENT_READ"),', "page: () => <Certificates />,\n    offered: () => true,", "sees only permitted actions"],
  ["readers may change authorities", "pages/certificates/page.tsx", 'const mayChange = can("ROLE_USER_MANAGEMENT_ADMIN");', "const mayChange = true;", "only read users"],
  ["a certificate in DER is read as text", "values/certificates.ts", "if (bytes[0] !== 0x30 ||", "if (true ||", "once its key is proven"],
  ["the id is always the common name", "pages/certificates/new.tsx", 'deviceIdFrom: form.get("deviceIdFrom"),', "", "once its key is proven"],
  ["an authority does not register devices", "pages/certificates/new.tsx", 'autoRegistrationEnabled: form.has("registers"),', "", "once its key is proven"],
  ["a window closes the one after it", "ui/dialog.tsx", "() => isShown.current && props.onClose();", "() => props.onClose();", "once its key is proven"],
  ["another hash is signed", "values/certificates.ts", "openssl dgst -sha256 -sign", "openssl dgst -sha512 -sign", "once its key is proven"],
  ["a proof counts before the response", "pages/certificates/proof.tsx", "await call(\"POST\", `${addressOfProof(of)}/pop`", "call(\"POST\", `${addressOfProof(of)}/pop`", "once its key is proven"],
  ["an authority that is not proven is trusted", "values/certificates.ts", 'return one.proofOfPossessionValid ? "TRUSTED" : "NOT_PROVEN";', 'return "TRUSTED";', "once its key is proven"],
  ["a signed code in a file must be text", "values/certificates.ts", "? text : base64(bytes)", "? text : text", "by the list of an authority"],
  ["a change is told before the response", "pages/certificates/details.tsx", "await call(\"PUT\", addressOf(one), {", "void call(\"PUT\", addressOf(one), {", "changed disabled and deleted"],
  ["devices register still", "pages/certificates/details.tsx", 'autoRegistrationEnabled: form.has("registers"), deviceCertificateDays', "deviceCertificateDays", "changed disabled and deleted"],
  ["what is typed does not outlive a new display", "pages/certificates/details.tsx", "defaultValue={one.name}", "value={one.name}", "changed disabled and deleted"],
  ["an authority stays enabled", "pages/certificates/authorities.tsx", "{ body: { status } }", '{ body: { status: "ENABLED" } }', "changed disabled and deleted"],
  ["an authority cannot be enabled again", "pages/certificates/authorities.tsx", "{ body: { status } }", '{ body: { status: "DISABLED" } }', "changed disabled and deleted"],
  ["a deleted authority stays", "pages/certificates/authorities.tsx", 'call("DELETE", addressOf(one)).then(onChanged)', "Promise.resolve().then(onChanged)", "changed disabled and deleted"],
  ["the reason of a serial number is lost", "pages/certificates/revoked.tsx", "const body = { serialNumber, reason:", "const body = { serialNumber, note:", "by the list of an authority"],
  ["a list is not sent", "pages/certificates/revoked.tsx", "body: new Blob([file],", "body: new Blob([],", "by the list of an authority"],
  ["certificates of the platform last a year", "pages/certificates/new.tsx", 'deviceCertificateDays: Number(form.get("days")) },', "},", "issues certificates to devices"],
  ["the issuing authority is not told", "values/certificates.ts", "one.tenantCertificateAuthority && stateOfAuthority", "!one.tenantCertificateAuthority && stateOfAuthority", "issues certificates to devices"],
  ["certificates of all devices are shown", "parts/device_certificates.tsx", "params: { user },", "params: {},", "issues certificates to devices"],
  ["the reason of a revocation is lost", "parts/device_certificates.tsx", "{ reason: reason.current.trim() }", "{}", "issues certificates to devices"],
  ["a revoked certificate looks valid", "values/certificates.ts", 'if (one.revocationTime) return "REVOKED";', "", "issues certificates to devices"],
  ["the certificates of a device are not shown", "pages/device/credentials.tsx", "<CertificatesOf user={device.owner} />", "<></>", "issues certificates to devices"],
  ["log-out leaves the log-in valid", "log_in.ts", 'await call("DELETE", "/user/currentUser/tokens/current");', "", "log out ends the session"],
  ["available and unavailable are swapped", "pages/overview/page.tsx", "const [all, available, unavailable, maintenance]", "const [all, unavailable, available, maintenance]", "counts of the overview"],
  ["a part looks like a whole", "ui/standing.tsx", "const isPartial = !!next;", "const isPartial = false;", "cannot be loaded"],
  ["pages are followed by number", "list.ts", "await readPage<T>(rest.peek().next!, member);", 'await readPage<T>(rest.peek().next!.replace(/&after=[^&]*/, ""), member);', "reaches its end"],
  ["a page that failed ends the list", "list.ts", "(failed) => asError(failed).message,", '() => ((rest.value = { ...rest.peek(), next: undefined }), ""),', "cannot be loaded"],
  ["an empty page ends the list", "list.ts", "mostPages: MOST_PAGES,", "mostPages: 1,", "rights for one device"],
  ["narrow users are not subscribed", "scope.ts", "channels: (seen.value?.ids ?? []).map((id) => `/${kind}/${id}`)", "channels: []", "rights for one device"],
  ["rights by groups are unknown", "api.ts", "[me.devicePermissions ?? {}, ...ofGroups]", "[me.devicePermissions ?? {}]", "from a group of users"],
  ["everything claims to be live", "values/standing.ts", "isConnected && isWhole && channels > 0 && accepted === channels && !hasFailed", "isConnected", "rights for a group"],
  ["aggregates claim to be live", "pages/device/charts.tsx", "aggregation ? undefined : {", "{", "arrives late"],
  ["null is zero", "pages/overview/page.tsx", "counts.every((one) => one !== null) ? counts : countSeen()", "counts.map((one) => one ?? 0)", "rights for one device"],
  ["nothing watched is all well", "pages/overview/page.tsx", "isWatched: watched.items.length > 0", "isWatched: true", "rights for one device"],
  ["everybody sees the server page", "shell.tsx", 'can("ROLE_TENANT_STATISTICS_READ", "ROLE_TENANT_MANAGEMENT_READ", "ROLE_USER_MANAGEMENT_READ"),\n  },', "true },", "without rights"],
  ["an old open alarm is hidden", "pages/device/lists.tsx", "params: { source: id, status: OPEN },", "params: { source: id, status: undefined },\n    pageSize: 50,", "old alarm that is still open"],
  ["the oldest operations of a device", "pages/device/lists.tsx", "params: { deviceId: device.id, revert: true },", "params: { deviceId: device.id },", "old alarm that is still open"],
  ["filtered devices are not live", "pages/devices/page.tsx", "if (!isPlain) again();", "", "filtered list of devices"],
  ["no search by external id", "search.ts", "found.filter((id) => id !== undefined)", "([] as string[])", "serial number"],
  ["no search by id", "values/filters.ts", " or id eq '${text}'", "", "serial number"],
  ["searches distinguish case", "values/filters.ts", "[text, text.toLowerCase(),", "[text,", "serial number"],
  ["withdrawn rights stay", "api.ts", "if (rights(now) !== rights(before)) session.value = now;", "", "withdrawn right"],
  ["rows stay after a refusal", "load.ts", "if (isOld.value || ENDS_SIGHT.includes(error.value.status)) data.value = undefined;", "", "withdrawn right"],
  ["a refused connection is ignored", "live.ts", "    if (denied) refreshRights();\n    return;", "    return;", "logged out without a click"],
  ["back begins at the top", "ui/table.tsx", "recall<number>(place) ?? 0", "0", "back returns"],
  ["another filter keeps the place", "ui/table.tsx", "box.current!.scrollTop = recall<number>(place) ?? 0;\n  }, [place]);", "box.current!.scrollTop = recall<number>(place) ?? 0;\n  }, []);", "back returns"],
  ["back does not undo a filter", "router.ts", 'history.pushState({ key: newKey() }, "", changed(changes));', 'history.replaceState(history.state, "", changed(changes));', "back returns"],
  ["the focus is lost with its row", "ui/focus.ts", "(control ?? list.current).focus({ preventScroll: true });", "", "focus stays"],
  ["text is thrown away by a click", "router.ts", "if (what && location.hash !== shown) {", "if (false) {", "unsaved text"],
  ["text is thrown away by Escape", "ui/dialog.tsx", "if (isChanged.current && !(await leaving.ask(LOST))) return;", "", "unsaved text"],
  ["alarms without an id are rows", "values/merge.ts", "if (!id) continue;", "", "not stored"],
  ["cancel does nothing", "parts/why.tsx", 'body: { status: "FAILED", failureReason', 'body: { failureReason', "has an age"],
  ["late values are the newest", "values/series.ts", "if (at >= before) {", "if (true) {", "arrives late"],
  ["empty texts blink", "ui/loaded.tsx", "(props.isEmpty?.(shown) ?", "(props.isEmpty?.(shown) && !props.of.loading.value ?", "empty list stays"],
  ["every change is counted again", "pages/overview/page.tsx", "take: (messages) => mayChangeCounts(known.current, messages) && soon(),\n  });\n  const soon = useCalm(CALM_SECONDS, of.reload);", "take: () => soon(),\n  });\n  const soon = useCalm(0, of.reload);", "quiet devices"],
  ["all rows of a burst are drawn", "pages/live.tsx", "isPaused.value ? KEPT : DRAWN", "KEPT", "burst of five"],
  ["a kept page is logged in", "main.tsx", "event.persisted && location.reload()", "false", "browser kept"],
  ["a file is cut at its first page", "list.ts", "member, { keyOf })", "member, { keyOf, mostPages: 1 })", "saved as a file"],
  ["the old password stays", "log_in.ts", "body: { password } });", "body: {} });", "own password"],
  ["a role of a user stays", "pages/users/page.tsx", "await setRoles(address, form, loaded.data.value ?? [], own);", "", "role of its own"],
  ["an edit overwrites what others changed", "pages/device/facts.tsx", "{ body, ifMatch: tag }", "{ body }", "another person changed"],
  ["another tenant is deleted", "pages/tenants/page.tsx", 'const remove = () => call("DELETE", address)', 'const remove = () => call("DELETE", path`/tenant/tenants/staying`)', "edited and deleted by"],
  ["the tree loads all members", "groups.ts", "pageSize: PAGE_SIZE, withChildren: false }", "pageSize: PAGE_SIZE }", "groups of devices are"],
  ["passwords show in a preview", "values/csv.ts", "rowsOf(body, separator)\n", 'body.split("\\n").map((line) => line.split(separator))\n', "each row that failed"],
  ["a figure links to the wrong devices", "pages/overview/page.tsx", '{ availability: "UNAVAILABLE" })}>\n            <span class="dot unavailable"', '{ availability: "AVAILABLE" })}>\n            <span class="dot unavailable"', "counts of the overview"],
  ["severities are rotated", "pages/overview/page.tsx", "{counts[index].toLocaleString()}", "{counts[(index + 1) % 4].toLocaleString()}", "counts of the overview"],
  ["the least severe is first", "values/merge.ts", "rankOf(a) - rankOf(b)", "rankOf(b) - rankOf(a)", "counts of the overview"],
  ["cleared alarms are counted", "pages/overview/page.tsx", "{ severity, resolved: false })).then", "{ severity })).then", "counts of the overview"],
  ["minutes are seconds", "values/times.ts", "relative.format(Math.round(seconds / 60), \"minute\")", "relative.format(Math.round(seconds), \"minute\")", "time ago"],
  ["times are in UTC", "values/times.ts", 'const clock = new Intl.DateTimeFormat(undefined, {', 'const clock = new Intl.DateTimeFormat(undefined, { timeZone: "UTC",', "zone of the viewer"],
  ["delete user does nothing", "pages/users/page.tsx", 'run={() => call("DELETE", address).then(props.onChanged)}', "run={async () => props.onChanged()}", "another one is deleted"],
  ["a neighbour is deleted", "pages/users/page.tsx", 'call("DELETE", address).then(props.onChanged)', 'call("DELETE", address.replace(/\\d$/, "")).then(props.onChanged)', "another one is deleted"],
  ["a new password is not sent", "pages/users/page.tsx", 'if (form.get("password")) body.password', "if (false) body.password", "another one is deleted"],
  ["disable does nothing", "pages/users/page.tsx", "body: { enabled: !enabled }", "body: { enabled }", "logs in and is disabled"],
  ["acknowledge all does nothing", "pages/alarms.tsx", "withQuery(\"/alarm/alarms\", filter), { body: { status: to } })", "withQuery(\"/alarm/alarms\", filter), { body: { status: affected[0] } })", "are acknowledged"],
  ["clear all ignores the status of the view", "pages/alarms.tsx", 'shown === "ALL" ? from : from.filter', 'shown ? from : from.filter', "of a view are cleared"],
  ["clear all ignores the severity", "pages/alarms.tsx", "const filter = { status: affected.join(\",\"), severity };", "const filter = { status: affected.join(\",\") };", "of a view are cleared"],
  ["a row clears the wrong way", "parts/alarm.tsx", 'run={() => change(alarm, "CLEARED")}', 'run={() => change(alarm, "ACKNOWLEDGED")}', "cleared by mistake"],
  ["undo does nothing", "parts/alarm.tsx", "() => setStatus(alarm, before)", "() => Promise.resolve()", "cleared by mistake"],
  ["the filter of severity is not sent", "pages/alarms.tsx", "status === \"ALL\" ? undefined : status, severity, type, source }", "status === \"ALL\" ? undefined : status, type, source }", "filters of alarms"],
  ["notifications ignore the filter", "pages/alarms.tsx", "isChosen(severity, alarm.severity)", "true", "filters of alarms"],
  ["no word has to be typed", "ui/question.tsx", "(question.typed !== undefined && typed.value.trim() !== question.typed)", "false", "double click destroys"],
  ["questions are skipped", "ui/kit.tsx", "if (question && !(await ask(question))) return;", "", "double click destroys"],
  ["ids are not encoded", "values/addresses.ts", "return encodeURIComponent(text);", "return text;", "external id"],
  ["anything is the id of a device", "pages/device/page.tsx", "if (/^\\d+$/.test(id))", "if (id)", "address cannot"],
  ["groups show no roles", "pages/users/groups.tsx", "held: new Set(rolesOf(whole))", "held: new Set<string>()", "group shows the roles"],
  ["a role is not taken away", "pages/users/roles.tsx", "if (!wanted.has(role.name) && held.has(role.name))", "if (false)", "group shows the roles"],
  ["audit ignores the user", "pages/audit.tsx", "params: { user, type,", "params: { type,", "keeps to its filters"],
  ["audit ignores the type", "pages/audit.tsx", "params: { user, type,", "params: { user,", "keeps to its filters"],
  ["an operation goes to the first device", "ui/device_field.tsx", "<option key={one.id} value={one.id}>", "<option key={one.id} value={devices[0].id}>", "chosen device"],
  ["new operations show an id", "pages/operations/page.tsx", "queueMicrotask(() => findNames(operations.data));", "", "chosen device"],
  ["no reason of a pending operation", "parts/why.tsx", "{causes.map((cause)", "{causes.slice(0, 0).map((cause)", "created diagnosed and watched"],
  ["every limit is half full", "pages/tenants/usage.tsx", "style={{ width: `${part * 100}%` }}", 'style={{ width: "50%" }}', "bar of a limit"],
  ["the track is mirrored", "values/track.ts", "at!.lng! * shrink, -at!.lat!", "-at!.lng! * shrink, -at!.lat!", "has north"],
  ["the newest place is the oldest", "pages/device/track.tsx", "shown[shown.length - 1]", "shown[0]", "has north"],
  ["lists end at their first page", "list.ts", "rest.value = { next, isBusy", "rest.value = { isBusy", "thousands of devices"],
  ["a page is loaded twice", "values/merge.ts", "...following.filter((item) => !known.has(keyOf(item)))", "...list.filter((item) => known.has(keyOf(item))), ...following", "thousands of devices"],
  ["deleted devices stay", "values/merge.ts", 'typeof inner === "string") changed.set(id, null);', 'typeof inner === "string") continue;', "new device and a new name"],
  ["figures are not loaded again after a gap", "sources.ts", "        again();", "", "long cut"],
  ["failed requests are not repeated after a gap", "load.ts", 'channels.length > 0 ? "" : generation.value', '""', "long cut"],
  ["lists are not requested again after a gap", "subscriptions.ts", "[...channel.listeners].findLast(({ list }) => list)", "undefined", "long cut"],
  ["a new list joins the former one", "list.ts", "join((await source.before?.()) ?? [], members, keyOf)", "join([...((await source.before?.()) ?? []), ...(loaded.data.peek() ?? [])], members, keyOf)", "long cut"],
  ["the end of a list is ignored", "subscriptions.ts", "if (!endsList(message)) return;", "return;", "come with the subscriptions"],
  ["lists are not requested", "pages/device/channels.ts", "hasList: true", "hasList: false", "come with the subscriptions"],
  ["a denied list loads for ever", "sources.ts", "else sink.fail(denialOf(denied));", "", "is denied says why"],
  ["a list that has arrived is read again", "sources.ts", "      clearTimeout(timer);\n      sink", "      sink", "right after a list"],
  ["lists that are too large are not shown", "sources.ts", "/^(403|413)/", "/^403/", "is denied says why"],
  ["a denied list stays live", "sources.ts", "    sink.accept(0);\n", "", "next session is denied"],
  ["a session that moves loses its list", "subscriptions.ts", '  else if (reply.advice?.reconnect === "retry") repeat(channel);\n', "", "session moves"],
  ["a lost response is a denial", "subscriptions.ts", "if (reply.failure || reply.error", "if (reply.error", "begins another session"],
  ["lists need the right to all changes", "sources.ts", 'if (READ_INSTEAD.test(denied)) read();\n    else', "", "some changes only"],
  ["a list is shown for another filter", "subscriptions.ts", "if (!session?.isOpen() || channel.request) return;", "if (!session?.isOpen()) return;", "has not arrived"],
  ["changes behind a list are dropped", "sources.ts", "if (changes.length > 0) sink.take(changes);", "if (changes.length > 0 && !snapshot) sink.take(changes);", "behind a list are shown"],
  ["a long list ends at what was sent", "list.ts", "isComplete ? undefined : again()", "undefined", "cannot be loaded"],
  ["figures miss what a list shows", "sources.ts", "        again();", "", "figures follow the list"],
  ["a denied list takes the channel from others", "subscriptions.ts", "isSubscribed = denied === undefined;", "isSubscribed = true;", "figures follow the list"],
  ["nothing is read without notifications", "sources.ts", 'connection.peek().state === "live" || read()', "undefined", "list without notifications"],
  ["a silent connection looks live", "live.ts", "const SILENCE_MS = 13_000;", "const SILENCE_MS = 60_000;", "silent connection"],
  ["cards have no standing", "ui/loaded.tsx", "<Standing of={props.of} every={props.every} />", "", "every card says"],
  ["a window is read once", "pages/tenants/usage.tsx", "[address]);\n  useEvery(LIMIT_SECONDS, limits.reload);", "[address]);", "windows say"],
  ["a button that does nothing", "ui/loaded.tsx", "<Button onClick={reload}>Try again", "<Button onClick={() => {}}>Try again", "that failed can be repeated"],
  ["live writes are always live", "ui/standing.tsx", 'if (connection.value.state === "live") return', "if (connection.value) return", "during a cut"],
  ["a seventh line looks like the first", "ui/lines.tsx", "Math.floor(index / COLORS.length) % DASHES.length", "0", "told apart"],
  ["an axis has no unit", "pages/device/charts.tsx", "unit={panel.unit}", "", "told apart"],
  ["two colours look alike", "style.css", "--line-2: light-dark(#6a24cb", "--line-2: light-dark(#7a5c27", "told apart"],
  ["more charts are the same charts", "pages/device/charts.tsx", "(most.value += CHARTS_AT_FIRST)", "(most.value += 0)", "many series"],
  ["health is read once", "pages/applications.tsx", "useEvery(HEALTH_SECONDS, applications.reload);", "", "health of a microservice"],
  ["objects are inherited without a question", "pages/users/page.tsx", "if (!owned) return true;", "return true;", "name of an owner"],
  ["permissions by groups are not shown", "pages/profile/rights.tsx", "record.groups.references.map(({ group }) => group)", "[]", "profile shows"],
  ["the rows in sight are printed", "ui/table.tsx", "const begin = () => (isWhole.value = true);", "const begin = () => {};", "printed list"],
  ["a list is cut in print", "style.css", "  .virtual-body > .virtual-row { position: static; transform: none !important; height: auto; min-height: 28px; }\n", "", "printed list"],
  ["copies have one cell per line", "ui/table.tsx", '.join("\\t")', '.join("\\n")', "printed list"],
  ["what arrives is not in the ledger", "pages/break_it.tsx", "take: (messages) => (page.data.value = apply(page.data.value ?? [], messages, belongs))", "take: () => {}", "broken demo"],
  ["alarms that nobody has are confirmed", "ledger.ts", "sent.confirmed += 1;", "sent.confirmed += 2;", "broken demo"],
  ["a page without network sends", "live.ts", "  isCut.value = true;\n", "", "broken demo"],
  ["every tenant is a demo", "demo.ts", 'if (asked?.tenant !== DEMO || !can("ROLE_OPTION_MANAGEMENT_READ")) return;', "if (asked) return void (isDemo.value = true);", "only administrators"],
  ["backlogs are read once", "pages/consumers/page.tsx", "useEvery(ASK_EVERY_SECONDS, consumers.reload);", "", "backlog is watched"],
  ["a backlog that grows shrinks", "values/consumers.ts", "last.of.backlog.notifications - first.of.backlog.notifications", "first.of.backlog.notifications - last.of.backlog.notifications", "backlog is watched"],
  ["added channels are not sent", "pages/consumers/forms.tsx", "withChannel(channels.value, String(", "withChannel([], String(", "backlog is watched"],
  ["kinds of channels are not completed", "values/channels.ts", "...(hasFamilies ? [`/${word}WithChildren/`] : []),", "", "backlog is watched"],
  ["nobody reads a consumer", "pages/consumers/shown.tsx", "<Reader of={reader} />", "<Reader of={undefined} />", "backlog is watched"],
  ["a cancelled move happens", "pages/consumers/move.tsx", "if (!isMeant) return;", "", "moved and deleted"],
  ["a refused move is shown as done", "pages/consumers/move.tsx", "{ body });\n    tell(", "{ body }).catch(() => ({ ...consumer, position: 999_999 }));\n    tell(", "moved and deleted"],
  ["every move goes to the begin", "pages/consumers/move.tsx", "{ position: valueOf(place) }", '{ position: "earliest" }', "moved and deleted"],
  ["another consumer is deleted", "pages/consumers/page.tsx", 'call("DELETE", path`/notification/consumers/${name}`)', 'call("DELETE", path`/notification/consumers/staying`)', "moved and deleted"],
  ["bounds that stay are changed", "values/consumers.ts", 'return text === "" ? undefined :', "return", "moved and deleted"],
  ["a lapse is not explained", "pages/consumers/page.tsx", 'state === "LAPSED"', "false", "what it missed"],
  ["a lapse misses too much", "values/consumers.ts", "rangeOf(position + 1, newest)", "rangeOf(position, newest)", "what it missed"],
  ["a size has no unit", "values/consumers.ts", "Math.round(Number(text) * Number(unit ?? 1))", "Math.round(Number(text))", "what it missed"],
  ["everybody changes consumers of others", "pages/consumers/page.tsx", 'if (owner !== session.value?.user && !can("ROLE_USER_MANAGEMENT_ADMIN")) return null;', "", "with the role only"],
  ["channels without a right are offered", "pages/consumers/forms.tsx", "ofAllFor(can)", "ofAllFor(() => true)", "with the role only"],
  ["rows that are loaded cannot be shown", "list.ts", "next: next ?? (loaded() > shown.value ? HERE : undefined)", "next", "events of a device"],
  ["next rows of a card are not loaded", "list.ts", "if (shown.value > loaded()) list.retry();", "", "events of a device"],
  ["another receiver is asked about", "pages/why/findings.tsx", "{ id, [kind]: name, dateFrom: since }", "{ id, user: id, dateFrom: since }", "filter explains why"],
  ["a filter looks like a success", "values/traces.ts", 'const GOOD = new Set(["PUBLISHED",', 'const GOOD = new Set(["FILTER", "PUBLISHED",', "filter explains why"],
  ["a device does not fill in its id", "pages/device/page.tsx", "<QuietLink of={{ id }}>", "<QuietLink of={{}}>", "filter explains why"],
  ["a trace is that of the alarm", "pages/why/begin.ts", "found.source?.id ?? found.deviceId ?? found.id", "found.id", "filter explains why"],
  ["records are shown twice", "values/traces.ts", "if (seen.has(key)) continue;", "", "while a trace runs"],
  ["records are read once", "pages/why/records.tsx", "useEvery(ASK_SECONDS,", "useEvery(1_000,", "while a trace runs"],
  ["a hidden page reads records", "pages/why/records.tsx", "useEvery(ASK_SECONDS, () => hasEnded", "setTimeout(() => document.hidden && records.reload(), 1_000);\n  useEvery(ASK_SECONDS, () => hasEnded", "while a trace runs"],
  ["a trace that has ended looks live", "pages/why/records.tsx", "records.error.value?.status === GONE", "false", "while a trace runs"],
  ["the end of a trace takes its records away", "pages/why/records.tsx", "<Rows of={followed.value} />\n      ) : (", "<Rows of={NOTHING} />\n      ) : (", "while a trace runs"],
  ["the end of a trace does nothing", "pages/why/traces.tsx", 'call("DELETE", path`/notification/traces/${one.id}`)', "Promise.resolve()", "while a trace runs"],
  ["the newest record is the last", "values/traces.ts", "Date.parse(b.record.time) - Date.parse(a.record.time)", "Date.parse(a.record.time) - Date.parse(b.record.time)", "while a trace runs"],
  ["everybody is offered the diagnosis", "shell.tsx", 'offered: () => can("ROLE_NOTIFICATION_ADMIN"),', "offered: () => true,", "nobody asks why"],
  ["every device links to the diagnosis", "parts/quiet.tsx", "if (!mayDiagnose()) return null;", "", "nobody asks why"],
  ["a page that is denied shows the first one", "shell.tsx", "entry.tellsDenial || entry.offered()", "entry.offered()", "nobody asks why"],
  ["no trace is offered", "pages/why/findings.tsx", 'cause === "NOT_TRACED"', "false", "offers to begin one"],
  ["a trace is begun and nothing explained again", "pages/why/findings.tsx", "explain({ ...question, since: trace.creationTime });", "", "offers to begin one"],
  ["older records are dropped in silence", "pages/why/records.tsx", "if (total === rows.length)", "if (total)", "many records"],
  ["silent servers are not named", "pages/why/shown.tsx", "if (servers.length === 0) return null;", "if (servers) return null;", "silent are named"],
  ["a hidden tab goes on", "live.ts", "if (document.hidden) {", "if (false) {", "hidden tab"],
];

const { values } = parseArgs({ options: { server: { type: "string" }, browser: { type: "string", default: "chromium" }, only: { type: "string" }, check: { type: "boolean" } } });
if (values.check) {
  const problems = (await Promise.all(FAULTS.map(misfit))).filter(Boolean);
  console.log(problems.join("\n") || `${FAULTS.length} faults fit the source`);
  process.exit(problems.length === 0 ? 0 : 1);
}
if (!values.server) {
  console.error("usage: node mutations.mjs --server <program> [--browser <program>] [--only <part of a fault>], or --check");
  process.exit(2);
}

/** Returns the source of a file with a fault. */
async function faulty(file, text, replacement) {
  const before = await readFile(path.join(CONSOLE, "src", file), "utf8");
  if (before.split(text).length !== 2) throw new Error(`${file} does not contain this exactly once: ${text}`);
  return before.replace(text, () => replacement);
}

/** Returns why a fault could not be tried, without trying it. */
async function misfit([name, file, text, replacement, only]) {
  const folder = path.join(here, "flows");
  const flows = (await Promise.all((await readdir(folder)).map((one) => readFile(path.join(folder, one), "utf8")))).join("\n");
  const isNamed = [...flows.matchAll(/^export async function (\w+)/gm)].some(([, flow]) => flow.replaceAll("_", " ").includes(only));
  if (!isNamed) return `${name}: no flow is named "${only}"`;
  return faulty(file, text, replacement).then(() => undefined, (error) => `${name}: ${error.message}`);
}

/** Runs a program and returns its exit status; a program that takes too long is killed. */
function run(program, parameters, cwd) {
  return new Promise((resolve) => {
    let output = "";
    const child = spawn(program, parameters, { cwd, timeout: LONGEST_MS, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    child.on("exit", (status) => resolve({ status, output }));
  });
}

const flows = (files, only) => run("node", ["run.mjs", "--server", path.resolve(values.server), "--browser", values.browser, "--files", files, "--only", only], here);

/** Builds the console with a fault. */
async function build(directory, file, text, replacement) {
  const copy = path.join(directory, "console");
  await cp(CONSOLE, copy, { recursive: true, filter: (from) => !from.includes("node_modules") });
  await symlink(path.join(CONSOLE, "node_modules"), path.join(copy, "node_modules"));
  await writeFile(path.join(copy, "src", file), await faulty(file, text, replacement));
  const files = path.join(directory, "dist");
  const { status, output } = await run("node", ["build.mjs", files], copy);
  return status === 0 ? files : Promise.reject(new Error(output));
}

/** Returns how a fault ended: `noticed`, `SURVIVED`, or why it could not be tried. */
async function attempt([, file, text, replacement, only]) {
  const directory = await mkdtemp(path.join(os.tmpdir(), "platform-mutation-"));
  try {
    const { status, output } = await flows(await build(directory, file, text, replacement), only);
    if (status === 0 && !output.includes("ok  ")) return `no flow is named "${only}"`;
    return status === 0 ? "SURVIVED" : "noticed";
  } catch (error) {
    return error.message;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const chosen = FAULTS.filter(([name]) => !values.only || values.only.split("|").some((part) => name.includes(part)));
const ends = [];
for (const fault of chosen) {
  const end = await attempt(fault);
  ends.push(end);
  console.log(`${end.padEnd(9)} ${fault[0]}`);
}
const noticed = ends.filter((end) => end === "noticed").length;
console.log(`${noticed} of ${chosen.length} faults were noticed`);
process.exit(noticed >= LEAST_NOTICED * chosen.length && ends.every((end) => end === "noticed" || end === "SURVIVED") ? 0 : 1);
