//! `/cep/modules` (docs/rules.md#event-processing-modules; ).

mod deployment;
mod lease;
mod look_ups;
mod outputs;
mod reading;
mod requests;
mod switched_off;
mod writing;

use crate::harness::modules::{
    MODULES, counting, deploy, events, events_come, marking, measure, path_of, set_status, status,
};
use crate::harness::prelude::*;
