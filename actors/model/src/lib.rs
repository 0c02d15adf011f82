//! The vocabulary of the platform: the nouns of the API, the messages of Bayeux, errors and limits. Plain data and
//! rules, without I/O, actors and SQL, so that every other crate may use it.
//!
//! Each noun has at most four types, with the same naming: `Alarm` (stored and returned), `NewAlarm` (POST body),
//! `AlarmPatch` (PUT body) and `AlarmFilter` (query parameters).

pub mod access;
pub mod applications;
pub mod body;
pub mod data;
pub mod device_id;
pub mod devices;
pub mod error;
pub mod fragment_name;
pub mod fragments;
pub mod hex;
pub mod id;
pub mod idempotency;
pub mod limits;
pub mod links;
pub mod naming;
pub mod origin;
pub mod page;
pub mod precondition;
pub mod rate;
pub mod realtime;
pub mod role;
pub mod tenancy;
pub mod timestamp;
pub mod units;
pub mod users;
