//! Refuses thresholds on figures that the phase of a population cannot measure, because they could never hold.

use super::figure::Figure;
use super::groups::Described;
use super::phases::Planned;
use super::threshold::Threshold;
use crate::object_kind::ObjectKind;
use crate::population::memory::FEWEST;
use crate::population::plan::{Act, Group, Listens, PhasePlan, Plan, Transport};

/// Checks that a run of the phase can measure the figure of a threshold. A threshold passes if a mistake elsewhere in
/// the file leaves that unknown.
///
/// # Errors
/// A text that says why no run can.
pub(super) fn check(threshold: &Threshold, described: &Described, planned: &Planned) -> Result<(), String> {
    let has_doubts = match threshold.figure.name {
        "notified" | "notified per second" | "round trip" => described.has_doubts || planned.has_unknown_acts,
        "sessions back" => planned.has_unknown_faults,
        _ => false,
    };
    let refused = |reason| Err(format!("threshold {:?} can never hold: {reason}", threshold.sentence));
    let reason = reason_against(threshold.figure, &described.plan, &planned.phase);
    reason.filter(|_| !has_doubts).map_or(Ok(()), refused)
}

/// Returns the reason why no run of the phase measures the figure; `None` if a run may measure it.
fn reason_against(figure: &Figure, plan: &Plan, phase: &PhasePlan) -> Option<&'static str> {
    let mut acts = phase.streams.iter().map(|stream| (&plan.groups[stream.group], stream.act));
    match figure.name {
        "notified" | "notified per second" => (!acts.any(|(group, act)| is_heard(plan, group, act)))
            .then_some("nobody is notified of what is posted in this phase"),
        "round trip" => (!acts.any(|(group, act)| act == Act::Operate && executes(group)))
            .then_some("no operations are queued for agents in this phase"),
        "posts" | "posts per second" => {
            (!acts.any(|(_, act)| act != Act::Reconnect)).then_some("nothing is posted in this phase")
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

/// Returns whether any client is notified of what a group does.
fn is_heard(plan: &Plan, group: &Group, act: Act) -> bool {
    match act {
        Act::Operate => executes(group),
        Act::Reconnect => false,
        Act::Post(kind) => {
            let notifies = group.modes.is_empty() || group.modes.iter().any(|(mode, _)| mode.notifies());
            let is_watched = plan
                .dashboards
                .iter()
                .any(|dashboards| dashboards.tenant == group.tenant && dashboards.watches.contains(&kind));
            notifies && (is_watched || hears_itself(group, kind))
        }
    }
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
