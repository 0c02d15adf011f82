//! Static responses: what operations look like to a device (23.2).

use serde_json::Value;

use crate::csv::line::Lines;
use crate::server::Edge;

/// Adds a line for each fragment of an operation that the static set knows, in ascending id (H-11). `serial` is the target's
/// (H-13).
pub(crate) fn write(_operation: &Value, _serial: &str, _edge: &Edge, _lines: &mut Lines) {}
