//! Copies of the file that are whole, made while it is used.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::Sqlite;
use super::file::{beside, failed, folder, make_private};
use crate::store::{Store, StoreError, verify_page};

/// Copies the log to a new file, and gives the number of the copy's last event.
pub(in crate::store) fn backup(path: &Path, to: &Path) -> Result<u64, StoreError> {
    if to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    // It has its name only once it is whole.
    let part = beside(to, &format!(".{}", std::process::id()));
    let made = copy(path, &part).and_then(|last| publish(&part, to).map(|()| last));
    // Gone already if all went well.
    let _ = std::fs::remove_file(&part);
    made
}

fn copy(path: &Path, part: &Path) -> Result<u64, StoreError> {
    let mut source = Sqlite::open_reader(path)?;
    let before = source.last()?;
    let name = part
        .to_str()
        .ok_or_else(|| StoreError::new(format!("{} is not UTF-8", part.display())))?;
    let file = make_private(part).map_err(|error| failed(part, &error))?;
    // One reading transaction, so one moment of the log; writers do not wait for it.
    source.connection.execute("VACUUM INTO ?1", [name])?;
    file.sync_all().map_err(|error| failed(part, &error))?;
    let mut copy = Sqlite::open_reader(part)?;
    copy.check()?;
    let mut number = 0;
    while !verify_page(&mut copy, &mut number)? {}
    let last = copy.last()?;
    if last < before || copy.get(last)? != source.get(last)? {
        return Err(StoreError::new(format!(
            "the copy ends at event {last}, which is not the log's: it was replaced meanwhile"
        )));
    }
    Ok(last)
}

/// Gives a file its name, unless that is taken.
fn publish(part: &Path, to: &Path) -> Result<(), StoreError> {
    match std::fs::hard_link(part, to) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(to)),
        // Some file systems have no links.
        Err(_) => std::fs::rename(part, to).map_err(|error| failed(to, &error))?,
    }
    let folder = folder(to);
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed(folder, &error))
}

fn exists(to: &Path) -> StoreError {
    StoreError::new(format!(
        "{} exists already, and is not overwritten",
        to.display()
    ))
}
