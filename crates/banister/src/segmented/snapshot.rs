//! Saving and restoring the segmented agent.

use serde::{Deserialize, Serialize};

use super::segments::POOL;
use super::{Segmented, SegmentedConfig};
use crate::error::Error;
use crate::estimate::SavedArm;
use crate::interval::Place;
use crate::monitor::{Monitor, SavedMonitor};
use crate::problem::{ArmRanges, Problem};
use crate::snapshot::{broken, check_header};

const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    format: String,
    version: u32,
    problem: Problem,
    config: SegmentedConfig,
    outcomes: u64,
    arms: Vec<NamedArm>,
    segments: Vec<SavedSegment>,
    /// Segments that have a policy of their own, in the order in which they got it.
    told_apart: Vec<usize>,
    /// Contexts of segments beyond the largest number.
    others: u64,
    /// Decisions among those whose outcomes have not come.
    #[serde(default, skip_serializing_if = "is_zero")]
    others_waiting: u64,
    pools: u32,
    /// Slot that may give way to a new name next.
    hand: usize,
    /// Last places in δ that pairs were given.
    places: [Place; 2],
    /// Statistics of the pool, by arm.
    pool: Vec<SavedArm>,
    /// Last decision announced before the pool began.
    #[serde(default)]
    pool_since: u64,
    monitor: SavedMonitor,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedArm {
    name: String,
    offered: bool,
    #[serde(default, skip_serializing_if = "ArmRanges::is_empty")]
    ranges: ArmRanges,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSegment {
    name: String,
    contexts: u64,
    /// Decisions whose outcomes have not come.
    #[serde(default, skip_serializing_if = "is_zero")]
    waiting: u64,
    /// What is left of what it has for being met.
    credit: u64,
    /// Statistics by arm.
    arms: Vec<SavedArm>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Segmented {
    /// `format` in its snapshots.
    pub const FORMAT: &str = "banister.segmented";

    /// The agent's whole state as JSON. A table is made anew from it: it follows from outcomes and contexts alone.
    pub fn save(&self) -> String {
        self.save_learned()
    }

    /// The same: there is nothing beside what outcomes and contexts have taught it.
    pub fn save_learned(&self) -> String {
        let arms = (0..self.names.len()).map(|arm| NamedArm {
            name: self.names[arm].clone(),
            offered: self.arm.contains(&arm),
            ranges: if arm < self.problem.declared.arms.len() {
                ArmRanges::default()
            } else {
                self.problem.arm_ranges(arm)
            },
        });
        let segments = self.segments.list.iter().map(|segment| SavedSegment {
            name: segment.name.clone(),
            contexts: segment.contexts,
            waiting: segment.waiting,
            credit: segment.credit,
            arms: segment
                .pairs
                .iter()
                .map(|&pair| self.pairs.save(pair))
                .collect(),
        });
        let snapshot = Snapshot {
            format: Self::FORMAT.into(),
            version: VERSION,
            problem: self.problem.declared.clone(),
            config: self.checked.config.clone(),
            outcomes: self.outcomes,
            arms: arms.collect(),
            segments: segments.collect(),
            told_apart: self.segments.owners.iter().flatten().copied().collect(),
            others: self.segments.others,
            others_waiting: self.segments.others_waiting,
            pools: self.segments.pools,
            hand: self.segments.hand,
            places: self.pairs.last_places(),
            pool: (0..self.names.len())
                .map(|arm| self.pool.save(arm))
                .collect(),
            pool_since: self.pool_since,
            monitor: self.monitor.save(),
        };
        // Strings, integers and finite floats only: serialisation has nothing to fail on.
        serde_json::to_string(&snapshot).unwrap_or_default()
    }

    /// Takes up an agent where [`Segmented::save`] left it.
    pub fn restore(json: &str) -> Result<Self, Error> {
        check_header(json, Self::FORMAT, VERSION)?;
        let snapshot: Snapshot = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
        let problem = snapshot.problem.check()?;
        let checked = snapshot.config.check(&problem)?;
        let mut monitor = Monitor::new(&problem, checked.monitor);
        monitor.restore(&problem, snapshot.monitor.clone())?;
        snapshot.check()?;
        if monitor.forgotten() > snapshot.outcomes {
            return Err(broken(
                "`monitor` has forgotten more outcomes than there were",
            ));
        }
        let mut agent = Self::bare(problem, checked, |_, _| monitor);
        for (number, arm) in snapshot.arms.iter().enumerate() {
            if number >= agent.problem.declared.arms.len() {
                (agent.problem.add_arm(&arm.ranges))
                    .map_err(|e| broken(format!("arm `{}`: {e}", arm.name)))?;
            }
            agent.names.push(arm.name.clone());
            if arm.offered {
                agent.arm.push(number);
            }
        }
        agent.segments.pools = snapshot.pools;
        agent.reset_pool();
        agent.pool_since = snapshot.pool_since;
        let mut fits = true;
        for (arm, saved) in snapshot.pool.iter().enumerate() {
            fits &= agent.pool.restore(arm, saved);
        }
        for saved in &snapshot.segments {
            let Some(segment) = agent.segments.add(&saved.name) else {
                return Err(broken("it holds more segments than `max_segments`"));
            };
            agent.add_pairs(segment);
            agent.segments.list[segment].contexts = saved.contexts;
            agent.segments.list[segment].waiting = saved.waiting;
            agent.segments.list[segment].credit = saved.credit;
            for (arm, saved) in saved.arms.iter().enumerate() {
                fits &= agent
                    .pairs
                    .restore(agent.segments.list[segment].pairs[arm], saved);
            }
        }
        if !fits {
            return Err(broken("places in δ, or bets, cannot be"));
        }
        for &segment in &snapshot.told_apart {
            if agent
                .segments
                .list
                .get(segment)
                .is_none_or(|s| s.block != POOL)
            {
                return Err(broken(format!("`told_apart` has {segment}")));
            }
            agent.segments.tell_apart(segment);
        }
        let contexts = snapshot
            .segments
            .iter()
            .map(|s| u128::from(s.contexts))
            .sum::<u128>();
        let total = contexts + u128::from(snapshot.others);
        agent.segments.total = u64::try_from(total).map_err(|_| broken("its contexts overflow"))?;
        agent.pairs.restore_places(snapshot.places);
        let (declared, known) = (
            agent.problem.declared.segments.len(),
            snapshot.segments.len(),
        );
        if snapshot.hand != declared && !(declared..known).contains(&snapshot.hand) {
            return Err(broken(format!("`hand` is {}", snapshot.hand)));
        }
        agent.segments.hand = snapshot.hand;
        agent.segments.others = snapshot.others;
        agent.segments.others_waiting = snapshot.others_waiting;
        agent.outcomes = snapshot.outcomes;
        agent.rebuild();
        Ok(agent)
    }
}

impl Snapshot {
    fn check(&self) -> Result<(), Error> {
        let declared = &self.problem;
        if self.arms.len() < declared.arms.len()
            || std::iter::zip(&self.arms, &declared.arms).any(|(arm, name)| arm.name != *name)
        {
            return Err(broken("its arms are not those of its problem"));
        }
        if !self.arms[declared.safe].offered {
            return Err(broken("its safe arm is retired"));
        }
        // Counts beyond any life would make the next one overflow.
        let most = (self.segments.iter()).fold(self.outcomes.max(self.others), |most, s| {
            most.max(s.contexts)
        });
        if most >= u64::MAX / 2 || self.pools >= u32::MAX / 2 {
            return Err(broken("its counts cannot be"));
        }
        let signals = 1 + declared.guardrails.len();
        let fits = |arms: &[SavedArm]| {
            arms.len() == self.arms.len() && arms.iter().all(|arm| arm.fits(signals))
        };
        let mut names = std::collections::HashSet::new();
        for segment in &self.segments {
            if !fits(&segment.arms) || !names.insert(&segment.name) {
                return Err(broken(format!("segment `{}` cannot be", segment.name)));
            }
        }
        if !fits(&self.pool) {
            return Err(broken("the sums of the pool cannot be"));
        }
        let known = |name: &String| names.contains(name);
        if !declared.segments.iter().all(known) {
            return Err(broken("its segments are not those of its problem"));
        }
        Ok(())
    }
}
