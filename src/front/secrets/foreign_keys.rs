//! The keys that hashed generated secrets of tenants in the deployments that they came from (Z-21). A deployment stores
//! them as facts, sealed under its secret key.

use parking_lot::RwLock;
use platform_model::hex::hex;
use ring::hmac;

use super::password::parse_hex;
use super::sealing::SealingKey;

/// The beginning of the names of these facts.
pub const FOREIGN: &str = "hashing key of ";

/// A fact that a deployment stores: its name, and a sealed text.
pub type Fact = (String, String);

/// The hashing keys of other deployments that a process knows.
#[derive(Default)]
pub(super) struct ForeignKeys(RwLock<Vec<ForeignKey>>);

struct ForeignKey {
    fingerprint: String,
    bytes: Vec<u8>,
    key: hmac::Key,
}

impl ForeignKeys {
    /// Returns whether one of the keys hashed a secret.
    pub(super) fn any(&self, matches: impl Fn(&hmac::Key) -> bool) -> bool {
        self.0.read().iter().any(|foreign| matches(&foreign.key))
    }

    /// Replaces the keys by those of facts. Returns whether all could be opened.
    pub(super) fn replace(&self, sealing: &SealingKey, facts: &[Fact]) -> bool {
        let open = |(name, sealed): &Fact| {
            let bytes = parse_hex(&sealing.open(place(name), sealed)?)?;
            let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
            Some(ForeignKey { fingerprint: name.strip_prefix(FOREIGN)?.to_owned(), bytes, key })
        };
        let keys: Vec<_> = facts.iter().filter_map(open).collect();
        let are_all = keys.len() == facts.len();
        *self.0.write() = keys;
        are_all
    }

    /// Seals the keys.
    pub(super) fn seal(&self, sealing: &SealingKey) -> Vec<Fact> {
        self.0.read().iter().map(|key| fact(&key.fingerprint, &key.bytes, sealing)).collect()
    }
}

/// Seals a key as a fact.
pub(super) fn fact(fingerprint: &str, bytes: &[u8], sealing: &SealingKey) -> Fact {
    let name = format!("{FOREIGN}{fingerprint}");
    let sealed = sealing.seal(place(&name), &hex(bytes));
    (name, sealed)
}

/// Returns the place for which a key is sealed.
fn place(name: &str) -> [&str; 3] {
    ["deployment", name, ""]
}
