//! The kinds of objects that devices create.

use clap::ValueEnum;
use serde::Serialize;

/// The kind of objects that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ObjectKind {
    /// Alarms
    Alarm,
    /// Events
    Event,
    /// Measurements, some of them in collections
    Measurement,
}
