//! From predictions and squared lengths to the ends of intervals.

use crate::lanes::wide;

wide! {
    /// Moves predictions: means += step·g.
    pub fn add_scaled(g: &[f64], step: f64, means: &mut [f64]) {
        let means = &mut means[..g.len()];
        for a in 0..g.len() {
            means[a] += step * g[a];
        }
    }
}

wide! {
    /// upper = centre + offset + radius·√square, clipped to [0, 1]; 1 if that is not a number.
    pub fn upper_ends(centre: &[f64], offset: f64, squares: &[f64], radius: f64, upper: &mut [f64]) {
        let n = upper.len();
        let (centre, squares) = (&centre[..n], &squares[..n]);
        for a in 0..n {
            upper[a] = clip_upper(centre[a] + offset + radius * squares[a].sqrt());
        }
    }
}

wide! {
    /// Both ends of centre + offset ± radius·√square, clipped to [0, 1]; all of it for an end that is
    /// not a number.
    pub fn both_ends(centre: &[f64], offset: f64, squares: &[f64], radius: f64, lower: &mut [f64], upper: &mut [f64]) {
        let n = upper.len();
        let (centre, squares, lower) = (&centre[..n], &squares[..n], &mut lower[..n]);
        for a in 0..n {
            let (centre, reach) = (centre[a] + offset, radius * squares[a].sqrt());
            lower[a] = clip_lower(centre - reach);
            upper[a] = clip_upper(centre + reach);
        }
    }
}

/// Levels of a grid of ridges.
pub const LEVELS: usize = 6;

/// Half-widths of intervals from two numbers per vector x, a = ‖x‖² in Σ⁻¹ and g = ‖Σ⁻¹x‖: the least of
/// √(`of_square`_k a + `of_solved`_k g²) over the levels k, plus `bias`·g.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Widths {
    /// Weight of a, per level.
    pub of_square: [f64; LEVELS],
    /// Weight of g², per level.
    pub of_solved: [f64; LEVELS],
    /// Weight of g.
    pub bias: f64,
}

impl Widths {
    /// The half-width at a and g; not a number if that of level 0 is not.
    #[inline(always)]
    pub fn at(&self, a: f64, g: f64) -> f64 {
        let b = g * g;
        let mut least = self.of_square[0] * a + self.of_solved[0] * b;
        for k in 1..LEVELS {
            let square = self.of_square[k] * a + self.of_solved[k] * b;
            least = if square < least { square } else { least };
        }
        least.sqrt() + self.bias * g
    }
}

wide! {
    /// upper = centre + offset + half-width, clipped to [0, 1]; 1 if that is not a number.
    pub fn upper_ends_within(centre: &[f64], offset: f64, squares: &[f64], solved: &[f64], widths: &Widths, upper: &mut [f64]) {
        let n = upper.len();
        let (centre, squares, solved) = (&centre[..n], &squares[..n], &solved[..n]);
        for a in 0..n {
            upper[a] = clip_upper(centre[a] + offset + widths.at(squares[a], solved[a]));
        }
    }
}

wide! {
    /// Both ends of centre + offset ± half-width, clipped to [0, 1]; all of it for an end that is not a
    /// number.
    pub fn both_ends_within(centre: &[f64], offset: f64, squares: &[f64], solved: &[f64], widths: &Widths, lower: &mut [f64], upper: &mut [f64]) {
        let n = upper.len();
        let (centre, squares, solved, lower) = (&centre[..n], &squares[..n], &solved[..n], &mut lower[..n]);
        for a in 0..n {
            let (centre, reach) = (centre[a] + offset, widths.at(squares[a], solved[a]));
            lower[a] = clip_lower(centre - reach);
            upper[a] = clip_upper(centre + reach);
        }
    }
}

/// A lower end into [0, 1]. One that is not a number says nothing: 0.
#[inline(always)]
fn clip_lower(x: f64) -> f64 {
    let x = if x > 0.0 { x } else { 0.0 };
    if x < 1.0 { x } else { 1.0 }
}

/// An upper end into [0, 1]. One that is not a number says nothing: 1.
#[inline(always)]
fn clip_upper(x: f64) -> f64 {
    let x = if x < 1.0 { x } else { 1.0 };
    if x > 0.0 { x } else { 0.0 }
}

wide! {
    /// out = a + b·√square.
    pub fn reach(a: &[f64], offset: f64, squares: &[f64], b: f64, out: &mut [f64]) {
        let n = out.len();
        let (a, squares) = (&a[..n], &squares[..n]);
        for k in 0..n {
            out[k] = a[k] + offset + b * squares[k].sqrt();
        }
    }
}
