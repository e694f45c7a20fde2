//! Cache of a view of an experiment, valid until its next event.

use std::any::Any;
use std::sync::Arc;

/// A view with the number of the last event that it shows and the periods of its budgets. `Any`, because views are
/// types of the queries, which this module does not know.
#[derive(Default)]
pub(crate) struct ViewCache(Option<((u64, i64), Arc<dyn Any + Send + Sync>)>);

impl ViewCache {
    /// Returns the view as of an event and of periods, and makes it if the cache holds another.
    pub(crate) fn get<T: Any + Send + Sync>(
        &mut self,
        shown: (u64, i64),
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some((at, view)) = &self.0
            && *at == shown
            && let Ok(known) = view.clone().downcast::<T>()
        {
            return known;
        }
        let made = Arc::new(make());
        self.0 = Some((shown, made.clone()));
        made
    }
}
