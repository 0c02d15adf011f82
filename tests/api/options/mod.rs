//! Tenant options and system options (Z-04 to Z-06).

mod category;
mod editable;
mod keys;
mod list;
mod secrets;
mod single;
mod system;

use crate::harness::prelude::*;
use crate::harness::tenants::management;

const OPTIONS: &str = "/tenant/options";

/// A complete body.
fn option_of(category: &str, key: &str, value: &str) -> Value {
    json!({"category": category, "key": key, "value": value})
}
