//! Evidence of a rival on arms: counts, sums, and the intervals U, l, u of all arms.

use banister::Error;
use banister::interval::Level;
use banister::toolkit::{Bounds, EstimateConfig, Estimates, EstimatesState};
use banister::toolkit::{CheckedProblem, Signal};

/// Counts, sums and intervals of all arms, in standard units: signals in [0, 1], costs counted from the
/// harmless end. Columns of `bounds` are arms.
#[derive(Debug, Clone)]
pub(crate) struct ArmEvidence {
    pub problem: CheckedProblem,
    pub estimates: Estimates,
    /// U, l, u and the thresholds τ. The safe arm's known costs are in force, whatever was observed.
    pub bounds: Bounds,
    /// Outcomes that arrived in all.
    pub outcomes: u64,
}

impl ArmEvidence {
    /// No outcomes yet; upper cost bounds hold together with probability 1 − `delta`, the others with the
    /// budget that OPB gives them too.
    pub(super) fn new(problem: CheckedProblem, delta: f64) -> Self {
        let arms = problem.declared.arms.len();
        let mut estimates = Estimates::new(&problem, &EstimateConfig::at(Level::at(delta)));
        (0..arms).for_each(|_| estimates.add_arm(&problem));
        let thresholds = problem.guardrails.iter().map(|g| g.threshold).collect();
        let mut bounds = Bounds::new(thresholds, 0.0);
        bounds.safe = problem.declared.safe;
        bounds.resize(arms);
        let mut own = Self {
            problem,
            estimates,
            bounds,
            outcomes: 0,
        };
        own.refresh();
        own
    }

    /// K.
    #[inline]
    pub fn arms(&self) -> usize {
        self.bounds.columns()
    }

    /// The safe arm.
    #[inline]
    pub fn safe(&self) -> usize {
        self.bounds.safe
    }

    /// n: outcomes of an arm.
    #[inline]
    pub fn pulls(&self, arm: usize) -> u64 {
        self.estimates.pulls()[arm]
    }

    /// p̂ of a signal of an arm (0 the reward, 1 + i guardrail i), if it was ever pulled.
    #[inline]
    pub fn mean(&self, arm: usize, signal: usize) -> Option<f64> {
        self.estimates.mean(arm, signal)
    }

    /// The arm with the largest of some numbers, the first of several, and that number.
    #[inline]
    pub fn best(&self, of: impl Fn(usize) -> f64) -> (usize, f64) {
        let (mut best, mut most) = (self.safe(), f64::NEG_INFINITY);
        for arm in 0..self.arms() {
            let own = of(arm);
            if own > most {
                (best, most) = (arm, own);
            }
        }
        (best, most)
    }

    /// The signals, the reward first.
    pub fn signals(&self) -> impl Iterator<Item = &Signal> {
        let costs = self.problem.guardrails.iter().map(|g| &g.signal);
        std::iter::once(&self.problem.reward).chain(costs)
    }

    /// Takes a checked outcome.
    pub(super) fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) {
        self.outcomes += 1;
        if self.estimates.observe(arm, reward, costs, 0.0) {
            self.write(arm);
        }
    }

    fn write(&mut self, arm: usize) {
        self.bounds.reward_upper[arm] = self.estimates.ends(arm, 0).upper;
        for (i, guardrail) in self.problem.guardrails.iter().enumerate() {
            let (lower, upper) = match guardrail.safe_cost {
                Some(known) if arm == self.bounds.safe => (known, known),
                _ => {
                    let ends = self.estimates.ends(arm, i + 1);
                    (ends.lower, ends.upper)
                }
            };
            self.bounds.cost_lower[i][arm] = lower;
            self.bounds.cost_upper[i][arm] = upper;
        }
    }

    fn refresh(&mut self) {
        for arm in 0..self.arms() {
            self.write(arm);
        }
        self.bounds.update_margins(None);
    }

    pub(super) fn restore(&mut self, state: &EstimatesState, outcomes: u64) -> Result<(), Error> {
        (self.estimates).restore(&self.problem, state, Some(outcomes))?;
        self.outcomes = outcomes;
        self.refresh();
        Ok(())
    }
}
