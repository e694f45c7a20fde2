//! The file beneath: which one it is, and what the operating system says about it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::store::StoreError;

/// Beginning of errors whose reason only the operating system knows.
pub(in crate::store) const UNEXPLAINED: &str = "SQLite";

/// Identifies the file that a path leads to: device and inode.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

pub(in crate::store) fn gone() -> StoreError {
    StoreError::passing("the file is missing")
}

/// Finds out why the file's folder cannot be written, by trying.
pub(in crate::store) fn explain(path: &Path, error: StoreError) -> StoreError {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let trial = folder.join(format!(".banister-probe-{}", std::process::id()));
    let tried = std::fs::write(&trial, [0; 4096]);
    // It may not have been made at all.
    let _ = std::fs::remove_file(&trial);
    let reason = match tried.map_err(|e| e.kind()) {
        Err(std::io::ErrorKind::ReadOnlyFilesystem) => "the file system is read-only",
        Err(std::io::ErrorKind::StorageFull) => "the disk is full",
        Err(std::io::ErrorKind::PermissionDenied) => "the folder may not be written",
        Err(std::io::ErrorKind::NotFound) => "the folder does not exist",
        _ => return error,
    };
    StoreError::passing(format!("{reason} ({})", error.reason))
}
