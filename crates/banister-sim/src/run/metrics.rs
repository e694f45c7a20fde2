//! Metrics of a run: policies judged on true means or, without them, sums of what was drawn.

use banister::Decision;
use banister::decision::GuardrailCertificate;
use banister::monitor::Alarm;

use super::drawn::Drawn;
use super::environment::RunEnvironment;
use super::trace::{TOLERANCE, Trace};
use crate::experiment::Experiment;
use crate::results::{Excess, RunSummary};

/// Sums over a run's rounds, and their values at the checkpoints.
pub(crate) struct Metrics {
    /// Per guardrail: sign (at_most 1, at_least −1), signed threshold, rounding allowed.
    limits: Vec<(f64, f64, f64)>,
    /// Stand-ins for the certificates of an agent that gives none.
    uncertified: Vec<GuardrailCertificate>,
    knows_means: bool,
    regret: f64,
    violations: u64,
    rounds: u64,
    first_alarm: Option<u64>,
    violations_after_alarm: u64,
    worst_exceedance: f64,
    reward_sum: f64,
    window: Vec<Window>,
    excess: Vec<Excess>,
    /// A quarter of the rounds.
    quarter: u64,
    possible_gain: f64,
    /// The last round's regret, reward, possible gain and violation.
    last: (f64, f64, f64, bool),
    trace_regret: Vec<f64>,
    trace_reward: Vec<f64>,
    trace: Vec<[Vec<f64>; 5]>,
    drawn: Option<Drawn>,
}

/// One guardrail since the last checkpoint.
#[derive(Clone, Copy)]
struct Window {
    sum: f64,
    /// Largest signed signal.
    worst: f64,
    price: f64,
    /// Cost, signed cost, price and excess of the last round.
    last: [f64; 4],
}

const FRESH: Window = Window {
    sum: 0.0,
    worst: f64::NEG_INFINITY,
    price: 0.0,
    last: [0.0; 4],
};

impl Window {
    #[inline]
    fn add(&mut self, [cost, signed, price, excess]: [f64; 4]) {
        self.sum += cost;
        self.price += price;
        self.worst = if signed > self.worst {
            signed
        } else {
            self.worst
        };
        self.last = [cost, signed, price, excess];
    }
}

impl Excess {
    /// Adds a round's excess; one within rounding is no violation.
    #[inline]
    fn add(&mut self, excess: f64, rounding: f64) {
        if excess > rounding {
            self.violation += excess;
        }
        self.net += excess;
        self.peak = if self.net > self.peak {
            self.net
        } else {
            self.peak
        };
    }
}

impl Metrics {
    pub(crate) fn new(experiment: &Experiment, points: usize, knows_means: bool) -> Self {
        let m = experiment.guardrails.len();
        let none = if knows_means { 0.0 } else { f64::NAN };
        let limits = experiment
            .guardrails
            .iter()
            .zip(&experiment.problem.guardrails);
        Self {
            limits: limits
                .map(|(g, standard)| {
                    let sign = g.direction.sign();
                    // A single policy breaks no guardrail that is over a sum.
                    let rounding = match standard.over {
                        None => TOLERANCE * standard.signal.unit(),
                        Some(_) => f64::INFINITY,
                    };
                    (sign, sign * g.threshold, rounding)
                })
                .collect(),
            uncertified: vec![
                GuardrailCertificate {
                    price: f64::NAN,
                    ..GuardrailCertificate::default()
                };
                m
            ],
            knows_means,
            regret: none,
            violations: 0,
            rounds: 0,
            first_alarm: None,
            violations_after_alarm: 0,
            worst_exceedance: none,
            reward_sum: 0.0,
            window: vec![FRESH; m],
            excess: vec![
                Excess {
                    violation: none,
                    net: none,
                    peak: none,
                    quarter: none,
                };
                m
            ],
            quarter: experiment.resolved.run.horizon / 4,
            possible_gain: none,
            last: (0.0, 0.0, 0.0, false),
            trace_regret: Vec::with_capacity(points),
            trace_reward: Vec::with_capacity(points),
            trace: vec![std::array::from_fn(|_| Vec::with_capacity(points)); m],
            drawn: None,
        }
    }

    /// Asks for the sums of drawn outcomes.
    pub(crate) fn measure(&mut self) {
        self.drawn = Some(Drawn::new(self.limits.len()));
    }

    /// Adds what was drawn in a round, where that is asked for.
    pub(crate) fn drawn(
        &mut self,
        environment: &impl RunEnvironment,
        optimum: f64,
        drawn: (f64, &[f64]),
    ) {
        if let Some(own) = &mut self.drawn {
            let safe = if self.knows_means {
                environment.mean(environment.safe(), 0)
            } else {
                f64::NAN
            };
            own.add(drawn, &self.limits, [self.last.1 - safe, optimum - safe]);
        }
    }

    /// Adds a round's policy, before an action is drawn from it.
    #[inline]
    pub(crate) fn round(
        &mut self,
        environment: &impl RunEnvironment,
        optimum: f64,
        decision: &Decision,
    ) {
        let acts = |alarm: &Alarm| !alarm.kind.is_warning();
        if decision.alarm.as_ref().is_some_and(acts) && self.first_alarm.is_none() {
            self.first_alarm = Some(self.rounds);
        }
        self.rounds += 1;
        let certificates = match decision.guardrails.get(..self.limits.len()) {
            Some(certificates) => certificates,
            None => &self.uncertified[..self.limits.len()],
        };
        if !environment.knows_means() {
            for (window, certificate) in self.window.iter_mut().zip(certificates) {
                window.price += certificate.price;
            }
            return;
        }
        // Scaled only where x_0 = 0, so that means shrink with the action.
        let reward = decision.scale * environment.judge(&decision.policy, 0);
        let mut broken = false;
        let windows = &mut self.window[..self.limits.len()];
        for (i, &(sign, limit, rounding)) in self.limits.iter().enumerate() {
            let cost = decision.scale * environment.judge(&decision.policy, i + 1);
            let signed = sign * cost;
            let excess = signed - limit;
            windows[i].add([cost, signed, certificates[i].price, excess]);
            self.excess[i].add(excess, rounding);
            if excess > rounding {
                broken = true;
                self.worst_exceedance = self.worst_exceedance.max(excess);
            }
        }
        let gain = optimum - environment.mean(environment.safe(), 0);
        self.last = (optimum - reward, reward, gain, broken);
        self.add_last();
    }

    /// Adds a round whose policy and certificates are those of the round before.
    #[inline]
    pub(crate) fn repeat(&mut self) {
        self.rounds += 1;
        for (i, window) in self.window.iter_mut().enumerate() {
            window.add(window.last);
            self.excess[i].add(window.last[3], self.limits[i].2);
        }
        self.add_last();
    }

    #[inline]
    fn add_last(&mut self) {
        let (regret, reward, gain, broken) = self.last;
        self.regret += regret;
        self.reward_sum += reward;
        self.possible_gain += gain;
        if self.rounds == self.quarter {
            for excess in &mut self.excess {
                excess.quarter = excess.net;
            }
        }
        self.violations += u64::from(broken);
        self.violations_after_alarm += u64::from(broken && self.first_alarm.is_some());
    }

    /// Adds the outcome of a round without true means.
    pub(crate) fn outcome(&mut self, reward: f64, costs: &[f64]) {
        self.reward_sum += reward;
        for (window, cost) in self.window.iter_mut().zip(costs) {
            window.sum += cost;
        }
    }

    pub(crate) fn checkpoint(&mut self, rounds: u64) {
        let rounds = rounds as f64;
        self.trace_regret.push(self.regret);
        self.trace_reward.push(self.reward_sum / rounds);
        self.reward_sum = 0.0;
        for (i, window) in self.window.iter_mut().enumerate() {
            let sign = self.limits[i].0;
            self.trace[i][0].push(window.sum / rounds);
            self.trace[i][1].push(if self.knows_means {
                sign * window.worst
            } else {
                f64::NAN
            });
            self.trace[i][2].push(window.price / rounds);
            let Excess { violation, net, .. } = self.excess[i];
            self.trace[i][3].push(violation);
            self.trace[i][4].push(net);
            *window = Window {
                last: window.last,
                ..FRESH
            };
        }
    }

    pub(crate) fn finish(
        self,
        run: u64,
        seed: u64,
        pulls: Vec<u64>,
        optimum: Option<(f64, Vec<f64>)>,
        timing: Option<f64>,
    ) -> Trace {
        let summary = RunSummary {
            run,
            seed,
            regret: self.regret,
            reward_end: self.trace_reward.last().copied().unwrap_or(0.0),
            violations: self.knows_means.then_some(self.violations),
            worst_exceedance: self.worst_exceedance,
            excess: self.excess,
            possible_gain: self.possible_gain,
            pulls,
            first_alarm: self.first_alarm,
            violations_after_alarm: self.violations_after_alarm,
            measured: self.drawn.map(|drawn| drawn.measured(self.rounds)),
            nanoseconds_per_round: timing,
        };
        let mut trace = Trace {
            regret: self.trace_regret,
            reward: self.trace_reward,
            cost: Vec::new(),
            worst: Vec::new(),
            price: Vec::new(),
            violation: Vec::new(),
            net: Vec::new(),
            optimum,
            summary,
        };
        for [cost, worst, price, violation, net] in self.trace {
            trace.cost.push(cost);
            trace.worst.push(worst);
            trace.price.push(price);
            trace.violation.push(violation);
            trace.net.push(net);
        }
        trace
    }
}
