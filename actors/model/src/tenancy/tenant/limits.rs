//! The limits of a tenant: its quotas and rates, their origins, and its usage (Z-20).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Tenant, limit_values::LimitValues};
use crate::body::Body;
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::links::{Linked, Links};

/// The largest value of a limit: the largest integer that every JSON parser reads exactly.
const MAX_VALUE: u64 = (1 << 53) - 1;

/// A kind of limit of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TenantLimit {
    /// The average requests per second; further ones get 429.
    RequestsPerSecond,
    /// The requests that may come at once after a pause.
    RequestBurst,
    /// The long polls that are held.
    HeldPolls,
    /// The open WebSockets.
    WebSockets,
    /// The sessions for notifications.
    Sessions,
    /// The managed objects that are devices.
    Devices,
    /// The bytes that its data occupies in the database.
    StoredBytes,
    /// The event-processing modules.
    Modules,
    /// The bytes of unread responses and incomplete bodies; requests that exceed them get 429.
    UnreadBytes,
    /// The milliseconds of computing time of its event-processing modules per second; further events wait.
    ModuleMillisPerSecond,
    /// The bytes per second that pass to other servers without being stored; further writes of this kind get 429.
    TransientBytesPerSecond,
    /// The tenants that it created and that exist.
    SubTenants,
    /// The consumers of notifications.
    Consumers,
    /// The largest backlog that one of its consumers may have, in bytes.
    JournalBytes,
}

impl TenantLimit {
    /// All limits, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::RequestsPerSecond,
        Self::RequestBurst,
        Self::HeldPolls,
        Self::WebSockets,
        Self::Sessions,
        Self::Devices,
        Self::StoredBytes,
        Self::Modules,
        Self::UnreadBytes,
        Self::ModuleMillisPerSecond,
        Self::TransientBytesPerSecond,
        Self::SubTenants,
        Self::Consumers,
        Self::JournalBytes,
    ];

    /// Returns the name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requestsPerSecond",
            Self::RequestBurst => "requestBurst",
            Self::HeldPolls => "heldPolls",
            Self::WebSockets => "webSockets",
            Self::Sessions => "sessions",
            Self::Devices => "devices",
            Self::StoredBytes => "storedBytes",
            Self::Modules => "modules",
            Self::UnreadBytes => "unreadBytes",
            Self::ModuleMillisPerSecond => "moduleMillisPerSecond",
            Self::TransientBytesPerSecond => "transientBytesPerSecond",
            Self::SubTenants => "subTenants",
            Self::Consumers => "consumers",
            Self::JournalBytes => "journalBytes",
        }
    }

    /// Finds the limit with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.as_str() == name)
    }

    /// Returns the index of the limit in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the smallest value: a rate of 0 would lock a tenant out, so that it could not even read its limits.
    fn least(self) -> u64 {
        match self {
            Self::RequestsPerSecond | Self::RequestBurst | Self::ModuleMillisPerSecond => 1,
            Self::UnreadBytes | Self::JournalBytes => 64 << 10,
            Self::TransientBytesPerSecond => 1 << 10,
            _ => 0,
        }
    }
}

/// The origin of a value in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOrigin {
    /// The value was set for the tenant.
    Tenant,
    /// A parent tenant has this smaller limit.
    Parent,
    /// The value is the default of the server.
    Server,
}

impl LimitOrigin {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Parent => "parent",
            Self::Server => "server",
        }
    }
}

/// The limits of a tenant that are in force, and its current usage.
#[derive(Debug, Clone)]
pub struct LimitsOfTenant {
    /// The tenant.
    pub tenant: TenantId,
    /// The requesting tenant.
    pub viewer: LimitViewer,
    /// The values.
    pub values: LimitValues,
    /// The origin of each value.
    pub origins: [LimitOrigin; TenantLimit::ALL.len()],
    /// The usage; `None` for limits whose usage is not counted now.
    pub usage: LimitValues,
}

/// The relation of the requesting tenant to the tenant of the limits, which determines their link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitViewer {
    /// The tenant itself.
    Itself,
    /// A tenant that manages it.
    Above,
}

impl Links {
    /// Returns the link of the limits of a tenant.
    fn limits(&self, limits: &LimitsOfTenant) -> String {
        match limits.viewer {
            LimitViewer::Itself => format!("{}/tenant/limits", self.base()),
            LimitViewer::Above => format!("{}/limits", self.tenant(&limits.tenant)),
        }
    }
}

impl Serialize for Linked<'_, LimitsOfTenant> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: limits, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.limits(limits))?;
        map.serialize_entry("tenant", limits.tenant.as_str())?;
        map.serialize_entry("limits", &Shown(limits))?;
        map.end()
    }
}

/// The values as an object by name.
struct Shown<'a>(&'a LimitsOfTenant);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One {
            value: Option<u64>,
            from: &'static str,
            usage: Option<u64>,
        }
        let Self(limits) = self;
        let one = |limit: TenantLimit| One {
            value: limits.values.get(limit),
            from: limits.origins[limit.index()].as_str(),
            usage: limits.usage.get(limit),
        };
        serializer.collect_map(TenantLimit::ALL.map(|limit| (limit.as_str(), one(limit))))
    }
}

/// The body of `PUT /tenant/tenants/<id>/limits`: it changes only the limits it contains; `None` removes a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsPatch(pub Vec<(TenantLimit, Option<u64>)>);

impl LimitsPatch {
    /// Parses a body.
    ///
    /// # Errors
    /// `Invalid` names an unknown limit, or the value and what is allowed.
    pub fn parse(body: Body) -> Result<Self> {
        let members = body.into_members();
        let changes = members.iter().map(|(name, raw)| {
            let limit = TenantLimit::find(name).ok_or_else(|| unknown(name))?;
            let allowed = || format!("null, or an integer from {} to {MAX_VALUE}", limit.least());
            let invalid = |_| Error::invalid_value(name, raw.get(), &allowed());
            let value: Option<u64> = serde_json::from_str(raw.get()).map_err(invalid)?;
            match value {
                Some(value) if !(limit.least()..=MAX_VALUE).contains(&value) => {
                    Err(Error::invalid_value(name, value, &allowed()))
                }
                value => Ok((limit, value)),
            }
        });
        Ok(Self(changes.collect::<Result<_>>()?))
    }
}

fn unknown(name: &str) -> Error {
    Error::unknown_name("limit", name, &TenantLimit::ALL.map(TenantLimit::as_str))
}

/// Returns the limits that are in force for a tenant: the values that were set for it, otherwise the defaults, and
/// never more than `above`, the limits in force for its parent.
pub fn in_force(
    set: Option<&LimitValues>,
    defaults: &LimitValues,
    above: Option<&LimitValues>,
) -> (LimitValues, [LimitOrigin; TenantLimit::ALL.len()]) {
    let mut values = LimitValues::default();
    let origins = TenantLimit::ALL.map(|limit| {
        let own = set.and_then(|set| set.get(limit));
        let (own, origin) = match own {
            Some(own) => (Some(own), LimitOrigin::Tenant),
            None => (defaults.get(limit), LimitOrigin::Server),
        };
        let above = above.and_then(|above| above.get(limit));
        let (value, origin) = match (own, above) {
            (own, Some(above)) if own.is_none_or(|own| own > above) => (Some(above), LimitOrigin::Parent),
            (own, _) => (own, origin),
        };
        values.set(limit, value);
        origin
    });
    (values, origins)
}

impl Tenant {
    /// Returns the tenant whose limits bound those of this one; `None` for one that tenant `management` created.
    pub fn bounded_by(&self) -> Option<&str> {
        self.parent.as_deref().filter(|parent| *parent != crate::id::MANAGEMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(body: &str) -> Result<LimitsPatch> {
        LimitsPatch::parse(Body::parse(body.as_bytes())?)
    }

    #[test]
    fn body_names_limits_and_null_removes_one() {
        assert_eq!(
            patch(r#"{"devices": 0, "requestsPerSecond": null}"#).unwrap().0,
            [(TenantLimit::Devices, Some(0)), (TenantLimit::RequestsPerSecond, None)]
        );
        for (body, named) in [
            (
                r#"{"divices": 1}"#,
                "Unknown limit 'divices'; is 'devices' meant? Known limits: requestsPerSecond, ",
            ),
            (
                r#"{"requestsPerSecond": 0}"#,
                "'requestsPerSecond': 0; allowed: null, or an integer from 1 to ",
            ),
            (r#"{"devices": -1}"#, "'devices': -1"),
            (r#"{"devices": 1.5}"#, "'devices': 1.5"),
            (r#"{"devices": "7"}"#, "'devices': \"7\""),
            (r#"{"storedBytes": 9007199254740992}"#, "to 9007199254740991"),
        ] {
            let error = patch(body).unwrap_err().to_string();
            assert!(error.contains(named), "{body}: {error}");
        }
    }

    #[test]
    fn own_value_comes_before_the_default_and_a_parent_bounds_both() {
        let values = |limits: &[(TenantLimit, u64)]| {
            let mut values = LimitValues::default();
            limits.iter().for_each(|(limit, value)| values.set(*limit, Some(*value)));
            values
        };
        use TenantLimit::{Devices, HeldPolls, Modules, Sessions};
        let (set, defaults) =
            (values(&[(Devices, 9), (Sessions, 9)]), values(&[(Devices, 5), (Modules, 100)]));
        let above = values(&[(Devices, 20), (Sessions, 3), (HeldPolls, 4)]);

        let (values, origins) = in_force(Some(&set), &defaults, Some(&above));

        let seen = |limit: TenantLimit| (values.get(limit), origins[limit.index()]);
        assert_eq!(seen(Devices), (Some(9), LimitOrigin::Tenant));
        assert_eq!(seen(Sessions), (Some(3), LimitOrigin::Parent));
        assert_eq!(seen(HeldPolls), (Some(4), LimitOrigin::Parent));
        assert_eq!(seen(Modules), (Some(100), LimitOrigin::Server));
        assert_eq!(seen(TenantLimit::StoredBytes), (None, LimitOrigin::Server));
    }

    #[test]
    fn every_limit_is_at_its_place() {
        for (place, limit) in TenantLimit::ALL.into_iter().enumerate() {
            assert_eq!((limit.index(), TenantLimit::find(limit.as_str())), (place, Some(limit)));
        }
    }
}
