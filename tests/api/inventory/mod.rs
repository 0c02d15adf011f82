//! Managed objects (docs/rules.md#inventory; I-01 to I-16).

mod cascade;
mod children;
mod created_children;
mod lifecycle;
mod list;
mod notifications;
mod ownership;
mod parents;
mod permissions;
mod plans;
mod query;
mod query_model;
mod references;
mod visibility;

use crate::harness::prelude::*;
