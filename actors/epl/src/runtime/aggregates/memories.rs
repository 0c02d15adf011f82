//! The values that one event contributed to the aggregates of a statement. They are kept as long as the event, so each
//! byte counts.

use super::Memory;

/// The contribution to each aggregate. Most statements have no aggregate or one; those need no allocation.
#[derive(Debug, Clone)]
pub(in crate::runtime) enum Memories {
    One(Memory),
    Two(Box<[Memory; 2]>),
    Several(Box<Several>),
}

/// A boxed slice behind another box, because the slice itself would take two words.
#[derive(Debug, Clone)]
pub(in crate::runtime) struct Several(Box<[Memory]>);

impl Default for Memories {
    fn default() -> Self {
        Self::One(Memory::Nothing)
    }
}

impl Memories {
    /// Takes all `memories` in their order and leaves the vector empty.
    pub(in crate::runtime) fn take(memories: &mut Vec<Memory>) -> Self {
        match memories.as_mut_slice() {
            [] => Self::default(),
            [one] => {
                let one = std::mem::take(one);
                memories.clear();
                Self::One(one)
            }
            [one, other] => {
                let two = [std::mem::take(one), std::mem::take(other)];
                memories.clear();
                Self::Two(Box::new(two))
            }
            _ => Self::Several(Box::new(Several(memories.drain(..).collect()))),
        }
    }

    pub(in crate::runtime) fn as_slice(&self) -> &[Memory] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Two(two) => &**two,
            Self::Several(several) => &several.0,
        }
    }

    /// Returns the bytes that the contributions take beside the event, for a statement with this number of aggregates.
    pub(in crate::runtime) fn bytes(aggregates: usize) -> usize {
        const ALLOCATION: usize = 16;
        match aggregates {
            0 | 1 => 0,
            2 => ALLOCATION + size_of::<[Memory; 2]>(),
            several => 2 * ALLOCATION + size_of::<Several>() + several.saturating_mul(size_of::<Memory>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entered_values_are_kept_in_their_order() {
        for count in 0..5 {
            let mut entered: Vec<_> = (0..count).map(Memory::Sequence).collect();
            let memories = Memories::take(&mut entered);
            assert!(entered.is_empty());
            let remembered = memories.as_slice().iter().filter_map(|memory| match memory {
                Memory::Sequence(number) => Some(*number),
                _ => None,
            });
            assert!(remembered.eq(0..count), "{memories:?}");
        }
    }
}
