//! Bulk registration: CSV files whose rows create device users, devices and registration requests
//! (docs/rules.md#bulk-registration; N-10 to N-17).
//!
//! A [`Header`] defines the columns, and with it the cells of a line become a [`Row`]. The HTTP crate splits the file
//! into cells.

mod header;
mod properties;
mod row;

use serde::Serialize;

pub use header::{Header, named_separator, separator};

use crate::device_id::DeviceId;
use crate::devices::external_id::NewExternalId;
use crate::devices::managed_object::NewManagedObject;
use crate::error::Error;
use crate::id::TenantId;

/// The maximum number of groups in a path; no hierarchy is deeper.
pub const MAX_PATH: usize = 32;
/// The maximum number of columns of a file.
pub const MAX_COLUMNS: usize = 4096;

/// One line of the file after the header.
#[derive(Debug)]
pub struct Row {
    /// The identification of the row in the result.
    pub place: RowIdentity,
    /// The request of the row, or the reason why it cannot be processed.
    pub asks: Result<RowRequest, Error>,
}

/// The identification of a row in the result.
#[derive(Debug, Clone)]
pub struct RowIdentity {
    /// The line of the file where the row begins; the header is usually in line 1.
    pub line: u64,
    /// The value of ID, where the row has one.
    pub id: Option<String>,
    /// The tenant of the row as the file names it.
    pub tenant: String,
}

/// The request of a row.
#[derive(Debug)]
pub enum RowRequest {
    /// A user and, optionally, a device that it owns (N-12).
    Device(Box<NewDevice>),
    /// A registration request, which waits for its device (N-11).
    Request(NewRequest),
}

/// A device that has its own password (N-12), or logs in with a certificate (N-12b).
#[derive(Debug)]
pub struct NewDevice {
    /// The tenant in which the device is registered.
    pub tenant: TenantId,
    /// `device_<ID>`.
    pub user: String,
    /// The password in plain text; `None` for a device that logs in with a certificate.
    pub password: Option<Password>,
    /// The managed object, if TYPE and NAME are given.
    pub object: Option<NewDeviceObject>,
}

/// A password that is hidden in debug output.
pub struct Password(pub String);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// The managed object of a device to register.
#[derive(Debug)]
pub struct NewDeviceObject {
    /// Type, name and fragments.
    pub object: NewManagedObject,
    /// The external ids, each once, the one of ID first.
    pub external_ids: Vec<NewExternalId>,
    /// The names of the groups that contain it, the direct group last; empty for no group (N-17).
    pub path: Vec<String>,
}

/// A registration request of a device that receives its password later (N-11).
#[derive(Debug)]
pub struct NewRequest {
    /// The device.
    pub id: DeviceId,
    /// The names of the groups that contain it; empty for no group.
    pub path: Vec<String>,
}

/// A failed row, as the result lists it (N-15).
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

impl RowIdentity {
    /// Returns the entry of a failed row in the result. `line` is the text `DeviceInfo{…}` of N-15, because clients
    /// read it as a string; so the line number is part of the reason.
    pub fn failed(&self, reason: &str) -> Failure<'_> {
        let id = self.id.as_deref().unwrap_or_default();
        Failure {
            bulk_new_device_status: "FAILED",
            device_id: self.id.as_deref(),
            failure_reason: format!("Line {}: {reason}", self.line),
            line: format!("DeviceInfo{{id='{id}', credentials='***', tenant='{}'}}", self.tenant),
        }
    }

    /// Returns the entry of a device that has another password now.
    pub fn updated(&self) -> CredentialUpdate<'_> {
        CredentialUpdate {
            bulk_new_device_status: "CREDENTIAL_UPDATED",
            device_id: self.id.as_deref().unwrap_or_default(),
        }
    }
}
