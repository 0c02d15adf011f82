//! `self` links.
//!
//! They stand in answers *and* in notifications, which are encoded once behind the edge; so the address a request
//! came by travels with it, and this is the one place that turns ids into addresses.

use std::fmt::Display;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::model::external_id::NewExternalId;
use crate::model::group::GroupId;
use crate::model::id::{BinaryId, EventId, ManagedObjectId, ModuleId, TenantId};
use crate::model::reference::LinkKind;
use crate::model::role::{RoleHolder, RoleReference};

/// What is encoded in a path segment that a user chose: all but the unreserved characters of RFC 3986, and `@`, which is
/// allowed there and stands in many user names.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

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

    /// Link of a measurement; of one that was not stored it ends in `/null` (M-02).
    pub fn measurement(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/measurement/measurements/{id}", self.base),
            None => format!("{}/measurement/measurements/null", self.base),
        }
    }

    /// Link of an event; of one that was not stored it ends in `/null`.
    pub fn event(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/event/events/{id}", self.base),
            None => format!("{}/event/events/null", self.base),
        }
    }

    /// Link of the file of an event; of one that was not stored it ends in `/null`.
    pub fn event_binary(&self, event: EventId, binary: Option<BinaryId>) -> String {
        match binary {
            Some(_) => format!("{}/event/events/{event}/binaries", self.base),
            None => format!("{}/event/events/{event}/binaries/null", self.base),
        }
    }

    /// Link of an operation; of one that was not stored it ends in `/null` (M-02).
    pub fn operation(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/devicecontrol/operations/{id}", self.base),
            None => format!("{}/devicecontrol/operations/null", self.base),
        }
    }

    /// Link of a bulk operation; of one that was not stored it ends in `/null` (M-02).
    pub fn bulk_operation(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/devicecontrol/bulkoperations/{id}", self.base),
            None => format!("{}/devicecontrol/bulkoperations/null", self.base),
        }
    }

    /// Link of a registration request, whose id may hold anything (N-05).
    pub fn new_device_request(&self, id: &str) -> String {
        format!("{}/devicecontrol/newDeviceRequests/{}", self.base, segment(id))
    }

    /// Link of the credentials of a device, whose id may hold anything.
    pub fn device_credentials(&self, id: &str) -> String {
        format!("{}/devicecontrol/deviceCredentials/{}", self.base, segment(id))
    }

    /// Link of a managed object; of one that was not stored it ends in `/null`.
    pub fn managed_object(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/inventory/managedObjects/{id}", self.base),
            None => format!("{}/inventory/managedObjects/null", self.base),
        }
    }

    /// Link of a child of a managed object.
    pub fn child(&self, parent: ManagedObjectId, kind: LinkKind, child: Option<ManagedObjectId>) -> String {
        let parent = self.managed_object(Some(parent));
        match child {
            Some(child) => format!("{parent}/{}/{child}", kind.children()),
            None => format!("{parent}/{}/null", kind.children()),
        }
    }

    /// Link of an external id, whose type and value may hold anything; of one that was not stored it ends in `/null`.
    pub fn external_id(&self, pair: Option<&NewExternalId>) -> String {
        match pair {
            Some(pair) => format!(
                "{}/identity/externalIds/{}/{}",
                self.base,
                segment(&pair.type_),
                segment(&pair.value)
            ),
            None => format!("{}/identity/externalIds/null", self.base),
        }
    }

    /// Link of the external ids of a managed object.
    pub fn external_ids(&self, object: impl Display) -> String {
        format!("{}/identity/globalIds/{object}/externalIds", self.base)
    }

    /// Link of an audit record; of one that was not stored it ends in `/null`.
    pub fn audit_record(&self, id: Option<impl Display>) -> String {
        match id {
            Some(id) => format!("{}/audit/auditRecords/{id}", self.base),
            None => format!("{}/audit/auditRecords/null", self.base),
        }
    }

    /// Link of what a path and an id name together, where the id is any text.
    pub fn item(&self, path: &str, id: &str) -> String {
        format!("{}{path}/{}", self.base, segment(id))
    }

    /// Link of a tenant.
    pub fn tenant(&self, id: impl Display) -> String {
        format!("{}/tenant/tenants/{id}", self.base)
    }

    /// Link of an application.
    pub fn application(&self, id: impl Display) -> String {
        format!("{}/application/applications/{id}", self.base)
    }

    /// Link of the subscription of a tenant to an application (Z-03).
    pub fn subscription(&self, tenant: &TenantId, application: impl Display) -> String {
        format!("{}/applications/{application}", self.tenant(tenant))
    }

    /// Link of a client of the access-token service.
    pub fn token_client(&self, id: &str) -> String {
        self.item("/application/tokenClients", id)
    }

    /// Link of an event-processing module.
    pub fn module(&self, id: ModuleId) -> String {
        format!("{}/cep/modules/{id}", self.base)
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

/// Users, groups and roles; names come from people and are encoded.
impl Links {
    /// Link of a user.
    pub fn user(&self, tenant: &TenantId, name: &str) -> String {
        format!("{}/user/{tenant}/users/{}", self.base, segment(name))
    }

    /// Link of a group.
    pub fn group(&self, tenant: &TenantId, id: GroupId) -> String {
        format!("{}/user/{tenant}/groups/{id}", self.base)
    }

    /// Link of the membership of a user in a group.
    pub fn group_member(&self, tenant: &TenantId, id: GroupId, user: &str) -> String {
        format!("{}/users/{}", self.group(tenant, id), segment(user))
    }

    /// Link of a role.
    pub fn role(&self, name: &str) -> String {
        format!("{}/user/roles/{name}", self.base)
    }

    /// Link of a role that a user or a group holds.
    pub fn role_reference(&self, reference: &RoleReference) -> String {
        let holder = match &reference.holder {
            RoleHolder::User(tenant, name) => self.user(tenant, name),
            RoleHolder::Group(tenant, id) => self.group(tenant, *id),
        };
        format!("{holder}/roles/{}", reference.role.name)
    }
}

/// A text as one segment of a path: what users chose must not lead elsewhere.
pub fn segment(text: &str) -> impl Display + '_ {
    utf8_percent_encode(text, SEGMENT)
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
