//! Parses query parameters, which are untrusted input. Reads ignore unknown parameters (C-08); requests whose effect an
//! ignored filter would extend reject them (C-19).

use platform_model::devices::reference::LinkKind;
use platform_model::error::Error;
use platform_model::fragment_name;
use platform_model::page::TimeOrder;
use platform_model::timestamp::Timestamp;

use crate::http::error::Result;

/// The decoded parameters of a request, in order.
#[derive(Debug, Clone)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes a query string.
    pub fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Returns the first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns all pairs in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Adds a parameter.
    pub(crate) fn add(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    /// Returns a filter by the name of a fragment (I-08a).
    ///
    /// # Errors
    /// `Invalid` names the parameter and a name that no fragment can have.
    pub fn fragment(&self, name: &str) -> Result<Option<String>> {
        Ok(self.get(name).map(|given| fragment_name::parse_filter(name, given)).transpose()?)
    }

    /// Returns the items of a comma-separated list; the parameter may also be repeated. Empty items are omitted.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let values = self.0.iter().filter(|(known, _)| known == name);
        values
            .flat_map(|(_, value)| value.split(','))
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .collect()
    }

    /// Returns a parameter that is `true` or `false`, in upper or lower case (C-18).
    ///
    /// # Errors
    /// `Invalid` names the parameter, the value and the allowed values.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some(word) if word.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(word) if word.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(other) => Err(Error::invalid_value(name, other, "true, false").into()),
        }
    }

    /// Rejects parameters that are neither one of these filters nor common to all lists, and filters without a value. A
    /// misspelled or empty filter would extend a deletion or a bulk change (C-19).
    ///
    /// # Errors
    /// `Invalid` names the first filter without a value; else the first unknown parameter, the known ones with a
    /// similar name, and all known ones.
    pub fn only_filters(&self, filters: &[&str]) -> Result<()> {
        let is_empty = |value: &str| value.split(',').all(|item| item.trim().is_empty());
        if let Some((name, value)) =
            self.pairs().find(|(name, value)| filters.contains(name) && is_empty(value))
        {
            return Err(Error::invalid_value(name, format!("'{value}'"), "what it filters by").into());
        }
        let known = || filters.iter().chain(&OF_LISTS).copied();
        let Some((unknown, _)) = self.pairs().find(|(name, _)| !known().any(|known| known == *name)) else {
            return Ok(());
        };
        let known: Vec<&str> = known().collect();
        Err(Error::unknown_name("parameter", unknown, &known).into())
    }

    /// Returns a parameter that is a whole number from 1.
    ///
    /// # Errors
    /// `Invalid` names the parameter, the value and the allowed values (P-04).
    pub fn positive(&self, name: &str) -> Result<Option<u32>> {
        let allowed = "a whole number from 1 to 2147483647";
        self.get(name)
            .map(|text| match text.parse::<u32>() {
                Ok(number) if (1..=i32::MAX as u32).contains(&number) => Ok(number),
                _ => Err(Error::invalid_value(name, text, allowed).into()),
            })
            .transpose()
    }

    /// Returns a bound of a time range: a timestamp, or a date, which stands for its first instant (C-12).
    ///
    /// # Errors
    /// `Invalid` names the parameter, the value and the formats.
    pub fn time(&self, name: &str) -> Result<Option<Timestamp>> {
        Ok(self.get(name).map(|text| Timestamp::parse_bound(name, text)).transpose()?)
    }

    /// Returns the order of a time series: its default order, unless `revert=true`.
    ///
    /// # Errors
    /// `Invalid` for a value other than `true` and `false`.
    pub fn time_order(&self, own: TimeOrder) -> Result<TimeOrder> {
        Ok(if self.flag("revert")? == Some(true) { own.reversed() } else { own })
    }

    /// Returns the kinds of links along which the descendants of the parameter `source` are included (A-01, V-01; the
    /// short names are those of a template, X-08).
    ///
    /// # Errors
    /// `Invalid` without a source.
    pub fn with_descendants(&self) -> Result<Vec<LinkKind>> {
        let mut kinds = Vec::new();
        for (name, kind) in [
            ("withSourceAssets", LinkKind::ChildAssets),
            ("withAssets", LinkKind::ChildAssets),
            ("withSourceDevices", LinkKind::ChildDevices),
            ("withDevices", LinkKind::ChildDevices),
        ] {
            if self.flag(name)? != Some(true) {
                continue;
            }
            if self.get("source").is_none() {
                return Err(Error::Invalid(format!("Parameter '{name}' needs parameter 'source'")).into());
            }
            kinds.push(kind);
        }
        Ok(kinds)
    }
}

/// The parameters that every list supports in addition to its filters. None of them selects members.
const OF_LISTS: [&str; 5] = ["revert", "pageSize", "currentPage", "withTotalPages", "after"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_at_commas_and_repetitions() {
        let query = Query::parse("a=1,2,&a=3&b=%2C");
        assert_eq!(query.list("a"), ["1", "2", "3"]);
        assert!(query.list("b").is_empty());
    }

    #[test]
    fn blank_for_plus_in_a_timestamp_is_repaired() {
        let query = Query::parse("dateFrom=2024-03-10T02:30:00+01:00");
        let time = query.time("dateFrom").expect("a time").expect("given");
        assert_eq!(time.to_string(), "2024-03-10T02:30:00.000+01:00");
    }

    #[test]
    fn unknown_filter_is_refused_and_the_near_ones_named() {
        let refused = |query: &str| {
            let error = Query::parse(query).only_filters(&["source", "type", "dateFrom", "dateTo"]);
            error.expect_err(query).to_string()
        };
        assert!(refused("sorce=1").contains("'sorce'; is 'source' meant?"), "{}", refused("sorce=1"));
        assert!(refused("type=a&Source=1").contains("'Source'; is 'source' meant?"));
        assert!(refused("date=1").contains("'dateFrom' or 'dateTo'"), "{}", refused("date=1"));
        assert!(
            refused("colour=red").starts_with("Unknown parameter 'colour'. Known parameters: source, type")
        );
        assert!(Query::parse("type=a&revert=true&pageSize=5").only_filters(&["type"]).is_ok());
    }

    #[test]
    fn filter_without_a_value_is_refused_by_name() {
        for query in ["type=", "type", "type=,", "type=a&type=%20", "dateFrom=2024-03-10&type=%20,%20"] {
            let refused =
                Query::parse(query).only_filters(&["type", "dateFrom"]).expect_err(query).to_string();
            assert!(refused.contains("'type'"), "{query}: {refused}");
        }
        assert!(Query::parse("type=a,,b&pageSize=").only_filters(&["type"]).is_ok());
    }

    #[test]
    fn numbers_below_one_and_words_are_refused_by_name() {
        for text in ["pageSize=0", "pageSize=-1", "pageSize=x", "pageSize=", "pageSize=99999999999"] {
            let error = Query::parse(text).positive("pageSize").expect_err(text).to_string();
            assert!(error.contains("'pageSize'"), "{error}");
        }
    }
}
