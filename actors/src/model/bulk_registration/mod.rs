//! Bulk registration: rows of a file that ask for device users, devices and registration requests (docs/rules.md#bulk-registration;
//! N-10 to N-17).
//!
//! A [`Header`] says what the columns are for; with it the cells of a line become a [`Row`]. How bytes become cells is the
//! edge's business.

mod header;
mod properties;
mod row;

use serde::Serialize;

pub use header::{Header, separator};

use crate::error::Error;
use crate::model::external_id::NewExternalId;
use crate::model::id::TenantId;
use crate::model::managed_object::NewManagedObject;
use crate::model::new_device_request::DeviceId;

/// Groups of one path, from the first to the last; nobody nests deeper.
pub const MAX_PATH: usize = 32;
/// Columns of one file.
pub const MAX_COLUMNS: usize = 4096;

/// One line of the file behind the header.
#[derive(Debug)]
pub struct Row {
    /// Which it is.
    pub place: Place,
    /// What it asks for, or why it cannot be carried out.
    pub asks: Result<Asked, Error>,
}

/// What a row is called in the result.
#[derive(Debug, Clone)]
pub struct Place {
    /// The line of the file where the row begins; the header is usually in line 1.
    pub line: u64,
    /// The value of ID, where the row has one.
    pub id: Option<String>,
    /// The tenant it is meant for, as it is written.
    pub tenant: String,
}

/// What a row asks for.
#[derive(Debug)]
pub enum Asked {
    /// A user, and perhaps a device of it (N-12).
    Device(Box<NewDevice>),
    /// A registration request that waits for its device (N-11).
    Request(NewRequest),
}

/// A device that brings its own password (N-12).
#[derive(Debug)]
pub struct NewDevice {
    /// Where it is registered.
    pub tenant: TenantId,
    /// `device_<ID>`.
    pub user: String,
    /// The password in clear.
    pub password: Password,
    /// The managed object, where TYPE and NAME are given.
    pub object: Option<NewDeviceObject>,
}

/// A password that is not shown.
pub struct Password(pub String);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// The managed object of a device that is registered.
#[derive(Debug)]
pub struct NewDeviceObject {
    /// Type, name and fragments.
    pub object: NewManagedObject,
    /// What it is known by; each once, the one of ID first.
    pub external_ids: Vec<NewExternalId>,
    /// Names of the groups it is put in, the last one directly; empty for none (N-17).
    pub path: Vec<String>,
}

/// A registration request of a device that is told its password later (N-11).
#[derive(Debug)]
pub struct NewRequest {
    /// The device.
    pub id: DeviceId,
    /// Names of the groups it is put in; empty for none.
    pub path: Vec<String>,
}

/// A row that failed, as the result lists it (N-15).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure<'a> {
    bulk_new_device_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<&'a str>,
    failure_reason: String,
    line: String,
}

/// A row that gave an existing device another password, as the result lists it (N-13).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialUpdate<'a> {
    bulk_new_device_status: &'static str,
    device_id: &'a str,
}

impl Place {
    /// As the result tells of it when it failed. `line` is the text `DeviceInfo{…}` that N-15 gives, for clients read it as a
    /// string; so the number of the line stands in the reason.
    pub fn failed(&self, reason: &str) -> Failure<'_> {
        let id = self.id.as_deref().unwrap_or_default();
        Failure {
            bulk_new_device_status: "FAILED",
            device_id: self.id.as_deref(),
            failure_reason: format!("Line {}: {reason}", self.line),
            line: format!("DeviceInfo{{id='{id}', credentials='***', tenant='{}'}}", self.tenant),
        }
    }

    /// As the result tells of it when the device has another password now.
    pub fn updated(&self) -> CredentialUpdate<'_> {
        CredentialUpdate {
            bulk_new_device_status: "CREDENTIAL_UPDATED",
            device_id: self.id.as_deref().unwrap_or_default(),
        }
    }
}
