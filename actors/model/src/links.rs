//! `self` links.
//!
//! They occur in responses *and* in notifications, which actors encode. So the address of a request travels with it,
//! and only this file turns ids into addresses.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::id::{BinaryId, EventId, GroupId, ManagedObjectId, ModuleId, TenantId};

/// The characters that are encoded in a path segment from a user: all but the unreserved characters of RFC 3986 and
/// `@`, which is valid there and occurs in many user names.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// Builds links below the address that a client used, for example `http://127.0.0.1:8080` (C-15).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Links {
    base: Arc<str>,
}

impl Links {
    /// Creates the links of an address. `base` is scheme and authority, without a trailing slash.
    pub fn new(base: impl Into<Arc<str>>) -> Self {
        Self { base: base.into() }
    }

    /// Returns scheme and authority.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the authority.
    pub fn authority(&self) -> &str {
        self.base.split_once("://").map_or(&*self.base, |(_, authority)| authority)
    }

    /// Returns the address at which people log in to the console with the identity provider of their tenant.
    pub fn console_sso(&self) -> String {
        format!("{}/console/sso", self.base)
    }

    /// Returns the link of an alarm; for one that was not stored, it ends in `/null` (M-02, A-09).
    pub fn alarm(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/alarm/alarms/{id}", self.base),
            None => format!("{}/alarm/alarms/null", self.base),
        }
    }

    /// Returns the link of a measurement; for one that was not stored, it ends in `/null` (M-02).
    pub fn measurement(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/measurement/measurements/{id}", self.base),
            None => format!("{}/measurement/measurements/null", self.base),
        }
    }

    /// Returns the link of an event; for one that was not stored, it ends in `/null`.
    pub fn event(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/event/events/{id}", self.base),
            None => format!("{}/event/events/null", self.base),
        }
    }

    /// Returns the link of the file of an event; for one that was not stored, it ends in `/null`.
    pub fn event_binary(&self, event: EventId, binary: Option<BinaryId>) -> String {
        match binary {
            Some(_) => format!("{}/event/events/{event}/binaries", self.base),
            None => format!("{}/event/events/{event}/binaries/null", self.base),
        }
    }

    /// Returns the link of an operation; for one that was not stored, it ends in `/null` (M-02).
    pub fn operation(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/devicecontrol/operations/{id}", self.base),
            None => format!("{}/devicecontrol/operations/null", self.base),
        }
    }

    /// Returns the link of a bulk operation; for one that was not stored, it ends in `/null` (M-02).
    pub fn bulk_operation(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/devicecontrol/bulkoperations/{id}", self.base),
            None => format!("{}/devicecontrol/bulkoperations/null", self.base),
        }
    }

    /// Returns the link of a registration request, whose id may contain any character (N-05).
    pub fn new_device_request(&self, id: &str) -> String {
        format!("{}/devicecontrol/newDeviceRequests/{}", self.base, segment(id))
    }

    /// Returns the link of the credentials of a device, whose id may contain any character.
    pub fn device_credentials(&self, id: &str) -> String {
        format!("{}/devicecontrol/deviceCredentials/{}", self.base, segment(id))
    }

    /// Returns the link of a managed object; for one that was not stored, it ends in `/null`.
    pub fn managed_object(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/inventory/managedObjects/{id}", self.base),
            None => format!("{}/inventory/managedObjects/null", self.base),
        }
    }

    /// Returns the link of a child of a managed object; `children` is the name of its block.
    pub fn child(&self, parent: ManagedObjectId, children: &str, child: Option<ManagedObjectId>) -> String {
        let parent = self.managed_object(Some(parent));
        match child {
            Some(child) => format!("{parent}/{children}/{child}"),
            None => format!("{parent}/{children}/null"),
        }
    }

    /// Returns the link of an external id, whose type and value may contain any character; for one that was not stored,
    /// it ends in `/null`.
    pub fn external_id(&self, pair: Option<(&str, &str)>) -> String {
        match pair {
            Some((type_, value)) => {
                format!("{}/identity/externalIds/{}/{}", self.base, segment(type_), segment(value))
            }
            None => format!("{}/identity/externalIds/null", self.base),
        }
    }

    /// Returns the link of the external ids of a managed object.
    pub fn external_ids(&self, object: impl Display) -> String {
        format!("{}/identity/globalIds/{object}/externalIds", self.base)
    }

    /// Returns the link of an audit record; for one that was not stored, it ends in `/null`.
    pub fn audit_record(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/audit/auditRecords/{id}", self.base),
            None => format!("{}/audit/auditRecords/null", self.base),
        }
    }

    /// Returns the link of an item below a path, with any text as its id.
    pub fn item(&self, path: &str, id: &str) -> String {
        format!("{}{path}/{}", self.base, segment(id))
    }

    /// Returns the link of a tenant.
    pub fn tenant(&self, id: impl Display) -> String {
        format!("{}/tenant/tenants/{id}", self.base)
    }

    /// Returns the link of a certificate authority of a tenant.
    pub fn trusted_certificate(&self, tenant: &TenantId, fingerprint: &str) -> String {
        format!("{}/trusted-certificates/{fingerprint}", self.tenant(tenant))
    }

    /// Returns the link of a certificate of a device.
    pub fn device_certificate(&self, tenant: &TenantId, fingerprint: &str) -> String {
        format!("{}/device-certificates/{fingerprint}", self.tenant(tenant))
    }

    /// Returns the link of an application.
    pub fn application(&self, id: impl Display) -> String {
        format!("{}/application/applications/{id}", self.base)
    }

    /// Returns the link of the subscription of a tenant to an application (Z-03).
    pub fn subscription(&self, tenant: &TenantId, application: impl Display) -> String {
        format!("{}/applications/{application}", self.tenant(tenant))
    }

    /// Returns the link of a client of the access-token service.
    pub fn token_client(&self, id: &str) -> String {
        self.item("/application/tokenClients", id)
    }

    /// Returns the link of the access tokens of the current user.
    pub fn user_tokens(&self) -> String {
        format!("{}/user/currentUser/tokens", self.base)
    }

    /// Returns the link of an access token of the current user.
    pub fn user_token(&self, id: &str) -> String {
        self.item("/user/currentUser/tokens", id)
    }

    /// Returns the link of the second factor of the current user.
    pub fn second_factor(&self) -> String {
        format!("{}/user/currentUser/totpSecret", self.base)
    }

    /// Returns the link of an event-processing module.
    pub fn module(&self, id: ModuleId) -> String {
        format!("{}/cep/modules/{id}", self.base)
    }

    /// Returns the link of a tenant option (Z-04).
    pub fn tenant_option(&self, category: &str, key: &str) -> String {
        format!("{}/tenant/options/{}/{}", self.base, segment(category), segment(key))
    }

    /// Returns the link of a system option (Z-04).
    pub fn system_option(&self, category: &str, key: &str) -> String {
        format!("{}/tenant/system/options/{}/{}", self.base, segment(category), segment(key))
    }

    /// Returns the link of the audit records, which is the `history` of an alarm.
    pub fn audit_records(&self) -> String {
        format!("{}/audit/auditRecords", self.base)
    }
}

/// The links of users, groups and roles, whose names come from people and are encoded.
impl Links {
    /// Returns the link of a user.
    pub fn user(&self, tenant: &TenantId, name: &str) -> String {
        format!("{}/user/{tenant}/users/{}", self.base, segment(name))
    }

    /// Returns the link of a group.
    pub fn group(&self, tenant: &TenantId, id: GroupId) -> String {
        format!("{}/user/{tenant}/groups/{id}", self.base)
    }

    /// Returns the link of the membership of a user in a group.
    pub fn group_member(&self, tenant: &TenantId, id: GroupId, user: &str) -> String {
        format!("{}/users/{}", self.group(tenant, id), segment(user))
    }

    /// Returns the link of a role.
    pub fn role(&self, name: &str) -> String {
        format!("{}/user/roles/{name}", self.base)
    }
}

/// Encodes a text as one segment of a path, so that a user's text cannot lead to another path.
pub fn segment(text: &str) -> impl Display + '_ {
    utf8_percent_encode(text, SEGMENT)
}

/// A value together with the links of its representation; this is what gets serialized.
#[derive(Debug, Clone, Copy)]
pub struct Linked<'a, T> {
    /// The value.
    pub value: &'a T,
    /// The address of its links.
    pub links: &'a Links,
}

/// Encodes values with their links as the only member of a JSON object.
pub fn encode_members<T>(name: &str, values: &[Arc<T>], links: &Links) -> Vec<u8>
where
    for<'a> Linked<'a, T>: Serialize,
{
    let members: Vec<_> = values.iter().map(|value| Linked { value: &**value, links }).collect();
    serde_json::to_vec(&BTreeMap::from([(name, members)]))
        .expect("writing to memory does not fail and all keys are strings")
}

/// Encodes a value with its links as JSON.
pub fn encode<'a, T>(value: &'a T, links: &'a Links) -> Vec<u8>
where
    Linked<'a, T>: Serialize,
{
    serde_json::to_vec(&Linked { value, links })
        .expect("writing to memory does not fail and all keys are strings")
}
