//! The number of running calls of each microservice in this process.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use platform_model::id::ApplicationId;

/// The running calls of each microservice.
#[derive(Debug, Default)]
pub(super) struct Calls(Arc<Mutex<HashMap<ApplicationId, usize>>>);

/// A running call, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Call {
    all: Arc<Mutex<HashMap<ApplicationId, usize>>>,
    application: ApplicationId,
}

impl Calls {
    /// Begins a call; returns `None` when `most` calls are running.
    pub(super) fn begin(&self, application: ApplicationId, most: usize) -> Option<Call> {
        let mut all = self.0.lock();
        let under_way = all.entry(application).or_default();
        if *under_way >= most {
            return None;
        }
        *under_way += 1;
        Some(Call { all: self.0.clone(), application })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(under_way) = all.get_mut(&self.application) {
            *under_way -= 1;
            if *under_way == 0 {
                all.remove(&self.application);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_microservice_has_a_bound_of_its_own() {
        let (calls, one, other) = (Calls::default(), id("1"), id("2"));
        let first = calls.begin(one, 2).expect("room for two");
        let second = calls.begin(one, 2).expect("room for two");
        assert!(calls.begin(one, 2).is_none());
        assert!(calls.begin(other, 2).is_some());
        drop(first);
        assert!(calls.begin(one, 2).is_some());
        drop(second);
        assert!(calls.0.lock().is_empty());
    }

    fn id(text: &str) -> ApplicationId {
        ApplicationId::parse(text).expect("a number")
    }
}
