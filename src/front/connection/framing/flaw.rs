//! The flaws of requests whose heads cannot be used (E-01a).

/// The longest target that actix-http can parse, in bytes.
pub const TARGET_BYTES: usize = u16::MAX as usize - 1;
/// The number of bytes after which a head without an end is refused.
pub const HEAD_BYTES: usize = 128 << 10;
/// The maximum number of headers.
pub const HEADERS: usize = 96;

/// The reason why a request is refused before it is routed (E-01a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The first line is not a request line.
    RequestLine,
    /// The target contains a blank, a quotation mark, or bytes that are not ASCII.
    Target,
    /// The target is longer than [`TARGET_BYTES`].
    LongTarget,
    /// The version is neither HTTP/1.0 nor HTTP/1.1.
    Version,
    /// A header line begins with a blank, which once continued the line before it.
    FoldedHeader,
    /// Another line is not a header.
    Header,
    /// The head has more than [`HEADERS`] headers or [`HEAD_BYTES`] bytes.
    LongHead,
    /// HTTP/1.1 requires a `Host`.
    NoHost,
    /// There are several headers `Host`.
    SeveralHosts,
    /// `Content-Length` is not a number, occurs twice, or is missing in a POST of HTTP/1.0.
    ContentLength,
    /// `Transfer-Encoding` is not exactly `chunked`, or stands beside a `Content-Length` or in HTTP/1.0.
    TransferEncoding,
    /// The head did not arrive in time.
    Slow,
    /// The request was sent without TLS to a server that serves HTTPS only.
    PlainHttp,
}

impl Flaw {
    /// Returns the flaw of a head that the parser rejected.
    pub(super) fn of(error: httparse::Error, head: &[u8]) -> Self {
        match error {
            httparse::Error::TooManyHeaders => Self::LongHead,
            httparse::Error::HeaderName | httparse::Error::HeaderValue if has_folded_line(head) => {
                Self::FoldedHeader
            }
            httparse::Error::HeaderName | httparse::Error::HeaderValue => Self::Header,
            _ => Self::of_first_line(head),
        }
    }

    /// Returns the flaw of a head whose first line was rejected, or the line end of a later line.
    fn of_first_line(head: &[u8]) -> Self {
        let head = head.trim_ascii_start();
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let version = |word: &[u8]| word.starts_with(b"HTTP/");
        match words.as_slice() {
            [_, target, b"HTTP/1.0" | b"HTTP/1.1"] if !target.is_empty() && is_visible(target) => {
                Self::Header
            }
            [_, target, b"HTTP/1.0" | b"HTTP/1.1"] if !target.is_empty() => Self::Target,
            [_, target, last] if !target.is_empty() && version(last) => Self::Version,
            [_, .., last] if words.len() > 3 && version(last) => Self::Target,
            [_, target, ..] if !is_visible(target) => Self::Target,
            _ => Self::RequestLine,
        }
    }
}

fn is_visible(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_graphic)
}

fn has_folded_line(head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.into_iter().any(|line| line.starts_with(b" ") || line.starts_with(b"\t"))
}
