//! Units: users or sessions, each of which keeps its arm for a period and is learned once.
//!
//! Outcomes of one user are dependent, so the unit is what is randomised and what is learned (math.md 26): one decision
//! per unit and period, and one learned outcome per unit, ever: its first period's. A unit's number u = hash(seed, period,
//! unit) draws its arm from the policy in force at its first decision; that decision stands until its period is over, and
//! the log finds it again from any replica. Periods roll: a unit's next one begins with its first decision after the last.

use std::time::Duration;

use banister::lease;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{CheckedDeclaration, Declaration, Kind};
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Unit that is randomised and learned in place of single decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "an object such as {\"name\": \"user\", \"period\": \"7d\"}")]
pub struct Unit {
    /// Its name in sentences, such as `user`.
    pub name: String,
    /// Time for which a unit keeps its arm, from its first decision on, and over which its outcome is taken: seconds, a
    /// text such as `7d`, `12h` or `30m`, or `forever`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "period")]
    #[schemars(with = "Option<GivenPeriod>")]
    pub period: Option<f64>,
    /// Way in which a unit's reports make its outcome.
    #[serde(default)]
    pub outcomes: Combine,
    /// Whether a unit's later periods are learned too.
    #[serde(default)]
    pub returns: Returns,
    /// Key of the hash; drawn when the experiment is created, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Seconds, a text such as `7d`, or `forever`.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[serde(expecting = "a period is seconds, a text such as \"7d\", or \"forever\"")]
pub(super) enum GivenPeriod {
    Seconds(f64),
    Text(String),
}

pub(super) fn period<'de, D: Deserializer<'de>>(given: D) -> Result<Option<f64>, D::Error> {
    let text = match Option::deserialize(given)? {
        Some(GivenPeriod::Seconds(seconds)) => return Ok(Some(seconds)),
        Some(GivenPeriod::Text(text)) if text != "forever" => text,
        _ => return Ok(None),
    };
    let allowed = "must be seconds, a text such as `7d`, `12h` or `30m`, or `forever`";
    let found = humantime::parse_duration(&text);
    let found = found.map_err(|_| D::Error::custom(format!("`{text}` is no period: {allowed}")))?;
    Ok(Some(found.as_secs_f64()))
}

/// Way in which a unit's reports make its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// They are added up; a unit without any has 0.
    #[default]
    Sum,
    /// Their mean, signal by signal.
    Mean,
}

/// What is assumed of the outcomes of a unit's later periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// They depend on its first: they are shown and not learned.
    #[default]
    Dependent,
    /// They are as independent as those of other units: each is learned.
    Independent,
}

impl Unit {
    /// Ids that the decision of a unit at a time may have: the first one ever; else its period began in this stretch of
    /// time or in the one before.
    pub(crate) fn ids(&self, unit: &str, time: Timestamp) -> Vec<String> {
        match self.period {
            None => vec![unit.to_string()],
            Some(period) => {
                let stretch = time.0.div_euclid(((period * 1e6) as i64).max(1));
                let later = [stretch, stretch - 1].map(|stretch| format!("{stretch}#{unit}"));
                [&[format!("#{unit}")], &later[..]].concat()
            }
        }
    }

    /// The number in [0, 1) that decides whether a unit keeps the arm that it got by an event.
    pub(crate) fn uniform(&self, id: &str, event: u64) -> f64 {
        lease::uniform([self.key(), event], [id, ""])
    }

    /// Key of the hash.
    pub(crate) fn key(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// Name of that which has one outcome, such as `user and period of 7days`.
    pub fn per(&self) -> String {
        let period = self
            .period
            .and_then(|own| Duration::try_from_secs_f64(own).ok());
        let words = |own| format!(" and period of {}", humantime::format_duration(own));
        format!("{}{}", self.name, period.map_or(String::new(), words))
    }

    /// Promise to units in words: what is certified of them, and what is not.
    pub fn in_words(&self) -> String {
        let (name, per) = (&self.name, self.per());
        let later = match (self.period, self.returns) {
            (Some(_), Returns::Dependent) => "later periods, ",
            _ => "",
        };
        format!(
            "each {name} is assigned by a policy whose expected cost per {per} keeps its threshold; not \
             certified: {later}the {name}s or requests that are active at a moment, nor that a {name} assigned earlier \
             follows the policy in force"
        )
    }

    /// Assumption of independence, in words.
    pub(crate) fn independence(&self) -> String {
        let periods = match (self.period, self.returns) {
            (Some(_), Returns::Independent) => ", and of the periods of one that returns,",
            _ => "",
        };
        let name = &self.name;
        format!("outcomes of different {name}s{periods} are independent")
    }
}

impl Declaration {
    /// Refuses what assigns units to arms, where one of the two is not declared.
    pub(super) fn check_units_and_arms(&self) -> Result<(), Refusal> {
        let rollout = self.rollout.as_ref();
        let holdout = rollout.is_some_and(|own| own.holdout.is_some());
        let namespace = rollout.is_some_and(|own| own.namespace.is_some());
        let given = [
            ("flag", self.flag.is_some()),
            ("rollout.holdout", holdout),
            ("rollout.namespace", namespace),
        ];
        let given = given.iter().find(|(_, is_given)| *is_given);
        let missing = match (self.unit.is_none(), self.arms.is_empty()) {
            (true, true) => "`unit` and `arms`",
            (true, false) => "`unit`",
            (false, true) => "`arms`",
            (false, false) => return Ok(()),
        };
        given.map_or(Ok(()), |(field, _)| {
            let allowed = format!("requires a `unit` and `arms`: declare the missing {missing}");
            Err(Refusal::invalid(*field, "given", allowed))
        })
    }
}

impl CheckedDeclaration {
    /// True if a unit's reports are added up until its time is over.
    pub(crate) fn adds_up(&self) -> bool {
        self.declaration.unit.is_some() && self.declaration.ttl_seconds.is_some()
    }

    /// The value of a signal that no report of a unit brought by the end of its period.
    pub(crate) fn unreported(&self) -> Option<f64> {
        let unit = self.declaration.unit.as_ref()?;
        (self.adds_up() && unit.outcomes == Combine::Sum).then_some(0.0)
    }

    /// Checks the unit; its period is its decisions' time to live.
    pub(super) fn check_declared_unit(&mut self) -> Result<(), Refusal> {
        let declared = &self.declaration;
        let Some(unit) = &declared.unit else {
            return Ok(());
        };
        super::check_label("unit.name", &unit.name)?;
        if let Some(seed) = unit.seed.filter(|seed| seed >> 53 != 0) {
            let allowed = "must be below 2^53, as whole numbers of all readers of JSON are";
            return Err(Refusal::invalid("unit.seed", seed, allowed));
        }
        let ttl = declared.ttl_seconds.or(unit.period);
        self.check_beside_unit(ttl, declared.shadow, !declared.budgets.is_empty())?;
        self.declaration.ttl_seconds = ttl;
        self.check_unreported()
    }

    /// Refuses what single decisions alone can have, where there are units.
    pub(crate) fn check_beside_unit(
        &self,
        ttl: Option<f64>,
        shadow: bool,
        has_budgets: bool,
    ) -> Result<(), Refusal> {
        let Some(unit) = &self.declaration.unit else {
            return Ok(());
        };
        let refused = [
            (
                "ttl_seconds",
                ttl != unit.period.or(self.declaration.ttl_seconds),
            ),
            ("shadow", shadow),
            ("budgets", has_budgets),
            ("dimension", matches!(self.kind, Kind::Candidates(_))),
        ];
        let refused = refused.into_iter().find(|(_, given)| *given);
        refused.map_or(Ok(()), |(field, _)| {
            let allowed = "a unit's period is its time to live, and units have no shadow mode, budgets or candidates: \
                           leave it out";
            Err(Refusal::invalid(field, "given", allowed))
        })
    }

    /// Refuses sums that cannot be 0 where nothing was reported.
    fn check_unreported(&self) -> Result<(), Refusal> {
        if self.unreported().is_none() || self.declaration.default_outcome.is_some() {
            return Ok(());
        }
        let brought = (0..self.standard.measured().len()).map(|i| self.standard.place_of(i));
        for place in std::iter::once(self.standard.reported()).chain(brought) {
            let mut own = self.standard.own_signals(place).iter();
            if let Some(own) = own.find(|own| !own.admits(0.0)) {
                let allowed = format!(
                    "a unit without a report has the sum 0, which is outside of [{}, {}], the range of `{}`: declare a \
                     default outcome, or `outcomes = \"mean\"`",
                    own.lo,
                    own.hi,
                    self.standard.signal_name(place)
                );
                return Err(Refusal::invalid("default_outcome", "absent", allowed));
            }
        }
        Ok(())
    }
}
