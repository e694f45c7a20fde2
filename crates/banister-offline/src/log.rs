//! Logged rounds as columns, and their check.

use banister::toolkit::Within;
use std::collections::BTreeMap;

use banister::{Error, Expression, Guardrail, SignalConfig};

/// Logged rounds as declared: one entry per round in every column. [`Log::check`] makes it usable.
///
/// Names of the columns in error messages are those of the fields, in the singular for one entry:
/// `pscore[17]` is the 18th logging probability.
///
/// ```
/// use banister_offline::Log;
///
/// let log = Log {
///     arms: 2,
///     actions: &[0, 1, 1],
///     rewards: &[0.0, 1.0, 1.0],
///     pscores: Some(&[0.5, 0.5, 0.0]),
///     ..Log::default()
/// };
/// let message = log.check().unwrap_err().to_string();
/// assert_eq!(message, "`pscore[2]` is 0: must be above 0 and at most 1");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Log<'a> {
    /// K, the number of arms.
    pub arms: usize,
    /// The arm played in each round, 0 to K − 1.
    pub actions: &'a [usize],
    /// The reward of each round.
    pub rewards: &'a [f64],
    /// The costs, n × m: one row of m guardrail signals after another.
    pub costs: &'a [f64],
    /// Names of the m guardrails, in the order of a row of `costs`.
    pub guardrails: Vec<String>,
    /// The probability with which the logging policy played the action it played; needed by
    /// everything but [`warm_start`](crate::warm_start) and the direct method.
    pub pscores: Option<&'a [f64]>,
    /// Features of rounds or actions.
    pub features: Features<'a>,
    /// Segment of users or requests of each round; empty: none given.
    pub segments: Vec<&'a str>,
    /// Request of each round, where several arms answered one: its rounds stand together. Empty: every round is one.
    pub requests: Vec<&'a str>,
    /// Lowest and highest possible reward; needed by finite-sample intervals.
    pub reward_range: Option<[f64; 2]>,
    /// Expression of the reward, where it is declared as more than a signal: refused, since rewards are judged as they are.
    pub reward_expression: Option<String>,
    /// Lowest and highest possible cost per guardrail; empty: none declared.
    pub cost_ranges: Vec<Option<[f64; 2]>>,
    /// Values that larger ones count as, of the reward, then one per guardrail; empty: none.
    pub caps: Vec<Option<f64>>,
    /// Names of the K arms in messages; empty: their numbers.
    pub arm_names: Vec<String>,
    /// True if the logging policy learned from the outcomes of this log, as an agent does. Only
    /// `mixture` intervals then decide a verdict.
    pub adaptive: bool,
}

/// Feature vectors that come with a log.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Features<'a> {
    /// A log without features.
    #[default]
    None,
    /// One vector per round, shared by all arms.
    Context {
        /// d, the length of a vector.
        dimension: usize,
        /// n × d numbers.
        rows: &'a [f64],
    },
    /// The features of the action played, and of no other.
    Played {
        /// d, the length of a vector.
        dimension: usize,
        /// n × d numbers.
        rows: &'a [f64],
    },
    /// The features of all K candidates of each round.
    Offered {
        /// d, the length of a vector.
        dimension: usize,
        /// n × K × d numbers.
        sets: &'a [f64],
    },
}

/// A log whose every number has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedLog<'a> {
    log: Log<'a>,
}

impl<'a> Log<'a> {
    /// Names, ranges and caps as a problem declares them. A sub-Gaussian signal has no range here: single
    /// observations may leave it. Of ranges by arm the hull counts: policies mix arms.
    pub fn declare(mut self, reward: &SignalConfig, guardrails: &[Guardrail]) -> Self {
        let observed = |signal: &SignalConfig| match signal.sub_gaussian {
            Some(_) => None,
            None => Some(signal.hull()),
        };
        let beside = BTreeMap::new();
        let costs: Vec<SignalConfig> = guardrails
            .iter()
            .map(|g| g.with_signal(reward, &beside).signal)
            .collect();
        let made = |own: &&Expression| !matches!(own, Expression::Signal(_));
        self.reward_expression =
            (reward.expression.as_ref().filter(made)).map(|own| own.to_string());
        self.reward_range = observed(reward);
        self.guardrails = guardrails.iter().map(|g| g.name.clone()).collect();
        self.cost_ranges = costs.iter().map(observed).collect();
        let caps = std::iter::once(reward).chain(&costs);
        self.caps = caps.map(|signal| signal.cap).collect();
        self
    }

    /// Checks every number and every length.
    pub fn check(self) -> Result<CheckedLog<'a>, Error> {
        let (n, m) = (self.actions.len(), self.guardrails.len());
        if n == 0 {
            return Err(Error::invalid("actions", "empty", "a log needs a round"));
        }
        if let Some(own) = &self.reward_expression {
            let allowed = "rewards of a log are judged as they are: leave it out";
            return Err(Error::invalid("reward.expression", own, allowed));
        }
        if self.arms == 0 {
            return Err(Error::invalid("arms", 0, "must be at least 1"));
        }
        count("rewards", self.rewards.len(), Some(n), "one per action")?;
        let what = format!("one per action and guardrail, {n} × {m}");
        count("costs", self.costs.len(), n.checked_mul(m), &what)?;
        if let Some(pscores) = self.pscores {
            count("pscores", pscores.len(), Some(n), "one per action")?;
        }
        for (field, column) in [("segments", &self.segments), ("requests", &self.requests)] {
            if !column.is_empty() {
                count(field, column.len(), Some(n), "one per action")?;
            }
        }
        for (i, segment) in self.segments.iter().enumerate() {
            banister::toolkit::check_segment(segment).within(("round", i))?;
        }
        if !self.arm_names.is_empty() {
            let given = self.arm_names.len();
            count("arm_names", given, Some(self.arms), "one per arm")?;
        }
        if !self.cost_ranges.is_empty() {
            let given = self.cost_ranges.len();
            count("cost_ranges", given, Some(m), "one per guardrail")?;
        }
        if !self.caps.is_empty() {
            let what = "the reward's, then one per guardrail";
            count("caps", self.caps.len(), Some(1 + m), what)?;
        }
        self.check_features(n)?;
        for (i, &action) in self.actions.iter().enumerate() {
            if action >= self.arms {
                let allowed = format!("arms are numbered 0 to {}", self.arms - 1);
                return Err(Error::invalid(("action", i), action, allowed));
            }
        }
        for (i, &p) in self.pscores.unwrap_or_default().iter().enumerate() {
            if !(p > 0.0 && p <= 1.0) {
                let allowed = "must be above 0 and at most 1";
                return Err(Error::invalid(("pscore", i), p, allowed));
            }
        }
        check_range("reward_range", self.reward_range)?;
        for (i, &reward) in self.rewards.iter().enumerate() {
            check_signal(
                || format!("reward[{i}]"),
                self.counted(0, reward),
                self.reward_range,
            )?;
        }
        for (g, name) in self.guardrails.iter().enumerate() {
            let range = self.cost_ranges.get(g).copied().flatten();
            check_range(&format!("cost_range[{g}] ({name})"), range)?;
            for (i, &cost) in self.costs.iter().skip(g).step_by(m).enumerate() {
                let cost = self.counted(g + 1, cost);
                check_signal(|| format!("cost[{i}][{g}] ({name})"), cost, range)?;
            }
        }
        Ok(CheckedLog { log: self })
    }

    /// An observation as it counts: at most its cap. What is not finite stays so.
    fn counted(&self, signal: usize, x: f64) -> f64 {
        match self.caps.get(signal) {
            Some(&Some(cap)) if x > cap && x.is_finite() => cap,
            _ => x,
        }
    }

    fn check_features(&self, n: usize) -> Result<(), Error> {
        let (dimension, numbers, rows, what) = match self.features {
            Features::None => return Ok(()),
            Features::Context { dimension, rows } => (dimension, rows, Some(n), "context"),
            Features::Played { dimension, rows } => (dimension, rows, Some(n), "played"),
            Features::Offered { dimension, sets } => {
                (dimension, sets, n.checked_mul(self.arms), "offered")
            }
        };
        if dimension == 0 {
            let allowed = "a feature vector needs at least one number";
            return Err(Error::invalid("features.dimension", 0, allowed));
        }
        let expected = rows.and_then(|rows| rows.checked_mul(dimension));
        let shape = match self.features {
            Features::Offered { .. } => format!("{n} × {} × {dimension}", self.arms),
            _ => format!("{n} × {dimension}"),
        };
        count("features", numbers.len(), expected, &shape)?;
        match numbers.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(at) => {
                let (row, j) = (at / dimension, at % dimension);
                let field = match self.features {
                    Features::Offered { .. } => {
                        format!("{what}[{}][{}][{j}]", row / self.arms, row % self.arms)
                    }
                    _ => format!("{what}[{row}][{j}]"),
                };
                let value = numbers.get(at).copied().unwrap_or(f64::NAN);
                Err(Error::invalid(field, value, FINITE))
            }
        }
    }
}

const FINITE: &str = "only finite numbers are allowed";

/// So far out that nothing real is refused, and sums over a log stay finite.
const FAR: f64 = 1e100;

impl<'a> CheckedLog<'a> {
    /// The log as declared.
    pub fn declared(&self) -> &Log<'a> {
        &self.log
    }

    /// n, the number of rounds.
    pub fn rounds(&self) -> usize {
        self.log.actions.len()
    }

    /// The signals: the reward and the m guardrails.
    pub(crate) fn signals(&self) -> usize {
        1 + self.log.guardrails.len()
    }

    /// Name of a signal; 0 is the reward.
    pub(crate) fn signal_name(&self, signal: usize) -> &str {
        match signal.checked_sub(1) {
            None => "reward",
            Some(g) => &self.log.guardrails[g],
        }
    }

    /// Name of an arm in messages.
    pub(crate) fn arm_name(&self, arm: usize) -> String {
        match self.log.arm_names.get(arm) {
            Some(name) => format!("`{name}`"),
            None => format!("arm {arm}"),
        }
    }

    /// Observed values of a signal, round by round.
    pub(crate) fn observed(&self, signal: usize) -> impl Iterator<Item = f64> + Clone + 'a {
        let (numbers, skip, step) = match signal.checked_sub(1) {
            None => (self.log.rewards, 0, 1),
            Some(g) => (self.log.costs, g, self.log.guardrails.len()),
        };
        let cap = self.log.caps.get(signal).copied().flatten();
        let numbers = numbers.iter().skip(skip).step_by(step);
        numbers.map(move |&x| cap.map_or(x, |cap| x.min(cap)))
    }

    /// Observed value of a signal in one round.
    pub(crate) fn value(&self, signal: usize, round: usize) -> f64 {
        let observed = match signal.checked_sub(1) {
            None => self.log.rewards[round],
            Some(g) => self.costs(round)[g],
        };
        self.log.counted(signal, observed)
    }

    /// The declared range of a signal.
    pub(crate) fn range(&self, signal: usize) -> Option<[f64; 2]> {
        match signal.checked_sub(1) {
            None => self.log.reward_range,
            Some(g) => self.log.cost_ranges.get(g).copied().flatten(),
        }
    }

    /// The costs of one round.
    pub(crate) fn costs(&self, round: usize) -> &'a [f64] {
        let m = self.log.guardrails.len();
        &self.log.costs[round * m..(round + 1) * m]
    }

    /// Logging probabilities; without them, an error that names `user`.
    pub(crate) fn pscores(&self, user: &str) -> Result<&'a [f64], Error> {
        self.log.pscores.ok_or_else(|| {
            let allowed =
                format!("{user} needs the logging probability of every action that was played");
            Error::invalid("pscores", "not given", allowed)
        })
    }
}

/// Refuses a column of the wrong length.
pub(crate) fn count(
    field: &str,
    got: usize,
    expected: Option<usize>,
    what: &str,
) -> Result<(), Error> {
    if Some(got) == expected {
        return Ok(());
    }
    let wanted = expected.map_or("more than fit in memory".into(), |e| e.to_string());
    Err(Error::invalid(
        field,
        format!("{got} numbers long"),
        format!("expected {wanted}: {what}"),
    ))
}

fn check_range(field: &str, range: Option<[f64; 2]>) -> Result<(), Error> {
    match range {
        // NaN fails the comparison.
        Some([lo, hi]) if !(lo < hi && lo >= -FAR && hi <= FAR) => {
            let allowed = "the first number must be below the second, both within ±1e100";
            Err(Error::invalid(field, format!("[{lo}, {hi}]"), allowed))
        }
        _ => Ok(()),
    }
}

fn check_signal(
    field: impl Fn() -> String,
    value: f64,
    range: Option<[f64; 2]>,
) -> Result<(), Error> {
    if !value.is_finite() {
        return Err(Error::invalid(field(), value, FINITE));
    }
    match range {
        Some([lo, hi]) if value < lo || value > hi => {
            let allowed = format!("must lie in the declared range [{lo}, {hi}]");
            Err(Error::invalid(field(), value, allowed))
        }
        _ if value.abs() > FAR => Err(Error::invalid(field(), value, "must lie within ±1e100")),
        _ => Ok(()),
    }
}
