//! What an agent plays in during one run: the actions of each round, their true means, outcomes.

use banister::{Agent, Error, Origin, Outcomes, Played};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::best::{Best, Floor};
use crate::delay::Outcome;
use crate::experiment::Experiment;
use crate::law::Arms;
use crate::linear::{Changing, dot};

/// One run's scene. Actions are numbered as the agent numbers them.
pub(crate) trait Scene {
    /// Offers the round's actions; r*, the reward of the best feasible policy among them.
    fn begin(&mut self, agent: &mut dyn Agent) -> Result<f64, Error>;

    /// Whether policies can be judged by true means.
    #[inline]
    fn knows_means(&self) -> bool {
        true
    }

    /// How many actions are on offer, the safe one included.
    fn actions(&self) -> usize;

    /// The true mean of a signal of an action: 0 the reward, 1 + i guardrail i.
    fn mean(&self, action: usize, signal: usize) -> f64;

    /// Plays an action at `scale` of its length (1: as it is): returns the reward and writes the costs.
    fn pull(
        &mut self,
        action: usize,
        scale: f64,
        rng: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error>;

    /// How many tables of outcomes there are, where agents meet the same ones: one per action, or one
    /// whose rows are rounds.
    fn tables(&self) -> usize {
        1
    }

    /// Which of them an action's outcomes come from.
    #[inline]
    fn table(&self, action: usize) -> usize {
        let _ = action;
        0
    }

    /// Features of an action; empty for arms.
    fn vector(&self, action: usize) -> &[f64] {
        self.features(action)
    }

    /// The place of an action in the count of pulls.
    fn seat(&self, action: usize) -> usize;

    /// What a late outcome needs to be known by beside its number; empty if the number suffices.
    fn features(&self, action: usize) -> &[f64];

    /// Mean reward and costs of the rounds' best policies, where they differ.
    fn average_optimum(&self) -> Option<(f64, Vec<f64>)>;
}

/// Hands over the late outcome of a numbered decision: by the action's number, or by its features where
/// the actions have changed since.
pub(crate) fn tell(
    agent: &mut dyn Agent,
    (number, action, features, reward, costs): Outcome<'_>,
) -> Result<(), Error> {
    let arms = [action];
    let played = if features.is_empty() {
        Played::Arms(&arms)
    } else {
        Played::Features(features)
    };
    agent.observe_batch(&Outcomes {
        played,
        rewards: &[reward],
        costs,
        origin: Origin::Announced(&[number]),
    })
}

/// The same actions in every round.
pub(crate) struct Still<'a> {
    arms: &'a Arms,
    /// Their features, if they have any.
    features: &'a [Vec<f64>],
    optimum: f64,
}

impl<'a> Still<'a> {
    pub(crate) fn new(experiment: &'a Experiment, arms: &'a Arms, floor: f64) -> Self {
        Self {
            arms,
            features: &experiment.problem.declared.features,
            optimum: match floor == 0.0 {
                true => experiment.optimum.reward,
                false => best_of(experiment, arms, floor).0,
            },
        }
    }
}

/// Reward and costs of the best policy on arms whose safe one has at least a share of it.
fn best_of(experiment: &Experiment, arms: &Arms, share: f64) -> (f64, Vec<f64>) {
    let safe = experiment.problem.declared.safe;
    let floor = Floor {
        share,
        means: arms.means(safe).to_vec(),
    };
    let mut best = Best::new(&experiment.guardrails, floor);
    let row = |signal: usize| {
        let each = (0..arms.count()).map(|a| best.sign(signal) * arms.mean(a, signal));
        each.collect()
    };
    let means: Vec<Vec<f64>> = (0..=experiment.guardrails.len()).map(row).collect();
    best.solve(&means, Some(safe));
    best.count();
    best.average()
}

/// Arms whose means change at given rounds.
pub(crate) struct Shifting<'a> {
    now: Still<'a>,
    round: u64,
    /// Changes to come.
    next: &'a [(u64, Arms)],
    /// The best policy now, and the sums over the rounds so far.
    best: (f64, Vec<f64>),
    sums: (f64, Vec<f64>),
    experiment: &'a Experiment,
    floor: f64,
}

impl<'a> Shifting<'a> {
    pub(crate) fn new(experiment: &'a Experiment, arms: &'a Arms, floor: f64) -> Self {
        let best = best_of(experiment, arms, floor);
        Self {
            now: Still::new(experiment, arms, floor),
            round: 0,
            next: &experiment.world.changes,
            sums: (0.0, vec![0.0; best.1.len()]),
            best,
            experiment,
            floor,
        }
    }

    #[cold]
    fn change(&mut self, arms: &'a Arms) {
        self.next = &self.next[1..];
        self.now.arms = arms;
        self.best = best_of(self.experiment, arms, self.floor);
        self.now.optimum = self.best.0;
    }
}

impl Scene for Shifting<'_> {
    fn begin(&mut self, agent: &mut dyn Agent) -> Result<f64, Error> {
        if let [(round, arms), ..] = self.next
            && *round == self.round
        {
            self.change(arms);
        }
        self.round += 1;
        self.sums.0 += self.best.0;
        for (sum, cost) in self.sums.1.iter_mut().zip(&self.best.1) {
            *sum += cost;
        }
        self.now.begin(agent)
    }

    fn actions(&self) -> usize {
        self.now.actions()
    }

    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.now.mean(action, signal)
    }

    fn pull(
        &mut self,
        action: usize,
        scale: f64,
        rng: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        self.now.pull(action, scale, rng, costs)
    }

    fn tables(&self) -> usize {
        self.now.tables()
    }

    fn table(&self, action: usize) -> usize {
        self.now.table(action)
    }

    fn vector(&self, action: usize) -> &[f64] {
        self.now.vector(action)
    }

    fn seat(&self, action: usize) -> usize {
        self.now.seat(action)
    }

    fn features(&self, action: usize) -> &[f64] {
        self.now.features(action)
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        let mean = |sum: &f64| sum / self.round as f64;
        Some((mean(&self.sums.0), self.sums.1.iter().map(mean).collect()))
    }
}

impl Scene for Still<'_> {
    #[inline]
    fn begin(&mut self, _: &mut dyn Agent) -> Result<f64, Error> {
        Ok(self.optimum)
    }

    #[inline]
    fn actions(&self) -> usize {
        self.arms.count()
    }

    #[inline]
    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.arms.mean(action, signal)
    }

    #[inline]
    fn pull(
        &mut self,
        action: usize,
        scale: f64,
        rng: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        Ok(match scale == 1.0 {
            true => self.arms.pull(action, rng, costs),
            false => self.arms.pull_scaled(action, scale, rng, costs),
        })
    }

    fn tables(&self) -> usize {
        self.arms.count()
    }

    #[inline]
    fn table(&self, action: usize) -> usize {
        action
    }

    fn vector(&self, action: usize) -> &[f64] {
        self.features.get(action).map_or(&[], Vec::as_slice)
    }

    #[inline]
    fn seat(&self, action: usize) -> usize {
        action
    }

    #[inline]
    fn features(&self, _: usize) -> &[f64] {
        &[]
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        None
    }
}

/// Other actions in every round; the safe one comes after them.
pub(crate) struct Moving<'a> {
    changing: &'a Changing,
    /// Draws the actions, apart from outcomes: all agents meet the same ones in the same run.
    rng: ChaCha8Rng,
    visit: u64,
    /// The round's actions beside the safe one, as rows.
    actions: Vec<f64>,
    /// Per signal the means of all actions, costs with the sign that makes them upper-bounded.
    means: Vec<Vec<f64>>,
    best: Best,
}

impl<'a> Moving<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        changing: &'a Changing,
        run: u64,
        share: f64,
    ) -> Self {
        let guardrails = &experiment.guardrails;
        let mut rng = ChaCha8Rng::seed_from_u64(experiment.resolved.run.seed);
        // Outcomes come from streams 0, 1, …; actions from the other end.
        rng.set_stream(u64::MAX - run);
        let visit = changing.entry(&mut rng);
        let k = changing.largest();
        let floor = Floor {
            share,
            means: changing.safe_means().to_vec(),
        };
        Self {
            changing,
            rng,
            visit,
            actions: Vec::with_capacity(k * changing.dimension()),
            means: vec![Vec::with_capacity(k + 1); guardrails.len() + 1],
            best: Best::new(guardrails, floor),
        }
    }

    fn draw(&mut self) {
        let before = self.means[0].len();
        self.changing
            .draw(self.visit, &mut self.rng, &mut self.actions);
        self.visit += 1;
        let d = self.changing.dimension();
        for (s, means) in self.means.iter_mut().enumerate() {
            let (sign, parameter) = (self.best.sign(s), &self.changing.parameters()[s]);
            means.clear();
            means.extend(
                self.actions
                    .chunks_exact(d)
                    .map(|x| sign * dot(x, parameter)),
            );
            means.push(sign * self.changing.safe_means()[s]);
        }
        // A warm start speaks of actions by number.
        if self.means[0].len() != before {
            self.best.reset();
        }
    }
}

impl Scene for Moving<'_> {
    fn begin(&mut self, agent: &mut dyn Agent) -> Result<f64, Error> {
        self.draw();
        agent.offer(&self.actions)?;
        self.best.solve(&self.means, Some(self.means[0].len() - 1));
        Ok(self.best.count())
    }

    #[inline]
    fn actions(&self) -> usize {
        self.means[0].len()
    }

    #[inline]
    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.best.sign(signal) * self.means[signal][action]
    }

    fn pull(
        &mut self,
        action: usize,
        scale: f64,
        rng: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        let mut draw = |signal: usize| {
            let mean = scale * self.mean(action, signal);
            self.changing.observe(signal, mean, rng)
        };
        let reward = draw(0);
        for (i, cost) in costs.iter_mut().enumerate() {
            *cost = draw(i + 1);
        }
        Ok(reward)
    }

    #[inline]
    fn seat(&self, action: usize) -> usize {
        usize::from(action + 1 != self.means[0].len())
    }

    fn features(&self, action: usize) -> &[f64] {
        let d = self.changing.dimension();
        match self.actions.get(action * d..(action + 1) * d) {
            Some(x) => x,
            None => self.changing.safe_action(),
        }
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        Some(self.best.average())
    }
}
