//! The static set: rows that need no registered template (docs/rules.md#static-templates).

mod acting_device;
mod alarms;
mod arguments;
mod children;
mod completion;
mod device;
mod events;
mod json_object;
mod measurements;
mod operations;
mod profile;
mod queue;
pub(crate) mod responses;
pub(crate) mod serials;

pub(crate) use acting_device::ActingDevices;
pub(crate) use arguments::Arguments;

use std::cell::Cell;

use platform_actors::writes::PublicationTurn;
use platform_model::naming::naming;

use super::engine::Engine;
use super::line::Lines;
use super::refusal::Refusal;

/// A row of the static set.
pub(crate) struct Row<'r> {
    /// The engine that executes it.
    pub(crate) engine: &'r Engine<'r>,
    /// The values after its message id.
    pub(crate) arguments: Arguments<'r>,
    /// The turn of a row that overlaps other rows; the call that creates data takes it.
    pub(crate) turn: Cell<Option<PublicationTurn>>,
}

/// Returns the reserved X-Id of the static set (H-01).
pub(crate) fn x_id() -> String {
    naming().fragment("Static")
}

/// Returns whether a message id belongs to the static set (H-14).
pub(crate) fn is_known(id: u32) -> bool {
    matches!(
        id,
        100 | 101 | 105 | 107 | 110..=122 | 125 | 200 | 201 | 210..=212 | 301..=307 | 400..=402 | 407 | 500..=506
    )
}

/// Returns whether a row only creates a measurement or an event.
pub(crate) fn only_creates(id: u32) -> bool {
    matches!(id, 200 | 201 | 210..=212 | 400 | 401)
}

/// Executes a row; most rows have no response lines.
///
/// # Errors
/// Invalid arguments, and errors of calls (H-04).
pub(crate) async fn perform(id: u32, row: Row<'_>, lines: &mut Lines) -> Result<(), Refusal> {
    match id {
        200..=212 => measurements::perform(id, &row).await,
        // Rare rows are boxed, so that the future for a measurement stays small.
        121 => Box::pin(profile::perform(&row)).await,
        100..=125 => Box::pin(device::perform(id, &row, lines)).await,
        301..=307 => Box::pin(alarms::perform(id, &row)).await,
        400..=407 => Box::pin(events::perform(id, &row)).await,
        500..=506 => Box::pin(operations::perform(id, &row, lines)).await,
        _ => Err(Refusal::InvalidMessageId),
    }
}
