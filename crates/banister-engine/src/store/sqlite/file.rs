//! The file beneath: which one it is, whose log it holds, what the operating system says about it, and whole copies
//! while it is used.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::Sqlite;
use crate::store::{Store, StoreError, new_id, verify_page};

/// Beginning of errors whose reason only the operating system knows.
pub(in crate::store) const UNEXPLAINED: &str = "SQLite";
/// Mode of every file of the log: contexts, ids and digests of tokens are private.
const PRIVATE: u32 = 0o600;
/// Bits of a mode by which others read.
const READ_BY_OTHERS: u32 = 0o044;

/// Identifies the file that a path leads to: device and inode.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

pub(in crate::store) fn gone() -> StoreError {
    StoreError::passing("the file is missing")
}

/// A file whose name has something after that of another.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Name of the file that says which log a file held: one that is lost is not begun anew by mistake.
pub(in crate::store) fn id_file(path: &Path) -> PathBuf {
    beside(path, ".id")
}

/// The id of the log that a file held, if it ever held one, and the last event that was committed there.
pub(super) fn kept_id(path: &Path) -> Result<Option<(String, u64)>, StoreError> {
    let place = id_file(path);
    match std::fs::read_to_string(&place) {
        Ok(text) => {
            let first = text.lines().next().unwrap_or("");
            let (id, mark) = first.split_once(' ').unwrap_or((first, ""));
            Ok(Some((id.to_string(), mark.parse().unwrap_or(0))))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&place, &error)),
    }
}

/// Keeps the id of the log that a file holds.
pub(super) fn keep_id(path: &Path, id: &str) -> Result<(), StoreError> {
    let place = id_file(path);
    // Several may do so at once.
    let part = beside(&place, &format!(".{}", new_id()));
    let text = format!(
        "{id} {:020}\nThis is the id of the log in the file beside this one, and its last event. If that file is lost \
         or cut, the service does not start without them as long as this file is here.\n",
        0
    );
    let kept = make_private(&part)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| std::fs::rename(&part, &place));
    kept.map_err(|error| {
        // It may not have been made at all.
        let _ = std::fs::remove_file(&part);
        failed(&place, &error)
    })
}

/// Refusal of a file that should hold a log and does not.
pub(super) fn lost(path: &Path, what: &str) -> StoreError {
    let id = id_file(path);
    StoreError::new(format!(
        "the log is lost: {} says which log was here, and {} {what}. Restore it from a backup, or to begin \
         with what is there, if anything, remove {} first",
        id.display(),
        path.display(),
        id.display()
    ))
}

/// Makes a new file that no other user may read, whatever the umask.
pub(super) fn make_private(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(PRIVATE))?;
    Ok(file)
}

/// The log's files that others may read.
pub(in crate::store) fn exposed(path: &Path) -> Vec<PathBuf> {
    let files = ["", "-wal", "-shm", ".id"].map(|ending| beside(path, ending));
    let is_exposed = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.mode() & READ_BY_OTHERS != 0)
    };
    files.into_iter().filter(is_exposed).collect()
}

/// Finds out why the file's folder cannot be written, by trying.
pub(in crate::store) fn explain(path: &Path, error: StoreError) -> StoreError {
    let trial = folder(path).join(format!(".banister-probe-{}", std::process::id()));
    let tried = std::fs::write(&trial, [0; 4096]);
    // It may not have been made at all.
    let _ = std::fs::remove_file(&trial);
    match tried.map_err(|error| known(&error)) {
        Err(Some(reason)) => StoreError::passing(format!("{reason} ({})", error.reason)),
        _ => error,
    }
}

/// Folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// An error of the operating system about a file.
pub(super) fn failed(path: &Path, error: &Error) -> StoreError {
    let reason = known(error).map_or_else(|| error.to_string(), str::to_string);
    StoreError::passing(format!("{}: {reason}", path.display()))
}

fn known(error: &Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::ReadOnlyFilesystem => Some("the file system is read-only"),
        ErrorKind::StorageFull => Some("the disk is full"),
        ErrorKind::PermissionDenied => Some("the folder may not be written"),
        ErrorKind::NotFound => Some("the folder does not exist"),
        _ => None,
    }
}

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
