//! `/platform` and the entry resources (docs/rules.md#bodies-and-media-types; C-14).

mod resources;
mod roles;
mod templates;

use crate::harness::prelude::*;

/// An entry resource without its `self` and with `<base>` for the address of the server.
fn shown(entry: &Value, base: &str) -> Value {
    crate::harness::redacted(&crate::harness::without(entry, &["self"]), &[(base, "<base>")])
}
