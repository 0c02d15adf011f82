//! Creates and verifies clientIds.
//!
//! A clientId consists of the number of the server process that created it, 64 random bits, and the first 40 bits of an
//! HMAC over both. All servers of the deployment share the key of the HMAC, so each recognizes the ids of the others
//! and sends no request about an invented id. Without the key, 104 bits of an id cannot be guessed (B-08).

use platform_model::hex::hex;
use platform_store::realtime::session_moves::BIRTH_BITS;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::session::ClientId;

/// The number of bits of the HMAC in a clientId.
const CHECK_BITS: u32 = 40;

/// Creates clientIds and verifies them.
pub(crate) struct ClientIds {
    key: hmac::Key,
    /// The last bits of the number of this server process.
    own: u128,
}

impl ClientIds {
    /// `secret` is the same at all servers of a deployment; `server` is the number of this process.
    pub(crate) fn new(secret: &[u8], server: i64) -> Self {
        let own = u128::from(server as u64) & ((1 << BIRTH_BITS) - 1);
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret), own }
    }

    /// Creates a new id.
    ///
    /// # Panics
    /// Panics when the system's random source fails, because the server can create no secrets then.
    pub(crate) fn make(&self) -> ClientId {
        let mut random = [0; 8];
        SystemRandom::new().fill(&mut random).expect("the system's random source works");
        let name = self.own << 64 | u128::from(u64::from_le_bytes(random));
        ClientId::from_bits(name << CHECK_BITS | self.check(name))
    }

    /// Returns the last bits of the number of the server process that created an id, or `None` if the id is not valid
    /// in this deployment.
    pub(crate) fn birth(&self, client: ClientId) -> Option<i64> {
        let name = client.bits() >> CHECK_BITS;
        let check = client.bits() & ((1 << CHECK_BITS) - 1);
        (self.check(name) == check).then_some((name >> 64) as i64)
    }

    /// Returns the id under which administrators see a session. It is a digest of the clientId, so it is the same at
    /// all servers and does not reveal the clientId.
    pub(crate) fn shown(&self, client: ClientId) -> String {
        let tag = hmac::sign(&self.key, format!("shown {client}").as_bytes());
        hex(&tag.as_ref()[..16])
    }

    fn check(&self, name: u128) -> u128 {
        let tag = hmac::sign(&self.key, &name.to_be_bytes());
        let tag = tag.as_ref().iter().take(CHECK_BITS as usize / 8);
        tag.fold(0, |check, byte| check << 8 | u128::from(*byte))
    }
}

impl std::fmt::Debug for ClientIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientIds").field("own", &self.own).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_one_secret_recognize_each_others_ids() {
        let (first, second) = (ClientIds::new(b"secret", 5), ClientIds::new(b"secret", (1 << 24) + 7));
        let ids = [first.make(), second.make()];
        for servers in [&first, &second] {
            assert_eq!(ids.map(|id| servers.birth(id)), [Some(5), Some(7)]);
        }
        assert_eq!(ClientIds::new(b"other", 5).birth(ids[0]), None);
    }

    #[test]
    fn shown_id_is_the_same_at_all_servers_and_contains_no_part_of_the_client_id() {
        let (first, second) = (ClientIds::new(b"secret", 5), ClientIds::new(b"secret", 7));
        let id = first.make();
        let shown = first.shown(id);
        assert_eq!((shown.len(), &shown), (32, &second.shown(id)));
        assert_ne!(shown, first.shown(second.make()));
        let client = id.to_string();
        assert!(
            !client.as_bytes().windows(6).any(|part| shown.as_bytes().windows(6).any(|other| other == part))
        );
    }

    #[test]
    fn id_with_any_flipped_bit_is_invalid() {
        let ids = ClientIds::new(b"secret", 5);
        let id = ids.make();
        for bit in 0..128 {
            assert_eq!(ids.birth(ClientId::from_bits(id.bits() ^ 1 << bit)), None, "{bit}");
        }
    }
}
