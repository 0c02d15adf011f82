//! `self` links.
//!
//! They stand in answers *and* in notifications, which are encoded once behind the edge; so the address a request
//! came by travels with it, and this is the one place that turns ids into addresses.

use std::fmt::Display;
use std::sync::Arc;

use serde::Serialize;

/// Builds links below the address a client used, e.g. `http://127.0.0.1:8080` (C-15).
#[derive(Debug, Clone)]
pub struct Links {
    base: Arc<str>,
}

impl Links {
    /// `base` is scheme and authority, without a trailing slash.
    pub fn new(base: impl Into<Arc<str>>) -> Self {
        Self { base: base.into() }
    }

    /// Scheme and authority.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Link of an alarm; of one that was not stored it ends in `/null` (M-02, A-09).
    pub fn alarm(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/alarm/alarms/{id}", self.base),
            None => format!("{}/alarm/alarms/null", self.base),
        }
    }

    /// Link of a managed object; of one that was not stored it ends in `/null`.
    pub fn managed_object(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/inventory/managedObjects/{id}", self.base),
            None => format!("{}/inventory/managedObjects/null", self.base),
        }
    }

    /// Link of a tenant.
    pub fn tenant(&self, id: impl Display) -> String {
        format!("{}/tenant/tenants/{id}", self.base)
    }

    /// Link of a tenant option (Z-04).
    pub fn tenant_option(&self, category: &str, key: &str) -> String {
        format!("{}/tenant/options/{}/{}", self.base, segment(category), segment(key))
    }

    /// Link of a system option (Z-04).
    pub fn system_option(&self, category: &str, key: &str) -> String {
        format!("{}/tenant/system/options/{}/{}", self.base, segment(category), segment(key))
    }

    /// Link of the audit records, the `history` of an alarm.
    pub fn audit_records(&self) -> String {
        format!("{}/audit/auditRecords", self.base)
    }
}

/// A text as one segment of a path: what users chose must not lead elsewhere.
pub fn segment(text: &str) -> impl Display + '_ {
    const KEPT: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    percent_encoding::utf8_percent_encode(text, KEPT)
}

/// A value together with the links it is shown with; this is what gets serialised.
#[derive(Debug, Clone, Copy)]
pub struct Linked<'a, T> {
    /// What is shown.
    pub value: &'a T,
    /// Where its links point.
    pub links: &'a Links,
}

/// Encodes a value with its links as JSON.
pub fn encode<'a, T>(value: &'a T, links: &'a Links) -> Vec<u8>
where
    Linked<'a, T>: Serialize,
{
    serde_json::to_vec(&Linked { value, links })
        .expect("writing to memory does not fail and all keys are strings")
}
