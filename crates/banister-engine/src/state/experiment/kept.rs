//! Pictures of an experiment that queries make, kept until its next event.

use std::any::Any;
use std::sync::Arc;

/// A picture, the number of the last event that it shows, and the periods of its budgets. Its type is the
/// business of whoever makes it.
#[derive(Default)]
pub(crate) struct Kept(Option<((u64, i64), Arc<dyn Any + Send + Sync>)>);

impl Kept {
    /// The picture as of an event and of periods, made anew if there is none.
    pub(crate) fn get<T: Any + Send + Sync>(
        &mut self,
        shown: (u64, i64),
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some((at, picture)) = &self.0
            && *at == shown
            && let Ok(known) = picture.clone().downcast::<T>()
        {
            return known;
        }
        let made = Arc::new(make());
        self.0 = Some((shown, made.clone()));
        made
    }
}
