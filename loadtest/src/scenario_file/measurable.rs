//! Refuses thresholds on figures that the phase of a population cannot measure, because they could never hold.

use super::figure::Figure;
use super::groups::Described;
use super::phases::Planned;
use super::threshold::Threshold;
use crate::population::memory::FEWEST;
use crate::population::plan::{
    Act, Consumers, Dashboards, Group, Listens, Mode, PhasePlan, Plan, Transport, Watched,
};
use crate::protocol::object_kind::ObjectKind;

/// The group, dashboards or consumers of a threshold.
#[derive(Debug, Clone, Copy)]
enum Of<'a> {
    All,
    Group(&'a Group),
    Dashboards(&'a Dashboards),
    Consumers(&'a Consumers),
}

/// Checks that a run of the phase can measure the figure of a threshold. A threshold passes if a mistake elsewhere in
/// the file leaves that unknown.
///
/// # Errors
/// A text that says why no run can.
pub(super) fn check(threshold: &Threshold, described: &Described, planned: &Planned) -> Result<(), String> {
    let has_doubts = match threshold.figure.name {
        "notified" | "notified per second" | "round trip" | "consumed" | "consumed per second" => {
            described.has_doubts || planned.has_unknown_acts
        }
        "posts" | "posts per second" | "reads" | "reads per second" | "failed reads" => {
            planned.has_unknown_acts
        }
        "sessions back" => planned.has_unknown_faults,
        _ => false,
    };
    let refused = |reason| Err(format!("threshold {:?} can never hold: {reason}", threshold.sentence));
    let Some(of) = of_threshold(threshold, &described.plan) else { return Ok(()) };
    let reason = reason_against(threshold.figure, of, &described.plan, &planned.phase);
    reason.filter(|_| !has_doubts).map_or(Ok(()), refused)
}

/// Checks that a threshold names a group or dashboards of the file, if it names any, and a figure that is known of
/// them.
///
/// # Errors
/// A text that says what is allowed.
pub(super) fn check_name(threshold: &Threshold, described: &Described) -> Result<(), String> {
    let refused = |reason: String| format!("threshold {:?}: {reason}", threshold.sentence);
    let Some(name) = &threshold.of else { return Ok(()) };
    match of_threshold(threshold, &described.plan) {
        Some(Of::Group(group)) if !has_session(group) && !described.has_doubts => {
            let of_posts = threshold.figure.check_known_of(true).map_err(refused);
            let is_of_clients = threshold.figure.check_known_of(false).is_ok();
            let silent =
                || refused(format!("the devices of {name} receive nothing, because they have no sessions"));
            of_posts.and_then(|()| if is_of_clients { Err(silent()) } else { Ok(()) })
        }
        Some(Of::Dashboards(_)) => threshold.figure.check_known_of(false).map_err(refused),
        Some(Of::Consumers(_)) => threshold.figure.check_known_of_consumers().map_err(refused),
        Some(_) => threshold.figure.check_known_of(true).map_err(refused),
        None if described.has_unknown_names => Ok(()),
        None => {
            let there = described.names().join(", ");
            Err(refused(format!(
                "there are no group, no dashboards and no consumers {name:?}; there are {there}"
            )))
        }
    }
}

/// Returns the group or dashboards of a threshold; `None` if the file has none of that name.
fn of_threshold<'p>(threshold: &Threshold, plan: &'p Plan) -> Option<Of<'p>> {
    let Some(name) = &threshold.of else { return Some(Of::All) };
    let group = plan.groups.iter().find(|group| group.name == *name).map(Of::Group);
    let dashboards =
        || plan.dashboards.iter().find(|dashboards| dashboards.name == *name).map(Of::Dashboards);
    let consumers = || plan.consumers.iter().find(|consumers| consumers.name == *name).map(Of::Consumers);
    group.or_else(dashboards).or_else(consumers)
}

/// Returns the reason why no run of the phase measures the figure; `None` if a run may measure it.
fn reason_against(figure: &Figure, of: Of<'_>, plan: &Plan, phase: &PhasePlan) -> Option<&'static str> {
    let acts = phase.streams.iter().map(|stream| (&plan.groups[stream.group], stream.act));
    let mut acts = acts.filter(|(group, _)| match of {
        Of::Group(only) => only.name == group.name,
        _ => true,
    });
    match figure.name {
        _ if figure.is_of_consumers() && plan.consumers.is_empty() => Some("there is no [[consumer]]"),
        "consumed" | "consumed per second" => (!acts.any(|(group, act)| is_consumed(plan, of, group, act)))
            .then_some("no consumer receives what is posted in this phase"),
        "notified" | "notified per second" => (!acts.any(|(group, act)| is_heard(plan, of, group, act)))
            .then_some("nobody is notified of what is posted in this phase"),
        "round trip" => (!acts.any(|(group, act)| act == Act::Operate && executes(group)))
            .then_some("no operations are queued for agents in this phase"),
        "posts" | "posts per second" => {
            (!acts.any(|(_, act)| act.posts())).then_some("nothing is posted in this phase")
        }
        "reads" | "reads per second" | "failed reads" => {
            (!acts.any(|(_, act)| act == Act::Read)).then_some("nothing is read in this phase")
        }
        "sessions back" => (!phase.faults.iter().any(|fault| fault.what.is_of_servers()))
            .then_some("no fault of a server ends sessions in this phase"),
        "torn" => Some("groups have no such figure; a run that stored a part of a collection is never clean"),
        "not stored" => (!plan.reads_back).then_some("nothing is read back with `verify = false`"),
        "database growth" => plan
            .servers
            .is_none()
            .then_some("it is known only if the run starts the servers; write [servers]"),
        "memory per client" => match (plan.phases.is_empty(), plan.clients() >= FEWEST) {
            (true, true) => None,
            (true, false) => Some("at least 1000 clients are needed to tell their memory from the rest"),
            (false, _) => Some("it is measured in the first phase, while the clients connect"),
        },
        _ => None,
    }
}

/// Returns whether any of these clients is notified of what a group does.
fn is_heard(plan: &Plan, by: Of<'_>, group: &Group, act: Act) -> bool {
    let all = || plan.dashboards.iter();
    match (act, by) {
        (Act::Operate, Of::Dashboards(_)) | (_, Of::Consumers(_)) | (Act::Reconnect | Act::Read, _) => false,
        (Act::Operate, _) => executes(group),
        (Act::Post(kind), _) => {
            let notifies = group.modes.is_empty() || group.modes.iter().any(|(mode, _)| mode.notifies());
            let watches = |dashboards: &Dashboards| {
                dashboards.tenant == group.tenant && dashboards.watches.contains(&kind)
            };
            notifies
                && match by {
                    Of::All => all().any(watches) || hears_itself(group, kind),
                    Of::Group(_) => hears_itself(group, kind),
                    Of::Dashboards(dashboards) => watches(dashboards),
                    Of::Consumers(_) => false,
                }
        }
    }
}

/// Returns whether any of these consumers receives what a group does.
fn is_consumed(plan: &Plan, by: Of<'_>, group: &Group, act: Act) -> bool {
    let both = |(mode, _): &(Mode, u32)| mode.stores() && mode.notifies();
    let is_journaled = act == Act::Operate || group.modes.is_empty() || group.modes.iter().any(both);
    let watched = act.object().map_or(Watched::Operations, Watched::Objects);
    let receives =
        |consumers: &Consumers| consumers.tenant == group.tenant && consumers.watches.contains(&watched);
    let is_one = match by {
        Of::Consumers(consumers) => receives(consumers),
        _ => plan.consumers.iter().any(receives),
    };
    act.posts() && is_journaled && is_one
}

fn hears_itself(group: &Group, kind: ObjectKind) -> bool {
    has_session(group) && matches!(&group.listens, Listens::Objects(own) if own.contains(&kind))
}

fn executes(group: &Group) -> bool {
    has_session(group) && group.listens == Listens::Operations
}

fn has_session(group: &Group) -> bool {
    group.transports.iter().any(|transport| *transport != Transport::Rest)
}
