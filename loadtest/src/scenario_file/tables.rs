//! The tables of a file that describe devices, dashboards, servers and faults, and their validation.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use toml::{Spanned, Value};

use super::{Source, load::text_of};
use crate::curve::Curve;
use crate::error::Error;
use crate::object_kind::ObjectKind;
use crate::population::plan::{
    ACTS, Act, Clients, Dashboards, FAULTS, Fault, FaultKind, Group, Listens, Mode, PhasePlan, ServersPlan,
    Stream, Transport,
};
use crate::quantity::{Unit, parse};

/// The largest number of devices in a group.
const MOST_DEVICES: u32 = 100_000;

/// One word, or several of them.
#[derive(Debug, Clone)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    /// An error names the allowed words, which an untagged enum of serde does not.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let refused = |error: toml::de::Error| D::Error::custom(error.message());
        match Value::deserialize(deserializer)? {
            Value::Array(all) => {
                let all: Result<_, _> = all.into_iter().map(T::deserialize).collect();
                all.map(Self::Many).map_err(refused)
            }
            one => T::deserialize(one).map(Self::One).map_err(refused),
        }
    }
}

impl<T> OneOrMany<T> {
    fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// Servers that the run starts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ServersTable {
    command: String,
    #[serde(default = "one")]
    count: u16,
    #[serde(default = "first_port")]
    port: u16,
    database_url: Option<String>,
    #[serde(default = "directory")]
    directory: PathBuf,
    #[serde(default)]
    round_robin: bool,
}

fn one() -> u16 {
    1
}

fn first_port() -> u16 {
    18_100
}

fn directory() -> PathBuf {
    PathBuf::from("cluster-data")
}

impl ServersTable {
    /// Validates the table and returns the plan.
    ///
    /// # Errors
    /// Too many servers, or port numbers above the largest one, with the key of the value.
    pub(super) fn plan(self) -> Result<ServersPlan, (&'static str, String)> {
        let Self { command, count, port, database_url, directory, round_robin } = self;
        match ((1..=16).contains(&count), (1024..=65_000).contains(&port)) {
            (true, true) => {
                Ok(ServersPlan { command, count, port, database_url, directory, is_round_robin: round_robin })
            }
            (false, _) => Err(("count", format!("count = {count}: allowed are 1 to 16 servers"))),
            (_, false) => Err(("port", format!("port = {port}: allowed are 1024 to 65000"))),
        }
    }
}

/// A tenant that the run creates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantTable {
    pub(super) name: String,
}

/// A group of devices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GroupTable {
    name: String,
    tenant: Option<String>,
    count: u32,
    transport: Option<OneOrMany<Transport>>,
    listens: Option<OneOrMany<String>>,
    #[serde(default)]
    acknowledges: bool,
    takes: Option<String>,
    mode: Option<Mode>,
    modes: Option<BTreeMap<Mode, u32>>,
    alarms: Option<Spanned<Value>>,
    events: Option<Spanned<Value>>,
    measurements: Option<Spanned<Value>>,
    operations: Option<Spanned<Value>>,
    reconnects: Option<Spanned<Value>>,
}

/// The clients that receive the notifications of all devices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DashboardTable {
    #[serde(default = "dashboards")]
    name: String,
    tenant: Option<String>,
    #[serde(default = "one")]
    count: u16,
    transport: Option<OneOrMany<Transport>>,
    watches: Option<OneOrMany<String>>,
    #[serde(default)]
    acknowledges: bool,
}

fn dashboards() -> String {
    "dashboards".to_owned()
}

/// A fault of a phase.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FaultTable {
    what: FaultKind,
    at: Option<String>,
    every: Option<String>,
    lasts: Option<String>,
    of: Option<String>,
    share: Option<f64>,
}

/// The rates of a group, in a phase or in all of them.
pub(super) type RatesTable = BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<Value>>>;

/// The rates of all groups that apply if a phase does not override them.
pub(super) type Rates = Vec<[Option<Curve>; ACTS.len()]>;

impl GroupTable {
    /// Validates the table and returns the plan of the group with its rates.
    ///
    /// # Errors
    /// An invalid value; the error names line and key.
    pub(super) fn plan(
        self,
        source: &Source<'_>,
        at: usize,
        tenants: &[String],
    ) -> Result<(Group, [Option<Curve>; ACTS.len()]), Error> {
        let refused = |reason: String| source.error(at, &format!("group {:?}: {reason}", self.name));
        let at_key = |key: &'static str| {
            let name = &self.name;
            move |reason: String| source.error_at(at, key, &format!("group {name:?}: {reason}"))
        };
        if !(1..=MOST_DEVICES).contains(&self.count) {
            return Err(at_key("count")(format!("count = {}: allowed are 1 to {MOST_DEVICES}", self.count)));
        }
        let given = [&self.alarms, &self.events, &self.measurements, &self.operations, &self.reconnects];
        let mut rates = [None; ACTS.len()];
        for (rate, value) in rates.iter_mut().zip(given) {
            *rate = value.as_ref().map(|value| curve(source, value)).transpose()?;
        }
        let transports = self.transport.clone().map_or(vec![Transport::JsonPoll], OneOrMany::into_vec);
        if self.listens.is_some() && transports.iter().all(|transport| *transport == Transport::Rest) {
            return Err(at_key("listens")("devices of transport rest receive nothing".to_owned()));
        }
        let modes = match (self.mode, &self.modes) {
            (Some(_), Some(_)) => return Err(refused("write either mode or modes".to_owned())),
            (mode, None) => vec![(mode.unwrap_or_default(), 1)],
            (None, Some(modes)) => modes.iter().map(|(mode, weight)| (*mode, *weight)).collect(),
        };
        if modes.iter().map(|(_, weight)| weight).sum::<u32>() == 0 {
            return Err(refused("the weights of its modes are 0".to_owned()));
        }
        if transports.contains(&Transport::CsvPoll) && modes != [(Mode::Persistent, 1)] {
            return Err(refused("rows of CSV have no mode but PERSISTENT here".to_owned()));
        }
        let group = Group {
            name: self.name.clone(),
            tenant: tenant(self.tenant.as_deref(), tenants).map_err(at_key("tenant"))?,
            count: self.count,
            transports,
            listens: listens(self.listens.clone()).map_err(at_key("listens"))?,
            acknowledges: self.acknowledges,
            takes: self.takes.as_deref().map_or(Ok(Duration::ZERO), duration).map_err(at_key("takes"))?,
            modes,
        };
        check_acts(&group, &rates).map_err(refused)?;
        Ok((group, rates))
    }
}

/// Checks that the devices of a group can do everything that they have a rate for.
fn check_acts(group: &Group, rates: &[Option<Curve>; ACTS.len()]) -> Result<(), String> {
    let has = |act: Act| ACTS.iter().zip(rates).any(|((_, of), rate)| *of == act && rate.is_some());
    let is_agent = group.listens == Listens::Operations && !group.transports.contains(&Transport::Rest);
    if has(Act::Operate) && !is_agent {
        return Err(
            "operations need devices that listen to them, over json-poll, csv-poll or web-socket".to_owned()
        );
    }
    if has(Act::Reconnect) && group.transports.contains(&Transport::Rest) {
        return Err("reconnects need devices with a session; those of transport rest have none".to_owned());
    }
    Ok(())
}

fn tenant(name: Option<&str>, tenants: &[String]) -> Result<Option<usize>, String> {
    match name {
        None if tenants.is_empty() => Ok(None),
        None => Err(format!("say which tenant it belongs to: {}", tenants.join(", "))),
        Some(name) => tenants
            .iter()
            .position(|tenant| tenant == name)
            .map(Some)
            .ok_or_else(|| format!("tenant = {name:?} has no [[tenant]]")),
    }
}

fn listens(words: Option<OneOrMany<String>>) -> Result<Listens, String> {
    match words.map(OneOrMany::into_vec).unwrap_or_default().as_slice() {
        [] => Ok(Listens::Operations),
        [one] if one == "operations" => Ok(Listens::Operations),
        words => words
            .iter()
            .map(|word| object(word))
            .collect::<Result<_, _>>()
            .map(Listens::Objects)
            .map_err(|reason| format!("listens: {reason}; or `operations` alone")),
    }
}

fn object(word: &str) -> Result<ObjectKind, String> {
    let named = ACTS.iter().find(|(name, _)| *name == word);
    match named.map(|(_, act)| act) {
        Some(Act::Post(object)) => Ok(*object),
        _ => Err(format!("{word:?} is not one of alarms, events, measurements")),
    }
}

impl DashboardTable {
    /// Validates the table and returns the plan.
    ///
    /// # Errors
    /// An invalid value, with its key.
    pub(super) fn plan(self, tenants: &[String]) -> Result<Dashboards, (&'static str, String)> {
        let transports = self.transport.map_or(vec![Transport::WebSocket], OneOrMany::into_vec);
        if transports.iter().any(|transport| matches!(transport, Transport::Rest | Transport::CsvPoll)) {
            return Err(("transport", "transport: allowed are json-poll and web-socket".to_owned()));
        }
        let watches = self.watches.map_or(vec!["alarms".to_owned()], OneOrMany::into_vec);
        Ok(Dashboards {
            tenant: tenant(self.tenant.as_deref(), tenants).map_err(|reason| ("tenant", reason))?,
            name: self.name,
            count: self.count.into(),
            transports,
            watches: watches
                .iter()
                .map(|word| object(word).map_err(|reason| ("watches", reason)))
                .collect::<Result<_, _>>()?,
            acknowledges: self.acknowledges,
        })
    }
}

impl FaultTable {
    /// Validates the table and returns the plan.
    ///
    /// # Errors
    /// An invalid or missing value.
    fn plan(self, lasts: Duration, has_servers: bool, names: &[&str]) -> Result<Fault, String> {
        let name = self.what.words().0;
        let of = match (self.what.is_of_clients(), self.of) {
            (true, Some(of)) if names.contains(&of.as_str()) => {
                let share = self.share.unwrap_or(1.0);
                if !(share > 0.0 && share <= 1.0) {
                    return Err(format!("share = {share}: allowed is a part above 0 and at most 1"));
                }
                Some(Clients { name: of, share })
            }
            (true, of) => {
                let found = of.map_or(String::new(), |of| format!(" {of:?} is not one;"));
                return Err(format!("{name} needs `of`:{found} there are {}", names.join(", ")));
            }
            (false, Some(_)) => return Err(format!("{name} is done to servers, so it has no `of`")),
            (false, None) if !has_servers => {
                return Err(format!("{name} needs servers that this run starts: write [servers]"));
            }
            (false, None) => None,
        };
        let time = |text: &Option<String>| text.as_deref().map(duration).transpose();
        let every = time(&self.every)?;
        let at = match (time(&self.at)?, every) {
            (Some(at), _) | (None, Some(at)) => at,
            (None, None) => return Err(format!("{name} needs `at` or `every`, such as \"10s\"")),
        };
        let of_fault = match (self.what.lasts(), time(&self.lasts)?) {
            (true, Some(time)) => time,
            (true, None) => return Err(format!("{name} needs `lasts`, such as \"4s\"")),
            (false, Some(_)) => return Err(format!("{name} has no duration")),
            (false, None) => Duration::ZERO,
        };
        if every == Some(Duration::ZERO) || at + of_fault > lasts {
            return Err(format!("{name}: it would never be done in a phase of {} s", lasts.as_secs_f64()));
        }
        Ok(Fault { what: self.what, at, every, lasts: of_fault, of })
    }
}

/// Returns the plan of a phase: the rates of the groups and the faults.
///
/// # Errors
/// An invalid value; the error names line and key.
pub(super) fn phase(
    source: &Source<'_>,
    lasts: Duration,
    rates: &RatesTable,
    faults: Vec<Spanned<FaultTable>>,
    groups: (&[Group], &Rates),
    (has_servers, names): (bool, &[&str]),
) -> Result<PhasePlan, Error> {
    let (groups, mut of_groups) = (groups.0, groups.1.clone());
    for (name, of_group) in rates {
        let group = groups.iter().position(|group| group.name == *name.get_ref());
        let group = group.ok_or_else(|| {
            source.error(name.span().start, &format!("rates of {:?}: there is no such group", name.get_ref()))
        })?;
        for (key, value) in of_group {
            let act = ACTS.iter().position(|(act, _)| *act == key.get_ref());
            let act = act.ok_or_else(|| {
                let allowed = ACTS.map(|(name, _)| name).join(", ");
                source.error(key.span().start, &format!("{:?} is not one of {allowed}", key.get_ref()))
            })?;
            of_groups[group][act] = Some(curve(source, value)?);
        }
        check_acts(&groups[group], &of_groups[group])
            .map_err(|reason| source.error(name.span().start, &format!("{}: {reason}", name.get_ref())))?;
    }
    let streams = of_groups.iter().enumerate().flat_map(|(group, curves)| {
        let of_group = ACTS.iter().zip(curves);
        of_group.filter_map(move |((_, act), curve)| Some(Stream { group, act: *act, curve: (*curve)? }))
    });
    let fault = |fault: Spanned<FaultTable>| {
        let at = fault.span().start;
        fault.into_inner().plan(lasts, has_servers, names).map_err(|reason| source.error(at, &reason))
    };
    Ok(PhasePlan {
        lasts,
        streams: streams.collect(),
        faults: faults.into_iter().map(fault).collect::<Result<_, _>>()?,
    })
}

fn curve(source: &Source<'_>, value: &Spanned<Value>) -> Result<Curve, Error> {
    let text = text_of(value.get_ref()).unwrap_or_default();
    Curve::parse(&text).map_err(|reason| source.error(value.span().start, &reason))
}

/// Reads a time such as `10s`.
///
/// # Errors
/// The text is not a time.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse(text, Unit::Time).map(|milliseconds| Duration::from_micros((milliseconds * 1000.0) as u64))
}

/// Returns the faults with their expected effects on clients.
pub(super) fn fault_catalogue() -> impl Iterator<Item = (&'static str, &'static str)> {
    FAULTS.iter().map(|(_, name, meaning)| (*name, *meaning))
}
