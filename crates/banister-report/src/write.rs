//! The results directory: everything is made first, then written, and no half-written file stays.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use banister_sim::results::Results;

use crate::html::Document;
use crate::tables::DataTable;
use crate::{ReportError, html, png, svg, tables};

/// Writes a results directory and returns the files, in the order they were given names.
///
/// The files are `curves.csv`, `curves.parquet`, `runs.csv`, `runs.parquet`, `alarms.csv` and
/// `alarms.parquet` where means change or alarms were raised, `figures/STEM.svg`
/// and `figures/STEM.png` for each figure of the document, `report.html`, and the extra files
/// (relative path and content). Directories are made as needed; files of the same name are
/// replaced, others are left alone.
///
/// Everything is rendered before the first byte is written. Each file is written under a temporary
/// name beside its place; only when all are complete do they get their names.
///
/// # Errors
/// [`ReportError::Name`] or [`ReportError::Twice`] for a file name that cannot be used, the errors
/// of rendering, and [`ReportError::Write`] with the path that could not be written.
pub fn write_results(
    dir: &Path,
    results: &Results,
    document: &Document,
    extra: &[(String, Vec<u8>)],
) -> Result<Vec<PathBuf>, ReportError> {
    let files = render_all(results, document, extra)?;
    let staged = files
        .iter()
        .map(|(name, bytes)| Staged::new(dir.join(name), bytes))
        .collect::<Result<Vec<_>, _>>()?;
    staged.into_iter().map(Staged::commit).collect()
}

/// Writes one file completely or not at all: under a temporary name in the same directory, which
/// is made if needed, then renamed.
///
/// # Errors
/// [`ReportError::Write`] with the path; the old file, if any, is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    Staged::new(path.to_owned(), bytes)?.commit().map(|_| ())
}

/// A table as `STEM.csv` and `STEM.parquet`.
///
/// # Errors
/// [`ReportError::Table`], which no table made by this crate causes.
pub fn table_files(stem: &str, table: &DataTable) -> Result<[(String, Vec<u8>); 2], ReportError> {
    Ok([
        (format!("{stem}.csv"), table.to_csv()?),
        (format!("{stem}.parquet"), table.to_parquet()?),
    ])
}

fn render_all(
    results: &Results,
    document: &Document,
    extra: &[(String, Vec<u8>)],
) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let mut files = Vec::new();
    files.extend(table_files("curves", &tables::curves(results))?);
    files.extend(table_files("runs", &tables::runs(results))?);
    if tables::has_alarms(results) {
        files.extend(table_files("alarms", &tables::alarms(results))?);
    }
    for figure in document
        .sections
        .iter()
        .flat_map(|section| &section.figures)
    {
        let stem = &figure.stem;
        if stem.contains(['/', '\\']) {
            return Err(ReportError::Name(stem.clone()));
        }
        let drawing = svg::render(&figure.figure);
        let picture = png::render(&drawing)?;
        files.push((format!("figures/{stem}.svg"), drawing.into_bytes()));
        files.push((format!("figures/{stem}.png"), picture));
    }
    files.push((
        "report.html".to_owned(),
        html::render(document)?.into_bytes(),
    ));
    files.extend(extra.iter().cloned());

    let mut seen = BTreeSet::new();
    for (name, _) in &files {
        let path = Path::new(name);
        let stays_inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let unnamed = path.file_stem().is_none_or(|stem| stem.is_empty());
        // A stem of nothing gives `figures/.svg`, which is a hidden file and surely a mistake.
        let hidden = name.starts_with("figures/.");
        if !stays_inside || unnamed || hidden || name.ends_with('/') || name.contains('\0') {
            return Err(ReportError::Name(name.clone()));
        }
        // Two spellings of one name are one file on some systems.
        if !seen.insert(name.to_lowercase()) {
            return Err(ReportError::Twice(name.clone()));
        }
    }
    Ok(files)
}

/// A complete file under a temporary name; dropping it removes it.
struct Staged {
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl Staged {
    fn new(target: PathBuf, bytes: &[u8]) -> Result<Staged, ReportError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ReportError::Write { path, source }
        };
        let Some(name) = target.file_name() else {
            return Err(ReportError::Name(target.display().to_string()));
        };
        if target.is_dir() {
            let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(failed(&target)(source));
        }
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(failed(parent))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = parent.join(format!(
            ".{}.{}-{number}.tmp",
            name.to_string_lossy(),
            std::process::id()
        ));
        let mut file = fs::File::create(&temporary).map_err(failed(&target))?;
        // From here on the temporary file is removed whatever happens.
        let staged = Staged {
            temporary: Some(temporary),
            target,
        };
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        written.map_err(failed(&staged.target))?;
        Ok(staged)
    }

    fn commit(mut self) -> Result<PathBuf, ReportError> {
        let target = std::mem::take(&mut self.target);
        if let Some(temporary) = &self.temporary {
            if let Err(source) = fs::rename(temporary, &target) {
                return Err(ReportError::Write {
                    path: target,
                    source,
                });
            }
            self.temporary = None;
        }
        Ok(target)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing more can be done about a leftover here.
            let _ = fs::remove_file(temporary);
        }
    }
}
