//! Which measurements are meant: query parameters of the collection (G-04).

use crate::model::id::ManagedObjectId;
use crate::model::page::TimeOrder;
use crate::model::timestamp::Timestamp;

/// Filters of the collection; used to list, count and delete alike (G-01).
#[derive(Debug, Clone)]
pub struct MeasurementFilter {
    /// Of this source.
    pub source: Option<ManagedObjectId>,
    /// Taken at or after.
    pub date_from: Option<Timestamp>,
    /// Taken before or at.
    pub date_to: Option<Timestamp>,
    /// Of this type.
    pub type_: Option<String>,
    /// With a top-level member of this name, of whatever kind.
    pub fragment_type: Option<String>,
    /// With a member of this name that holds at least one series.
    pub value_fragment_type: Option<String>,
    /// With a series of this name: in that member, where one is named, else in any (G-04a).
    pub value_fragment_series: Option<String>,
    /// Oldest first unless reverted (G-05).
    pub order: TimeOrder,
}

impl MeasurementFilter {
    /// Whether it asks for more than source and time: for what a shape tells.
    pub(crate) fn asks_for_shape(&self) -> bool {
        [&self.type_, &self.fragment_type, &self.value_fragment_type, &self.value_fragment_series]
            .iter()
            .any(|filter| filter.is_some())
    }

    /// `<fragment>.<series>`, as shapes know it, where both are asked for.
    pub(crate) fn value_series(&self) -> Option<String> {
        let (fragment, series) = (self.value_fragment_type.as_ref()?, self.value_fragment_series.as_ref()?);
        Some(format!("{fragment}.{series}"))
    }

    /// The name of a series that may be in any fragment.
    pub(crate) fn lone_series(&self) -> Option<&str> {
        self.value_fragment_series.as_deref().filter(|_| self.value_fragment_type.is_none())
    }
}
