//! Columns of tables, and the union of names that rows of unlike origin have.

use std::collections::{BTreeMap, BTreeSet};

use banister_table::{Column, Values};

/// Makes a column of words.
pub fn text(name: &str, values: impl Iterator<Item = impl Into<String>>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::Text(values.map(Into::into).collect()),
    }
}

/// Makes a column of whole numbers.
pub fn count(name: &str, values: impl Iterator<Item = Option<u64>>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::Count(values.collect()),
    }
}

/// Makes a column of real numbers. Results say by NaN that one is unknown; its cell is empty.
pub fn number(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::Number(values.map(|x| x.filter(|x| !x.is_nan())).collect()),
    }
}

/// Names with, for each owner of a list of names, the position where it keeps what belongs to them.
pub(super) type Union = Vec<(String, Vec<Option<usize>>)>;

/// Unites the owners' lists of names: each name once, in order of first appearance.
pub(super) fn union<'a>(owners: impl ExactSizeIterator<Item = Vec<&'a String>>) -> Union {
    let count = owners.len();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut union: Union = Vec::new();
    for (owner, names) in owners.enumerate() {
        let mut taken = BTreeSet::new();
        for (position, name) in names.into_iter().enumerate() {
            // A name used twice by one owner would hide a column; number the later ones.
            let name = unused(name, &taken);
            taken.insert(name.clone());
            let at = *places.entry(name.clone()).or_insert_with(|| {
                union.push((name, vec![None; count]));
                union.len() - 1
            });
            union[at].1[owner] = Some(position);
        }
    }
    union
}

/// Returns the name, or the name with the first number that makes it new.
pub(super) fn unused(name: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(name) {
        return name.to_owned();
    }
    let mut n = 2;
    while taken.contains(&format!("{name}#{n}")) {
        n += 1;
    }
    format!("{name}#{n}")
}
