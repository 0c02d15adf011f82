//! The records that this server makes about the notifications of tenants while traces run (B-37).
//!
//! The hub marks the notification of a change that a trace concerns, so a session looks at a field of the notification,
//! and at nothing else, to know whether it has to record what becomes of it. Everything else that is recorded is rare.
//! Without a trace, a publication costs one relaxed load.

mod recorder;

pub(crate) use recorder::TraceRecorder;
