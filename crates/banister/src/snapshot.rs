//! Snapshots: versioned JSON, and the header that every one starts with.
//!
//! A restored agent continues bit for bit as if it had not stopped: the snapshot holds the
//! statistics, the intervals in force and the solvers' warm starts, and floats survive JSON
//! unchanged.

use serde::Deserialize;

use crate::error::Error;

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u32,
}

/// Makes an [`Error::Snapshot`] with a reason.
pub fn broken(reason: impl Into<String>) -> Error {
    Error::Snapshot {
        reason: reason.into(),
    }
}

/// The format that a snapshot says it has.
pub fn format_of(json: &str) -> Result<String, Error> {
    let header: Header = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
    Ok(header.format)
}

/// Refuses a snapshot of another format or version, before anything else of it is read.
pub fn check_header(json: &str, format: &str, version: u32) -> Result<(), Error> {
    let header: Header = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
    if header.format != format {
        return Err(broken(format!(
            "its format is `{}`, expected `{format}`",
            header.format
        )));
    }
    if header.version != version {
        return Err(broken(format!(
            "its version is {}, this program reads version {version}",
            header.version
        )));
    }
    Ok(())
}
