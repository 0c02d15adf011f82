//! The address at which a microservice runs, set by the operator (W-14).

use std::fmt;
use std::net::Ipv6Addr;

use crate::error::{Error, Result};

/// The description of valid addresses in errors.
const ALLOWED: &str =
    "http://host:port or http://host:port/base, without user, query, fragment, '.' and '..'";
/// The maximum number of bytes of an address.
const LONGEST: usize = 512;

/// An HTTP address: host, port, and a base path to which the path of each request is appended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServiceAddress {
    authority: String,
    base: String,
}

impl ServiceAddress {
    /// Parses `http://host:port[/base]`. Other parts of a URL are rejected, because they might bypass access rules.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed; a value that may contain a password is not repeated.
    pub fn parse(text: &str) -> Result<Self> {
        let shown = if text.contains('@') { "an address with '@'" } else { text };
        let refused = || Error::invalid_value("address", shown.escape_debug(), ALLOWED);
        let rest = text.strip_prefix("http://").filter(|_| text.len() <= LONGEST).ok_or_else(refused)?;
        let (authority, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let base = base.trim_end_matches('/');
        let (host, port) = authority.rsplit_once(':').ok_or_else(refused)?;
        let port_is_one =
            port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|p| p > 0);
        if is_host(host) && port_is_one && base.split('/').skip(1).all(is_segment) {
            Ok(Self { authority: authority.to_owned(), base: base.to_owned() })
        } else {
            Err(refused())
        }
    }

    /// Returns host and port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the base path: empty, or with a leading slash and without a trailing one.
    pub fn base(&self) -> &str {
        &self.base
    }
}

impl fmt::Display for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.base)
    }
}

/// Returns whether a text is a host name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

fn is_segment(segment: &str) -> bool {
    !["", ".", ".."].contains(&segment)
        && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_a_port_and_perhaps_a_base() {
        for (text, authority, base) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080", ""),
            ("http://rules.internal:1/", "rules.internal:1", ""),
            ("http://[::1]:65535/a/b.c_d~e-f/", "[::1]:65535", "/a/b.c_d~e-f"),
        ] {
            let address = ServiceAddress::parse(text).expect(text);
            assert_eq!((address.authority(), address.base()), (authority, base));
            assert_eq!(
                ServiceAddress::parse(&address.to_string()).expect("a displayed address can be parsed"),
                address
            );
        }
    }

    #[test]
    fn nothing_else_is_an_address() {
        for text in [
            "",
            "http://",
            "127.0.0.1:8080",
            "https://127.0.0.1:8080",
            "HTTP://127.0.0.1:8080",
            "file:///etc/passwd",
            "http://127.0.0.1",
            "http://127.0.0.1:",
            "http://127.0.0.1:0",
            "http://127.0.0.1:65536",
            "http://127.0.0.1:+80",
            "http://:80",
            "http://a..b:80",
            "http://user:secret@host:80",
            "http://host:80?q",
            "http://host:80/?q",
            "http://host:80#f",
            "http://host:80/a/../b",
            "http://host:80/./b",
            "http://host:80//b",
            "http://host:80/a//b",
            "http://host:80/%2e%2e",
            "http://host:80/a b",
            "http://host:80\r\nX: y",
            "http://[::1:80",
            "http://[fe80::1%25eth0]:80",
            "http://h\u{f6}st:80",
        ] {
            let refused = ServiceAddress::parse(text).expect_err(text).to_string();
            assert!(!refused.contains("secret"), "{refused}");
        }
        assert!(ServiceAddress::parse(&format!("http://h:1/{}", "x".repeat(600))).is_err());
    }
}
