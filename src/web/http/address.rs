//! The addresses of a request: the address the client used, with which links begin, and the address the request came
//! from (C-01, C-15).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use actix_web::http::header::{HOST, HeaderName};
use platform_front::config::TrustedProxy;
use platform_model::error::Error;

use super::head::{Head, X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO, text};

/// The settings by which the addresses of requests are determined.
#[derive(Debug)]
pub struct AddressSettings {
    /// The scheme of the server: `https` or `http`.
    pub scheme: &'static str,
    /// The beginning of links for requests that name no host.
    pub fallback_base: String,
    /// The peers whose forwarded headers are trusted (C-15).
    pub trusted_proxies: Vec<TrustedProxy>,
    /// The header in which they send the certificates of their clients (C-32).
    pub client_certificate_header: Option<HeaderName>,
}

impl AddressSettings {
    /// Returns whether the forwarded headers of this peer are trusted.
    fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|proxy| proxy.contains(peer))
    }
}

/// Returns the scheme and authority of the address the client used. Forwarded values count only from trusted proxies
/// (C-15).
pub fn base(head: &impl Head) -> String {
    let settings = head.state::<AddressSettings>();
    let scheme = match forwarded(head, &X_FORWARDED_PROTO) {
        Some(proto) if proto.eq_ignore_ascii_case("https") => "https",
        Some(proto) if proto.eq_ignore_ascii_case("http") => "http",
        _ => settings.scheme,
    };
    match authority(head) {
        Some(authority) => format!("{scheme}://{authority}"),
        None => settings.fallback_base.clone(),
    }
}

/// Returns the host and port of the address the client used, or `None` when the client named none that is valid in a
/// link. An address in the request line takes precedence over `Host` (RFC 9112, 3.2.2). A forwarded value that is not
/// an address is ignored.
pub fn authority(head: &impl Head) -> Option<&str> {
    forwarded(head, &X_FORWARDED_HOST)
        .filter(|authority| is_authority(authority))
        .or_else(|| head.target_authority())
        .or_else(|| head.header(&HOST).and_then(text).map(str::trim))
        .filter(|authority| is_authority(authority))
}

/// Returns the certificate that a trusted proxy forwards, unparsed; `None` if there is none.
///
/// # Errors
/// The request has several such headers, of which only one can be the proxy's.
pub(crate) fn forwarded_certificate(head: &impl Head) -> Option<Result<&[u8], ()>> {
    let settings = head.state::<AddressSettings>();
    let name = settings.client_certificate_header.as_ref()?;
    let mut values = head.values(name);
    let value = values.next()?;
    let trusted = head.peer().is_some_and(|peer| settings.trusts(peer));
    trusted.then(|| if values.next().is_some() { Err(()) } else { Ok(value) })
}

/// Rejects a request that names an invalid address, because proxies might interpret it differently from this server.
///
/// # Errors
/// 400, without repeating the address.
pub(crate) fn check(head: &impl Head) -> Result<(), Error> {
    let is_address = |value: &[u8]| text(value).map(str::trim).is_some_and(is_authority);
    let mut named = head.values(&HOST).chain(head.target_authority().map(str::as_bytes));
    if named.all(is_address) {
        Ok(())
    } else {
        Err(Error::Malformed("The Host of the request is not a valid address".into()))
    }
}

/// Returns the value that the nearest proxy sent, if the proxy is trusted. Of several values the last one counts: a
/// proxy appends its value to those it received, which anybody may have written. In a chain of proxies, the outermost
/// one sets the value and the others keep it.
fn forwarded<'h>(head: &'h impl Head, name: &'h HeaderName) -> Option<&'h str> {
    let value = head.values(name).next_back()?;
    let trusted = head.peer().is_some_and(|peer| head.state::<AddressSettings>().trusts(peer));
    trusted.then(|| text(value))?.and_then(|value| value.rsplit(',').next()).map(str::trim)
}

/// Returns whether the text is exactly a host name or an IP address, with or without a port.
pub(crate) fn is_authority(text: &str) -> bool {
    let port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok();
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        return address.parse::<Ipv6Addr>().is_ok()
            && (rest.is_empty() || rest.strip_prefix(':').is_some_and(port));
    }
    let (name, named_port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    (1..=253).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        && named_port.is_none_or(port)
}

/// Returns the address of the client: the peer's address or, behind trusted proxies, the last address in
/// `X-Forwarded-For` that is not one of them. Anybody may have written the values before it.
pub fn client_address(head: &impl Head) -> IpAddr {
    let Some(peer) = head.peer() else { return Ipv4Addr::UNSPECIFIED.into() };
    let lines = head.values(&X_FORWARDED_FOR).rev();
    let hops = lines.flat_map(|line| line.rsplit(|byte| *byte == b','));
    nearest_stranger(peer, hops, |address| head.state::<AddressSettings>().trusts(address))
}

/// Returns the first address that is not a trusted proxy. `hops` begins with the nearest.
fn nearest_stranger<'h>(
    peer: IpAddr,
    mut hops: impl Iterator<Item = &'h [u8]>,
    trusted: impl Fn(IpAddr) -> bool,
) -> IpAddr {
    let mut nearest = peer;
    while trusted(nearest) {
        let Some(hop) = hops.next().and_then(parse_hop) else { break };
        nearest = hop;
    }
    nearest.to_canonical()
}

/// Parses an address with or without a port; IPv6 addresses with or without brackets.
fn parse_hop(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse().ok().map(|address: std::net::SocketAddr| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_addresses_count_as_far_as_proxies_are_trusted() {
        let from = |peer: &str, forwarded: &str| {
            let hops = forwarded.as_bytes().rsplit(|byte| *byte == b',');
            let trusted = |address: IpAddr| address.to_canonical().to_string().starts_with("10.");
            nearest_stranger(peer.parse().expect("an address"), hops, trusted).to_string()
        };
        assert_eq!(from("192.0.2.1", "198.51.100.7"), "192.0.2.1");
        assert_eq!(from("10.0.0.1", "198.51.100.7"), "198.51.100.7");
        assert_eq!(from("::ffff:10.0.0.1", "203.0.113.9, 198.51.100.7:4711, 10.0.0.2"), "198.51.100.7");
        assert_eq!(from("10.0.0.1", "[2001:db8::7]:80"), "2001:db8::7");
        assert_eq!(from("10.0.0.1", "[2001:db8::7]"), "2001:db8::7");
        assert_eq!(from("10.0.0.1", "198.51.100.7, unknown"), "10.0.0.1");
        assert_eq!(from("10.0.0.1", ""), "10.0.0.1");
        assert_eq!(from("10.0.0.1", "10.0.0.3"), "10.0.0.3");
    }

    #[test]
    fn authority_holds_nothing_that_could_leave_a_link() {
        for host in [
            "localhost",
            "t1.example.com:8080",
            "t_1.example.com.",
            "192.0.2.1:80",
            "[::1]:80",
            "[2001:db8::7]",
        ] {
            assert!(is_authority(host), "{host}");
        }
        for host in [
            "",
            "a b",
            "a/b",
            "a\"b",
            "a@b",
            "ä.de",
            ":80",
            "a:",
            "a:b",
            "a:65536",
            "a:1:2",
            "::1",
            "[::1",
            "[::1]80",
            "[a]:80",
            "[::1]:",
            "a,b",
            "a\\b",
            "a:+80",
            "[::1%eth0]:80",
        ] {
            assert!(!is_authority(host), "{host}");
        }
    }
}
