//! Actions and the regression on them: rounds, outcomes, and which of them are taken.

use crate::path::Within;
use std::sync::Arc;

use banister_solve::dense;
use serde::{Deserialize, Serialize};

use super::regression::RegressionState;
use super::{Actions, Regression, Space, Terms, default_ridge};
use crate::arms::Arms;
use crate::error::{Error, broken};
use crate::guarded::Shell;
use crate::problem::{CheckedProblem, ContextArms, Direction, Problem, Signal, check_vector};
use crate::round::{Choice, Outcome, Round};

/// The longest feature vector: sums of squares stay finite.
const LONGEST: f64 = 1e150;

/// The actions on offer, and what outcomes have said about all signals.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The problem in standard form.
    pub problem: Arc<CheckedProblem>,
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
    /// Outcomes that it has learned from.
    pub outcomes: u64,
    on_offer: OnOffer,
    /// Features or context of that round, and room for the features of its actions.
    numbers: Vec<f64>,
    room: Vec<f64>,
    /// Features of all arms, retired ones too, one after another; empty where they come from a context.
    arms: Vec<f64>,
    /// The arms in a context, where rounds bring one.
    context: Option<ContextArms>,
    limit: Limit,
    ridge: Ridge,
    /// Length of the longest of the problem's own actions.
    longest_declared: f64,
    tables: Tables,
    /// True if the safe action's costs have an interval of their own.
    hide_safe: bool,
    /// Room for an outcome's features, and its targets.
    x: Vec<f64>,
    targets: Vec<f64>,
    /// Room for the features of an arm in a context.
    in_context: Vec<f64>,
}

/// Choice of the round that actions are on offer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnOffer {
    /// None: they have to be offered anew.
    Nothing,
    Arms,
    Features,
    Context,
}

/// All that outcomes have changed; what a snapshot keeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceState {
    outcomes: u64,
    regression: RegressionState,
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
    /// Whitened features, lengths and predictions, made when asked for.
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
    /// No outcomes yet. Without features, arms are the unit vectors.
    pub fn new(problem: Arc<CheckedProblem>, setup: Setup) -> Result<Self, Error> {
        let declared = &problem.declared;
        let (arms, safe) = (declared.arms.len(), declared.safe);
        let context = declared.context.map(|numbers| ContextArms {
            arms,
            safe,
            numbers,
        });
        let features: Vec<f64> = if context.is_some() {
            Vec::new()
        } else if !declared.features.is_empty() {
            declared.features.concat()
        } else {
            (0..arms * arms)
                .map(|i| f64::from(u8::from(i % arms == i / arms)))
                .collect()
        };
        let d = features.len() / arms;
        let safe_action = match context {
            Some(arms) => arms.features(safe, &vec![0.0; arms.numbers]),
            None => features[safe * d..(safe + 1) * d].to_vec(),
        };
        let mut own = Self::around(problem, setup, safe_action);
        own.context = context;
        own.check_norm(&own.safe_action)
            .within(("features", safe))
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
        own.offer(&features).within("features")?;
        own.arms = features;
        own.longest_declared = own.actions.longest;
        own.choose_ridge(0.0);
        Ok(own)
    }

    /// Evidence around x_0 with no action on offer yet.
    fn around(problem: Arc<CheckedProblem>, setup: Setup, safe_action: Vec<f64>) -> Self {
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
            outcomes: 0,
            on_offer: OnOffer::Nothing,
            numbers: Vec::new(),
            room: Vec::new(),
            arms: Vec::new(),
            context: None,
            in_context: Vec::new(),
            limit: setup.limit,
            ridge: setup.ridge,
            longest_declared: 0.0,
            tables: setup.tables,
            hide_safe: setup.projected && unknown,
            x: vec![0.0; padded],
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

    /// Takes up the actions of a round; true if they are others than before. Nothing is allocated once warm.
    pub fn enter(&mut self, shell: &mut Shell, round: &Round) -> Result<bool, Error> {
        let (kind, numbers) = match round.choice {
            Choice::Arms => (OnOffer::Arms, &[][..]),
            Choice::Offered(features) => (OnOffer::Features, features),
            Choice::Context(context) => (OnOffer::Context, context),
        };
        if self.on_offer == kind && self.numbers == numbers {
            return Ok(false);
        }
        let mut rows = std::mem::take(&mut self.room);
        rows.clear();
        match kind {
            OnOffer::Context => {
                let arms = self.check_context(numbers)?;
                for &arm in shell.arms.offered() {
                    arms.extend_features(arm, numbers, &mut rows);
                }
            }
            OnOffer::Features => rows.extend_from_slice(numbers),
            // In contexts only the safe arm has features without one.
            _ if self.context.is_some() => {}
            _ => {
                let offered = shell.arms.offered().iter();
                offered.for_each(|&arm| rows.extend_from_slice(self.arm_features(arm)));
            }
        }
        self.offer(&rows).within("actions")?;
        self.room = rows;
        self.on_offer = kind;
        self.numbers.clear();
        self.numbers.extend_from_slice(numbers);
        (shell.safe, shell.offered) = if kind == OnOffer::Features {
            (self.actions.safe, Some(self.actions.count))
        } else {
            (shell.problem.declared.safe, None)
        };
        Ok(true)
    }

    /// Number of the action in a column.
    #[inline]
    pub fn number(&self, arms: &Arms, column: usize) -> usize {
        match self.on_offer {
            OnOffer::Features | OnOffer::Nothing => column,
            OnOffer::Arms if self.context.is_some() => self.problem.declared.safe,
            OnOffer::Arms | OnOffer::Context => arms.offered()[column],
        }
    }

    /// Column of an action of the round; `None` for a retired arm, and one without a context.
    pub fn column(&self, arms: &Arms, action: usize) -> Option<usize> {
        match self.on_offer {
            OnOffer::Features | OnOffer::Nothing => Some(action),
            OnOffer::Arms if self.context.is_some() => {
                (action == self.problem.declared.safe).then_some(0)
            }
            OnOffer::Arms | OnOffer::Context => arms.column(action),
        }
    }

    /// Other arms are on offer: the next round has to take them up.
    pub fn arms_changed(&mut self, arms: &Arms) {
        self.on_offer = OnOffer::Nothing;
        let added = arms.list().iter().skip(self.arms());
        for x in added.filter_map(|arm| arm.features.as_ref()) {
            self.arms.extend_from_slice(x);
        }
    }

    /// Refuses an arm that cannot be added.
    pub fn check_arm(&self, name: &str, features: Option<&[f64]>) -> Result<(), Error> {
        let refuse = |allowed: &str| Err(Error::invalid("arm", name, allowed));
        if self.context.is_some() {
            return refuse(
                "in contexts the arms are fixed: their number is the dimension; with `model = \"per_arm\"` they may \
                 come and go",
            );
        }
        if self.problem.declared.features.is_empty() {
            return refuse(
                "arms are their own features here: declare `features` to add arms later",
            );
        }
        let Some(x) = features else {
            let allowed = format!("an arm needs its {} features here", self.dimension());
            return Err(Error::invalid("features", "absent", allowed));
        };
        self.check_features(x)
    }

    /// Number of arms with features of their own.
    pub(crate) fn arms(&self) -> usize {
        self.arms.len() / self.dimension()
    }

    /// Writes the features of the action of an outcome.
    pub fn write_features(&self, outcome: &Outcome, out: &mut Vec<f64>) {
        out.clear();
        if let (Choice::Context(context), Some(arms)) = (outcome.choice, self.context) {
            return arms.extend_features(outcome.action, context, out);
        }
        out.extend_from_slice(self.features_of(outcome));
    }

    /// Features of the action of an outcome that was observed last.
    pub(crate) fn features_of<'a>(&'a self, outcome: &Outcome<'a>) -> &'a [f64] {
        match outcome.choice {
            Choice::Offered(features) => features,
            Choice::Context(_) => &self.in_context,
            Choice::Arms if self.arms.is_empty() => &self.safe_action,
            Choice::Arms => self.arm_features(outcome.action),
        }
    }

    /// Features of an arm.
    pub(crate) fn arm_features(&self, arm: usize) -> &[f64] {
        let d = self.dimension();
        &self.arms[arm * d..(arm + 1) * d]
    }

    /// Refuses an outcome of an action that there cannot be.
    pub fn check_outcome(&self, shell: &Shell, outcome: &Outcome) -> Result<(), Error> {
        match outcome.choice {
            Choice::Offered(features) => self.check_features(features),
            Choice::Context(context) => {
                shell.check_number(outcome.action)?;
                self.check_context(context).map(|_| ())
            }
            Choice::Arms => {
                shell.check_number(outcome.action)?;
                if self.context.is_some() && outcome.action != self.problem.declared.safe {
                    let allowed = "an outcome of an arm needs its context here";
                    return Err(Error::invalid("context", "absent", allowed));
                }
                Ok(())
            }
        }
    }

    fn check_context(&self, context: &[f64]) -> Result<ContextArms, Error> {
        let Some(arms) = self.context else {
            let allowed = "this agent was made without contexts: declare their length";
            return Err(Error::invalid("context", "given", allowed));
        };
        let checked = check_vector(context, arms.numbers);
        checked
            .and_then(|()| self.check_norm(context))
            .within("context")?;
        Ok(arms)
    }

    /// Takes a checked outcome; whether it is the safe action's is returned.
    pub fn observe(&mut self, outcome: &Outcome) -> bool {
        let Outcome {
            action,
            reward,
            costs,
            ..
        } = *outcome;
        match outcome.choice {
            Choice::Offered(features) => self.observe_features(features, reward, costs),
            Choice::Arms => self.observe_arm(action, reward, costs),
            Choice::Context(context) => {
                let mut x = std::mem::take(&mut self.in_context);
                x.clear();
                if let Some(arms) = self.context {
                    arms.extend_features(action, context, &mut x);
                }
                let is_safe = self.observe_features(&x, reward, costs);
                self.in_context = x;
                is_safe
            }
        }
    }

    /// Takes a checked outcome of an arm.
    fn observe_arm(&mut self, arm: usize, reward: f64, costs: &[f64]) -> bool {
        let safe = self.problem.declared.safe;
        if arm == safe {
            let x = std::mem::take(&mut self.safe_turned);
            self.learn(&x, reward, costs);
            self.safe_turned = x;
            return true;
        }
        let arms = std::mem::take(&mut self.arms);
        let d = self.dimension();
        self.observe_features(&arms[arm * d..(arm + 1) * d], reward, costs);
        self.arms = arms;
        false
    }

    /// Replaces the actions to choose among: feature vectors one after another. The safe action comes
    /// after the last if it is not among them.
    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        let d = self.space.dimension;
        if !actions.len().is_multiple_of(d) {
            let value = format!("{} numbers", actions.len());
            let allowed = format!("expected rows of {d} features each");
            return Err(Error::invalid("", value, allowed));
        }
        // One that is too long or not a number shows here; the exact fault is looked for then.
        let Limit { norm, clip, .. } = self.limit;
        let limit = norm * (1.0 + 1e-12);
        let most = if clip { f64::MAX } else { limit * limit };
        for (a, x) in actions.chunks_exact(d).enumerate() {
            let square = dense::dot(x, x);
            if !(square <= most.min(LONGEST * LONGEST)) {
                (check_vector(x, d).and_then(|()| self.check_norm(x))).within(a)?;
            }
        }
        let limit = if clip { norm } else { f64::INFINITY };
        self.actions.replace(actions, &self.safe_action, limit);
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
    fn check_norm(&self, x: &[f64]) -> Result<(), Error> {
        let length = dense::dot(x, x).sqrt();
        let Limit { norm, clip, .. } = self.limit;
        if !(length <= LONGEST) {
            let allowed = format!("must be at most {LONGEST:e} long");
            return Err(Error::invalid("", length, allowed));
        }
        if length > norm * (1.0 + 1e-12) && (!clip || x == self.safe_action) {
            let value = format!("a vector of length {length}");
            let allowed = format!("longer than `norm` = {norm}: {}", self.limit.advice);
            return Err(Error::invalid("", value, allowed));
        }
        Ok(())
    }

    /// Refuses features that no action can have.
    pub fn check_features(&self, features: &[f64]) -> Result<(), Error> {
        let checked = check_vector(features, self.space.dimension);
        checked
            .and_then(|()| self.check_norm(features))
            .within("features")
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

    /// Takes a checked outcome by its features; whether it is the safe action's is returned.
    pub fn observe_features(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> bool {
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
        self.learn(&x, reward, costs);
        self.x = x;
        is_safe
    }

    fn learn(&mut self, x: &[f64], reward: f64, costs: &[f64]) {
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
        let follow = self.regression.observe(x, None, &self.targets, update);
        if self.tables == Tables::Followed {
            let most = (self.space.dimension / 4).clamp(1, 8);
            self.actions.follow(follow, most);
        } else {
            self.actions.outdated();
        }
    }

    /// Forgets all outcomes; what is on offer stays.
    pub fn forget(&mut self) {
        self.outcomes = 0;
        self.regression.clear();
        self.actions.outdated();
    }

    /// State for a snapshot; tables of actions are made anew.
    pub fn save(&mut self) -> EvidenceState {
        self.actions.outdated();
        EvidenceState {
            outcomes: self.outcomes,
            regression: self.regression.state().clone(),
        }
    }

    /// Takes up a saved state.
    pub fn restore(&mut self, state: EvidenceState) -> Result<(), Error> {
        // Counts beyond any life would make the next one overflow.
        if state.outcomes >= u64::MAX / 2 || !self.regression.restore(state.regression) {
            return Err(broken("`regression` does not match the problem's features"));
        }
        self.outcomes = state.outcomes;
        self.actions.outdated();
        Ok(())
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
                    format!("guardrails[{i}].safe_cost"),
                    c,
                    "the safe action's features are all zero, so its mean is 0",
                ));
            }
        }
    }
    Ok(problem)
}
