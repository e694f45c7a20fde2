//! Sums and certificate.

use crate::lp::Status;

/// Sums and certificate of a table of policies, one per block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockSolution {
    /// End of the solve. [`Status::Infeasible`] also where work ran out before a table was found.
    pub status: Status,
    /// The objective at the table, summed over the blocks in their order.
    pub value: f64,
    /// A proven upper bound on the objective of every feasible table.
    pub upper_bound: f64,
    /// Cost per coupling row, summed over the blocks in their order: never above its threshold if
    /// the safe actions' costs are not, else up to rounding.
    pub costs: Vec<f64>,
    /// Shadow price per coupling row.
    pub prices: Vec<f64>,
    /// Pivots, or edges passed for one coupling row.
    pub pivots: usize,
    /// Steps back from a threshold that rounding had crossed.
    pub retreats: usize,
}

impl BlockSolution {
    /// Largest possible distance of the table's value from the best one.
    #[inline]
    pub fn gap(&self) -> f64 {
        (self.upper_bound - self.value).max(0.0)
    }

    pub(super) fn set_infeasible(&mut self) {
        self.status = Status::Infeasible;
        self.value = f64::NEG_INFINITY;
        self.upper_bound = f64::NEG_INFINITY;
        self.costs.fill(0.0);
        self.prices.fill(0.0);
    }
}
