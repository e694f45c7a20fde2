//! The policy LP and the checks of user-supplied problems.

/// A policy LP: see the crate's front page.
#[derive(Debug, Clone, Copy)]
pub struct Lp<'a> {
    /// V, one entry per action.
    pub reward: &'a [f64],
    /// u, one row per guardrail, each with one entry per action.
    pub costs: &'a [Vec<f64>],
    /// τ, one entry per guardrail.
    pub thresholds: &'a [f64],
}

/// Defect of a problem. Every variant names the field, the value and what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LpError {
    /// There is no action to choose from. Give at least one.
    #[error("`reward` is empty: a policy needs at least one action")]
    NoActions,
    /// There is no segment, or one without actions.
    #[error("`{field}` is empty: at least one entry is needed")]
    Empty {
        /// Name of the field.
        field: String,
    },
    /// A weight is negative, NaN or infinite.
    #[error("`{field}` is {value}: a weight is a finite number, 0 or more")]
    Weight {
        /// The field, with its index.
        field: String,
        /// Value that was given.
        value: f64,
    },
    /// Two fields that must agree in length do not.
    #[error("`{field}` has {got} entries, expected {expected} ({because})")]
    Length {
        /// Name of the field.
        field: String,
        /// Length of the field.
        got: usize,
        /// The length it should have.
        expected: usize,
        /// Rule that fixes that length.
        because: &'static str,
    },
    /// A number is NaN or infinite. Only finite numbers are allowed.
    #[error("`{field}` is {value}: only finite numbers are allowed")]
    NotFinite {
        /// The field, with its index.
        field: String,
        /// Value that was given.
        value: f64,
    },
    /// A radius is negative, NaN or infinite. Zero switches the uncertainty off.
    #[error("`{field}` is {value}: a radius is a finite number, 0 or more")]
    Radius {
        /// The field, with its index.
        field: String,
        /// Value that was given.
        value: f64,
    },
    /// The action named safe is not.
    #[error("`safe` is {action}: {because}")]
    Safe {
        /// Index of the action.
        action: usize,
        /// Reason, as words that follow the index.
        because: &'static str,
    },
}

impl Lp<'_> {
    /// Checks sizes and finiteness, for user-supplied problems.
    pub fn check(&self) -> Result<(), LpError> {
        let k = self.reward.len();
        if k == 0 {
            return Err(LpError::NoActions);
        }
        let rows = self.costs.len();
        exactly(
            "thresholds",
            self.thresholds.len(),
            rows,
            "one per row of `costs`",
        )?;
        finite("reward", self.reward)?;
        finite("thresholds", self.thresholds)?;
        for (i, row) in self.costs.iter().enumerate() {
            let field = format!("costs[{i}]");
            exactly(&field, row.len(), k, "one per action, as in `reward`")?;
            finite(&field, row)?;
        }
        Ok(())
    }

    /// True if actions `a` and `b` have the same reward and the same costs.
    pub(crate) fn identical(&self, a: usize, b: usize) -> bool {
        self.reward[a] == self.reward[b] && self.costs.iter().all(|row| row[a] == row[b])
    }
}

pub(crate) fn finite(field: &str, values: &[f64]) -> Result<(), LpError> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(i) => Err(LpError::NotFinite {
            field: format!("{field}[{i}]"),
            value: values[i],
        }),
    }
}

pub(crate) fn exactly(
    field: &str,
    got: usize,
    expected: usize,
    because: &'static str,
) -> Result<(), LpError> {
    if got == expected {
        return Ok(());
    }
    Err(LpError::Length {
        field: field.into(),
        got,
        expected,
        because,
    })
}
