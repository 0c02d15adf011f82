//! Leaves offers of an upgrade out of a head (C-21): a server that does not take one ignores it (RFC 9110, 7.8).

use super::head::text;

/// Returns the head without `Upgrade` and `HTTP2-Settings`, and without the options of `Connection` that name them.
/// `headers` are those that were parsed from the head.
pub(super) fn left_out(head: &[u8], headers: &[httparse::Header<'_>]) -> Vec<u8> {
    let place = |part: &[u8]| (part.as_ptr() as usize).wrapping_sub(head.as_ptr() as usize);
    let blank_line = if head.ends_with(b"\r\n") { 2 } else { 1 };
    let end = head.len() - blank_line;
    let mut rest = Vec::with_capacity(head.len());
    rest.extend_from_slice(&head[..headers.first().map_or(end, |first| place(first.name.as_bytes()))]);
    for (at, header) in headers.iter().enumerate() {
        let begin = place(header.name.as_bytes());
        let next = headers.get(at + 1).map_or(end, |next| place(next.name.as_bytes()));
        if is_offer(header.name) {
            continue;
        }
        match text(header.value).filter(|_| header.name.eq_ignore_ascii_case("connection")) {
            None => rest.extend_from_slice(&head[begin..next]),
            Some(options) => {
                let kept: Vec<_> = options.split(',').map(str::trim).filter(|name| !is_offer(name)).collect();
                if !kept.is_empty() {
                    rest.extend_from_slice(format!("connection: {}\r\n", kept.join(", ")).as_bytes());
                }
            }
        }
    }
    rest.extend_from_slice(&head[end..]);
    rest
}

fn is_offer(name: &str) -> bool {
    name.eq_ignore_ascii_case("upgrade") || name.eq_ignore_ascii_case("http2-settings")
}
