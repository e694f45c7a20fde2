//! The plan of a round: an action and the part of it to play.

/// An action, the part of it to play, and its index, in prediction units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub action: usize,
    /// At most 1.
    pub scale: f64,
    /// Index that the rule maximised, of the part played.
    pub value: f64,
}

impl Plan {
    /// A whole action, whose index is `value`.
    pub(super) fn whole(action: usize, value: f64) -> Self {
        Self::part(action, 1.0, value)
    }

    /// A part of an action, `value` being the index of that part.
    pub(super) fn part(action: usize, scale: f64, value: f64) -> Self {
        Self {
            action,
            scale,
            value,
        }
    }

    /// Takes another one if it is better. NaN never is.
    #[inline]
    pub(super) fn improve(&mut self, action: usize, scale: f64, value: f64) {
        if value > self.value {
            *self = Self::part(action, scale, value);
        }
    }
}
