//! Tuning of rivals: the best point of each declared grid on the instances of the suite `tuning`.

use banister::guarantee::Guarantee;
use banister::{Error, Registry as _};
use banister_rivals::AgentConfig;

use super::board::{PromiseVerdict, TUNED, leaderboard};
use crate::run::Gathered;

/// Rivals whose best point is not their default; `banister compare --suite tuning` makes it.
const CHOSEN: &str = include_str!("../../experiments/tuning/tuned.json");

/// The rivals with the constants that were the best on the tuning instances, labelled with [`TUNED`]. One whose
/// defaults were the best is not among them.
pub(crate) fn tuned() -> Result<Vec<AgentConfig>, Error> {
    serde_json::from_str(CHOSEN).map_err(|error| {
        Error::invalid("tuned", "experiments/tuning/tuned.json", error.to_string())
    })
}

/// A point of a rival's grid on the tuning instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The rival with its constants.
    pub agent: AgentConfig,
    /// Instances that it played.
    pub instances: usize,
    /// True if it kept its promise on all of them.
    pub kept: bool,
    /// Mean over instances of what it broke: the share of rounds for a promise about rounds, else the net excess of the
    /// worst guardrail, per round.
    pub violation: f64,
    /// Mean over instances of its regret as a share of the possible gain.
    pub regret: f64,
}

/// Scores every agent of a comparison. Those of a kind are one grid; [`chosen`] is its best point.
pub fn tried(gathered: &[Gathered<'_>]) -> Vec<Tried> {
    let mut all: Vec<Tried> = Vec::new();
    for gathered in gathered {
        let instance = gathered.result();
        let rounds = instance.horizon as f64;
        let board = leaderboard(&instance);
        for (label, source) in &gathered.experiment.agents {
            let standing = board.iter().find(|own| own.name() == label);
            let (Some(config), Some(standing)) = (source.config(), standing) else {
                continue;
            };
            let violation = match standing.agent.guarantee {
                Guarantee::EveryRound | Guarantee::PerAction => standing.violation_share.mean,
                Guarantee::Cumulative => standing.net().map_or(0.0, |own| own.net.mean / rounds),
                Guarantee::Unsafe => 0.0,
            };
            let here = Tried {
                agent: config.clone(),
                instances: 1,
                kept: standing.kept.is_none_or(|kept| kept == PromiseVerdict::Yes),
                violation,
                regret: standing.lost,
            };
            match all.iter_mut().find(|tried| tried.agent.label() == *label) {
                Some(tried) => tried.add(&here),
                None => all.push(here),
            }
        }
    }
    all
}

impl Tried {
    /// Adds an instance to the means.
    fn add(&mut self, here: &Self) {
        self.instances += 1;
        self.kept &= here.kept;
        let n = self.instances as f64;
        self.violation += (here.violation - self.violation) / n;
        self.regret += (here.regret - self.regret) / n;
    }
}

/// Chooses among the points of each kind: the least regret of those that kept their promise on every instance; if none
/// did, the least violation. Kinds whose defaults are chosen are left out.
pub fn chosen(tried: &[Tried]) -> Result<Vec<AgentConfig>, Error> {
    let mut kinds: Vec<&str> = tried.iter().map(|tried| tried.agent.kind()).collect();
    kinds.dedup();
    let mut list = Vec::new();
    for kind in kinds {
        let points = tried.iter().filter(|tried| tried.agent.kind() == kind);
        let key = |tried: &&Tried| {
            (
                !tried.kept,
                if tried.kept {
                    tried.regret
                } else {
                    tried.violation
                },
            )
        };
        let best = points.min_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let default = AgentConfig::of_kind(kind)?;
        let points = default.grid();
        let label = best.map(|best| best.agent.label());
        // As it was declared, not as it was completed for an instance.
        let best = points
            .into_iter()
            .find(|point| Some(point.label()) == label);
        if let Some(best) = best {
            let best = best.with_label(format!("{}{TUNED}", default.label()));
            if best.clone().with_label("") != default.with_label("") {
                list.push(best);
            }
        }
    }
    Ok(list)
}
