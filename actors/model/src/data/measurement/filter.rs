//! The query parameters of the collection of measurements (G-04).

use crate::id::ManagedObjectId;
use crate::page::TimeOrder;
use crate::timestamp::Timestamp;

/// The filters of the collection, used to list, count and delete (G-01).
#[derive(Debug, Clone)]
pub struct MeasurementFilter {
    /// The source.
    pub source: Option<ManagedObjectId>,
    /// `time` at or after this.
    pub date_from: Option<Timestamp>,
    /// `time` at or before this.
    pub date_to: Option<Timestamp>,
    /// The exact type.
    pub type_: Option<String>,
    /// Measurements with a top-level member of this name, of any type.
    pub fragment_type: Option<String>,
    /// Measurements with a member of this name that contains at least one series.
    pub value_fragment_type: Option<String>,
    /// Measurements with a series of this name: in that member, if one is named, else in any member (G-04a).
    pub value_fragment_series: Option<String>,
    /// The order, oldest first unless reverted (G-05).
    pub order: TimeOrder,
}

impl MeasurementFilter {
    /// Returns whether it filters by more than source and time, that is, by properties of the shape.
    pub fn filters_by_shape(&self) -> bool {
        [&self.type_, &self.fragment_type, &self.value_fragment_type, &self.value_fragment_series]
            .iter()
            .any(|filter| filter.is_some())
    }

    /// Returns `<fragment>.<series>`, as shapes store it, if both are given.
    pub fn value_series(&self) -> Option<String> {
        let (fragment, series) = (self.value_fragment_type.as_ref()?, self.value_fragment_series.as_ref()?);
        Some(format!("{fragment}.{series}"))
    }

    /// Returns the name of a series that may be in any fragment.
    pub fn lone_series(&self) -> Option<&str> {
        self.value_fragment_series.as_deref().filter(|_| self.value_fragment_type.is_none())
    }
}
