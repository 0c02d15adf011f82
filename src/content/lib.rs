//! The content that the server serves besides its API: the reference of all routes, the pages of the documentation and
//! the console. build/main.rs makes them from docs/ and console/ and embeds them in compressed form, so a running
//! server spends nothing on them. The command line gets its flags from the same reference.

use std::io::Read;

use flate2::read::GzDecoder;
use platform_model::naming::{Naming, naming};

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The OpenAPI document, compressed with gzip.
pub static REFERENCE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));

/// The AsyncAPI document, compressed with gzip.
pub static STREAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/asyncapi.json.gz"));

/// The index of the documentation's search: a JSON array of sections, compressed with gzip.
pub static SEARCH_INDEX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/search.json.gz"));

/// The files of the console; none if the server was built without Node.
pub static CONSOLE: &[File] = include!(concat!(env!("OUT_DIR"), "/console_files.rs"));

/// A file of the console.
#[derive(Debug)]
pub struct File {
    /// The name contains a hash of the content, except that of the page itself.
    pub name: &'static str,
    /// The value of `Content-Type`.
    pub media_type: &'static str,
    /// The content.
    pub plain: &'static [u8],
    /// The same content, compressed.
    pub gzip: &'static [u8],
}

/// Returns the OpenAPI document of all routes, with the vendor names of this deployment (C-20).
pub fn reference() -> String {
    inflated(REFERENCE)
}

/// Returns the AsyncAPI document of all channels and streams, with the vendor names of this deployment (C-20).
pub fn streams() -> String {
    inflated(STREAMS)
}

/// Returns the HTML of a page by its path below `/docs`, compressed with gzip; `None` for an unknown page.
pub fn page(path: &str) -> Option<&'static [u8]> {
    PAGES.iter().find(|(known, _)| *known == path).map(|(_, html)| *html)
}

/// Returns the path below `/docs` and the HTML of every page.
pub fn pages() -> impl Iterator<Item = (&'static str, String)> {
    PAGES.iter().map(|(path, html)| (*path, inflated(html)))
}

/// Decompresses a text and inserts the vendor names of this deployment.
pub fn inflated(compressed: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(compressed).read_to_string(&mut text).expect("the build compressed a text");
    let (own, known) = (naming(), Naming::default());
    if *own == known {
        return text;
    }
    let names = [
        (&known.media_type_prefix, &own.media_type_prefix),
        (&known.header_prefix, &own.header_prefix),
        (&known.authentication_extension, &own.authentication_extension),
        (&known.model_prefix, &own.model_prefix),
        (&known.fragment_prefix, &own.fragment_prefix),
    ];
    names.into_iter().fold(text, |text, (known, own)| text.replace(known, own))
}
