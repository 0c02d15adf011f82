//! The figures that are known of a single group, of dashboards or of consumers, and those that are known while a phase
//! runs.

use super::figure::Figure;

/// The figures that are known of each group that posts.
const OF_GROUPS: [&str; 11] = [
    "posts",
    "posts per second",
    "round trip",
    "failed",
    "4xx",
    "5xx",
    "late",
    "unsent",
    "reads",
    "reads per second",
    "failed reads",
];
/// The figures that are known of the clients of each group and of dashboards.
const OF_CLIENTS: [&str; 9] = [
    "notified",
    "notified per second",
    "sessions back",
    "lost",
    "doubled",
    "reordered",
    "told",
    "ended",
    "reconnects",
];
/// The figures that are known of consumers of a name.
const OF_CONSUMERS: [&str; 9] =
    ["consumed", "consumed per second", "lost", "told", "repeated", "doubled", "reordered", "holes", "gaps"];
/// The figures that are known while a phase runs.
const LIVE: [&str; 10] = [
    "notified",
    "posts",
    "notified per second",
    "posts per second",
    "failed",
    "server memory",
    "server CPU",
    "open files",
    "PostgreSQL memory",
    "PostgreSQL CPU",
];

impl Figure {
    /// Checks that the figure is known of a single group or, if there are no devices, of dashboards.
    ///
    /// # Errors
    /// It is not; the error lists those that are.
    pub(super) fn check_known_of(&self, has_devices: bool) -> Result<(), String> {
        let of_groups: &[&str] = if has_devices { &OF_GROUPS } else { &[] };
        let known: Vec<&str> = of_groups.iter().chain(&OF_CLIENTS).copied().collect();
        if known.contains(&self.name) {
            return Ok(());
        }
        let who = if has_devices { "a single group" } else { "dashboards" };
        Err(format!("{} is not known of {who}; there are {}", self.name, known.join(", ")))
    }

    /// Checks that the figure is known of consumers.
    ///
    /// # Errors
    /// It is not; the error lists those that are.
    pub(super) fn check_known_of_consumers(&self) -> Result<(), String> {
        if OF_CONSUMERS.contains(&self.name) {
            return Ok(());
        }
        Err(format!("{} is not known of consumers; there are {}", self.name, OF_CONSUMERS.join(", ")))
    }

    /// Returns whether the figure is one of consumers only.
    pub(super) fn is_of_consumers(&self) -> bool {
        ["consumed", "consumed per second", "repeated", "holes", "gaps"].contains(&self.name)
    }

    /// Checks that the figure is known while a phase runs.
    ///
    /// # Errors
    /// It is known only at the end; the error lists those that are known before.
    pub(super) fn check_live(&self) -> Result<(), String> {
        if LIVE.contains(&self.name) {
            return Ok(());
        }
        Err(format!(
            "{} is known only at the end, so it cannot end the run; `abort` may have {}",
            self.name,
            LIVE.join(", ")
        ))
    }
}
