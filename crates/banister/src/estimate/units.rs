//! Units of an arm's own signals, and of all arms together.

use crate::problem::{Direction, Signal};

/// Units of one signal of one arm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    /// Origin and scale of the arm's own standard units: y = (x − origin)·scale.
    pub(crate) origin: f64,
    pub(crate) scale: f64,
    /// R in these units.
    pub(crate) r: f64,
    /// Map from these units to those of the common range: shift + stretch·y.
    pub(crate) shift: f64,
    pub(crate) stretch: f64,
    /// v: most that the mean moves between decisions or in a second, in the arm's own units.
    pub(crate) drift: f64,
    /// Half-width for n = 1, of symmetric intervals.
    pub(crate) width: f64,
}

impl Units {
    /// Units of an arm whose own signal may have another range than the common one.
    pub(crate) fn new(own: &Signal, common: &Signal, direction: Direction) -> Self {
        let (origin, scale) = own.affine(direction);
        let (base, per_unit) = common.affine(direction);
        let same = (own.lo, own.hi) == (common.lo, common.hi);
        Self {
            origin,
            scale,
            r: own.r(),
            // Exactly the identity where there is one range for all.
            shift: if same {
                0.0
            } else {
                (origin - base) * per_unit
            },
            stretch: if same { 1.0 } else { per_unit / scale },
            drift: own.speed() * scale.abs(),
            width: 0.0,
        }
    }

    #[inline]
    pub(crate) fn standardise(&self, x: f64) -> f64 {
        (x - self.origin) * self.scale
    }

    #[inline]
    pub(crate) fn common(&self, y: f64) -> f64 {
        self.shift + self.stretch * y
    }
}
