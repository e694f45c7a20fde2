//! The log in a PostgreSQL database.
use super::{Store, StoreError};
pub(super) struct Postgres;
impl Postgres {
    pub(super) fn open(_: &str) -> Result<super::sqlite::Sqlite, StoreError> {
        Err(StoreError::new("todo"))
    }
}
pub(super) fn listen(_url: String, _wake: Box<dyn Fn() -> bool + Send>) {}
pub(super) fn shown(url: &str) -> String {
    url.into()
}
#[allow(unused)]
fn x(_: &dyn Store) {}
