//! Registration requests for new devices (docs/rules.md#device-registration; N-01 to N-07).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, id_text, missing};
use crate::device_id::DeviceId;
use crate::error::{Error, Result};
use crate::id::{ManagedObjectId, TenantId};
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// The maximum number of bytes of a member that is read before it is rejected.
const MAX_MEMBER: usize = 4 << 10;

/// The status of a registration request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RequestStatus {
    /// The device has not polled for credentials yet.
    WaitingForConnection,
    /// The device polled, and a user has to accept it.
    PendingAcceptance,
    /// The device gets its credentials at its next poll.
    Accepted,
}

impl RequestStatus {
    /// Parses the upper-case word.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "WAITING_FOR_CONNECTION" => Ok(Self::WaitingForConnection),
            "PENDING_ACCEPTANCE" => Ok(Self::PendingAcceptance),
            "ACCEPTED" => Ok(Self::Accepted),
            _ => {
                let allowed = "WAITING_FOR_CONNECTION, PENDING_ACCEPTANCE, ACCEPTED";
                Err(Error::invalid_value("status", word, allowed))
            }
        }
    }

    /// Parses the body of `PUT /devicecontrol/newDeviceRequests/<id>`; members other than `status` are ignored (N-04).
    ///
    /// # Errors
    /// `Invalid` for a missing status (N-03) or an invalid one.
    pub fn parse_patch(mut body: Body) -> Result<Self> {
        let word = body.take_text("status", MAX_MEMBER)?.ok_or_else(|| missing(&[("status", true)]))?;
        Self::parse(&word)
    }

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WaitingForConnection => "WAITING_FOR_CONNECTION",
            Self::PendingAcceptance => "PENDING_ACCEPTANCE",
            Self::Accepted => "ACCEPTED",
        }
    }

    /// Ensures that a user may change the status to `next`: it may stay or advance, but not go back (N-03).
    ///
    /// # Errors
    /// `Invalid` names both statuses.
    pub fn ensure_may_become(self, next: Self) -> Result<()> {
        if self as u8 <= next as u8 {
            Ok(())
        } else {
            Err(Error::Invalid(format!(
                "Invalid value of 'status': {}; a request that is {} cannot go back",
                next.as_str(),
                self.as_str()
            )))
        }
    }
}

/// A registration request as it is stored and returned.
#[derive(Debug, Clone)]
pub struct NewDeviceRequest {
    /// The tenant in which the device is registered.
    pub tenant: TenantId,
    /// The device.
    pub id: DeviceId,
    /// The status of the request.
    pub status: RequestStatus,
    /// The user who created the request.
    pub owner: String,
    /// The time when the request was created.
    pub creation_time: Timestamp,
    /// The group in which the device is placed (N-04).
    pub group: Option<ManagedObjectId>,
    /// A number that rises in the order of creation. It is not shown.
    pub number: i64,
}

impl Serialize for Linked<'_, NewDeviceRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: request, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.new_device_request(request.id.as_str()))?;
        map.serialize_entry("id", &request.id)?;
        map.serialize_entry("status", &request.status)?;
        map.serialize_entry("tenantId", request.tenant.as_str())?;
        map.serialize_entry("owner", &request.owner)?;
        map.serialize_entry("creationTime", &request.creation_time)?;
        if let Some(group) = &request.group {
            map.serialize_entry("groupId", group)?;
        }
        map.end()
    }
}

/// The body of `POST /devicecontrol/newDeviceRequests`.
#[derive(Debug, Clone)]
pub struct DeviceToRegister {
    /// The device.
    pub id: DeviceId,
    /// See [`NewDeviceRequest::group`].
    pub group: Option<ManagedObjectId>,
    /// The password with which the device gets its first certificate (C-30).
    pub one_time_password: Option<String>,
}

impl DeviceToRegister {
    /// Parses the body of a POST; unknown members are ignored (N-04).
    ///
    /// # Errors
    /// `Invalid` when `id` is missing; otherwise it names the invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let id = device_id(&mut body)?;
        let group = body.take("groupId").map(|raw| group_id(&raw)).transpose()?;
        let one_time_password = body.take_text("oneTimePassword", MAX_MEMBER)?;
        if let Some(password) = &one_time_password
            && !((8..=128).contains(&password.len()) && password.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let allowed = "8 to 128 printable ASCII characters without spaces";
            return Err(Error::Invalid(format!("Invalid value of 'oneTimePassword'; allowed: {allowed}")));
        }
        Ok(Self { id, group, one_time_password })
    }
}

/// Parses the member `id` of a body: the device to register, or the device that polls for its credentials.
///
/// # Errors
/// `Invalid` when it is missing or invalid.
pub fn device_id(body: &mut Body) -> Result<DeviceId> {
    let id = body.take_text("id", MAX_MEMBER)?.ok_or_else(|| missing(&[("id", true)]))?;
    DeviceId::parse(&id)
}

/// Parses `groupId`, a string or a number (C-13).
fn group_id(raw: &RawValue) -> Result<ManagedObjectId> {
    let id = id_text("groupId", raw)?;
    ManagedObjectId::parse(&id).map_err(|_| unknown_group(id))
}

/// Returns the error for a group that does not exist.
pub fn unknown_group(id: impl std::fmt::Display) -> Error {
    Error::invalid_value("groupId", id, "the id of an existing managed object")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> Body {
        Body::parse(json.as_bytes()).expect("json")
    }

    #[test]
    fn status_goes_forward_only() {
        use RequestStatus::{Accepted, PendingAcceptance, WaitingForConnection};
        let all = [WaitingForConnection, PendingAcceptance, Accepted];
        for (n, from) in all.into_iter().enumerate() {
            for (m, to) in all.into_iter().enumerate() {
                assert_eq!(from.ensure_may_become(to).is_ok(), n <= m, "{from:?} to {to:?}");
            }
            assert_eq!(RequestStatus::parse(from.as_str()).expect("its own word"), from);
        }
    }

    #[test]
    fn post_takes_id_and_group_and_ignores_the_rest() {
        let new = DeviceToRegister::parse(body(r#"{"id":"a","groupId":"7","status":"ACCEPTED","owner":1}"#));
        let new = new.expect("valid");
        assert_eq!((new.id.as_str(), new.group), ("a", Some(ManagedObjectId(7))));
        for json in [
            r#"{}"#,
            r#"{"id":null}"#,
            r#"{"id":1}"#,
            r#"{"id":"a","groupId":"x"}"#,
            r#"{"id":"a","groupId":{}}"#,
        ] {
            assert!(matches!(DeviceToRegister::parse(body(json)), Err(Error::Invalid(_))), "{json}");
        }
    }
}
