//! The banister command line.

fn main() {}
