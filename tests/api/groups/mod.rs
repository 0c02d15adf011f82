//! Groups (docs/rules.md#users-groups-and-roles; U-01, U-02, U-10).

mod defaults;
mod lifecycle;
mod members;

use crate::harness::prelude::*;

/// The groups of tenant `main`.
const GROUPS: &str = "/user/<tenant>/groups";
