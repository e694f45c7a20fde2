//! The journal of a comparison: every finished run, written as soon as it is, so that an interrupted comparison goes on
//! where it stopped.
//!
//! The file is a header and then records, each a run of one agent. From the first record on that is not whole, cut off
//! by the end of the process or damaged, they are dropped, and their runs are played again: they come out the same.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use banister::Error;

use crate::experiment::Experiment;
use crate::run::{Shard, fnv};

/// First bytes of a journal; the number goes up when its meaning changes.
const HEADER: &[u8] = b"banister comparison 3\n";

/// The finished runs of a comparison, on disk. Its file is locked as long as this lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// Reason why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file is no journal, of another comparison, or in use; it is left as it was.
    #[error("{0}")]
    Refused(#[from] Error),
    /// The file cannot be made, read or written.
    #[error("cannot write `{path}`: {1}", path = .0.display())]
    Unusable(PathBuf, #[source] std::io::Error),
}

impl Journal {
    /// Opens the journal of these experiments, or begins one. What it holds already comes with it, unless `restart`:
    /// then it is emptied first, whatever it holds.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn open(
        path: &Path,
        experiments: &[Experiment],
        restart: bool,
    ) -> Result<(Self, Vec<Shard>), JournalError> {
        let header = header(experiments)?;
        let mut file = locked(path)?;
        let mut bytes = Vec::new();
        if !restart {
            (file.read_to_end(&mut bytes)).map_err(|error| unusable(path, error))?;
        }
        // New, or cut off before anything was in it.
        let is_new = header.starts_with(&bytes);
        if !is_new && !bytes.starts_with(HEADER) {
            let reason = "is no journal of a comparison: start again (`--restart`), or write \
                          elsewhere";
            return Err(refuse(path, reason).into());
        }
        if !is_new && !bytes.starts_with(&header) {
            let reason = "belongs to another comparison (other instances, agents, horizon, runs, \
                          seed or version): start again (`--restart`), or write elsewhere";
            return Err(refuse(path, reason).into());
        }
        let (mut shards, mut kept) = (Vec::new(), header.len());
        while let Some((shard, length)) = bytes.get(kept..).and_then(first_record) {
            shards.push(shard);
            kept += length;
        }
        let written = if is_new {
            file.set_len(0).and_then(|()| file.write_all(&header))
        } else {
            file.set_len(kept as u64)
        };
        written.map_err(|error| unusable(path, error))?;
        let journal = Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        };
        Ok((journal, shards))
    }

    /// Adds a finished run.
    pub fn append(&self, shard: &Shard) -> Result<(), JournalError> {
        let body = shard.to_bytes()?;
        let length = (body.len() as u64).to_le_bytes();
        let record = [&length[..], &fnv(&body).to_le_bytes(), &body].concat();
        // A thread that panicked while writing left a torn record, which is what a journal is made for.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        (file.write_all(&record)).map_err(|error| unusable(&self.path, error))
    }

    /// Removes the file: its runs are in the results now.
    pub fn remove(self) -> Result<(), JournalError> {
        match std::fs::remove_file(&self.path) {
            // Somebody else has tidied up.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(unusable(&self.path, error))
            }
            _ => Ok(()),
        }
    }
}

/// Opens the file, made if need be, for us alone. Whatever is written goes to its end.
fn locked(path: &Path) -> Result<File, JournalError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| unusable(path, error))?;
    }
    // Opening a pipe would wait for somebody at its other end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(refuse(path, "is no file: write elsewhere").into());
    }
    let options = (OpenOptions::new().read(true).append(true).create(true)).open(path);
    let file = options.map_err(|error| unusable(path, error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let reason = "is in use: another process is at this comparison";
            Err(refuse(path, reason).into())
        }
        // Where files cannot be locked it goes without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

fn refuse(path: &Path, reason: &str) -> Error {
    Error::invalid("unfinished comparison", path.display(), reason)
}

fn unusable(path: &Path, error: std::io::Error) -> JournalError {
    JournalError::Unusable(path.to_owned(), error)
}

/// Encodes the header, with a hash of the experiments that the journal is of.
fn header(experiments: &[Experiment]) -> Result<Vec<u8>, Error> {
    let mut bytes = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
    for experiment in experiments {
        bytes.extend(experiment.hash()?.to_le_bytes());
    }
    Ok([HEADER, &fnv(&bytes).to_le_bytes()].concat())
}

/// Decodes the first record (the length of a run, its hash, the run) and counts its bytes; `None` if it is not whole.
fn first_record(bytes: &[u8]) -> Option<(Shard, usize)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk()?;
    let body = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let is_whole = fnv(body) == u64::from_le_bytes(*hash);
    let shard = Shard::from_bytes(body).ok().filter(|_| is_whole)?;
    Some((shard, bytes.len() - rest.len() + body.len()))
}
