//! Processes that fork: the copies of an agent in them draw other actions, and are agents of their own.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

/// This process among those forked from one another: 0 for the first of them.
static PROCESS: AtomicU64 = AtomicU64::new(0);
/// Processes that this one forked.
static CHILDREN: AtomicU64 = AtomicU64::new(0);

/// Follows a fork: called before it, and once more in the child. The n-th child has the same number in every
/// run of a program, and another one than its parent and siblings.
#[pyfunction]
pub(crate) fn _forked(in_child: bool) {
    if in_child {
        let child = CHILDREN.swap(0, Ordering::Relaxed);
        PROCESS.store(mixed(process(), child), Ordering::Relaxed);
    } else {
        CHILDREN.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn process() -> u64 {
    PROCESS.load(Ordering::Relaxed)
}

/// A number that depends on both in every bit (SplitMix64).
pub(crate) fn mixed(one: u64, other: u64) -> u64 {
    let mut z = one ^ other.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
