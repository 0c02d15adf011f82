//! The error of an expression.

use std::fmt;
use std::sync::Arc;

/// An error while a statement ran; its other events and the other statements go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub Arc<str>);

impl Fault {
    /// Creates a fault with a message for the author of the module.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
