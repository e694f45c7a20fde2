//! Arms whose means move from round to round, and users who come back.

use std::f64::consts::TAU;

use banister::Error;
use banister::toolkit::{CheckedProblem, Signal};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::model::ArmRef;
use super::outcome::{Arms, Family, Pull};
use super::world::{RunStart, World, WorldRound, WorldRun};
use crate::results::GuardrailInfo;
use crate::stream::stream;

/// A mean that moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The arm, by index or name.
    pub arm: ArmRef,
    /// `reward`, or the guardrail whose cost it is.
    pub signal: String,
    /// Its path, around or from the declared mean.
    pub path: MeanPath,
}

/// A path of a mean around or from its declared value, in the signal's units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MeanPath {
    /// by·sin(2πt/period): at most 2π·by/period per round.
    Season {
        /// Largest distance.
        by: f64,
        /// Rounds after which it comes again.
        period: f64,
    },
    /// by·t/rounds, then it stays.
    Line {
        /// Distance in the end; negative: down.
        by: f64,
        /// Rounds that it takes.
        rounds: f64,
    },
    /// A step of ±step in every round, drawn for every run, turned back where it would go further than `within`.
    Walk {
        /// Length of a step.
        step: f64,
        /// Largest distance.
        within: f64,
    },
}

/// Users who come back: rounds that share a mean of their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Users {
    /// Rounds of each.
    pub rounds: u64,
    /// Distance of a user's means from those of all: above or below, as likely, for all arms and signals alike, in
    /// units of the ranges.
    pub spread: f64,
    /// Number of outcomes that a round averages: with `rounds = 1` each user is decided for, and learned, as one unit.
    #[serde(default = "one")]
    pub outcomes: u64,
    /// Number of users at a time, each of whom every so many rounds are; when one has had its rounds, another comes.
    #[serde(default = "one")]
    pub active: u64,
    /// True if each user is learned once, from its first round.
    #[serde(default)]
    pub once: bool,
}

/// Most outcomes of a round, and users at a time.
const MOST_OUTCOMES: u64 = 10_000;

fn one() -> u64 {
    1
}

/// A path as it is followed.
#[derive(Debug, Clone)]
struct Moved {
    arm: usize,
    signal: usize,
    path: MeanPath,
}

/// Arms that move.
pub(super) struct Moving {
    arms: Arms,
    family: Family,
    /// By arm, then by signal.
    signals: Vec<Signal>,
    moves: Vec<Moved>,
    users: Option<Users>,
}

impl MeanPath {
    /// Distances from the declared mean between which it stays.
    fn reach(&self) -> (f64, f64) {
        match *self {
            Self::Season { by, .. } => (-by.abs(), by.abs()),
            Self::Line { by, .. } => (by.min(0.0), by.max(0.0)),
            Self::Walk { within, .. } => (-within, within),
        }
    }

    fn check(&self, field: &str) -> Result<(), Error> {
        let (numbers, positive) = match *self {
            Self::Season { by, period } => (("by", by), ("period", period)),
            Self::Line { by, rounds } => (("by", by), ("rounds", rounds)),
            Self::Walk { step, within } => (("within", within), ("step", step)),
        };
        if !numbers.1.is_finite() {
            let field = format!("{field}.{}", numbers.0);
            return Err(Error::invalid(field, numbers.1, "must be a finite number"));
        }
        let (name, value) = positive;
        if !(value > 0.0 && value.is_finite()) {
            let allowed = "must be a finite number above 0";
            return Err(Error::invalid(format!("{field}.{name}"), value, allowed));
        }
        if let Self::Walk { step, within } = *self
            && !(within >= step)
        {
            let allowed = format!("must be at least the step {step}");
            return Err(Error::invalid(format!("{field}.within"), within, allowed));
        }
        Ok(())
    }
}

impl Moving {
    /// Arms that start as given.
    pub(super) fn new(
        problem: &CheckedProblem,
        (arms, family): (Arms, Family),
        moves: &[Move],
        users: Option<Users>,
    ) -> Result<Self, Error> {
        let declared = &problem.declared;
        let names: Vec<&str> = std::iter::once("reward")
            .chain(declared.guardrails.iter().map(|g| g.name.as_str()))
            .collect();
        let mut followed: Vec<Moved> = Vec::new();
        for (n, own) in moves.iter().enumerate() {
            let field = format!("environment.moves[{n}]");
            let signal = names.iter().position(|name| *name == own.signal);
            let signal = signal.ok_or_else(|| {
                let allowed = format!("must be one of `{}`", names.join("`, `"));
                Error::invalid(format!("{field}.signal"), &own.signal, allowed)
            })?;
            let arm = own.arm.index(&declared.arms, &format!("{field}.arm"))?;
            own.path.check(&field)?;
            if followed.iter().any(|m| (m.arm, m.signal) == (arm, signal)) {
                let allowed = "this mean moves already";
                return Err(Error::invalid(field, &own.signal, allowed));
            }
            let path = own.path;
            followed.push(Moved { arm, signal, path });
        }
        let signal = |arm: usize| (0..names.len()).map(move |s| *problem.own_signal(arm, s));
        let own = Self {
            signals: (0..arms.count()).flat_map(signal).collect(),
            arms,
            family,
            moves: followed,
            users,
        };
        own.check_reach(&names)?;
        Ok(own)
    }

    fn signal(&self, arm: usize, signal: usize) -> &Signal {
        &self.signals[arm * self.signals.len() / self.arms.count() + signal]
    }

    /// Refuses means that would leave their ranges.
    fn check_reach(&self, names: &[&str]) -> Result<(), Error> {
        if let Some(users) = self.users {
            if users.rounds == 0 {
                let allowed = "must be at least 1";
                return Err(Error::invalid("environment.users.rounds", 0, allowed));
            }
            for (name, n) in [("outcomes", users.outcomes), ("active", users.active)] {
                if !(1..=MOST_OUTCOMES).contains(&n) {
                    let allowed = format!("must lie in [1, {MOST_OUTCOMES}]");
                    let field = format!("environment.users.{name}");
                    return Err(Error::invalid(field, n, allowed));
                }
            }
            if !(0.0..=1.0).contains(&users.spread) {
                let field = "environment.users.spread";
                return Err(Error::invalid(field, users.spread, "must lie in [0, 1]"));
            }
        }
        for arm in 0..self.arms.count() {
            for (s, name) in names.iter().enumerate() {
                let own = self.moves.iter().find(|m| (m.arm, m.signal) == (arm, s));
                let (down, up) = own.map_or((0.0, 0.0), |m| m.path.reach());
                let signal = self.signal(arm, s);
                let spread = self.users.map_or(0.0, |users| users.spread * signal.unit());
                let mean = self.arms.mean(arm, s);
                if mean + down - spread < signal.lo || mean + up + spread > signal.hi {
                    let allowed = format!(
                        "means move within the range [{}, {}] of `{name}`; this one starts at {mean}",
                        signal.lo, signal.hi
                    );
                    let what = format!("{} to {}", mean + down - spread, mean + up + spread);
                    return Err(Error::invalid(format!("mean of arm {arm}"), what, allowed));
                }
            }
        }
        Ok(())
    }
}

impl World for Moving {
    fn start<'a>(&'a self, start: &RunStart<'a>) -> Result<Box<dyn WorldRun + 'a>, Error> {
        Ok(Box::new(MovingRun {
            world: self,
            now: self.arms.clone(),
            walked: vec![0.0; self.moves.len()],
            rng: stream(start.seed, u64::MAX - start.run),
            user: self.arms.clone(),
            sides: vec![0.0; self.users.map_or(0, |users| users.active as usize)],
            slot: 0,
            room: vec![0.0; self.signals.len()],
            t: 0,
        }))
    }

    fn arms(&self) -> Option<&Arms> {
        Some(&self.arms)
    }

    /// Refuses paths on which the safe arm breaks a guardrail: nothing would be left to play.
    fn check(&self, problem: &CheckedProblem, guardrails: &[GuardrailInfo]) -> Result<(), Error> {
        let safe = problem.declared.safe;
        for own in self.moves.iter().filter(|m| m.arm == safe && m.signal > 0) {
            let guardrail = &guardrails[own.signal - 1];
            let (down, up) = own.path.reach();
            let mean = self.arms.mean(safe, own.signal);
            let excess = |x: f64| guardrail.direction.excess(mean + x, guardrail.threshold);
            if excess(down).max(excess(up)) >= 0.0 {
                let allowed = format!(
                    "the safe arm must meet guardrail `{}` (threshold {}) with margin in every round",
                    guardrail.name, guardrail.threshold
                );
                return Err(Error::invalid(
                    "environment.moves",
                    "the safe arm's",
                    allowed,
                ));
            }
        }
        Ok(())
    }
}

/// One run of arms that move.
struct MovingRun<'a> {
    world: &'a Moving,
    now: Arms,
    /// Arms as they are for the user.
    user: Arms,
    /// By move: how far a walk has gone.
    walked: Vec<f64>,
    rng: ChaCha8Rng,
    /// Sides on which the means of active users lie.
    sides: Vec<f64>,
    slot: usize,
    /// Costs of one of its outcomes.
    room: Vec<f64>,
    t: u64,
}

impl WorldRun for MovingRun<'_> {
    fn begin(&mut self, round: &mut WorldRound) -> Result<bool, Error> {
        let (world, t) = (self.world, self.t as f64);
        for (own, walked) in std::iter::zip(&world.moves, &mut self.walked) {
            let distance = match own.path {
                MeanPath::Season { by, period } => by * libm::sin(TAU * t / period),
                MeanPath::Line { by, rounds } => by * (t / rounds).min(1.0),
                MeanPath::Walk { step, within } => {
                    let up = self.rng.random_bool(0.5);
                    let next = *walked + if up { step } else { -step };
                    if next.abs() <= within {
                        *walked = next;
                    }
                    *walked
                }
            };
            let mean = world.arms.mean(own.arm, own.signal) + distance;
            let signal = world.signal(own.arm, own.signal);
            (self.now).set_mean(world.family, signal, (own.arm, own.signal), mean)?;
        }
        let is_new = self.t == 0 || !world.moves.is_empty();
        if is_new {
            round.means = self.now.by_signal();
        }
        if let Some(users) = world.users {
            let (visit, slot) = (self.t / users.active, self.t % users.active);
            self.slot = slot as usize;
            // They do not leave all at once.
            let is_new_user = visit == 0 || (visit + slot).is_multiple_of(users.rounds);
            if is_new_user {
                let side = if self.rng.random_bool(0.5) { 1.0 } else { -1.0 };
                self.sides[self.slot] = side * users.spread;
            }
            round.is_known = users.once && !is_new_user;
        }
        self.t += 1;
        Ok(is_new)
    }

    fn pull(&mut self, _: &WorldRound, pull: Pull<'_>) -> Result<f64, Error> {
        let Some(users) = self.world.users else {
            return Ok(self.now.pull_scaled(pull));
        };
        // The user's own means, for this round.
        let (world, arm) = (self.world, pull.action);
        for s in 0..=pull.costs.len() {
            let signal = world.signal(arm, s);
            let mean = self.now.mean(arm, s) + self.sides[self.slot] * signal.unit();
            (self.user).set_mean(world.family, signal, (arm, s), mean)?;
        }
        if users.outcomes == 1 {
            return Ok(self.user.pull_scaled(pull));
        }
        let Pull {
            scale, rng, costs, ..
        } = pull;
        costs.fill(0.0);
        let mut reward = 0.0;
        for _ in 0..users.outcomes {
            let (rng, own) = (&mut *rng, &mut self.room[..costs.len()]);
            reward += self.user.pull_scaled(Pull {
                action: arm,
                scale,
                rng,
                costs: own,
            });
            for (cost, own) in costs.iter_mut().zip(&self.room) {
                *cost += own;
            }
        }
        // Rounding must not carry a mean out of its range.
        let mean = |s: usize, sum: f64| world.signal(arm, s).counted(sum / users.outcomes as f64);
        for (i, cost) in costs.iter_mut().enumerate() {
            *cost = mean(i + 1, *cost);
        }
        Ok(mean(0, reward))
    }
}
