//! Stored passwords (U-16): Argon2id for passwords that people chose, a keyed hash for secrets that this
//! server generated.
//!
//! A generated secret has more than 100 bits of entropy, so a slow hash would gain nothing; and 10 000 devices that
//! reconnect must not cost minutes of CPU time.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use platform_model::hex::hex;
use platform_store::realtime::signatures::MessageKey;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::foreign_keys::{FOREIGN, Fact, ForeignKeys, fact};
use super::sealing::SealingKey;
use crate::directory;

/// The tag of a keyed hash; Argon2 hashes have a tag of their own.
pub const KEYED: &str = "$hs1$";
/// The number of characters of a generated secret: 119 bits, within the 32 characters a password may have.
const SECRET_LENGTH: usize = 20;

/// The cost of a slow hash (U-16).
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Returns whether a stored hash is that of a password that a person chose, which is slow to verify.
pub fn is_chosen(hash: &str) -> bool {
    !hash.starts_with(KEYED)
}

/// Hashes a password that a person chose. It takes about 30 ms of CPU time and 19 MiB.
///
/// # Panics
/// The system has no random source left.
pub fn hash_chosen(password: &str) -> String {
    let mut salt = [0; 16];
    SystemRandom::new().fill(&mut salt).expect("the system's random source works");
    let hash = argon2id().hash_password_with_salt(password.as_bytes(), &salt);
    hash.expect("salt and parameters are constants within the bounds of Argon2").to_string()
}

/// Compares a password with a hash of [`hash_chosen`]. It is as slow as hashing; a malformed hash matches
/// nothing.
pub fn verify_chosen(password: &str, hash: &str) -> bool {
    argon2id().verify_password(password.as_bytes(), hash).is_ok()
}

/// Returns a hash that no password matches. Comparing a password with it takes as long as with any other hash of
/// [`hash_chosen`], but nothing is computed here.
///
/// # Panics
/// The system has no random source left.
pub fn unmatched_chosen() -> String {
    let mut bytes = [0; 16 + Params::DEFAULT_OUTPUT_LEN];
    SystemRandom::new().fill(&mut bytes).expect("the system's random source works");
    let (salt, output) = bytes.split_at(16);
    let (salt, output) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(output));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${output}")
}

fn argon2id() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None);
    let params = params.expect("the parameters are within the bounds of Argon2");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// Generates a secret of 20 letters and digits.
///
/// # Panics
/// The system has no random source left.
pub fn generate() -> String {
    draw(SECRET_LENGTH)
}

/// Generates a text of letters and digits, of 5.95 bits each.
///
/// # Panics
/// The system has no random source left.
pub fn draw(length: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let random = SystemRandom::new();
    let mut secret = String::with_capacity(length);
    while secret.len() < length {
        let mut bytes = [0; 32];
        random.fill(&mut bytes).expect("the system's random source works");
        // Bytes beyond the largest multiple of 62 would favour the first letters.
        let fair =
            bytes.iter().filter(|byte| **byte < 248).map(|byte| char::from(ALPHABET[*byte as usize % 62]));
        secret.extend(fair.take(length - secret.len()));
    }
    secret
}

/// The key that hashes generated secrets, and from which the key that seals options is derived. It is stored
/// in a file outside the database, so that a stolen dump alone does not allow guessing secrets.
pub struct SecretKey {
    hashing: hmac::Key,
    /// The bytes of `hashing`. They are those of the key itself until it is rotated.
    hashing_bytes: Vec<u8>,
    sealing: SealingKey,
    messages: MessageKey,
    fingerprint: String,
    /// The keys that hashed secrets of tenants in the deployments that they came from (Z-21).
    foreign: ForeignKeys,
}

/// The place for which the key that hashes generated secrets is sealed under a later secret key.
const HASHING_KEY: [&str; 3] = ["deployment", "hashing key", ""];

impl SecretKey {
    /// Reads the key; `None` if the file does not exist.
    ///
    /// # Errors
    /// The file cannot be read, or does not hold 64 hexadecimal digits.
    pub fn load(path: &Path) -> io::Result<Option<Self>> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(text.trim()).map(Some).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "it does not hold 64 hexadecimal digits")
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Creates a key and its file, with mode 600. Other processes see the file either not at all or as a whole.
    ///
    /// # Errors
    /// `AlreadyExists` when the file exists already, which keeps its contents; the file cannot be created.
    ///
    /// # Panics
    /// The system has no random source left.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).expect("the system's random source works");
        let directory = directory::of(path);
        fs::create_dir_all(directory)?;
        let mut file = tempfile::Builder::new().prefix(".secret.key.").tempfile_in(directory)?;
        writeln!(file, "{}", hex(&bytes))?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map_err(|refused| refused.error)?;
        directory::synchronize(path)?;
        Ok(Self::of(&bytes))
    }

    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = parse_hex(text).filter(|bytes| bytes.len() == 32)?;
        Some(Self::of(&bytes))
    }

    fn of(bytes: &[u8]) -> Self {
        let hashing = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let fingerprint = hex(&hmac::sign(&hashing, b"fingerprint of the secret key").as_ref()[..8]);
        Self {
            hashing,
            hashing_bytes: bytes.to_vec(),
            sealing: SealingKey::derive(bytes),
            messages: MessageKey::derive(bytes),
            fingerprint,
            foreign: ForeignKeys::default(),
        }
    }

    /// Seals the key that hashes generated secrets under the secret key that replaces this one. Nobody knows those
    /// secrets, so they cannot be hashed again; and they have too much entropy to be guessed with the hashing key.
    pub fn seal_hashing_key(&self, successor: &Self) -> String {
        successor.sealing.seal(HASHING_KEY, &hex(&self.hashing_bytes))
    }

    /// Returns this key with the hashing key of its predecessor, or `None` if that was sealed under another key.
    pub fn with_hashing_key(self, sealed: &str) -> Option<Self> {
        let bytes = parse_hex(&self.sealing.open(HASHING_KEY, sealed)?)?;
        Some(Self { hashing: hmac::Key::new(hmac::HMAC_SHA256, &bytes), hashing_bytes: bytes, ..self })
    }

    /// Returns the facts by which another deployment verifies what this one does: its own hashing key, and those that
    /// it has learnt, except the one of the other deployment.
    pub fn hashing_facts(&self, other: &Self) -> Vec<Fact> {
        let (own, known) = (self.hashing_fingerprint(), other.hashing_fingerprint());
        let mut facts = self.seal_foreign(other);
        facts.push(fact(&own, &self.hashing_bytes, &other.sealing));
        facts.retain(|(name, _)| name.strip_prefix(FOREIGN) != Some(&known));
        facts
    }

    /// Seals the learnt hashing keys under a secret key.
    pub fn seal_foreign(&self, other: &Self) -> Vec<Fact> {
        self.foreign.seal(&other.sealing)
    }

    /// Verifies also secrets that the deployments of these facts hashed, instead of those of earlier ones. Returns
    /// whether all could be opened.
    pub fn learn(&self, facts: &[Fact]) -> bool {
        self.foreign.replace(&self.sealing, facts)
    }

    /// Returns the key that seals secrets that must be readable again, such as secret options (Z-05).
    pub fn sealing(&self) -> &SealingKey {
        &self.sealing
    }

    /// Returns the key that signs what servers send each other through the database.
    pub fn messages(&self) -> &MessageKey {
        &self.messages
    }

    /// Hashes a generated secret. It takes less than a microsecond.
    pub fn hash(&self, secret: &str) -> String {
        format!("{KEYED}{}", hex(hmac::sign(&self.hashing, secret.as_bytes()).as_ref()))
    }

    /// Compares a secret with a hash of [`SecretKey::hash`], of this deployment or of one from which a tenant came.
    /// Each comparison takes constant time.
    pub fn verifies(&self, secret: &str, hash: &str) -> bool {
        let Some(tag) = hash.strip_prefix(KEYED).and_then(parse_hex) else { return false };
        let matches = |key: &hmac::Key| hmac::verify(key, secret.as_bytes(), &tag).is_ok();
        matches(&self.hashing) || self.foreign.any(matches)
    }

    /// Returns a fingerprint of the key that hashes generated secrets, which does not reveal it. A rotation replaces
    /// the secret key and keeps this one.
    pub fn hashing_fingerprint(&self) -> String {
        hex(&hmac::sign(&self.hashing, b"fingerprint of the hashing key").as_ref()[..8])
    }

    /// Returns a fingerprint that does not reveal the key: servers of one database must agree on it.
    pub fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }
}

pub(super) fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (text.len().is_multiple_of(2)).then(|| text.as_bytes().chunks(2).map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_passwords_verify_against_their_own_hash_only() {
        let hash = hash_chosen("correct horse");
        assert!(is_chosen(&hash) && verify_chosen("correct horse", &hash));
        assert!(!verify_chosen("wrong horse", &hash) && !verify_chosen("correct horse", "nonsense"));
    }

    #[test]
    fn hash_that_no_password_matches_is_as_costly_as_others() {
        let cost = |hash: &str| hash.split('$').take(4).map(str::to_owned).collect::<Vec<_>>();
        let unmatched = unmatched_chosen();
        let other = hash_chosen("correct horse");
        assert!(is_chosen(&unmatched) && !verify_chosen("correct horse", &unmatched));
        assert_eq!((cost(&unmatched), unmatched.len()), (cost(&other), other.len()));
        assert_ne!(unmatched, unmatched_chosen());
    }

    #[test]
    fn secret_key_is_made_once_with_mode_600_and_read_back() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("new/secret.key");

        assert!(SecretKey::load(&path).expect("no file").is_none());
        let made = SecretKey::create(&path).expect("made");
        let read = SecretKey::load(&path).expect("read").expect("a file");

        assert!(SecretKey::create(&path).is_err(), "a key is never replaced");
        assert!(read.verifies("abc", &made.hash("abc")) && !read.verifies("abd", &made.hash("abc")));
        assert_eq!(made.fingerprint(), read.fingerprint());
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn one_of_several_processes_makes_the_key_and_none_reads_a_part_of_it() {
        let dir = tempfile::tempdir().expect("a directory");
        for round in 0..50 {
            let path = dir.path().join(format!("{round}.key"));
            let make_or_read = || match SecretKey::create(&path) {
                Ok(made) => (made.fingerprint(), true),
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
                    let read = SecretKey::load(&path).expect("a whole key").expect("a file");
                    (read.fingerprint(), false)
                }
            };
            let keys: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(make_or_read)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            assert_eq!(keys.iter().filter(|(_, made)| *made).count(), 1);
            assert!(keys.iter().all(|(key, _)| *key == keys[0].0), "all have the same key");
        }
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 50, "no other file is left");
    }

    #[test]
    fn successor_verifies_what_its_predecessors_hashed() {
        let dir = tempfile::tempdir().expect("a directory");
        let key = |name: &str| SecretKey::create(&dir.path().join(name)).expect("a key");
        let (first, second, third) = (key("1"), key("2"), key("3"));
        let (hash, of_second) = (first.hash("abc"), second.fingerprint());

        let second = second.with_hashing_key(&first.seal_hashing_key(&key("x"))).is_none();
        assert!(second, "it was sealed under another key");
        let second = SecretKey::load(&dir.path().join("2")).expect("read").expect("a file");
        let second = second.with_hashing_key(&first.seal_hashing_key(&key_at(&dir, "2"))).expect("opened");
        let third = third.with_hashing_key(&second.seal_hashing_key(&key_at(&dir, "3"))).expect("opened");

        assert!(
            second.verifies("abc", &hash) && third.verifies("abc", &hash) && !third.verifies("abd", &hash)
        );
        assert_eq!(second.fingerprint(), of_second, "it is that of the file");
        assert_ne!(second.fingerprint(), third.fingerprint());
    }

    fn key_at(dir: &tempfile::TempDir, name: &str) -> SecretKey {
        SecretKey::load(&dir.path().join(name)).expect("read").expect("a file")
    }

    #[test]
    fn secrets_that_another_deployment_hashed_are_verified_also_after_a_rotation() {
        let dir = tempfile::tempdir().expect("a directory");
        let key = |name: &str| SecretKey::create(&dir.path().join(name)).expect("a key");
        let (source, target, successor, stranger) = (key("1"), key("2"), key("3"), key("4"));
        let (hash, own) = (source.hash("abc"), target.hash("own"));
        assert!(!target.verifies("abc", &hash));

        let facts = source.hashing_facts(&target);
        assert!(target.learn(&facts));
        let rotated =
            successor.with_hashing_key(&target.seal_hashing_key(&key_at(&dir, "3"))).expect("opened");
        assert!(rotated.learn(&target.seal_foreign(&rotated)));
        // The tenant goes on to a third deployment, and back to the first one.
        let (third, first) = (key("5"), key_at(&dir, "1"));
        assert!(third.learn(&rotated.hashing_facts(&third)) && first.learn(&rotated.hashing_facts(&first)));

        for key in [&third, &first] {
            assert!(key.verifies("abc", &hash) && key.verifies("own", &own));
        }
        for key in [&target, &rotated] {
            assert!(key.verifies("abc", &hash) && key.verifies("own", &own));
            assert!(!key.verifies("abd", &hash) && !key.verifies("abc", &own));
        }
        assert!(!stranger.learn(&facts) && !stranger.verifies("abc", &hash));
        assert!(target.learn(&[]) && !target.verifies("abc", &hash));
    }

    #[test]
    fn broken_key_file_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("secret.key");
        for broken in ["", "abc", &"é".repeat(32), &"g".repeat(64)] {
            fs::write(&path, broken).expect("written");
            assert!(SecretKey::load(&path).is_err(), "{broken}");
        }
    }

    #[test]
    fn generated_secrets_are_20_letters_and_digits_and_differ() {
        let (one, other) = (generate(), generate());
        assert!(one.len() == 20 && one.chars().all(|c| c.is_ascii_alphanumeric()) && one != other);
    }
}
