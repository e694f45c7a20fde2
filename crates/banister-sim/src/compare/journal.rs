//! The journal of a comparison: every finished run, written as soon as it is, so that an interrupted
//! comparison goes on where it stopped.
//!
//! The file is a header and then records, each a run of one agent. A record that was cut off by the end of
//! the process is dropped, and its run played again; anything else that is not as it was written makes the
//! file damaged, and it is refused.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use banister::Error;

use crate::experiment::Experiment;
use crate::run::{Shard, fnv};

/// First bytes of a journal; the number goes up when its meaning changes.
const HEADER: &[u8] = b"banister comparison 2\n";
/// Bytes before each record: its length, a check of that, and a check of the record.
const FRAME: usize = 4 + 4 + 8;

/// The finished runs of a comparison, on disk. Its file is locked as long as this lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// Reason why a journal cannot be used.
#[derive(Debug)]
pub enum JournalError {
    /// The file is damaged, no journal, of another comparison, or in use; it is left as it was.
    Refused(Error),
    /// The file cannot be made, read or written.
    Unusable(PathBuf, std::io::Error),
}

impl std::fmt::Display for JournalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Unusable(path, error) => write!(f, "cannot write `{}`: {error}", path.display()),
        }
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Unusable(_, error) => Some(error),
        }
    }
}

impl From<Error> for JournalError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Journal {
    /// Opens the journal of these experiments, or begins one. What it holds already comes with it.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn open(
        path: &Path,
        experiments: &[Experiment],
    ) -> Result<(Self, Vec<Shard>), JournalError> {
        let unusable = |error| JournalError::Unusable(path.to_owned(), error);
        let header = header(experiments)?;
        let mut file = locked(path)?;
        let mut start = Vec::new();
        let length = header.len() as u64;
        (&mut file)
            .take(length)
            .read_to_end(&mut start)
            .map_err(unusable)?;
        let (shards, kept) = if start.len() < header.len() && header.starts_with(&start) {
            // New, or cut off before anything was in it.
            file.seek(SeekFrom::Start(0)).map_err(unusable)?;
            file.write_all(&header).map_err(unusable)?;
            (Vec::new(), header.len())
        } else {
            if !start.starts_with(HEADER) {
                let reason = "is no journal of a comparison: start again (`--restart`), or write \
                              elsewhere";
                return Err(refuse(path, reason).into());
            }
            if start != header {
                let reason = "belongs to another comparison (other instances, agents, horizon, runs, \
                              seed or version): start again (`--restart`), or write elsewhere";
                return Err(refuse(path, reason).into());
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(unusable)?;
            let (shards, used) = records(path, &bytes)?;
            (shards, header.len() + used)
        };
        check_known(path, experiments, &shards)?;
        file.set_len(kept as u64).map_err(unusable)?;
        file.seek(SeekFrom::Start(kept as u64)).map_err(unusable)?;
        let journal = Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        };
        Ok((journal, shards))
    }

    /// Begins a journal, whatever the file holds: it is emptied first.
    pub fn restart(path: &Path, experiments: &[Experiment]) -> Result<Self, JournalError> {
        let unusable = |error| JournalError::Unusable(path.to_owned(), error);
        let mut file = locked(path)?;
        file.set_len(0).map_err(unusable)?;
        file.write_all(&header(experiments)?).map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        })
    }

    /// Adds a finished run.
    pub fn append(&self, shard: &Shard) -> Result<(), JournalError> {
        let body = shard.to_bytes()?;
        let length = u32::try_from(body.len())
            .map_err(|_| refuse(&self.path, "cannot hold a run of this length"))?;
        let mut record = Vec::with_capacity(FRAME + body.len());
        record.extend(length.to_le_bytes());
        record.extend(check_of(length).to_le_bytes());
        record.extend(fnv(&body).to_le_bytes());
        record.extend(body);
        // A thread that panicked while writing left a torn record, which is what a journal is made for.
        let mut file = match self.file.lock() {
            Ok(file) => file,
            Err(poisoned) => poisoned.into_inner(),
        };
        file.write_all(&record)
            .map_err(|error| JournalError::Unusable(self.path.clone(), error))
    }

    /// Removes the file: its runs are in the results now.
    pub fn remove(self) -> Result<(), JournalError> {
        match std::fs::remove_file(&self.path) {
            // Somebody else has tidied up.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(JournalError::Unusable(self.path.clone(), error)),
            Ok(()) => Ok(()),
        }
    }
}

/// Opens the file, made if need be, for us alone.
fn locked(path: &Path) -> Result<File, JournalError> {
    let unusable = |error| JournalError::Unusable(path.to_owned(), error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(unusable)?;
    }
    // Opening a pipe would wait for somebody at its other end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(refuse(path, "is no file: write elsewhere").into());
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(unusable)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let reason = "is in use: another process is at this comparison";
            Err(refuse(path, reason).into())
        }
        // Where files cannot be locked it goes without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

fn refuse(path: &Path, reason: impl Into<String>) -> Error {
    Error::invalid("unfinished comparison", path.display(), reason)
}

/// Encodes the header of the journal of these experiments.
fn header(experiments: &[Experiment]) -> Result<Vec<u8>, Error> {
    let mut header = HEADER.to_vec();
    header.extend(identity(experiments)?.to_le_bytes());
    Ok(header)
}

/// Hashes a length, so that a damaged one is not taken for a record cut short.
fn check_of(length: u32) -> u32 {
    fnv(&length.to_le_bytes()) as u32
}

/// Hashes the comparison that a journal is of.
fn identity(experiments: &[Experiment]) -> Result<u64, Error> {
    let mut bytes = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
    for experiment in experiments {
        bytes.extend(experiment.hash()?.to_le_bytes());
    }
    Ok(fnv(&bytes))
}

/// Decodes the records, and counts their bytes; a last one that is cut off is dropped.
fn records(path: &Path, mut bytes: &[u8]) -> Result<(Vec<Shard>, usize), Error> {
    let (mut shards, all) = (Vec::new(), bytes.len());
    let damaged = |at: usize| {
        let reason = format!("is damaged at byte {at} of its records: start again (`--restart`)");
        refuse(path, reason)
    };
    loop {
        let at = all - bytes.len();
        let Some((frame, rest)) = bytes.split_at_checked(FRAME) else {
            return Ok((shards, at));
        };
        // A file system may have given room to what was never written.
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok((shards, at));
        }
        let word = |from: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| frame[from + i]));
        let length = word(0);
        if word(4) != check_of(length) {
            return Err(damaged(at));
        }
        let Some((body, rest)) = rest.split_at_checked(length as usize) else {
            return Ok((shards, at));
        };
        let check = u64::from(word(8)) | u64::from(word(12)) << 32;
        if fnv(body) != check {
            return Err(damaged(at));
        }
        shards.push(Shard::from_bytes(body).map_err(|_| damaged(at))?);
        bytes = rest;
    }
}

/// Refuses repeated runs, and runs of unknown experiments.
fn check_known(path: &Path, experiments: &[Experiment], shards: &[Shard]) -> Result<(), Error> {
    let hashes: Result<HashSet<u64>, Error> = experiments.iter().map(Experiment::hash).collect();
    let hashes = hashes?;
    let mut seen = HashSet::new();
    for shard in shards {
        for trace in &shard.traces {
            let place = (shard.experiment, shard.agent, trace.summary.run);
            if !hashes.contains(&shard.experiment) || !seen.insert(place) {
                return Err(refuse(path, "holds runs that do not belong together"));
            }
        }
    }
    Ok(())
}
