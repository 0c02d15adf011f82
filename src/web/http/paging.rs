//! Pages of collections in responses: `self`, members, `statistics`, `prev`, `next` (docs/rules.md#paging; P-01 to
//! P-06).

use actix_web::HttpResponse;
use actix_web::http::header;
use form_urlencoded::Serializer;
use platform_model::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};
use platform_model::links::{Linked, Links};
use platform_model::page::{After, Count, Page, PageRequest, TotalPages};
use serde::Serialize;
use serde::ser::SerializeMap;

use crate::http::RequestHead;
use crate::http::error::Result;
use crate::http::query::Query;

/// The parameter in which a `next` link carries the position at which the previous page ended, together with the number
/// of the page it leads to. A client that changes `currentPage` by hand thus receives the page it requests.
const AFTER: &str = "after";

/// Parses the page request of a query.
///
/// # Errors
/// `Invalid` for sizes and pages below 1 and for values that are not numbers (P-04).
pub(crate) fn page_request(query: &Query) -> Result<PageRequest> {
    let size = query.positive("pageSize")?.unwrap_or(DEFAULT_PAGE_SIZE).min(MAX_PAGE_SIZE);
    let current = query.positive("currentPage")?.unwrap_or(1);
    let total = match query.flag("withTotalPages")? {
        Some(true) => TotalPages::Counted,
        _ => TotalPages::Omitted,
    };
    let after = query
        .get(AFTER)
        .and_then(|text| text.split_once('_'))
        .and_then(|(page, position)| (page.parse() == Ok(current)).then(|| After::parse(position))?);
    Ok(PageRequest { size, current, after, total })
}

/// The request for a page of a collection: what every list handler reads of it, and how it responds.
pub struct Listing<'w> {
    head: &'w RequestHead,
    media_type: String,
    /// All query parameters: filters, which links repeat.
    pub query: Query,
    /// The requested page.
    pub request: PageRequest,
}

impl<'w> Listing<'w> {
    /// Reads the request for a page of a collection with this media type (C-08).
    ///
    /// # Errors
    /// The errors of [`RequestHead::accepted`] and [`page_request`].
    pub fn of(head: &'w RequestHead, name: &str) -> Result<Self> {
        Self::new(head, head.accepted(name)?, Query::parse(head.query_string()))
    }

    /// Reads the requested page from parameters that were parsed before. The response has this content type.
    ///
    /// # Errors
    /// The errors of [`page_request`].
    pub fn new(head: &'w RequestHead, media_type: String, query: Query) -> Result<Self> {
        let request = page_request(&query)?;
        Ok(Self { head, media_type, query, request })
    }

    /// Returns a 200 with the page. `name` is the name of the array of members, e.g. `alarms`.
    ///
    /// # Errors
    /// None; the result type lets handlers end with this call.
    pub fn respond<T>(self, name: &'static str, page: &Page<T>) -> Result<HttpResponse>
    where
        for<'a> Linked<'a, T>: Serialize,
    {
        self.respond_with(name, page, None)
    }

    /// Does the same as [`respond`](Self::respond), with another member of the collection: a list of names.
    ///
    /// # Errors
    /// None, as there.
    pub fn respond_with<T>(
        self,
        name: &'static str,
        page: &Page<T>,
        more: Option<(&'static str, &[String])>,
    ) -> Result<HttpResponse>
    where
        for<'a> Linked<'a, T>: Serialize,
    {
        let collection = Collection { name, page, listing: &self, links: &self.head.links(), more };
        let json = serde_json::to_vec(&collection)
            .expect("writing to memory does not fail and all keys are strings");
        Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, self.media_type)).body(json))
    }
}

/// A collection resource: one page with its links.
struct Collection<'a, T> {
    name: &'static str,
    page: &'a Page<T>,
    listing: &'a Listing<'a>,
    links: &'a Links,
    /// A further member.
    more: Option<(&'static str, &'a [String])>,
}

impl<T> Collection<'_, T> {
    /// Returns the address of a page of this collection with all filters.
    fn link(&self, current: u32, after: Option<&After>) -> String {
        let mut pairs = Serializer::new(String::new());
        let own = ["pageSize", "currentPage", AFTER];
        pairs.extend_pairs(self.listing.query.pairs().filter(|(name, _)| !own.contains(name)));
        pairs.append_pair("pageSize", &self.listing.request.size.to_string());
        pairs.append_pair("currentPage", &current.to_string());
        if let Some(after) = after {
            pairs.append_pair(AFTER, &format!("{current}_{after}"));
        }
        format!("{}{}?{}", self.links.base(), self.listing.head.path(), pairs.finish())
    }
}

impl<T> Serialize for Collection<'_, T>
where
    for<'l> Linked<'l, T>: Serialize,
{
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Statistics {
            #[serde(skip_serializing_if = "Option::is_none")]
            total_pages: Option<Option<u64>>,
            page_size: u32,
            current_page: u32,
        }
        let current = self.listing.request.current;
        let members: Vec<_> =
            self.page.members.iter().map(|value| Linked { value, links: self.links }).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &self.link(current, self.listing.request.after.as_ref()))?;
        map.serialize_entry(self.name, &members)?;
        let total_pages = match self.page.count {
            Count::Omitted => None,
            Count::Withheld { .. } => Some(None),
            Count::Of(count) => Some(Some((count.max(0) as u64).div_ceil(self.listing.request.size.into()))),
        };
        let statistics =
            Statistics { total_pages, page_size: self.listing.request.size, current_page: current };
        map.serialize_entry("statistics", &statistics)?;
        if let Some((name, list)) = self.more {
            map.serialize_entry(name, list)?;
        }
        // For a caller who may read only part of the collection, `currentPage` is an offset into the whole collection
        // (P-07).
        let (back, forth) = match self.page.count {
            Count::Withheld { scanned } => (self.listing.request.scan_budget(), scanned),
            _ => (1, 1),
        };
        if current > 1 {
            map.serialize_entry("prev", &self.link(current.saturating_sub(back).max(1), None))?;
        }
        if let Some(next) = &self.page.next {
            map.serialize_entry("next", &self.link(current.saturating_add(forth), Some(next)))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use platform_model::page::Position;

    use super::*;

    fn request(text: &str) -> PageRequest {
        page_request(&Query::parse(text)).expect(text)
    }

    #[test]
    fn page_size_defaults_to_5_and_is_reduced_to_2000() {
        assert_eq!((request("").size, request("").current), (5, 1));
        assert_eq!(request("pageSize=2001").size, 2000);
    }

    #[test]
    fn position_counts_only_for_the_page_it_was_made_for() {
        assert_eq!(request("currentPage=2&after=2_0_77").after, Some(After::Position(Position::of_id(77))));
        assert_eq!(request("currentPage=2&after=2_n_a_b").after, Some(After::Name("a_b".into())));
        assert_eq!(request("currentPage=3&after=2_0_77").after, None);
        assert_eq!(request("currentPage=2&after=junk").after, None);
    }
}
