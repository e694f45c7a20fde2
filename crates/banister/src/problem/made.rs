//! Guardrails that are made from declared signals: a signal itself, a ratio of two, or a quantile of one.
//!
//! All are means of one value per outcome, so that nothing else has to be learned (math.md 26). The ratio of a policy is
//! Σ_a π_a E[N_a] / Σ_a π_a E[D_a], hence "at most τ" says Σ_a π_a E[N_a − τD_a] ≤ 0. "The q-quantile is at most x" says
//! that 1{X > x} has a mean of at most 1 − q. A ratio relative to the safe action's bounds N and D by themselves: its
//! guardrail stands for N, and `Standard::per` names D.

use super::signals::REWARD;
use super::{Direction, Guardrail, Measured, Problem, Range, SignalConfig};
use crate::error::{Error, finite};
use crate::path::{FieldPath, Within};

/// Value of a guardrail that outcomes do not bring, by places of the row that they do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Made {
    /// The signal there.
    Signal(usize),
    /// N − τD.
    Ratio { over: usize, under: usize, tau: f64 },
    /// 1 if the signal lies beyond the bound.
    Beyond {
        place: usize,
        side: Direction,
        bound: f64,
    },
}

/// Guardrails that are made, by index, and how.
pub(super) type AllMade = Vec<(usize, Made)>;

impl Made {
    pub(super) fn value(self, at: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Signal(place) => at(place),
            Self::Ratio { over, under, tau } => at(over) - tau * at(under),
            Self::Beyond { place, side, bound } => {
                f64::from(u8::from(side.excess(at(place), bound) > 0.0))
            }
        }
    }
}

impl Guardrail {
    /// The guardrail on the mean of the value that it is made of.
    pub(super) fn on_means(&self) -> Self {
        let mut own = self.clone();
        match (self.quantile, &self.ratio) {
            (Some(q), _) => {
                // P(X > x) ≤ 1 − q, or P(X < x) ≤ q. Declared in decimals, and meant so: 1 − 0.95 is 0.05.
                let beyond = ((1.0 - q) * 1e12).round() / 1e12;
                own.at_most = Some(if self.at_most.is_some() { beyond } else { q });
                own.at_least = None;
            }
            (None, Some(_)) if !self.relative => {
                own.at_most = self.at_most.map(|_| 0.0);
                own.at_least = self.at_least.map(|_| 0.0);
            }
            _ => {}
        }
        own
    }

    /// Its promise in words, where that is more than a mean on one side of a threshold.
    pub fn in_words(&self) -> Option<String> {
        let of_mean = self.mean_in_words();
        let Some(over) = self.over else {
            return of_mean;
        };
        let mean = of_mean.or_else(|| {
            let (direction, bound) = self.bound()?;
            Some(format!(
                "the mean of {} {} {bound}",
                self.name,
                direction.words()
            ))
        })?;
        Some(format!(
            "over every {over} decisions together, and not by each: {mean}; the threshold is what is left per decision left"
        ))
    }

    fn mean_in_words(&self) -> Option<String> {
        let (direction, bound) = self.bound()?;
        let words = direction.words();
        if let Some([over, under]) = &self.ratio {
            let rest = if self.relative {
                " times the safe action's".to_string()
            } else {
                format!("; shown is the mean of {over} − {bound}·{under}")
            };
            return Some(format!("{over} per {under} {words} {bound}{rest}"));
        }
        let (q, signal) = (self.quantile?, self.signal.as_deref()?);
        let beyond = match direction {
            Direction::AtMost => "above",
            Direction::AtLeast => "below",
        };
        Some(format!(
            "the {q} quantile of {signal} {words} {bound}; shown is the share of {signal} {beyond} {bound}"
        ))
    }
}

impl Problem {
    /// Names the reward's signal: its range is where that is declared.
    pub(super) fn with_named_reward(&self) -> Result<Self, Error> {
        let mut own = self.clone();
        let Some(name) = &self.reward.signal else {
            return Ok(own);
        };
        let is_taken = self.guardrails.iter().any(|g| g.name == *name);
        if is_taken || name.trim().is_empty() {
            let allowed = "must be a declared signal, or a name that no guardrail has";
            return Err(Error::invalid("reward.signal", name, allowed));
        }
        super::check_seen(name).within("reward.signal")?;
        if let Some(declared) = own.signals.remove(name) {
            let plain = SignalConfig {
                signal: Some(name.clone()),
                ..SignalConfig::default()
            };
            if self.reward != plain {
                let allowed =
                    "the signal's range and noise stand at `signals`: leave them out here";
                return Err(Error::invalid("reward", "given twice", allowed));
            }
            own.reward = SignalConfig {
                signal: plain.signal,
                ..declared.config()
            };
        }
        Ok(own)
    }

    /// Caps signals without a highest value, beyond the highest bound on their quantiles.
    pub(super) fn with_ends(&self) -> Result<Self, Error> {
        let mut own = self.clone();
        for (name, signal) in &mut own.signals {
            let field = FieldPath::from(("signals", name));
            let config = signal.config();
            let Some([lo, f64::INFINITY]) = config.range.as_ref().and_then(Range::shared) else {
                continue;
            };
            finite(field.clone(), lo)?;
            let of = self.guardrails.iter();
            let of = of.filter(|g| g.quantile.is_some() && g.signal.as_ref() == Some(name));
            let bounds = of.filter_map(|g| g.bound().map(|(_, bound)| bound));
            let highest = bounds.fold(lo, f64::max);
            if highest <= lo || config.cap.is_some() {
                let allowed = "without a highest value only a `quantile` above its lowest can bound it: give it one";
                return Err(Error::invalid(field, format!("[{lo}, inf]"), allowed));
            }
            let hi = highest + (highest - lo);
            *signal = Measured::Declared(SignalConfig {
                range: Some(Range::Shared([lo, hi])),
                cap: Some(hi),
                ..config
            });
        }
        Ok(own)
    }

    /// Place in the row of the signal that a name stands for.
    pub(super) fn place_named(&self, name: &str) -> Option<usize> {
        if name == REWARD || self.reward.signal.as_deref() == Some(name) {
            return Some(0);
        }
        let guardrails = self.guardrails.iter().map(|g| g.name.as_str());
        let mut names = guardrails.chain(self.signals.keys().map(String::as_str));
        names.position(|own| own == name).map(|place| place + 1)
    }

    /// Place and declaration of a signal that a guardrail is made from.
    fn source(&self, field: FieldPath, name: &str) -> Result<(usize, SignalConfig), Error> {
        let is_guardrail = |place: usize| (1..=self.guardrails.len()).contains(&place);
        let place = self.place_named(name).filter(|&place| !is_guardrail(place));
        let Some(place) = place else {
            let mut names: Vec<&str> = self.signals.keys().map(String::as_str).collect();
            names.extend(self.reward.signal.as_deref());
            let declared = names.join(", ");
            let allowed = format!("must be one of the declared `signals`: {declared}");
            return Err(Error::invalid(field, name, allowed));
        };
        let own = self.signals.get(name).map(Measured::config);
        Ok((place, own.unwrap_or_else(|| self.reward.clone())))
    }

    /// Recipe of a guardrail that outcomes do not bring and that is no weighted sum; its range is written to `own`.
    pub(super) fn made(&self, i: usize, own: &mut Guardrail) -> Result<Option<Made>, Error> {
        let declared = &self.guardrails[i];
        let field = |key: &str| FieldPath::from(("guardrails", i)).key(key);
        let refuse = |key: &str, allowed: &str| Err(Error::invalid(field(key), "given", allowed));
        match (&declared.ratio, declared.quantile) {
            (Some(_), Some(_)) => refuse("quantile", "give `ratio` or `quantile`, not both"),
            (Some(names), None) => self.ratio(i, names, own).map(Some),
            (None, Some(q)) => {
                if !(q > 0.0 && q < 1.0) {
                    let allowed = "must lie between 0 and 1, e.g. 0.95";
                    return Err(Error::invalid(field("quantile"), q, allowed));
                }
                if declared.relative {
                    let allowed = "a quantile has a bound of its own: leave it out";
                    return refuse("relative", allowed);
                }
                let noise = SignalConfig {
                    drift: None,
                    ..declared.own_signal()
                };
                if noise != SignalConfig::default() {
                    return refuse("range", "the range is the signal's: leave it out here");
                }
                let Some(name) = declared.signal.as_deref() else {
                    let allowed = "a quantile is one of a declared signal: name it";
                    return Err(Error::invalid(field("signal"), "absent", allowed));
                };
                let (place, signal) = self.source(field("signal"), name)?;
                let Some((side, bound)) = declared.bound() else {
                    return Ok(None);
                };
                let [lo, hi] = signal.hull();
                if !(bound > lo && bound < hi) {
                    let allowed = format!("must lie within the signal's range [{lo}, {hi}]");
                    return Err(Error::invalid(field(side.key()), bound, allowed));
                }
                Ok(Some(Made::Beyond { place, side, bound }))
            }
            (None, None) => {
                let Some(name) = declared.signal.as_deref() else {
                    return Ok(None);
                };
                let (place, signal) = self.source(field("signal"), name)?;
                *own = declared.clone().of(signal);
                let given = declared.own_signal();
                if given != SignalConfig::default() && given != own.own_signal() {
                    return refuse("range", "the range is the signal's: leave it out here");
                }
                Ok(Some(Made::Signal(place)))
            }
        }
    }

    fn ratio(&self, i: usize, names: &[String; 2], own: &mut Guardrail) -> Result<Made, Error> {
        let declared = &self.guardrails[i];
        let field = FieldPath::from(("guardrails", i)).key("ratio");
        let (over, above) = self.source(FieldPath::from(0).within(field.clone()), &names[0])?;
        let (under, below) = self.source(FieldPath::from(1).within(field.clone()), &names[1])?;
        if over == under {
            let allowed = "a ratio is one of two signals";
            return Err(Error::invalid(field, &names[0], allowed));
        }
        for (name, signal) in names.iter().zip([&above, &below]) {
            let [lo, hi] = signal.hull();
            let allowed = if signal.sub_gaussian.is_some() || signal.cap.is_some() {
                "a signal of a ratio has a `range` that no observation leaves"
            } else if lo < 0.0 || (declared.relative && lo != 0.0) {
                "a signal of a ratio begins at 0"
            } else {
                continue;
            };
            let value = format!("{name} in [{lo}, {hi}]");
            return Err(Error::invalid(field, value, allowed));
        }
        if declared.signal.is_some() || declared.safe_cost.is_some() || declared.budget.is_some() {
            let allowed = "its signals are learned: leave out `signal`, `safe_cost` and `budget`";
            return Err(Error::invalid(field, "given", allowed));
        }
        let Some((_, tau)) = declared.bound() else {
            return Ok(Made::Signal(over));
        };
        let range = if declared.relative {
            above.range.clone()
        } else {
            let ([low, high], [least, most]) = (above.hull(), below.hull());
            let tau = finite(("guardrails", i), tau)?;
            Some(Range::Shared([low - tau * most, high - tau * least]))
        };
        let beside = SignalConfig {
            drift: None,
            ..declared.own_signal()
        };
        if beside != SignalConfig::default() && beside.range != range {
            let allowed = "a ratio has the range that its signals give: leave it out";
            return Err(Error::invalid("range", "given", allowed)).within(("guardrails", i));
        }
        own.range = range;
        Ok(if declared.relative {
            own.drift = above.drift;
            Made::Signal(over)
        } else {
            Made::Ratio { over, under, tau }
        })
    }
}
