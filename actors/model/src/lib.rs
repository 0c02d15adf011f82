//! The vocabulary of the platform: the nouns of the API, the messages of Bayeux, errors and limits. Plain data and
//! rules, without I/O, actors and SQL, so that every other crate may use it.
//!
//! Each noun has at most four types, with the same naming: `Alarm` (stored and returned), `NewAlarm` (POST body),
//! `AlarmPatch` (PUT body) and `AlarmFilter` (query parameters).

pub mod access;
pub mod account_limits;
pub mod alarm;
pub mod alarm_mapping;
pub mod application;
pub mod application_credentials;
pub mod application_settings;
pub mod audit_record;
pub mod availability;
pub mod bayeux;
pub mod binary;
pub mod body;
pub mod bulk_operation;
pub mod bulk_registration;
pub mod change;
pub mod children;
pub mod client_session;
pub mod device_credentials;
pub mod error;
pub mod event;
pub mod event_binary;
pub mod external_id;
pub mod fragment_name;
pub mod fragments;
pub mod group;
pub mod id;
pub mod input_stream;
pub mod inventory_query;
pub mod limits;
pub mod links;
pub mod managed_object;
pub mod manifest;
pub mod measurement;
pub mod module;
pub mod naming;
pub mod new_device_request;
pub mod operation;
pub mod operation_diagnosis;
pub mod origin;
pub mod page;
pub mod publication;
pub mod rate;
pub mod reference;
pub mod retention;
pub mod role;
pub mod service_address;
pub mod session_move;
pub mod statistics;
pub mod subscription;
pub mod tenant;
pub mod tenant_option;
pub mod timestamp;
pub mod token_client;
pub mod units;
pub mod usage;
pub mod user;
pub mod user_token;
