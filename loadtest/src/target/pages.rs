//! Collections, read page by page.

use serde::Deserialize;

use crate::error::Error;
use crate::target::Target;
use crate::target::connection::Connection;

/// The largest page of the server.
pub(crate) const PAGE_SIZE: u32 = 2000;

/// The member of a page of a collection that leads to the next one.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    /// The next page, if there is one.
    pub(crate) next: Option<String>,
}

impl Page {
    /// Parses a page.
    ///
    /// # Errors
    /// The body is not a JSON object.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Error> {
        Ok(serde_json::from_slice(body).map_err(std::io::Error::from)?)
    }
}

/// Reads a collection from its first page on by the links `next`, and passes on the body of each page.
///
/// # Errors
/// A response was not 200, or the body of a page was rejected.
pub(crate) async fn each_page(
    target: &Target,
    connection: &mut Connection,
    first: String,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let step = "reading back";
    let mut link = Some(first);
    while let Some(path) = link {
        let body = connection.body_of(step, &target.get(&path)).await?;
        take(body)?;
        link = Page::read(body)?.next;
    }
    Ok(())
}
