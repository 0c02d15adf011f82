//! The types of settings. They are constructed by parsing, so every value is valid.

use std::path::Path;
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A password of a user: 6 to 32 Latin-1 characters (U-08). `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Returns the password, to be hashed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Password {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let length = text.chars().count();
        let latin = text.chars().all(|c| c <= '\u{ff}' && !c.is_control());
        if (6..=32).contains(&length) && latin {
            Ok(Self(text.into()))
        } else {
            Err("a password has 6 to 32 characters, all of Latin-1".into())
        }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// The connection string of a PostgreSQL: a URL or libpq's key/value form. It may contain a password, so `Debug` never
/// shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Returns the connection string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the connection string with the password in the first line of a file.
    ///
    /// # Errors
    /// The name of the file and the cause: it cannot be read, or the connection string has a password already.
    pub fn with_password_in(&self, file: &Path) -> Result<Self, String> {
        let refused = |why: String| format!("{}: {why}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        match text.lines().next().unwrap_or_default() {
            "" => Err(refused("the first line has no password".into())),
            password => self.with_password(password).map_err(refused),
        }
    }

    /// Returns the connection string with a password.
    ///
    /// # Errors
    /// It has one already.
    fn with_password(&self, password: &str) -> Result<Self, String> {
        if platform_store::holds_password(&self.0).map_err(|error| error.to_string())? {
            return Err("the connection string has a password, too".into());
        }
        if self.0.contains("://") {
            let separator = if self.0.contains('?') { '&' } else { '?' };
            let password = utf8_percent_encode(password, NON_ALPHANUMERIC);
            return Ok(Self(format!("{}{separator}password={password}", self.0)));
        }
        let password = password.replace('\\', "\\\\").replace('\'', "\\'");
        Ok(Self(format!("{} password='{password}'", self.0)))
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        let key = text.split_once('=').map_or("", |(key, _)| key.trim());
        let key_value = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !url && !key_value {
            return Err(
                "expected postgres://user:password@host/database or \"host=… user=… dbname=…\"".into()
            );
        }
        // A start parses it in the same way.
        platform_store::holds_password(text).map(|_| Self(text.into())).map_err(|error| error.to_string())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl(…)")
    }
}

/// A proxy, or a network of proxies, whose `X-Forwarded-…` headers are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy {
    network: IpAddr,
    prefix: u32,
}

impl TrustedProxy {
    /// Returns whether the network contains this address. An IPv4 address inside IPv6 (`::ffff:10.0.0.1`) counts as
    /// IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (width, network) = bits(self.network);
        let (address_width, address) = bits(address.to_canonical());
        // The shift overflows only for prefix 0, which contains every address of the family.
        let shift = width - self.prefix;
        width == address_width && (network ^ address).checked_shr(shift).unwrap_or(0) == 0
    }

    /// Returns whether the network contains every address of its family.
    pub fn is_everybody(&self) -> bool {
        self.prefix == 0
    }
}

impl fmt::Display for TrustedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

/// Returns the number of bits of an address, and its value.
fn bits(address: IpAddr) -> (u32, u128) {
    match address {
        IpAddr::V4(v4) => (32, u128::from(v4.to_bits())),
        IpAddr::V6(v6) => (128, v6.to_bits()),
    }
}

impl FromStr for TrustedProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (address, prefix) =
                text.trim().split_once('/').map_or((text.trim(), None), |(a, p)| (a, Some(p)));
            let network: IpAddr = address.parse().ok()?;
            let width = bits(network).0;
            let prefix = prefix.map_or(Some(width), |prefix| prefix.parse().ok())?;
            (prefix <= width).then_some(Self { network, prefix })
        };
        parse().ok_or_else(|| "expected an IP address or a network such as 10.0.0.0/8 or fd00::/8".into())
    }
}

/// The requests that the log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RequestLogging {
    /// No requests.
    Off,
    /// Requests with a status of 400 or more.
    Failed,
    /// All.
    All,
}

/// Whether clients are asked for a certificate in the TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ClientCertificates {
    /// They are not.
    Off,
    /// They are, and may have none.
    Optional,
    /// They are, and the handshake fails without one.
    Required,
}

/// Shape of the log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line, for a log collector.
    Json,
}

/// Parses an address and a port to listen on.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080 or [::]:80".into())
}

/// Parses a base of links: scheme, host and an optional path, without a trailing slash.
pub(super) fn public_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let graphic = text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['?', '#', '@']);
    match rest.map(|rest| rest.trim_end_matches('/')) {
        Some(host) if graphic && !host.is_empty() && !host.starts_with('/') => {
            Ok(text.trim_end_matches('/').into())
        }
        _ => Err("expected http:// or https:// with a host, such as https://things.example.com".into()),
    }
}

/// Parses the name of a header.
pub(super) fn header_name(text: &str) -> Result<String, String> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !text.is_empty() && text.bytes().all(is_of_name) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("expected the name of a header, such as Client-Cert".into())
    }
}

/// Parses a valid header value.
pub(super) fn header_value(text: &str) -> Result<String, String> {
    if !text.trim().is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        Ok(text.trim().into())
    } else {
        Err("printable ASCII characters are allowed, at least one".into())
    }
}

/// Parses a tenant id: at most 32 characters (Z-01) that need no escaping in a URL or a user name.
pub fn tenant_id(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=32).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(text.into())
    } else {
        Err("a tenant id has 1 to 32 letters, digits, hyphens and underscores".into())
    }
}

/// Parses a user name: no whitespace and none of `/ + $ :`, at most 1000 characters (U-08).
pub fn user_name(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"/+$:".contains(c);
    if (1..=1000).contains(&length) && text.chars().all(allowed) {
        Ok(text.into())
    } else {
        Err("a user name has 1 to 1000 characters, no blanks and none of / + $ :".into())
    }
}

/// Parses the name of a server, which must not be a number, because numbers are slots.
pub(super) fn server_name(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    if (1..=100).contains(&text.len()) && text.bytes().all(allowed) && !number {
        Ok(text.into())
    } else {
        Err("the name of a server has 1 to 100 letters, digits, hyphens, underscores, dots and colons, and is not a \
            number".into())
    }
}

/// Parses a label of a host name, in lower case.
pub(super) fn region(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=63).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a region has 1 to 63 letters, digits and hyphens".into())
    }
}

/// Parses a word that is valid in a header name, a JSON member and a URL.
pub(super) fn word(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=100).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(text.into())
    } else {
        Err("expected 1 to 100 letters, digits, hyphens, underscores and dots".into())
    }
}

/// Parses the beginning of a media type: `application/` and a word.
pub(super) fn media_type_prefix(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some(("application", rest)) if word(rest).is_ok() => Ok(text.into()),
        _ => Err(
            "expected application/ and letters, digits, hyphens and dots, such as application/vnd.example."
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_has_6_to_32_latin_1_characters() {
        for good in ["secret", "pässwörd", &"x".repeat(32)] {
            assert!(good.parse::<Password>().is_ok(), "{good}");
        }
        for bad in ["short", "", "пароль", "tab\tbed", &"x".repeat(33)] {
            assert!(bad.parse::<Password>().is_err(), "{bad}");
        }
        assert!(!format!("{:?}", "secret".parse::<Password>()).contains("secret"));
    }

    #[test]
    fn database_is_named_by_url_or_by_keys() {
        for good in ["postgres://u:p@h/d", "postgresql:///d?host=/run", "host=/run user=u", "dbname = d"] {
            assert!(good.parse::<DatabaseUrl>().is_ok(), "{good}");
        }
        for bad in ["", "mysql://h/d", "localhost", "http://a=b"] {
            assert!(bad.parse::<DatabaseUrl>().is_err(), "{bad}");
        }
        for (bad, named) in [
            ("postgres://u:hunter2@h/d?sslmode=bad", "sslmode is disable, allow"),
            ("postgres://u:hunter2@h:99999/d", "port"),
            ("postgres://u:hunter2@h/d?sslmode=require&sslmode=disable", "sslmode is given twice"),
            ("host=h port=0x password=hunter2", "port"),
            ("host=h password=hunter2 sslrootcert=f", "sslmode"),
        ] {
            let refused = bad.parse::<DatabaseUrl>().unwrap_err();
            assert!(refused.contains(named) && !refused.contains("hunter2"), "{bad}: {refused}");
        }
    }

    #[test]
    fn proxy_is_an_address_or_a_network() {
        let contains = |proxy: &str, address: &str| {
            proxy.parse::<TrustedProxy>().unwrap().contains(address.parse().unwrap())
        };

        assert!(contains("10.0.0.0/8", "10.255.1.2") && !contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("10.1.2.3", "::ffff:10.1.2.3") && !contains("10.1.2.3", "10.1.2.4"));
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fe80::1"));
        assert!(contains("0.0.0.0/0", "8.8.8.8") && !contains("0.0.0.0/0", "::1") && contains("::/0", "::1"));
        for bad in ["", "10.0.0.0/33", "10.0.0", "proxy.example.com", "10.0.0.0/-1"] {
            assert!(bad.parse::<TrustedProxy>().is_err(), "{bad}");
        }
    }

    #[test]
    fn public_url_has_scheme_and_host() {
        assert_eq!(public_url("https://things.example.com/").unwrap(), "https://things.example.com");
        assert_eq!(public_url("http://10.0.0.1:8080/iot").unwrap(), "http://10.0.0.1:8080/iot");
        for bad in ["things.example.com", "https://", "https:///x", "ftp://h", "https://h/?a", "https://u@h"]
        {
            assert!(public_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn name_of_a_server_is_not_a_slot() {
        for good in ["web1", "10.0.0.1:80", "rack-2_a"] {
            assert_eq!(server_name(good).unwrap(), good);
        }
        for bad in ["", "7", "a b", "ä", &"x".repeat(101)] {
            assert!(server_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn vendor_words_fit_headers_and_media_types() {
        assert!(word("X-Acme-").is_ok() && word("com.acme.authn").is_ok());
        assert!(word("").is_err() && word("a b").is_err() && word("a/b").is_err());
        assert!(
            media_type_prefix("application/vnd.acme.").is_ok() && media_type_prefix("text/acme").is_err()
        );
    }
}
