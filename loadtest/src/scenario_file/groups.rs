//! The tables of a file that describe devices, dashboards, tenants and servers, and their validation.

use std::path::PathBuf;

use toml::de::DeValue;

use super::fields::{self, Fields, meaning, one_or_more, rate, whole, yes_or_no};
use super::mistakes::Mistakes;
use super::requests;
use crate::population::plan::{
    ACTS, Act, Dashboards, Group, Listens, Mode, Plan, ServersPlan, TRANSPORTS, Transport,
};
use crate::protocol::object_kind::ObjectKind;
use crate::traffic::schedule::curve::Curve;

/// The largest number of devices in a group.
const MOST_DEVICES: u64 = 100_000;
/// The keys of a group and of dashboards that determine who is notified of what.
const ROUTING: [&str; 6] = ["transport", "listens", "mode", "modes", "watches", "tenant"];
const MODES: [(&str, Mode); 4] = [
    ("PERSISTENT", Mode::Persistent),
    ("TRANSIENT", Mode::Transient),
    ("QUIESCENT", Mode::Quiescent),
    ("CEP", Mode::Cep),
];
/// The kinds of objects, with their words in a file.
const OBJECTS: [(&str, ObjectKind); 3] =
    [("alarms", ObjectKind::Alarm), ("events", ObjectKind::Event), ("measurements", ObjectKind::Measurement)];

/// The rates of a group.
pub(super) type Rates = [Option<Curve>; ACTS.len()];

/// The population as far as it is known while the file is read.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) plan: Plan,
    /// The numbers of clients with a session, by name, that apply to all phases.
    pub(super) online: Vec<(String, Curve)>,
    /// The rates of each group that apply to all phases.
    pub(super) rates: Vec<Rates>,
    /// Whether it is unknown who is notified of what, because of a mistake in a group or in dashboards.
    pub(super) has_doubts: bool,
    /// Whether the name of a group or of dashboards is unknown.
    pub(super) has_unknown_names: bool,
}

impl Described {
    /// Returns the names of all groups and dashboards.
    pub(super) fn names(&self) -> Vec<&str> {
        let groups = self.plan.groups.iter().map(|group| group.name.as_str());
        let dashboards = self.plan.dashboards.iter().map(|dashboards| dashboards.name.as_str());
        let consumers = self.plan.consumers.iter().map(|consumers| consumers.name.as_str());
        groups.chain(dashboards).chain(consumers).collect()
    }

    /// Reads a tenant.
    pub(super) fn add_tenant(&mut self, fields: Fields<'_>) {
        if let Some(name) = fields.required("name", "a name in quotes", fields::text) {
            if self.plan.tenants.contains(&name) {
                fields.refuse("name", &format!("there are two tenants {name:?}"));
            }
            self.plan.tenants.push(name);
        }
        fields.end();
    }

    /// Reads a group.
    pub(super) fn add_group(&mut self, fields: Fields<'_>, mistakes: &Mistakes<'_>) {
        let name = self.name(&fields, fields.required("name", "a name in quotes", fields::text));
        let count = fields.required("count", "the number of devices", whole(1..=MOST_DEVICES));
        let (transports, listens) = channels(&fields);
        let group = Group {
            name,
            tenant: tenant(&fields, &self.plan.tenants),
            count: count.unwrap_or(1) as u32,
            modes: modes(&fields, &transports),
            filter: filter(&fields, &transports),
            transports,
            listens,
            acknowledges: fields.read("acknowledges", yes_or_no).unwrap_or_default(),
            takes: fields.read("takes", fields::time).unwrap_or_default(),
            bodies: requests::bodies(&fields, &self.plan.feeders, mistakes),
            queries: requests::queries(&fields, &self.plan.feeders, mistakes),
            per_post: fields.read("per-post", whole(1..=1000)).unwrap_or(1) as u32,
        };
        self.add_online(&fields, &group.name, count_online(&group));
        check_bodies(&fields, &group);
        let rates = ACTS.map(|(act, _)| fields.read(act, rate));
        if !fields.has_doubts(&ROUTING)
            && let Err((act, reason)) = check_acts(&group, &rates)
        {
            fields.refuse(act, &reason);
        }
        self.has_doubts |= fields.has_doubts(&ROUTING) || fields.has_doubts(&ACTS.map(|(act, _)| act));
        self.plan.groups.push(group);
        self.rates.push(rates);
        fields.end();
    }

    /// Reads dashboards.
    pub(super) fn add_dashboards(&mut self, fields: Fields<'_>) {
        let name = if fields.value("name").is_some() {
            fields.read("name", fields::text)
        } else {
            Some("dashboards".to_owned())
        };
        let name = self.name(&fields, name);
        let count = fields.read("count", whole(1..=u16::MAX.into())).unwrap_or(1);
        let sessions: Vec<_> = TRANSPORTS
            .into_iter()
            .filter(|(_, transport)| matches!(transport, Transport::JsonPoll | Transport::WebSocket))
            .collect();
        let transports = fields.read("transport", |value| one_or_more(value, &sessions));
        let watches = fields.read("watches", |value| one_or_more(value, &OBJECTS));
        let dashboards = Dashboards {
            name,
            tenant: tenant(&fields, &self.plan.tenants),
            count: count as u32,
            transports: transports.unwrap_or_else(|| vec![Transport::WebSocket]),
            watches: watches.unwrap_or_else(|| vec![ObjectKind::Alarm]),
            filters: fields.read("filters", whole(1..=1000)).unwrap_or_default() as u32,
            acknowledges: fields.read("acknowledges", yes_or_no).unwrap_or_default(),
        };
        self.add_online(&fields, &dashboards.name, Some(dashboards.count));
        self.has_doubts |= fields.has_doubts(&ROUTING);
        self.plan.dashboards.push(dashboards);
        fields.end();
    }

    /// Reads how many clients of a group or of dashboards have a session.
    pub(super) fn add_online(&mut self, fields: &Fields<'_>, name: &str, clients: Option<u32>) {
        if let Some(curve) = fields.read("online", |value| online(value, clients)) {
            self.online.push((name.to_owned(), curve));
        }
    }

    /// Returns the number of clients of a group or of dashboards: nothing if the name is unknown, or if they have no
    /// sessions.
    pub(super) fn clients_of(&self, name: &str) -> Option<u32> {
        let group = self.plan.groups.iter().find(|group| group.name == name);
        let dashboards = self.plan.dashboards.iter().map(|dashboards| (&dashboards.name, dashboards.count));
        let consumers = self.plan.consumers.iter().map(|consumers| (&consumers.name, consumers.count));
        let mut others = dashboards.chain(consumers);
        group.map_or_else(|| others.find(|(of, _)| *of == name).map(|(_, count)| count), count_online)
    }

    /// Returns the name of a group or of dashboards, which must be its own.
    pub(super) fn name(&mut self, fields: &Fields<'_>, name: Option<String>) -> String {
        self.has_unknown_names |= name.is_none();
        let name = name.unwrap_or_default();
        if !name.is_empty() && self.names().contains(&name.as_str()) {
            let reason = format!(
                "there are two groups, [[dashboard]]s or [[consumer]]s {name:?}; give each a name of its own"
            );
            fields.refuse("name", &reason);
        }
        name
    }
}

/// Checks that the devices of a group can send its collections and its own bodies.
fn check_bodies(fields: &Fields<'_>, group: &Group) {
    let is_csv = group.transports.contains(&Transport::CsvPoll);
    if is_csv && group.per_post > 1 {
        fields.refuse("per-post", "devices of transport csv-poll send one row in each post");
    }
    if is_csv && group.bodies.iter().any(|(act, _)| act.object().is_some()) {
        let reason = "devices of transport csv-poll send rows of the run; only operations have a body";
        fields.refuse("bodies", reason);
    }
    let own_measurement = |(act, _): &(Act, _)| *act == Act::Post(ObjectKind::Measurement);
    if group.per_post > 1 && group.bodies.iter().any(own_measurement) {
        fields.refuse("per-post", "an own body of measurements is posted alone");
    }
}

/// Returns the number of clients of a group, if its devices have sessions.
fn count_online(group: &Group) -> Option<u32> {
    (!group.transports.contains(&Transport::Rest)).then_some(group.count)
}

/// Reads how many of these clients have a session.
pub(super) fn online(value: &DeValue<'_>, clients: Option<u32>) -> Result<Curve, String> {
    let clients = clients.ok_or("devices of transport rest have no session, so they are never online")?;
    let curve = rate(value)?;
    if curve.peak() > f64::from(clients) {
        return Err(format!("there are only {clients} clients"));
    }
    Ok(curve)
}

/// Reads the servers that the run starts.
pub(super) fn servers(fields: Fields<'_>) -> ServersPlan {
    let text = |key, otherwise: &str| fields.read(key, fields::text).unwrap_or_else(|| otherwise.to_owned());
    let command = fields.required("command", "the command that starts a server", fields::text);
    let servers = ServersPlan {
        command: command.unwrap_or_default(),
        count: fields.read("count", whole(1..=16)).unwrap_or(1) as u16,
        port: fields.read("port", whole(1024..=65_000)).unwrap_or(18_100) as u16,
        database_url: fields.read("database-url", fields::text),
        directory: PathBuf::from(text("directory", "cluster-data")),
        is_round_robin: fields.read("round-robin", yes_or_no).unwrap_or_default(),
    };
    fields.end();
    servers
}

pub(super) fn tenant(fields: &Fields<'_>, tenants: &[String]) -> Option<usize> {
    let index = |value: &DeValue<'_>| {
        let index = tenants.iter().position(|tenant| value.as_str() == Some(tenant));
        index.ok_or_else(|| match tenants {
            [] => "there is no [[tenant]]".to_owned(),
            tenants => format!("there is no such [[tenant]]; there are {}", tenants.join(", ")),
        })
    };
    let found = fields.value("tenant");
    if found.is_none() && !tenants.is_empty() {
        fields.refuse("tenant", &format!("say to which `tenant` it belongs: {}", tenants.join(", ")));
    }
    found.and_then(|_| fields.read("tenant", index))
}

fn listens(value: &DeValue<'_>) -> Result<Listens, String> {
    let is_operations = |value: &DeValue<'_>| value.as_str() == Some("operations");
    let alone = value.as_array().is_some_and(|all| all.len() == 1 && is_operations(all[0].get_ref()));
    if is_operations(value) || alone {
        return Ok(Listens::Operations);
    }
    let objects = one_or_more(value, &OBJECTS);
    objects.map(Listens::Objects).map_err(|reason| format!("{reason}, or \"operations\" alone"))
}

/// Reads the transports of a group, and what its devices receive.
fn channels(fields: &Fields<'_>) -> (Vec<Transport>, Listens) {
    let transports = fields.read("transport", |value| one_or_more(value, &TRANSPORTS));
    let transports = transports.unwrap_or_else(|| vec![Transport::JsonPoll]);
    let listens = fields.read("listens", listens);
    if listens.is_some() && transports.iter().all(|transport| *transport == Transport::Rest) {
        fields.refuse("listens", "devices of transport rest receive nothing, so they have no `listens`");
    }
    (transports, listens.unwrap_or(Listens::Operations))
}

/// Reads the filter of the subscriptions of a group.
fn filter(fields: &Fields<'_>, transports: &[Transport]) -> Option<String> {
    let filter = fields.read("filter", fields::text);
    if filter.is_some() && transports.iter().all(|transport| *transport == Transport::Rest) {
        fields.refuse("filter", "devices of transport rest receive nothing, so they have no `filter`");
    }
    filter
}

/// Reads `mode`, or `modes` with the weight of each.
fn modes(fields: &Fields<'_>, transports: &[Transport]) -> Vec<(Mode, u32)> {
    let mode = fields.read("mode", |value| meaning(value.as_str(), &MODES));
    let modes = fields.read("modes", |value| {
        let allowed = || "allowed are weights such as { PERSISTENT = 8, TRANSIENT = 2 }".to_owned();
        let table = value.as_table().ok_or_else(allowed)?;
        let mut modes = Vec::new();
        for (mode, weight) in table {
            let mode = meaning(Some(mode.get_ref()), &MODES)?;
            modes.push((mode, whole(0..=1_000_000)(weight.get_ref())? as u32));
        }
        modes.sort_unstable();
        let has_weight = modes.iter().any(|(_, weight)| *weight > 0);
        if has_weight { Ok(modes) } else { Err(format!("the weights of its modes are 0; {}", allowed())) }
    });
    if fields.value("mode").is_some() && fields.value("modes").is_some() {
        fields.refuse("modes", "write either `mode` or `modes`");
    }
    let modes = modes.unwrap_or_else(|| vec![(mode.unwrap_or_default(), 1)]);
    if transports.contains(&Transport::CsvPoll) && modes != [(Mode::Persistent, 1)] {
        fields.refuse("modes", "rows of CSV have no mode but PERSISTENT here");
    }
    modes
}

/// Checks that the devices of a group can do everything that they have a rate for.
///
/// # Errors
/// The action that they cannot do, with the reason.
pub(super) fn check_acts(group: &Group, rates: &Rates) -> Result<(), (&'static str, String)> {
    let has = |act: Act| ACTS.iter().zip(rates).any(|((_, of), rate)| *of == act && rate.is_some());
    let is_agent = group.listens == Listens::Operations && !group.transports.contains(&Transport::Rest);
    if has(Act::Operate) && !is_agent {
        return Err((
            "operations",
            "operations need devices that listen to them, over json-poll, csv-poll or web-socket".to_owned(),
        ));
    }
    if has(Act::Reconnect) && group.transports.contains(&Transport::Rest) {
        return Err((
            "reconnects",
            "reconnects need devices with a session; those of transport rest have none".to_owned(),
        ));
    }
    Ok(())
}
