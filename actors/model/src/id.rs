//! Identifiers. An existing value is valid, because only `parse`, the store and [`IdGenerator`] create values.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::OffsetDateTime;

use crate::error::{Error, Noun, Result};

/// The tenant of the installation, which manages all others. It can be neither suspended nor deleted.
pub const MANAGEMENT: &str = "management";

/// The fixed id of a tenant: at most 32 lower-case letters, digits, `_` and `-` (Z-01).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId(Arc<str>);

impl TenantId {
    /// Checks a tenant id from a request.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(text: &str) -> Result<Self> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        if (1..=32).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(Error::invalid_value("id", text, "1 to 32 of a-z, 0-9, '_' and '-'"))
        }
    }

    /// Returns the id of a tenant for which no id was chosen: `t` and digits (Z-01).
    pub fn numbered(number: i64) -> Self {
        Self(format!("t{number}").into())
    }

    /// Parses the id of a tenant that should exist.
    ///
    /// # Errors
    /// `NotFound`, because an invalid id names no tenant.
    pub fn known(text: &str) -> Result<Self> {
        let unknown = || Error::not_found(Noun::Tenant, text.chars().take(64).collect::<String>());
        Self::parse(text).map_err(|_| unknown())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! server_id {
    ($(#[$doc:meta])* $name:ident, $noun:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i64);

        impl $name {
            /// Parses a decimal id from a path or a body.
            ///
            /// # Errors
            /// `NotFound`, because an invalid id names nothing.
            pub fn parse(text: &str) -> Result<Self> {
                match text.parse() {
                    Ok(id) if id > 0 && text.as_bytes()[0].is_ascii_digit() => Ok(Self(id)),
                    _ => Err(Error::not_found($noun, text.chars().take(64).collect::<String>())),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        /// Ids are serialized as strings (C-13).
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(itoa::Buffer::new().format(self.0))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                Self::parse(&text).map_err(de::Error::custom)
            }
        }
    };
}

server_id!(
    /// The id of a managed object: a device, an asset or a group.
    ManagedObjectId,
    crate::error::Noun::ManagedObject
);
server_id!(
    /// The id of an alarm.
    AlarmId,
    crate::error::Noun::Alarm
);
server_id!(
    /// The id of a measurement.
    MeasurementId,
    crate::error::Noun::Measurement
);
server_id!(
    /// The id of an event.
    EventId,
    crate::error::Noun::Event
);
server_id!(
    /// The id of an audit record.
    AuditRecordId,
    crate::error::Noun::AuditRecord
);
server_id!(
    /// The id of an operation. The database assigns it, so it rises in the order of creation, whatever the number of
    /// servers.
    OperationId,
    crate::error::Noun::Operation
);
server_id!(
    /// The id of a bulk operation. The database assigns it, so it rises in the order of creation, whatever the number
    /// of servers (C-13).
    BulkOperationId,
    crate::error::Noun::BulkOperation
);
server_id!(
    /// The id of the content of a file.
    BinaryId,
    crate::error::Noun::Binary
);

server_id!(
    /// The id of an application, unique in the deployment.
    ApplicationId,
    crate::error::Noun::Application
);

server_id!(
    /// The id of an event-processing module; a new text gets a new id.
    ModuleId,
    crate::error::Noun::Module
);

server_id!(
    /// The id of a trace (B-37).
    TraceId,
    crate::error::Noun::Trace
);

server_id!(
    /// The id of a retention rule (Z-08).
    RetentionRuleId,
    crate::error::Noun::RetentionRule
);

impl ApplicationId {
    /// Returns the id of a new application; see [`IdGenerator`].
    pub fn numbered(number: i64) -> Self {
        Self(number)
    }
}

/// The number of a group, unique in its tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub i64);

impl GroupId {
    /// Parses a decimal id from a path.
    ///
    /// # Errors
    /// `NotFound`, because an invalid id names no group.
    pub fn parse(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(id) if id > 0 && text.as_bytes()[0].is_ascii_digit() => Ok(Self(id)),
            _ => Err(Error::not_found(Noun::Group, text.chars().take(64).collect::<String>())),
        }
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Ids of groups are JSON numbers (C-13).
impl Serialize for GroupId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0)
    }
}

/// Returns a number that identifies a text: the first 8 bytes of its SHA-256 as a positive number.
pub fn digest(text: &[u8]) -> i64 {
    let digest = ring::digest::digest(&ring::digest::SHA256, text);
    let first = digest.as_ref()[..8].try_into().expect("the digest has 32 bytes");
    (u64::from_be_bytes(first) >> 1) as i64
}

/// Generates 64-bit ids that rise with time: 43 bits of milliseconds since 2025, 8 bits of the server's slot and 12
/// bits of a sequence.
///
/// Rising ids keep inserts at the right edge of the indexes, and the partition of a row can be found from its id. An
/// id is only generated for a millisecond that was reserved for the slot, so two servers that hold a slot one after
/// the other never generate the same id, even if their clocks differ and the first one learns late that it lost the
/// slot.
#[derive(Debug, Default)]
pub struct IdGenerator {
    /// The milliseconds and the sequence of the last id.
    last: AtomicI64,
    /// The first millisecond that is not reserved, and the slot in the lowest 8 bits. Both change together.
    reserved: AtomicI64,
}

/// 2025-01-01T00:00:00Z in milliseconds since 1970.
const EPOCH_MILLIS: i64 = 1_735_689_600_000;

impl IdGenerator {
    /// Lets ids be greater than `given`, because the clock may have been set back since then (C-13).
    pub fn advance_beyond(&self, given: i64) {
        // It starts at the next millisecond, because `given` may belong to a server with a greater slot.
        self.last.fetch_max(((given >> 20) + 1) << 12, Ordering::Relaxed);
    }

    /// Generates ids of a slot from now on, for the milliseconds since 2025 from `from` and before `until`.
    pub fn reserve(&self, slot: i16, from: i64, until: i64) {
        self.last.fetch_max(from << 12, Ordering::Relaxed);
        self.reserved.store(until << 8 | i64::from(slot & 0xff), Ordering::Release);
    }

    /// Generates no ids from now on, and returns the first millisecond since 2025 of which none was generated.
    pub fn close(&self) -> i64 {
        self.reserved.store(0, Ordering::Release);
        (self.last.load(Ordering::Relaxed) >> 12) + 1
    }

    /// Returns the milliseconds since 2025 of the next id.
    pub fn latest_millis(&self) -> i64 {
        now_millis().max(self.last.load(Ordering::Relaxed) >> 12)
    }

    /// Returns the next id: unique in the deployment and greater than all earlier ids of this generator.
    ///
    /// # Errors
    /// `Unavailable` while no milliseconds are reserved for this server: it lost its slot, or the database is away.
    pub fn next(&self) -> Result<i64> {
        let reserved = self.reserved.load(Ordering::Acquire);
        let (until, slot) = (reserved >> 8, reserved & 0xff);
        // Milliseconds and sequence form one number, so an exhausted sequence continues in the next millisecond.
        let fresh = now_millis() << 12;
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = fresh.max(last + 1);
            if next >> 12 >= until {
                return Err(Error::unavailable("this server holds no slot to generate ids with"));
            }
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok((next >> 12) << 20 | slot << 12 | (next & 0xfff)),
                Err(seen) => last = seen,
            }
        }
    }
}

fn now_millis() -> i64 {
    (OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000) as i64 - EPOCH_MILLIS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(slot: i16) -> IdGenerator {
        let generator = IdGenerator::default();
        generator.reserve(slot, 0, now_millis() + 86_500_000);
        generator
    }

    #[test]
    fn generated_ids_rise_and_never_repeat() {
        let generator = generator(7);
        let ids: Vec<i64> = (0..20_000).map(|_| generator.next().unwrap()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id >> 12 & 0xff == 7));
    }

    #[test]
    fn ids_rise_above_those_of_a_clock_that_was_ahead() {
        let ahead = generator(255).next().unwrap() + (86_400_000 << 20);
        let generator = generator(0);
        generator.advance_beyond(ahead);
        assert!(generator.next().unwrap() > ahead && generator.next().unwrap() > ahead);
    }

    #[test]
    fn ids_are_generated_only_for_milliseconds_that_are_reserved() {
        let generator = IdGenerator::default();
        assert!(generator.next().is_err(), "nothing is reserved");

        generator.reserve(3, 0, now_millis() - 1);
        assert!(generator.next().is_err(), "the reserved time is past, as after a pause");

        let from = now_millis() + 3_600_000;
        generator.reserve(200, from, from + 1);
        let first = generator.next().unwrap();
        assert_eq!(
            (first >> 20, first >> 12 & 0xff),
            (from, 200),
            "behind what the previous holder reserved"
        );
        let ids: Vec<_> = std::iter::from_fn(|| generator.next().ok()).take(5000).collect();
        assert_eq!(ids.len(), 4095 - (first & 0xfff) as usize, "as many as fit in the reserved millisecond");

        assert_eq!(generator.close(), from + 1);
        generator.advance_beyond(0);
        assert!(generator.next().is_err(), "the slot was given back");
    }

    #[test]
    fn invalid_id_is_not_found() {
        for text in ["", "0", "-1", "+1", "abc", "99999999999999999999", "1 ", "１"] {
            assert!(ManagedObjectId::parse(text).is_err(), "{text}");
        }
        assert_eq!(ManagedObjectId::parse("208").expect("an id").to_string(), "208");
    }
}
