//! An issuer that signs tokens with keys of any size. `ring` signs only with 2048 bits and more, so the signatures of
//! smaller keys are computed here.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use num_bigint::BigUint;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use super::TestDatabase;

/// A key pair: name in `fixtures`, private PEM, public PEM.
#[derive(Clone, Copy)]
pub struct KeyPair {
    pub name: &'static str,
    private: &'static str,
    pub public: &'static str,
}

macro_rules! key_pair {
    ($name:literal) => {
        KeyPair {
            name: $name,
            private: include_str!(concat!("fixtures/", $name, ".pem")),
            public: include_str!(concat!("fixtures/", $name, ".pub.pem")),
        }
    };
}

pub const RSA_512: KeyPair = key_pair!("rsa512");
pub const RSA_1024: KeyPair = key_pair!("rsa1024");
pub const RSA_1536: KeyPair = key_pair!("rsa1536");
pub const RSA_2048: KeyPair = key_pair!("rsa2048");
pub const RSA_4096: KeyPair = key_pair!("rsa4096");
pub const OTHER: KeyPair = key_pair!("other2048");
/// The public key of [`RSA_1024`] in the older format.
pub const RSA_1024_PKCS1: &str = include_str!("fixtures/rsa1024.pkcs1.pub.pem");

impl KeyPair {
    /// Returns a token with this header and these claims.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_texts(&header.to_string(), &claims.to_string())
    }

    /// Returns a token with this header and these claims, which need not be JSON.
    pub fn sign_texts(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature = self.signature(message.as_bytes());
        format!("{message}.{}", encode(signature))
    }

    /// Returns a valid token of a user of tenant `main`. Its key is the option with the name of the key pair.
    pub fn token_of(&self, user: &str) -> String {
        self.sign(&self.header(), &claims("main", user, 3600.0))
    }

    /// Returns the header of a valid token.
    pub fn header(&self) -> Value {
        json!({"typ": "JWT", "alg": "RS256", "kid": self.name})
    }

    /// Returns the public key as a provider publishes it; its id is the name of the key pair.
    pub fn jwk(&self) -> Value {
        let numbers = numbers(&self.der());
        let [n, e] = [&numbers[1], &numbers[2]].map(|number| encode(number.to_bytes_be()));
        json!({"kty": "RSA", "use": "sig", "kid": self.name, "n": n, "e": e})
    }

    fn signature(&self, message: &[u8]) -> Vec<u8> {
        let der = self.der();
        let numbers = numbers(&der);
        let length = numbers[1].to_bytes_be().len();
        if length >= 256 {
            let pair = RsaKeyPair::from_der(&der).unwrap();
            let mut signature = vec![0; length];
            pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
            return signature;
        }
        let info = hex("3031300d060960864801650304020105000420");
        let tail = [&[0], &info[..], digest(&SHA256, message).as_ref()].concat();
        let block = [&[0, 1][..], &vec![0xff; length - 2 - tail.len()], &tail].concat();
        let signature = BigUint::from_bytes_be(&block).modpow(&numbers[3], &numbers[1]).to_bytes_be();
        [vec![0; length - signature.len()], signature].concat()
    }

    /// Returns the token with the modulus added to its correct signature; `None` if the sum needs another byte.
    pub fn with_modulus_added(&self, token: &str) -> Option<String> {
        let (message, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let sum = (BigUint::from_bytes_be(&signature) + &numbers(&self.der())[1]).to_bytes_be();
        (sum.len() == signature.len()).then(|| format!("{message}.{}", encode(sum)))
    }

    fn der(&self) -> Vec<u8> {
        let lines = self.private.lines().skip_while(|line| !line.starts_with("-----")).skip(1);
        STANDARD.decode(lines.take_while(|line| !line.starts_with("-----")).collect::<String>()).unwrap()
    }
}

/// Returns the numbers of a PKCS#1 private key: version, modulus, public exponent, private exponent, …
fn numbers(der: &[u8]) -> Vec<BigUint> {
    let (mut numbers, mut rest) = (Vec::new(), element(der).0);
    while !rest.is_empty() {
        let (number, after) = element(rest);
        numbers.push(BigUint::from_bytes_be(number));
        rest = after;
    }
    numbers
}

/// Returns the content of the first DER element, and the bytes after it.
fn element(der: &[u8]) -> (&[u8], &[u8]) {
    let (length, from) = match der[1] {
        long @ 0x81.. => {
            let bytes = usize::from(long - 0x80);
            (der[2..2 + bytes].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), 2 + bytes)
        }
        short => (usize::from(short), 2),
    };
    der[from..].split_at(length)
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Encodes bytes in base64 as tokens do.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns valid claims that expire in `seconds`.
pub fn claims(tenant: &str, user: &str, seconds: f64) -> Value {
    json!({"iss": "platform", "aud": tenant, "sub": user, "nbf": now() - 1.0, "exp": now() + seconds})
}

/// Returns the seconds since 1970.
pub fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs_f64()
}

/// Gives a tenant a public key, as `POST /tenant/options` does, and notifies the servers.
pub async fn upload(database: &TestDatabase, tenant: &str, kid: &str, key: &str) {
    let statement = "INSERT INTO options (tenant, category, key, value) VALUES ($1, 'token.publicKey', $2, $3) \
        ON CONFLICT (tenant, category, key) DO UPDATE SET value = excluded.value";
    database.execute(statement, &[&tenant, &kid, &key]).await;
    tell(database, tenant).await;
}

/// Removes a public key and notifies the servers.
pub async fn withdraw(database: &TestDatabase, tenant: &str, kid: &str) {
    database.execute("DELETE FROM options WHERE tenant = $1 AND key = $2", &[&tenant, &kid]).await;
    tell(database, tenant).await;
}

/// Notifies the servers that a tenant was changed by SQL.
pub async fn tell(database: &TestDatabase, tenant: &str) {
    database.announce(&format!("{tenant}/")).await;
}
