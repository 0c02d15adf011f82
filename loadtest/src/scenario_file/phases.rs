//! The tables of a file that describe what happens in a phase: rates and faults.

use std::time::Duration;

use toml::de::DeTable;

use super::fields::{self, Fields, meaning, number, rate};
use super::groups::{Described, check_acts};
use super::mistakes::Mistakes;
use crate::population::plan::{ACTS, Clients, FAULTS, Fault, FaultKind, PhasePlan, Stream};

/// A phase with the doubts that mistakes leave.
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
            let groups = &described.plan.groups;
            let Some(group) = groups.iter().position(|group| group.name == *name.get_ref()) else {
                if !described.has_unknown_names {
                    let there = groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(", ");
                    let reason =
                        format!("rates of {:?}: there is no such group; there are {there}", name.get_ref());
                    mistakes.add(name.span().start, reason);
                }
                continue;
            };
            let Some(table) = of_group.get_ref().as_table() else {
                mistakes.add(
                    name.span().start,
                    format!("rates of {:?}: write [phase.rates.{0}]", name.get_ref()),
                );
                continue;
            };
            let at = name.span().start;
            of_phase(
                Fields::new(&format!("rates of {:?}", name.get_ref()), at, table, mistakes),
                |rates_of| {
                    for (rate, of_phase) in rates[group].iter_mut().zip(rates_of) {
                        *rate = of_phase.or(*rate);
                    }
                    if described.has_doubts { Ok(()) } else { check_acts(&groups[group], &rates[group]) }
                },
            );
        }
    }
    let has_unknown_acts = mistakes.count() > before;
    let before = mistakes.count();
    let names = described.names();
    let faults = fields.tables("fault", "[[phase.fault]]").into_iter().filter_map(|(at, table)| {
        let around = Around { described, names: &names, lasts };
        fault(Fields::new("", at, table, mistakes), &around, table)
    });
    let faults = faults.collect();
    let streams = rates.iter().enumerate().flat_map(|(group, curves)| {
        let of_group = ACTS.iter().zip(curves);
        of_group.filter_map(move |((_, act), curve)| Some(Stream { group, act: *act, curve: (*curve)? }))
    });
    Planned {
        phase: PhasePlan { lasts: lasts.unwrap_or_default(), streams: streams.collect(), faults },
        has_unknown_acts,
        has_unknown_faults: mistakes.count() > before,
    }
}

/// Reads the rates of a group in a phase, and checks them together with those of all phases.
fn of_phase(
    fields: Fields<'_>,
    check: impl FnOnce(super::groups::Rates) -> Result<(), (&'static str, String)>,
) {
    let rates = ACTS.map(|(act, _)| fields.read(act, rate));
    if let Err((act, reason)) = check(rates) {
        fields.refuse(act, &reason);
    }
    fields.end();
}

/// What a fault refers to.
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
    let (at, every) = (fields.read("at", fields::time), fields.read("every", fields::time));
    let duration = fields.read("lasts", fields::time);
    let has = |key| table.contains_key(key);
    let of = fields.read("of", fields::text);
    let share = fields.read("share", |value| {
        let share = number(value).filter(|share| *share > 0.0 && *share <= 1.0);
        share.ok_or_else(|| "allowed is a part above 0 and at most 1".to_owned())
    });
    let fault = what.and_then(|what: FaultKind| {
        let name = what.words().0;
        let of = clients(&fields, what, of, share.unwrap_or(1.0), around);
        if !has("at") && !has("every") {
            fields.refuse_lacking(&format!("{name} needs `at` or `every`, such as \"10s\""));
        }
        match (what.lasts(), has("lasts")) {
            (true, false) => fields.refuse_lacking(&format!("{name} needs `lasts`, such as \"4s\"")),
            (false, true) => fields.refuse("lasts", &format!("{name} has no duration")),
            _ => {}
        }
        let (first, takes) = (at.or(every)?, duration.unwrap_or_default());
        let is_never = around.lasts.is_some_and(|lasts| first + takes > lasts);
        if every == Some(Duration::ZERO) || is_never {
            let seconds = around.lasts.unwrap_or_default().as_secs_f64();
            let key = if has("at") { "at" } else { "every" };
            fields.refuse(key, &format!("{name}: it would never be done in a phase of {seconds} s"));
        }
        Some(Fault { what, at: first, every, lasts: takes, of })
    });
    fields.end();
    fault
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
