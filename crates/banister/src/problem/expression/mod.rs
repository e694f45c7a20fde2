//! Expressions over declared signals: what a guardrail bounds, and what a reward may be. Files: `sum`, `ratio`,
//! `difference` and `exceedance`, a form each.
//!
//! All but a weighted sum are means of one value per outcome, so that nothing else has to be learned (math.md 26).

mod difference;
mod exceedance;
mod ratio;
mod sum;

pub use exceedance::Exceedance;
pub(crate) use sum::Sum;
pub use sum::{ArmWeights, Weights};

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signals::REWARD;
use super::{Direction, Drift, Guardrail, Measured, Problem, Range, SignalConfig};
use crate::error::{Error, finite};
use crate::path::Within;

/// What a guardrail bounds the mean of: `"latency_ms"`, `["refunds", "/", "orders"]`, `["revenue", "-", "refunds"]`,
/// `["latency_ms", ">", 800]`, or
/// weights by signal, `{"input_tokens": 2.5e-6}`.
///
/// ```
/// use banister::Expression;
///
/// let rate: Expression = serde_json::from_str(r#"["refunds", "/", "orders"]"#)?;
/// assert_eq!(rate.to_string(), "refunds per orders");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Spelled", into = "Spelled")]
pub enum Expression {
    /// A declared signal, or `reward`: outcomes bring it once, and it is learned once.
    Signal(String),
    /// Weighted sum of declared signals: given prices, which may change. Outcomes bring the signals, and not the sum.
    Sum(Weights),
    /// The first signal per unit of the second, mean by mean.
    Ratio([String; 2]),
    /// The first signal less the second.
    Difference([String; 2]),
    /// Share of outcomes whose signal lies beyond a bound.
    Exceedance(Exceedance),
}

/// An expression as documents spell it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a signal, [signal, \"/\", signal], [signal, \">\", number], weights by signal, such as \
                 { input_tokens = 2.5e-6 }, or such a table for each arm"
)]
#[schemars(rename = "Expression")]
enum Spelled {
    Signal(String),
    Operation(String, String, Operand),
    Weights(Weights),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Operand {
    Signal(String),
    Number(f64),
}

impl TryFrom<Spelled> for Expression {
    type Error = String;

    fn try_from(spelled: Spelled) -> Result<Self, String> {
        let (first, sign, second) = match spelled {
            Spelled::Signal(name) => return Ok(Self::Signal(name)),
            Spelled::Weights(weights) => return Ok(Self::Sum(weights)),
            Spelled::Operation(first, sign, second) => (first, sign, second),
        };
        match (&*sign, second) {
            ("/", Operand::Signal(under)) => Ok(Self::Ratio([first, under])),
            ("-", Operand::Signal(less)) => Ok(Self::Difference([first, less])),
            (">", Operand::Number(bound)) => {
                Ok(Exceedance::beyond(first, Direction::AtMost, bound))
            }
            ("<", Operand::Number(bound)) => {
                Ok(Exceedance::beyond(first, Direction::AtLeast, bound))
            }
            _ => Err(format!(
                "`{sign}` does not stand between these: [signal, \"/\", signal] is a ratio, [signal, \"-\", signal] a difference, \
                 [signal, \">\", number] and [signal, \"<\", number] are shares of outcomes"
            )),
        }
    }
}

impl From<Expression> for Spelled {
    fn from(expression: Expression) -> Self {
        let (first, sign, second) = match expression {
            Expression::Signal(name) => return Self::Signal(name),
            Expression::Sum(weights) => return Self::Weights(weights),
            Expression::Ratio([over, under]) => (over, "/", Operand::Signal(under)),
            Expression::Difference([first, less]) => (first, "-", Operand::Signal(less)),
            Expression::Exceedance(event) => {
                let sign = event.side.select(">", "<");
                (event.signal, sign, Operand::Number(event.bound))
            }
        };
        Self::Operation(first, sign.into(), second)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(name) => f.write_str(name),
            Self::Sum(weights) => f.write_str(&weights.names().join(" + ")),
            Self::Ratio([over, under]) => write!(f, "{over} per {under}"),
            Self::Difference([first, less]) => write!(f, "{first} − {less}"),
            Self::Exceedance(event) => event.fmt(f),
        }
    }
}

/// Value of a place of the row that outcomes do not bring, by places that they do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Made {
    /// The signal there.
    Signal(usize),
    /// a − factor·b.
    Difference { of: [usize; 2], factor: f64 },
    /// 1 if the signal lies beyond the bound.
    Beyond {
        place: usize,
        side: Direction,
        bound: f64,
    },
}

impl Made {
    /// The first place that it is made from.
    pub(super) fn first(self) -> usize {
        match self {
            Self::Signal(place) | Self::Beyond { place, .. } => place,
            Self::Difference { of: [place, _], .. } => place,
        }
    }

    pub(super) fn value(self, at: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Signal(place) => at(place),
            Self::Difference { of: [a, b], factor } => at(a) - factor * at(b),
            Self::Beyond { place, side, bound } => {
                f64::from(u8::from(side.excess(at(place), bound) > 0.0))
            }
        }
    }
}

/// Origin of a value of the row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// Outcomes bring it.
    Brought,
    /// It is computed from the row.
    Made(Made),
    /// It is computed from bounds, at the weights in force.
    Sum(Sum),
}

/// A place of the row, as an expression makes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    /// Range and noise of what is learned.
    pub config: SignalConfig,
    pub source: Source,
    /// Threshold in the units of `config`, where it is not the one declared.
    pub threshold: Option<f64>,
    /// Highest value of the signal that a ratio is per unit of.
    pub most_under: Option<f64>,
    /// Place of the signal that a relative ratio is per unit of.
    pub per: Option<usize>,
}

impl Place {
    pub(super) fn new(config: SignalConfig, source: Source) -> Self {
        Self {
            config,
            source,
            threshold: None,
            most_under: None,
            per: None,
        }
    }
}

impl Guardrail {
    /// Place of the row that it has.
    pub(super) fn place(&self, problem: &Problem) -> Result<Place, Error> {
        let Some(expression) = &self.expression else {
            return Ok(Place::new(self.signal.clone(), Source::Brought));
        };
        let place = match expression {
            Expression::Signal(name) => {
                let (place, config) = problem.source(name).within("expression")?;
                Place::new(config, Source::Made(Made::Signal(place)))
            }
            Expression::Sum(weights) => weights.place(problem, self)?,
            Expression::Ratio(names) => ratio::place(names, problem, self)?,
            Expression::Difference(names) => difference::place(names, problem, self)?,
            Expression::Exceedance(event) => event.place(problem, self)?,
        };
        let is_learned = matches!(expression, Expression::Sum(_) | Expression::Ratio(_));
        if is_learned && self.safe_cost.is_some() {
            let allowed = "its signals are learned: leave it out";
            return Err(Error::invalid("safe_cost", "given", allowed));
        }
        let (given, own) = (&self.signal, &place.config);
        let twice = [
            ("range", given.range.is_some() && given.range != own.range),
            ("cap", given.cap.is_some() && given.cap != own.cap),
            (
                "sub_gaussian",
                given.sub_gaussian.is_some() && given.sub_gaussian != own.sub_gaussian,
            ),
            ("drift", given.drift.is_some() && given.drift != own.drift),
        ];
        match twice.into_iter().find(|(_, is_twice)| *is_twice) {
            None => Ok(place),
            Some((key, _)) => {
                let allowed = "it follows from its signals: leave it out here";
                Err(Error::invalid(key, "given", allowed))
            }
        }
    }

    /// Its promise in words, where that is more than a mean on one side of a threshold.
    pub fn in_words(&self) -> Option<String> {
        let (direction, bound) = self.bound()?;
        let words = direction.words();
        let mean = match &self.expression {
            Some(Expression::Ratio(names)) => {
                Some(ratio::in_words(names, self.relative, (words, bound)))
            }
            Some(Expression::Exceedance(event)) => {
                Some(format!("{words} {bound} of outcomes have {event}"))
            }
            Some(own @ Expression::Difference(_)) => {
                let rest = if self.relative {
                    " times the safe action's"
                } else {
                    ""
                };
                Some(format!("the mean of {own} {words} {bound}{rest}"))
            }
            _ => None,
        };
        let Some(over) = self.over else {
            return mean;
        };
        let mean = mean.unwrap_or_else(|| format!("the mean of {} {words} {bound}", self.name));
        Some(format!(
            "over every {over} decisions together, and not by each: {mean}; the threshold is what is left per decision left"
        ))
    }
}

impl Expression {
    /// Names of the signals that it is made from.
    pub fn signals(&self) -> Vec<&str> {
        match self {
            Self::Signal(name) => vec![name],
            Self::Sum(weights) => weights.names(),
            Self::Ratio(names) | Self::Difference(names) => {
                names.iter().map(String::as_str).collect()
            }
            Self::Exceedance(event) => vec![&event.signal],
        }
    }
}

impl Problem {
    /// Place of the row that the reward has.
    pub(super) fn reward_place(&self) -> Result<Place, Error> {
        let Some(expression) = self
            .reward
            .expression
            .as_ref()
            .filter(|_| self.reward.name().is_none())
        else {
            return Ok(Place::new(self.reward.clone(), Source::Brought));
        };
        if expression.signals().contains(&REWARD) {
            let allowed = "the reward cannot be made from itself";
            return Err(Error::invalid("expression", expression, allowed));
        }
        let own = Guardrail {
            expression: Some(expression.clone()),
            signal: SignalConfig {
                expression: None,
                ..self.reward.clone()
            },
            ..Guardrail::default()
        };
        let place = own.place(self)?;
        if matches!(place.source, Source::Made(_)) && place.most_under.is_none() {
            return Ok(place);
        }
        let allowed =
            "a reward is the mean of one value per outcome: a ratio or a weighted sum is none";
        Err(Error::invalid("expression", expression, allowed))
    }

    /// Names the reward's signal: its range is where that is declared.
    pub(super) fn with_named_reward(&self) -> Result<Self, Error> {
        let mut own = self.clone();
        let Some(name) = self.reward.name() else {
            return Ok(own);
        };
        let is_taken = self.guardrails.iter().any(|g| g.name == name);
        if is_taken || name.trim().is_empty() {
            let allowed = "must be a declared signal, or a name that no guardrail has";
            return Err(Error::invalid("reward.expression", name, allowed));
        }
        super::check_seen(name).within("reward.expression")?;
        if let Some(declared) = own.signals.remove(name) {
            let plain = SignalConfig {
                expression: self.reward.expression.clone(),
                ..SignalConfig::default()
            };
            if self.reward != plain {
                let allowed =
                    "the signal's range and noise stand at `signals`: leave them out here";
                return Err(Error::invalid("reward", "given twice", allowed));
            }
            own.reward = SignalConfig {
                expression: plain.expression,
                ..declared.config()
            };
        }
        Ok(own)
    }

    /// Place in the row of the signal that a name stands for.
    pub(super) fn place_named(&self, name: &str) -> Option<usize> {
        if name == REWARD || self.reward.name() == Some(name) {
            return Some(0);
        }
        let guardrails = self.guardrails.iter().map(|g| g.name.as_str());
        let mut names = guardrails.chain(self.signals.keys().map(String::as_str));
        names.position(|own| own == name).map(|place| place + 1)
    }

    /// Place and declaration of a signal that an expression names.
    fn source(&self, name: &str) -> Result<(usize, SignalConfig), Error> {
        let is_guardrail = |place: usize| (1..=self.guardrails.len()).contains(&place);
        let place = self.place_named(name).filter(|&place| !is_guardrail(place));
        let Some(place) = place else {
            let mut names: Vec<&str> = self.signals.keys().map(String::as_str).collect();
            names.extend(self.reward.name());
            let allowed = if names.is_empty() {
                "no `signals` are declared here".into()
            } else {
                format!(
                    "must be one of the declared `signals`: {}",
                    names.join(", ")
                )
            };
            return Err(Error::invalid("", name, allowed));
        };
        let own = self.signals.get(name).map(Measured::config);
        let reward = || Ok(self.reward_place()?.config);
        let mut own = own.map_or_else(reward, Ok)?;
        own.expression = None;
        Ok((place, own))
    }

    /// A signal that no observation takes out of its range.
    fn bounded(&self, name: &str) -> Result<(usize, SignalConfig), Error> {
        let found = self.source(name)?;
        if found.1.sub_gaussian.is_some() || found.1.cap.is_some() {
            let allowed = format!(
                "`signals.{name}` must have a `range` that no observation leaves, and no `cap` or `sub_gaussian`"
            );
            return Err(Error::invalid("", name, allowed));
        }
        Ok(found)
    }

    /// Two signals that no observation takes out of their ranges.
    fn two_bounded(&self, names: &[String; 2]) -> Result<[(usize, SignalConfig); 2], Error> {
        if names[0] == names[1] {
            return Err(Error::invalid("", &names[0], "must be two signals"));
        }
        let [first, second] = [0, 1].map(|i| self.bounded(&names[i]).within(2 * i));
        Ok([first?, second?])
    }
}

/// The place of a − factor·b, from the places of both; `drift` is declared for it.
fn difference(
    [(a, over), (b, under)]: [(usize, SignalConfig); 2],
    factor: f64,
    drift: Option<Drift>,
) -> Place {
    let ([low, high], [least, most]) = (over.hull(), under.hull());
    let ends = [low - factor * most, high - factor * least];
    let moved = Drift::sum([(over.drift, 1.0), (under.drift, factor.abs())]);
    let config = SignalConfig {
        range: Some(Range::Shared(ends)),
        drift: drift.or(moved),
        ..SignalConfig::default()
    };
    let of = [a, b];
    Place::new(config, Source::Made(Made::Difference { of, factor }))
}
