//! Hosts to which event-processing modules may send requests.

use std::str::FromStr;

/// A host in an operator's notation: `hooks.example.com`, `10.0.0.7:8080`, `[fd00::7]:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    /// The host in lower case; an IPv6 address is in brackets.
    host: String,
    /// The port; `None` stands for the default ports of http and https.
    port: Option<u16>,
}

impl AllowedHost {
    /// Returns whether a request may be sent to this host and port. `default_port` is the default port of its scheme.
    pub fn allows(&self, host: &str, port: u16, default_port: u16) -> bool {
        self.host.eq_ignore_ascii_case(host) && port == self.port.unwrap_or(default_port)
    }
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let authority: hyper::http::uri::Authority = text.trim().parse().ok()?;
            let host = authority.host().to_ascii_lowercase();
            let port = match authority.as_str()[host.len()..].strip_prefix(':') {
                None if authority.as_str().len() == host.len() => None,
                None => return None,
                Some(port) => Some(port.parse().ok().filter(|port| *port > 0)?),
            };
            (!host.is_empty() && !host.contains(['*', '@'])).then_some(Self { host, port })
        };
        parse().ok_or_else(|| {
            "expected a host and maybe a port, such as hooks.example.com or 10.0.0.7:8080".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_allows_itself_at_its_port() {
        for (allowed, host, port, default_port, expected) in [
            ("Hooks.example.com", "hooks.EXAMPLE.com", 443, 443, true),
            ("hooks.example.com", "hooks.example.com", 80, 80, true),
            ("hooks.example.com", "hooks.example.com", 8080, 80, false),
            ("hooks.example.com", "example.com", 443, 443, false),
            ("hooks.example.com", "a.hooks.example.com", 443, 443, false),
            ("10.0.0.7:8080", "10.0.0.7", 8080, 80, true),
            ("10.0.0.7:8080", "10.0.0.7", 80, 80, false),
            ("[fd00::7]:8080", "[fd00::7]", 8080, 80, true),
        ] {
            let allows = allowed.parse::<AllowedHost>().unwrap().allows(host, port, default_port);
            assert_eq!(allows, expected, "{allowed} {host} {port}");
        }
    }

    #[test]
    fn invalid_host_is_rejected() {
        for text in [
            "",
            " ",
            "*",
            "*.example.com",
            "http://example.com",
            "a/b",
            "me@example.com",
            "a:0",
            "a:65536",
            "a:b",
        ] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }
}
