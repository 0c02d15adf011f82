//! The setting `--client-compatibility`.

/// Whether all deviations for existing clients are active (C-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientCompatibility(pub bool);

impl ClientCompatibility {
    /// Returns whether the deviations are active.
    pub fn is_on(self) -> bool {
        self.0
    }
}
