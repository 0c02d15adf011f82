//! The enumerations of the platform. Each word is a constant with its own text as value.
//!
//! Their names contain the vendor's name, so a configured vendor's spelling is understood besides that of the rules
//! (G-09a). As type names they stand for text.

use std::sync::LazyLock;

use platform_model::naming::{Naming, spellings};

pub(super) const OPERATION_STATUSES: &[&str] = &["PENDING", "EXECUTING", "SUCCESSFUL", "FAILED"];
pub(super) const SEVERITIES: &[&str] = &["CRITICAL", "MAJOR", "MINOR", "WARNING"];
pub(super) const ALARM_STATUSES: &[&str] = &["ACTIVE", "ACKNOWLEDGED", "CLEARED"];

/// The types that have no words of their own: interfaces of the enumerations.
const INTERFACES: [&str; 2] = ["Severity", "AlarmStatus"];

static SEVERITY_NAMES: LazyLock<[String; 2]> =
    LazyLock::new(|| spellings(|naming| Naming::enumeration(naming, "Severities")));
static ALARM_STATUS_NAMES: LazyLock<[String; 2]> =
    LazyLock::new(|| spellings(|naming| Naming::enumeration(naming, "AlarmStatuses")));

/// Returns the words of an enumeration, if this is the name of one.
pub(super) fn words_of(name: &str) -> Option<&'static [&'static str]> {
    let is_in = |names: &[String; 2]| names.iter().any(|known| known == name);
    if name == "OperationStatus" {
        Some(OPERATION_STATUSES)
    } else if is_in(&SEVERITY_NAMES) {
        Some(SEVERITIES)
    } else if is_in(&ALARM_STATUS_NAMES) {
        Some(ALARM_STATUSES)
    } else {
        None
    }
}

/// Returns whether a type name stands for the words of an enumeration.
pub(super) fn is_type(name: &str) -> bool {
    words_of(name).is_some() || INTERFACES.contains(&name)
}
