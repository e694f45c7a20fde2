//! Pictures of an experiment that queries make, kept until its next event.

use std::any::Any;
use std::sync::Arc;

/// A picture, and the number of the last event that it shows. Its type is the business of whoever makes it.
#[derive(Default)]
pub(crate) struct Kept(Option<(u64, Arc<dyn Any + Send + Sync>)>);

impl Kept {
    /// The picture as of an event, made anew if there is none.
    pub(crate) fn get<T: Any + Send + Sync>(
        &mut self,
        number: u64,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some((at, picture)) = &self.0
            && *at == number
            && let Ok(known) = picture.clone().downcast::<T>()
        {
            return known;
        }
        let made = Arc::new(make());
        self.0 = Some((number, made.clone()));
        made
    }
}
