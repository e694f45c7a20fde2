//! Linear programs over the simplex.
