//! Registration of template sets (22.2).

use super::engine::Engine;

/// Registers the sets of a body, each whole or not at all (S-13, S-14).
pub(super) async fn register(_engine: &Engine<'_>, _body: &[u8]) -> String {
    String::new()
}
