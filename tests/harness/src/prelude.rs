//! The names that most tests use. A noun imports them once, in its `mod.rs`, and its files import `super::*`.

pub use std::time::{Duration, Instant};

pub use futures_util::future::join_all;
pub use serde_json::{Value, json};

pub use crate::archive::{Entry, LINK, archive, end_of_archive, form, service_archive, upload, web_archive};
pub use crate::bayeux::{REALTIME, Session, notifications, reply};
pub use crate::cluster::Cluster;
pub use crate::json::{SERVER_MEMBERS, ids, member_texts, redacted, without};
pub use crate::postgres::{TenantData, TestDatabase};
pub use crate::private_postgres::PrivatePostgres;
pub use crate::program::{
    POSTGRES_PROGRAMS, Program, free_port, other_programs_are_required, place_program, postgres_programs,
    remove_settings, run, scratch, scratch_with_data,
};
pub use crate::raw::{RawConnection, until_the_server_knows};
pub use crate::rest::{
    ALARMS, Caller, EVENTS, MEASUREMENTS, MEDIA, OBJECTS, Request, Response, alarm_of, event_of,
    measurement_of, token,
};
pub use crate::server::{ADMIN_PASSWORD, BOOTSTRAP_PASSWORD, TestServer, runs_at_two_servers};
pub use crate::table::check_rows;
pub use crate::websocket::{Socket, connect, handshake, subscribe};
pub use crate::{PATIENCE, eventually, eventually_within, soon, until, until_within, within};
