//! The server's errors in our words. None of them has a password in it: addresses are never repeated.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::Error;

use crate::store::StoreError;

/// The connection is gone.
pub(super) fn lost() -> StoreError {
    StoreError::passing("the connection to PostgreSQL was lost")
}

/// The server is there, and says nothing.
pub(super) fn silent(limit: Duration) -> StoreError {
    StoreError::passing(format!(
        "the database server did not answer within {} seconds",
        limit.as_secs_f64()
    ))
}

/// An error of a connection that was open.
pub(super) fn of(error: Error) -> StoreError {
    if error.is_closed() {
        return lost();
    }
    if let Some(database) = error.as_db_error() {
        return refused(database.code().code(), database.message());
    }
    match error
        .source()
        .and_then(|e| e.downcast_ref::<std::io::Error>())
    {
        Some(io) => StoreError::passing(format!("the connection to PostgreSQL was lost: {io}")),
        None => StoreError::new(format!("PostgreSQL: {}", with_source(&error))),
    }
}

/// An error of an attempt to connect to `shown`.
pub(super) fn unreachable(shown: &str, error: Error) -> StoreError {
    if let Some(database) = error.as_db_error() {
        return refused(database.code().code(), database.message());
    }
    let reason = with_source(&error);
    // A certificate that does not convince comes as invalid data.
    let io = error
        .source()
        .and_then(|e| e.downcast_ref::<std::io::Error>());
    match io.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::InvalidData) => StoreError::new(format!(
            "PostgreSQL at {shown}: {reason}; with sslmode=require the certificate must be signed by \
             an authority that this machine trusts, or that SSL_CERT_FILE names"
        )),
        Some(_) => StoreError::passing(format!("cannot reach PostgreSQL at {shown}: {reason}")),
        None if error.is_closed() => {
            StoreError::passing(format!("PostgreSQL at {shown} closed the connection"))
        }
        None => StoreError::new(format!("PostgreSQL at {shown}: {reason}")),
    }
}

fn with_source(error: &Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Translates an error of the server by its code.
fn refused(code: &str, message: &str) -> StoreError {
    let known = match code {
        "53100" => Some("the database server's disk is full"),
        "53300" => Some("the database server has too many connections"),
        "57P01" => Some("the database server closed the connection"),
        "57P02" => Some("the database server crashed and restarts"),
        "57P03" => Some("the database server is starting or stopping"),
        "55P03" => Some("another replica held the log for too long"),
        "57014" => Some("the database server took too long"),
        "25P03" => Some("this process held the log for too long"),
        "25006" => Some("the database is read-only"),
        _ => None,
    };
    if let Some(known) = known {
        return StoreError::passing(known);
    }
    let reason = format!("PostgreSQL: {message} ({code})");
    // Connections, resources, conflicts between transactions, the operator and the machine.
    match &code[..code.len().min(2)] {
        "08" | "40" | "53" | "57" | "58" => StoreError::passing(reason),
        _ => StoreError::new(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn what_can_pass_is_told_from_what_cannot() {
        let passing = [
            "57P01", "57P02", "57P03", "55P03", "53100", "53300", "25006", "25P03", "57014",
            "40001", "08006", "58030",
        ];
        for code in passing {
            assert!(refused(code, "x").passing, "{code}");
        }
        // A wrong password, an unknown database, a missing right, an id that is taken.
        for code in ["28P01", "28000", "3D000", "42501", "23505"] {
            assert!(!refused(code, "x").passing, "{code}");
        }
    }
}
