//! Actions and the regression on them: offers, outcomes, and which of them are taken.

use banister_solve::dense;

use super::{Actions, Columns, Regression, Space, Terms, default_ridge};
use crate::error::Error;
use crate::problem::Direction;
use crate::problem::Signal;
use crate::problem::{CheckedProblem, Problem, check_vector};

/// The longest feature vector: sums of squares stay finite.
const LONGEST: f64 = 1e150;

/// The actions on offer, and what outcomes have said about all signals.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The problem in standard form.
    pub problem: CheckedProblem,
    pub(crate) space: Space,
    /// Features x_0 of the safe action.
    pub safe_action: Vec<f64>,
    /// x̃_0.
    safe_turned: Vec<f64>,
    /// Signal 0 is the reward, signal 1 + i guardrail i.
    pub signals: Vec<LinearSignal>,
    /// Per signal: its mean per share of x_0, where known beforehand.
    pub along: Vec<f64>,
    /// Ridge regression of every signal.
    pub regression: Regression,
    /// Actions on offer, with their predictions.
    pub actions: Actions,
    /// Their names, if they have any.
    pub names: Vec<String>,
    /// Outcomes that arrived in all.
    pub outcomes: u64,
    limit: Limit,
    ridge: Ridge,
    /// Length of the longest of the problem's own actions.
    longest_declared: f64,
    tables: Tables,
    /// True if the safe action's costs have an interval of their own.
    hide_safe: bool,
    /// Room for an outcome's features, plain and whitened, and its targets.
    x: Vec<f64>,
    y: Vec<f64>,
    targets: Vec<f64>,
}

/// Bound on the length of feature vectors.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// L, infinite if undeclared.
    pub norm: f64,
    /// True if longer ones are shortened rather than refused.
    pub clip: bool,
    /// Advice in the error about one that is refused.
    pub advice: &'static str,
}

/// Set-up of the regression.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Ridge of the regression.
    pub ridge: Ridge,
    /// Longest feature vector allowed.
    pub limit: Limit,
    /// True if the part along x_0 is left out of the regression of a cost that is known there.
    pub projected: bool,
    /// Tables of actions.
    pub tables: Tables,
}

/// Tables that are kept of the actions on offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// Whitened features, lengths and predictions, which follow every outcome.
    Followed,
    /// The same, made when asked for.
    Whitened,
    /// Lengths and predictions alone, made when asked for.
    Lengths,
}

/// Ridge of the regression.
#[derive(Debug, Clone, Copy)]
pub enum Ridge {
    /// One ridge λ.
    Single(f64),
    /// The smallest λ_0 of a grid; without one it follows from the longest of the problem's own actions and the
    /// first one with an outcome.
    Grid(Option<f64>),
}

/// A signal as the regression sees it: linear in the features, in units of its range.
#[derive(Debug, Clone, Copy)]
pub struct LinearSignal {
    /// Observation times this is the regression's target.
    pub scale: f64,
    /// Standard units are the prediction plus this (a policy's probabilities sum to one).
    pub offset: f64,
    /// R in units of the range.
    pub r: f64,
}

impl LinearSignal {
    pub(crate) fn new(signal: &Signal, direction: Direction) -> Self {
        let (origin, scale) = signal.affine(direction);
        Self {
            scale,
            offset: -origin * scale,
            r: signal.r(),
        }
    }

    /// An observation in standard units; of a bounded signal, in [0, 1].
    pub(crate) fn standard(&self, observed: f64) -> f64 {
        (observed * self.scale + self.offset).clamp(0.0, 1.0)
    }
}

impl Evidence {
    /// No outcomes yet; the problem's arms are on offer, without features the unit vectors.
    pub fn new(problem: CheckedProblem, setup: Setup) -> Result<Self, Error> {
        let declared = &problem.declared;
        let (arms, safe) = (declared.arms.len(), declared.safe);
        let features: Vec<f64> = if !declared.features.is_empty() {
            declared.features.concat()
        } else {
            (0..arms * arms)
                .map(|i| f64::from(u8::from(i % arms == i / arms)))
                .collect()
        };
        let names = declared.arms.clone();
        let d = features.len() / arms;
        let safe_action = features[safe * d..(safe + 1) * d].to_vec();
        let mut own = Self::around(problem, setup, safe_action);
        own.check_norm("features", safe, &own.safe_action)
            .map_err(|error| {
                if !setup.limit.clip {
                    error
                } else {
                    Error::invalid(
                        "norm",
                        setup.limit.norm,
                        "the safe action itself is longer, and is never shortened",
                    )
                }
            })?;
        own.offer(&features).map_err(in_features)?;
        own.names = names;
        own.longest_declared = own.actions.longest;
        own.choose_ridge(0.0);
        Ok(own)
    }

    /// Evidence around x_0 with no action on offer yet.
    fn around(problem: CheckedProblem, setup: Setup, safe_action: Vec<f64>) -> Self {
        let space = Space::around(&safe_action);
        let (d, p) = (space.dimension, space.across);
        let mut signals = vec![LinearSignal::new(&problem.reward, Direction::AtMost)];
        let mut coordinates = vec![d];
        let mut along = vec![0.0];
        for guardrail in &problem.guardrails {
            let signal = LinearSignal::new(&guardrail.signal, guardrail.direction);
            let known = guardrail.safe_cost.filter(|_| setup.projected);
            coordinates.push(if known.is_some() { p } else { d });
            along.push(known.map_or(0.0, |y| y - signal.offset));
            signals.push(signal);
        }
        let unknown = problem.guardrails.iter().any(|g| g.safe_cost.is_none());
        let mut regression = Regression::new(
            d,
            p,
            match setup.ridge {
                Ridge::Single(lambda) => lambda,
                Ridge::Grid(lambda) => lambda.unwrap_or(1.0),
            },
            coordinates,
        );
        if let Ridge::Grid(_) = setup.ridge {
            regression.set_scales(regression.lambda());
        }
        let padded = regression.padded();
        Self {
            actions: Actions::default(),
            names: Vec::new(),
            outcomes: 0,
            limit: setup.limit,
            ridge: setup.ridge,
            longest_declared: 0.0,
            tables: setup.tables,
            hide_safe: setup.projected && unknown,
            x: vec![0.0; padded],
            y: vec![0.0; padded],
            targets: vec![0.0; regression.padded_signals()],
            safe_turned: space.safe(padded),
            regression,
            space,
            safe_action,
            signals,
            along,
            problem,
        }
    }

    /// Dimension d of the features.
    #[inline]
    pub fn dimension(&self) -> usize {
        self.space.dimension
    }

    /// Number m of guardrails.
    #[inline]
    pub fn guardrails(&self) -> usize {
        self.problem.guardrails.len()
    }

    /// Features of an action on offer.
    pub fn features(&self, action: usize) -> Option<&[f64]> {
        (action < self.actions.count).then(|| self.actions.features(action))
    }

    /// Replaces the actions to choose among: feature vectors one after another. The safe action comes
    /// after the last if it is not among them.
    pub fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        let d = self.space.dimension;
        if !actions.len().is_multiple_of(d) {
            let value = format!("{} numbers", actions.len());
            let allowed = format!("expected rows of {d} features each");
            return Err(Error::invalid("actions", value, allowed));
        }
        // One that is too long or not a number shows here; the exact fault is looked for then.
        let Limit { norm, clip, .. } = self.limit;
        let limit = norm * (1.0 + 1e-12);
        let most = if clip { f64::MAX } else { limit * limit };
        for (a, x) in actions.chunks_exact(d).enumerate() {
            let square = dense::dot(x, x);
            if !(square <= most.min(LONGEST * LONGEST)) {
                check_vector(&format!("actions[{a}]"), x, d)?;
                self.check_norm("actions", a, x)?;
            }
        }
        let limit = if clip { norm } else { f64::INFINITY };
        self.actions.replace(actions, &self.safe_action, limit);
        self.names.clear();
        Ok(())
    }

    /// Takes the grid of ridges from the longest of the problem's own actions and one of this length. Before
    /// anything is learned: levels must not move with it, nor with actions that the outcomes say nothing of, as
    /// what is learned follows from outcomes alone.
    fn choose_ridge(&mut self, length: f64) {
        if let Ridge::Grid(None) = self.ridge
            && self.regression.is_blank()
        {
            let longest = self.longest_declared.max(length);
            self.regression.set_scales(default_ridge(longest));
        }
    }

    /// Refuses a feature vector that is too long.
    fn check_norm(&self, field: &str, a: usize, x: &[f64]) -> Result<(), Error> {
        let length = dense::dot(x, x).sqrt();
        let Limit { norm, clip, .. } = self.limit;
        if !(length <= LONGEST) {
            let allowed = format!("must be at most {LONGEST:e} long");
            return Err(Error::invalid(format!("{field}[{a}]"), length, allowed));
        }
        if length > norm * (1.0 + 1e-12) && (!clip || x == self.safe_action) {
            let value = format!("a vector of length {length}");
            let allowed = format!("longer than `norm` = {norm}: {}", self.limit.advice);
            return Err(Error::invalid(format!("{field}[{a}]"), value, allowed));
        }
        Ok(())
    }

    /// Refuses features that no action can have.
    pub fn check_features(&self, features: &[f64]) -> Result<(), Error> {
        check_vector("features", features, self.space.dimension)?;
        self.check_norm("features", 0, features)
    }

    /// Number of the named action with these features.
    pub(crate) fn action_with(&self, features: &[f64]) -> Option<usize> {
        let mut actions = 0..self.names.len();
        actions.find(|&action| self.actions.features(action) == features)
    }

    /// Refuses the number of an action that is not on offer.
    #[inline]
    pub fn check_action(&self, action: usize) -> Result<(), Error> {
        if action < self.actions.count {
            return Ok(());
        }
        Err(Error::NoSuchArm {
            arm: action,
            last: self.actions.count - 1,
        })
    }

    /// Refuses a reward or costs that cannot be.
    pub fn check_signals(&self, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.problem.check_reported(None, reward, costs)
    }

    /// Brings what is known of the actions on offer up to date.
    #[inline]
    pub fn update_actions(&mut self) {
        let terms = Terms {
            space: &self.space,
            along: &self.along,
            hide_safe: self.hide_safe,
            table: self.tables != Tables::Lengths,
        };
        self.actions.update(&self.regression, &terms);
    }

    /// Takes a checked outcome of an action on offer; whether it is the safe one is returned.
    pub fn take(&mut self, action: usize, reward: f64, costs: &[f64]) -> bool {
        let is_safe = action == self.actions.safe;
        let mut x = std::mem::take(&mut self.x);
        let mut y = std::mem::take(&mut self.y);
        let known = if is_safe {
            x.copy_from_slice(&self.safe_turned);
            false
        } else {
            self.space.turn(self.actions.features(action), &mut x);
            self.tables == Tables::Followed && self.actions.whitened(action, &mut y)
        };
        self.learn(&x, known.then_some(&y[..]), reward, costs);
        self.x = x;
        self.y = y;
        is_safe
    }

    /// Takes a checked outcome by its features; whether it is the safe action's is returned.
    pub fn take_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> bool {
        let is_safe = features == self.safe_action;
        let mut x = std::mem::take(&mut self.x);
        if is_safe {
            x.copy_from_slice(&self.safe_turned);
        } else {
            self.space.turn(features, &mut x);
            let length = dense::dot(features, features).sqrt();
            if length > self.limit.norm {
                let scale = self.limit.norm / length;
                x.iter_mut().for_each(|v| *v *= scale);
            }
        }
        self.learn(&x, None, reward, costs);
        self.x = x;
        is_safe
    }

    fn learn(&mut self, x: &[f64], y: Option<&[f64]>, reward: f64, costs: &[f64]) {
        self.choose_ridge(dense::dot(x, x).sqrt());
        self.outcomes += 1;
        let share = if self.space.across < self.space.dimension {
            x[self.space.across] / self.space.safe_length
        } else {
            0.0
        };
        let observed = std::iter::once(&reward).chain(costs);
        for (i, (observed, along)) in observed.zip(&self.along).enumerate() {
            // Standardised first: what lies along x_0 is known beforehand where the safe cost is.
            let (observed, known) = (observed * self.signals[i].scale, along * share);
            self.targets[i] = observed - known;
            self.regression.add_target(i, observed.abs() + known.abs());
        }
        let update = self.actions.next_update();
        let follow = self.regression.observe(x, y, &self.targets, update);
        if self.tables == Tables::Followed {
            let most = (self.space.dimension / 4).clamp(1, 8);
            self.actions.follow(follow, most);
        } else {
            self.actions.outdated();
        }
    }

    /// Forgets all outcomes; their count and what is on offer stay.
    pub(crate) fn forget(&mut self) {
        self.regression.clear();
        self.actions.outdated();
    }

    /// Columns of the actions, where a restored agent needs them to go on from.
    pub(super) fn followed(&self) -> Option<Columns> {
        let follows = self.tables == Tables::Followed;
        follows.then(|| self.actions.saved()).flatten()
    }

    /// Returns true if rounding leaves the regression of use; if not, only the safe action can be vouched for.
    #[inline]
    pub fn is_reliable(&self) -> bool {
        self.regression.rounding().is_small()
    }

    /// Targets of the outcome taken last: what its signals were beyond the part along x_0 that is known.
    #[inline]
    pub(crate) fn targets(&self) -> &[f64] {
        &self.targets[..self.signals.len()]
    }

    /// Mean of a signal in its own units, given those of its targets and of the last coordinate of x̃.
    pub(crate) fn signal_mean(&self, signal: usize, target: f64, last: f64) -> f64 {
        let share = if self.space.across < self.space.dimension {
            last / self.space.safe_length
        } else {
            0.0
        };
        (target + self.along[signal] * share) / self.signals[signal].scale
    }

    /// x̃_0.
    pub(crate) fn safe_turned(&self) -> &[f64] {
        &self.safe_turned[..self.space.dimension]
    }

    /// x̃ of the outcome taken last.
    #[inline]
    pub fn taken(&self) -> &[f64] {
        &self.x[..self.space.dimension]
    }
}

/// With x_0 = 0 every safe cost is 0, by linearity. Ranges by arm are refused: a signal is scaled by one.
pub fn with_zero_costs(problem: &Problem) -> Result<Problem, Error> {
    problem.one_range_each()?;
    let mut problem = problem.clone();
    let is_zero = problem
        .features
        .get(problem.safe)
        .is_some_and(|x| !x.is_empty() && x.iter().all(|&v| v == 0.0));
    if !is_zero {
        return Ok(problem);
    }
    for (i, guardrail) in problem.guardrails.iter_mut().enumerate() {
        match guardrail.safe_cost {
            None | Some(0.0) => guardrail.safe_cost = Some(0.0),
            Some(c) => {
                return Err(Error::invalid(
                    format!("guardrail[{i}].safe_cost"),
                    c,
                    "the safe action's features are all zero, so its mean is 0",
                ));
            }
        }
    }
    Ok(problem)
}

/// Features declared with the problem are called so in errors.
fn in_features(error: Error) -> Error {
    match error {
        Error::Invalid {
            field,
            value,
            allowed,
        } => Error::invalid(field.replacen("actions", "features", 1), value, allowed),
        other => other,
    }
}
