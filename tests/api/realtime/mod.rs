//! Notifications over Bayeux (docs/rules.md#real-time-notifications; B-01 to B-23).

mod acknowledgement;
mod buffer;
mod changed_rights;
mod connect;
mod endpoints;
mod errors;
mod families;
mod filters;
mod groups;
mod handshake;
mod keep_alive;
mod overflow;
mod permissions;
mod slow_clients;
pub(crate) mod snapshots;
mod subscribe;
mod units;
mod vanished_clients;

use crate::harness::prelude::*;
