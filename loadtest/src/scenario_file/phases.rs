//! The tables of a file that describe what happens in a phase: rates and faults.

use std::time::Duration;

use toml::de::DeTable;

use super::fields::{self, Fields, meaning, number};
use super::groups::{Described, Rates, check_acts};
use super::mistakes::Mistakes;
use crate::population::plan::{ACTS, Clients, FAULTS, Fault, FaultKind, PhasePlan, Stream};
use crate::traffic::schedule::curve::Curve;

/// A phase, and the conditions that mistakes leave unknown.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) phase: PhasePlan,
    /// Whether it is unknown what is posted, because of a mistake.
    pub(super) has_unknown_acts: bool,
    /// Whether it is unknown which faults happen.
    pub(super) has_unknown_faults: bool,
}

/// Reads the rates and faults of a phase.
pub(super) fn phase(
    fields: &Fields<'_>,
    described: &Described,
    lasts: Option<Duration>,
    mistakes: &Mistakes<'_>,
) -> Planned {
    let mut rates = described.rates.clone();
    let before = mistakes.count();
    if let Some((_, table)) = fields.table("rates") {
        for (name, of_group) in table {
            let name = (name.span().start, name.get_ref().as_ref());
            of_phase(described, name, of_group.get_ref().as_table(), mistakes, &mut rates);
        }
    }
    let has_unknown_acts = mistakes.count() > before;
    let online = online(fields, described, mistakes);
    let before = mistakes.count();
    let around = Around { described, names: &described.names(), lasts };
    let faults = fields.tables("fault", "[[phase.fault]]");
    let faults = faults
        .into_iter()
        .filter_map(|(at, table)| fault(Fields::new("", at, table, mistakes), &around, table));
    let faults = faults.collect();
    let streams = rates.iter().enumerate().flat_map(|(group, curves)| {
        let of_group = ACTS.iter().zip(curves);
        of_group.filter_map(move |((_, act), curve)| Some(Stream { group, act: *act, curve: (*curve)? }))
    });
    Planned {
        phase: PhasePlan { lasts: lasts.unwrap_or_default(), streams: streams.collect(), online, faults },
        has_unknown_acts,
        has_unknown_faults: mistakes.count() > before,
    }
}

/// Reads how many clients have a session: in this phase, or else in all phases.
fn online(fields: &Fields<'_>, described: &Described, mistakes: &Mistakes<'_>) -> Vec<(String, Curve)> {
    let mut all = described.online.clone();
    let Some((_, table)) = fields.table("online") else { return all };
    for (name, value) in table {
        let (at, name) = (name.span().start, name.get_ref().as_ref());
        if !described.names().contains(&name) {
            if !described.has_unknown_names {
                let there = described.names().join(", ");
                mistakes.add(
                    at,
                    format!(
                        "online: there are no group, no dashboards and no consumers {name:?}; there are {there}"
                    ),
                );
            }
            continue;
        }
        match super::groups::online(value.get_ref(), described.clients_of(name)) {
            Ok(curve) => {
                all.retain(|(of, _)| of != name);
                all.push((name.to_owned(), curve));
            }
            Err(reason) => mistakes.add(value.span().start, format!("online of {name:?}: {reason}")),
        }
    }
    all
}

/// Reads the rates of a group in a phase, and checks them together with those of all phases.
fn of_phase(
    described: &Described,
    (at, name): (usize, &str),
    table: Option<&DeTable<'_>>,
    mistakes: &Mistakes<'_>,
    rates: &mut [Rates],
) {
    let groups = &described.plan.groups;
    let Some(group) = groups.iter().position(|group| group.name == name) else {
        if !described.has_unknown_names {
            let there = groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(", ");
            mistakes.add(at, format!("rates of {name:?}: there is no such group; there are {there}"));
        }
        return;
    };
    let Some(table) = table else {
        mistakes.add(at, format!("rates of {name:?}: write [phase.rates.{name}]"));
        return;
    };
    let fields = Fields::new(&format!("rates of {name:?}"), at, table, mistakes);
    for (rate, (act, _)) in rates[group].iter_mut().zip(ACTS) {
        *rate = fields.read(act, fields::rate).or(*rate);
    }
    if !described.has_doubts
        && let Err((act, reason)) = check_acts(&groups[group], &rates[group])
    {
        fields.refuse(act, &reason);
    }
    fields.end();
}

/// The parts of the file to which a fault refers.
struct Around<'a> {
    described: &'a Described,
    names: &'a [&'a str],
    /// The length of the phase, if it is known.
    lasts: Option<Duration>,
}

/// Reads a fault; nothing if it has a mistake.
fn fault(fields: Fields<'_>, around: &Around<'_>, table: &DeTable<'_>) -> Option<Fault> {
    let words = FAULTS.map(|(kind, name, _)| (name, kind));
    let allowed = words.map(|(name, _)| name).join(", ");
    let what = fields.required("what", &format!("one of {allowed}"), |value| meaning(value.as_str(), &words));
    let (at, every) = (fields.read("at", fields::between), fields.read("every", fields::between));
    let duration = fields.read("lasts", fields::time);
    let of = fields.read("of", fields::text);
    let share = fields.read("share", |value| {
        let share = number(value).filter(|share| *share > 0.0 && *share <= 1.0);
        share.ok_or_else(|| "allowed is a part above 0 and at most 1".to_owned())
    });
    let fault = what.and_then(|what: FaultKind| {
        let of = clients(&fields, what, of, share.unwrap_or(1.0), around);
        check_times(&fields, what, table);
        let (first, takes) = (at.or(every)?, duration.unwrap_or_default());
        let is_never = around.lasts.is_some_and(|lasts| first.most + takes > lasts);
        if every.is_some_and(|every| every.least.is_zero()) || is_never {
            let seconds = around.lasts.unwrap_or_default().as_secs_f64();
            let (name, key) = (what.words().0, if at.is_some() { "at" } else { "every" });
            fields.refuse(key, &format!("{name}: it would never be done in a phase of {seconds} s"));
        }
        Some(Fault { what, at: first, every, lasts: takes, of })
    });
    fields.end();
    fault
}

/// Checks that a fault has the times that its kind needs.
fn check_times(fields: &Fields<'_>, what: FaultKind, table: &DeTable<'_>) {
    let (name, has) = (what.words().0, |key| table.contains_key(key));
    if !has("at") && !has("every") {
        fields.refuse_lacking(&format!("{name} needs `at` or `every`, such as \"10s\""));
    }
    match (what.lasts(), has("lasts")) {
        (true, false) => fields.refuse_lacking(&format!("{name} needs `lasts`, such as \"4s\"")),
        (false, true) => fields.refuse("lasts", &format!("{name} has no duration")),
        _ => {}
    }
}

/// Returns the clients that a fault affects, if it is one of clients.
fn clients(
    fields: &Fields<'_>,
    what: FaultKind,
    of: Option<String>,
    share: f64,
    around: &Around<'_>,
) -> Option<Clients> {
    let name = what.words().0;
    let has_of = fields.value("of").is_some();
    if !what.is_of_clients() {
        if has_of {
            fields.refuse("of", &format!("{name} is done to servers, so it has no `of`"));
        }
        if around.described.plan.servers.is_none() {
            fields.refuse_lacking(&format!("{name} needs servers that this run starts: write [servers]"));
        }
        return None;
    }
    let there = around.names.join(", ");
    match of {
        Some(of) if around.names.contains(&of.as_str()) || around.described.has_unknown_names => {
            Some(Clients { name: of, share })
        }
        Some(of) => {
            fields.refuse("of", &format!("{name} needs `of`: {of:?} is not one; there are {there}"));
            None
        }
        None if has_of => None,
        None => {
            fields.refuse_lacking(&format!("{name} needs `of`: there are {there}"));
            None
        }
    }
}
