//! Signatures of what servers send each other over `NOTIFY`. Every role that may connect to the database can listen
//! and notify too, so a payload counts only with an HMAC under a key that is derived from the deployment's secret key.
//!
//! # Format
//!
//! `!<HMAC-SHA-256 in base64url><origin>.<number>:<text>`. The origin is unique to the sending process, which uses each
//! number once, so a payload that somebody received and sends again is recognized ([`replays`]). The HMAC covers the
//! name of the channel too: what was sent for one tenant is worth nothing on the channel of another.
//!
//! # Upgrades
//!
//! Servers of versions before this one neither sign nor know the format. As long as one of them is registered, the
//! others send and accept unsigned payloads ([`upgrade`]).

mod replays;
mod upgrade;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac;

use self::replays::Replays;

/// The beginning of a signed payload. No other payload begins with it.
const SIGNED: char = '!';
/// The characters of a signature.
const SIGNATURE: usize = 43;
/// The prefix of the channels of single servers. A request to the unknown holder of a session is signed for this
/// prefix, because PostgreSQL chooses the channel.
const ANY_SERVER: &str = "platform_server_";

/// The key that signs what servers send each other.
#[derive(Clone)]
pub struct MessageKey(hmac::Key);

impl MessageKey {
    /// Derives the key from the secret key of the deployment: neither reveals the other.
    pub fn derive(secret: &[u8]) -> Self {
        let secret = Salt::new(HKDF_SHA256, b"platform").extract(secret);
        let key = secret
            .expand(&[b"messages between servers"], hmac::HMAC_SHA256)
            .expect("one key is within the bounds");
        Self(hmac::Key::from(key))
    }

    /// Returns the signed payload for a text. A process has an origin of its own and uses each number once.
    pub fn payload(&self, channel: &str, origin: &str, number: u64, text: &str) -> String {
        let text = format!("{origin}.{number}:{text}");
        format!("{SIGNED}{}{text}", self.sign(channel, &text))
    }

    fn sign(&self, channel: &str, text: &str) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(channel.as_bytes());
        context.update(b"\n");
        context.update(text.as_bytes());
        URL_SAFE_NO_PAD.encode(context.sign())
    }

    fn verifies(&self, channel: &str, text: &str, signature: &str) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        let signed = [channel, "\n", text].concat();
        hmac::verify(&self.0, signed.as_bytes(), &signature).is_ok()
    }
}

/// The reason why a payload is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Unsigned,
    WronglySigned,
    Repeated,
}

impl Flaw {
    fn word(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::WronglySigned => "wrongly signed",
            Self::Repeated => "repeated",
        }
    }
}

/// Signs the payloads of this process and verifies those that it receives.
pub(crate) struct Signatures {
    /// A text that no other process has.
    origin: String,
    /// The key; a process without one neither signs nor verifies.
    key: OnceLock<MessageKey>,
    next: AtomicU64,
    replays: Mutex<Replays>,
    /// Whether every registered server signs, so that this one does, too.
    all_sign: AtomicBool,
    /// Whether unsigned payloads are ignored.
    is_strict: AtomicBool,
    /// The time until which this server signs although an older one is registered.
    signs_until: Mutex<Option<Instant>>,
    /// The time since when this server has seen that every registered server signs.
    all_sign_since: Mutex<Option<Instant>>,
    /// The channels on which unsigned payloads were ignored since the last check.
    ignored: Mutex<HashSet<String>>,
}

impl Signatures {
    /// Creates the signatures of a process. `origin` is a text of letters and digits that no other process has.
    pub(crate) fn new(origin: String) -> Self {
        Self {
            origin,
            key: OnceLock::new(),
            next: AtomicU64::new(1),
            replays: Mutex::default(),
            all_sign: AtomicBool::new(false),
            is_strict: AtomicBool::new(false),
            signs_until: Mutex::default(),
            all_sign_since: Mutex::default(),
            ignored: Mutex::default(),
        }
    }

    /// Returns the payload with its signature for a channel, or unchanged while older servers are registered.
    pub(crate) fn sign<'p>(&self, channel: &str, payload: &'p str) -> Cow<'p, str> {
        let Some(key) = self.key.get().filter(|_| self.all_sign.load(Ordering::Acquire)) else {
            return payload.into();
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        key.payload(channel, &self.origin, number, payload).into()
    }

    /// Signs a payload for the channel of a server that a query chooses when it sends the payload.
    pub(crate) fn sign_for_any_server<'p>(&self, payload: &'p str) -> Cow<'p, str> {
        self.sign(ANY_SERVER, payload)
    }

    /// Returns the payload of a notification without its signature; `None` if it is to be ignored, which is counted and
    /// logged. `process` is the process of PostgreSQL that sent it.
    pub(crate) fn verify<'p>(&self, channel: &str, payload: &'p str, process: i32) -> Option<&'p str> {
        match self.examine(channel, payload) {
            Ok(text) => Some(text),
            Err(flaw) => {
                if flaw == Flaw::Unsigned {
                    self.ignored.lock().insert(channel.to_owned());
                }
                metrics::counter!(crate::metrics::MESSAGES_IGNORED, "reason" => flaw.word()).increment(1);
                tracing::warn!(
                    channel,
                    pid = process,
                    reason = flaw.word(),
                    "a notification that no server of this deployment sent was ignored; somebody else has access to \
                     the database"
                );
                None
            }
        }
    }

    fn examine<'p>(&self, channel: &str, payload: &'p str) -> Result<&'p str, Flaw> {
        let Some(key) = self.key.get() else { return Ok(payload) };
        let Some(signed) = payload.strip_prefix(SIGNED) else {
            return if self.is_strict.load(Ordering::Acquire) { Err(Flaw::Unsigned) } else { Ok(payload) };
        };
        let (signature, text) = signed.split_at_checked(SIGNATURE).ok_or(Flaw::WronglySigned)?;
        let is_signed = key.verifies(channel, text, signature)
            || channel.starts_with(ANY_SERVER) && key.verifies(ANY_SERVER, text, signature);
        if !is_signed {
            return Err(Flaw::WronglySigned);
        }
        let (head, text) = text.split_once(':').ok_or(Flaw::WronglySigned)?;
        let (origin, number) = head.split_once('.').ok_or(Flaw::WronglySigned)?;
        let number = number.parse().map_err(|_| Flaw::WronglySigned)?;
        if self.replays.lock().is_first(origin, number) { Ok(text) } else { Err(Flaw::Repeated) }
    }
}

impl fmt::Debug for Signatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signatures").field("origin", &self.origin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: &str = "platform_tenant_acme";

    fn process(origin: &str, secret: u8) -> Signatures {
        let signatures = Signatures::new(origin.into());
        signatures.key.set(MessageKey::derive(&[secret; 32])).ok();
        signatures.all_sign.store(true, Ordering::Release);
        signatures.is_strict.store(true, Ordering::Release);
        signatures
    }

    #[test]
    fn signed_payload_is_accepted_once_and_on_its_channel_only() {
        let (sender, receiver) = (process("a1", 7), process("b2", 7));
        let payload = sender.sign(CHANNEL, "7-1-0.[]");

        assert_eq!(receiver.examine("platform_tenant_other", &payload), Err(Flaw::WronglySigned));
        assert_eq!(receiver.examine(CHANNEL, &payload), Ok("7-1-0.[]"));
        assert_eq!(receiver.examine(CHANNEL, &payload), Err(Flaw::Repeated));
        assert_eq!(sender.examine(CHANNEL, &payload), Ok("7-1-0.[]"), "the sender receives it as well");
        assert_eq!(receiver.examine(CHANNEL, &sender.sign(CHANNEL, "7-2-0.[]")), Ok("7-2-0.[]"));
    }

    #[test]
    fn payload_without_the_right_signature_is_ignored() {
        let (sender, receiver) = (process("a1", 7), process("b2", 7));
        let payload = sender.sign(CHANNEL, "7-1-0.[\"stop\"]").into_owned();

        for (forged, flaw) in [
            ("7-1-0.[]".to_owned(), Flaw::Unsigned),
            (String::new(), Flaw::Unsigned),
            ("!".to_owned(), Flaw::WronglySigned),
            ("!é".repeat(30), Flaw::WronglySigned),
            (payload.replace("stop", "open"), Flaw::WronglySigned),
            (payload.replace("a1.1", "a1.2"), Flaw::WronglySigned),
            (process("c3", 8).sign(CHANNEL, "7-1-0.[]").into_owned(), Flaw::WronglySigned),
        ] {
            assert_eq!(receiver.examine(CHANNEL, &forged), Err(flaw), "{forged}");
        }
        assert!(receiver.examine(CHANNEL, &payload).is_ok());
    }

    #[test]
    fn request_to_any_server_is_accepted_on_the_channel_of_a_server_only() {
        let (sender, receiver) = (process("a1", 7), process("b2", 7));
        let question = sender.sign_for_any_server("7-1-0.{}");

        assert_eq!(receiver.examine(CHANNEL, &question), Err(Flaw::WronglySigned));
        assert_eq!(receiver.examine("platform_server_12", &question), Ok("7-1-0.{}"));
    }

    #[test]
    fn unsigned_payloads_are_sent_and_accepted_while_older_servers_are_registered() {
        let (sender, receiver) = (process("a1", 7), process("b2", 7));
        let signed = sender.sign(CHANNEL, "7-1-0.[]").into_owned();
        for signatures in [&sender, &receiver] {
            signatures.all_sign.store(false, Ordering::Release);
            signatures.is_strict.store(false, Ordering::Release);
        }

        assert_eq!(sender.sign(CHANNEL, "7-2-0.[]"), "7-2-0.[]");
        assert_eq!(receiver.examine(CHANNEL, "7-2-0.[]"), Ok("7-2-0.[]"));
        assert_eq!(receiver.examine(CHANNEL, &signed), Ok("7-1-0.[]"), "it was sent before");
    }
}
