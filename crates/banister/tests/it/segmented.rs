//! The segmented agent: certificates against an independent computation, safety in simulated worlds, the pool, and life.

use crate::common::player::Inspect as _;
use crate::common::player::Segmented;
use crate::common::verbs::Verbs as _;
use banister::fields::{is_segment_of_fields, segment_of_fields};
use banister::monitor::AlarmKind;
use banister::segmented::worst_mean;
use banister::{Agent, Fallback, Guardrail, OnBreach, Problem, Round, Scope, SegmentedConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A world of Bernoulli outcomes.
struct World {
    names: Vec<String>,
    frequencies: Vec<f64>,
    /// By segment and arm.
    rewards: Vec<Vec<f64>>,
    /// By guardrail, segment and arm.
    costs: Vec<Vec<Vec<f64>>>,
    rng: ChaCha8Rng,
}

impl World {
    fn random(segments: usize, arms: usize, guardrails: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let weights: Vec<f64> = (0..segments).map(|_| rng.random_range(0.3..1.0)).collect();
        let sum: f64 = weights.iter().sum();
        let mut table = |safe: (f64, f64), other: (f64, f64)| -> Vec<Vec<f64>> {
            let mut mean = |a: usize| match a {
                0 => rng.random_range(safe.0..safe.1),
                _ => rng.random_range(other.0..other.1),
            };
            (0..segments)
                .map(|_| (0..arms).map(&mut mean).collect())
                .collect()
        };
        let rewards = table((0.1, 0.3), (0.2, 0.9));
        let costs = (0..guardrails)
            .map(|_| table((0.02, 0.08), (0.05, 0.6)))
            .collect();
        Self {
            names: (0..segments).map(|s| format!("s{s}")).collect(),
            frequencies: weights.iter().map(|w| w / sum).collect(),
            rewards,
            costs,
            rng,
        }
    }

    fn segment(&mut self) -> usize {
        let mut rest: f64 = self.rng.random();
        let found = self.frequencies.iter().position(|p| {
            rest -= p;
            rest < 0.0
        });
        found.unwrap_or(self.frequencies.len() - 1)
    }

    fn flip(&mut self, mean: f64) -> f64 {
        f64::from(u8::from(self.rng.random::<f64>() < mean))
    }

    /// Reward and costs of an arm in a segment.
    fn pull(&mut self, s: usize, arm: usize) -> (f64, Vec<f64>) {
        let reward = self.flip(self.rewards[s][arm]);
        let means: Vec<f64> = self.costs.iter().map(|table| table[s][arm]).collect();
        (
            reward,
            means.into_iter().map(|mean| self.flip(mean)).collect(),
        )
    }

    /// One round; the agent learns at once.
    fn play(&mut self, agent: &mut Segmented) {
        let s = self.segment();
        agent.enter(&self.names[s]).unwrap();
        let uniform = self.rng.random();
        let arm = agent.decide().draw(uniform);
        let (reward, costs) = self.pull(s, arm);
        agent.observe(arm, reward, &costs).unwrap();
    }

    /// True cost of the agent's table under a guardrail, by segment.
    fn costs_of(&self, agent: &mut Segmented, guardrail: usize) -> Vec<f64> {
        let table = &self.costs[guardrail];
        let cost = |(s, name): (usize, &String)| {
            let policy = agent.policy_in(name);
            policy.iter().map(|&(arm, p)| p * table[s][arm]).sum()
        };
        self.names.iter().enumerate().map(cost).collect()
    }

    fn overall(&self, costs: &[f64]) -> f64 {
        self.frequencies.iter().zip(costs).map(|(p, c)| p * c).sum()
    }
}

fn guardrail(name: &str, at_most: f64, scope: Scope) -> Guardrail {
    Guardrail {
        name: name.into(),
        at_most: Some(at_most),
        scope,
        ..Guardrail::default()
    }
}

fn problem(world: &World, guardrails: Vec<Guardrail>, declared: bool) -> Problem {
    Problem {
        arms: (0..world.rewards[0].len())
            .map(|a| format!("a{a}"))
            .collect(),
        guardrails,
        segments: if declared {
            world.names.clone()
        } else {
            Vec::new()
        },
        ..Problem::default()
    }
}

#[test]
fn a_certificate_can_be_checked_from_what_is_shown() {
    let mut world = World::random(4, 3, 1, 1);
    let problem = problem(&world, vec![guardrail("c", 0.2, Scope::Overall)], true);
    let mut agent = Segmented::new(&problem, &SegmentedConfig::default()).unwrap();
    let mut checked = 0;
    for t in 0..30_000 {
        world.play(&mut agent);
        if t % 3000 != 2999 {
            continue;
        }
        agent.enter("s1").unwrap();
        let decision = agent.decide().clone();
        if decision.fallback.is_some() {
            continue;
        }
        let views = agent.agent.segments(0..usize::MAX);
        let pool = views.iter().find(|view| view.name.is_none()).unwrap();
        for view in &views {
            let policy_cost: f64 = view
                .policy
                .iter()
                .map(|&(a, p)| p * view.arms[a].costs[0].upper)
                .sum();
            assert!((policy_cost - view.costs[0]).abs() < 1e-9, "{view:?}");
            let mass: f64 = view.policy.iter().map(|(_, p)| p).sum();
            assert!((mass - 1.0).abs() < 1e-9);
        }
        if views.len() == 1 {
            continue;
        }
        let contexts: Vec<u64> = views.iter().map(|view| view.contexts).collect();
        let costs: Vec<f64> = views.iter().map(|view| view.costs[0]).collect();
        // A tenth of δ is for frequencies. They were counted up to half a percent of the contexts ago.
        let worst = worst_mean(&contexts, &costs, pool.costs[0], 0.001);
        let certificate = decision.guardrails[0];
        assert!(
            (worst - certificate.pessimistic_cost).abs() < 2e-3,
            "{worst} {certificate:?}"
        );
        assert!(certificate.pessimistic_cost <= 0.2 && certificate.slack >= 0.0);
        let segment = decision.segment.unwrap();
        assert_eq!((segment.name.as_str(), segment.pooled), ("s1", false));
        let p: Vec<f64> = contexts
            .iter()
            .map(|&n| n as f64 / (t + 1) as f64)
            .collect();
        let observed: f64 = p.iter().zip(&costs).map(|(p, c)| p * c).sum();
        let part = certificate.pessimistic_cost - observed;
        assert!(
            (segment.by_frequencies[0] - part).abs() < 2e-3,
            "{segment:?} {part}"
        );
        checked += 1;
    }
    assert!(checked >= 5, "the table was checked {checked} times only");
}

/// Rounds whose table breaks a guardrail, and the mean true cost of the first one at the end.
fn violations(config: &SegmentedConfig, scopes: &[Scope], declared: bool, seed: u64) -> (u64, f64) {
    let mut world = World::random(5, 4, scopes.len(), seed);
    let thresholds = [0.2, 0.25];
    let guardrails = (scopes.iter().enumerate())
        .map(|(i, &scope)| guardrail(&format!("c{i}"), thresholds[i], scope))
        .collect();
    let problem = problem(&world, guardrails, declared);
    let mut agent = Segmented::new(&problem, config).unwrap();
    let (mut broken, mut last) = (0, 0.0);
    for _ in 0..15_000 {
        if agent.view().is_stale {
            last = 0.0;
            for (i, &scope) in scopes.iter().enumerate() {
                let costs = world.costs_of(&mut agent, i);
                let cost = match scope {
                    Scope::Overall => world.overall(&costs),
                    Scope::Each => costs.iter().copied().fold(0.0, f64::max),
                };
                last = f64::max(last, cost / thresholds[i]);
            }
        }
        broken += u64::from(last > 1.0 + 1e-9);
        world.play(&mut agent);
    }
    (broken, last)
}

#[test]
fn every_table_keeps_its_guardrails() {
    use Scope::{Each, Overall};
    let config = SegmentedConfig::default();
    let cases: [(&[Scope], bool); 5] = [
        (&[Overall], true),
        (&[Overall], false),
        (&[Each], true),
        (&[Overall, Each], true),
        (&[Overall, Overall], true),
    ];
    for (number, (scopes, declared)) in cases.into_iter().enumerate() {
        let (broken, used) = violations(&config, scopes, declared, 10 + number as u64);
        assert_eq!(broken, 0, "{scopes:?}");
        // It does not simply play the safe arm.
        assert!(used > 0.5, "{scopes:?}: {used}");
    }
    // The judge sees violations where bounds are made too narrow.
    let narrow = SegmentedConfig {
        log_term: Some(0.02),
        ..config
    };
    assert!(violations(&narrow, &[Overall], true, 10).0 > 0);
}

#[test]
fn the_table_is_fixed_before_the_segment_is_seen() {
    let mut world = World::random(3, 3, 1, 5);
    let problem = problem(&world, vec![guardrail("c", 0.2, Scope::Overall)], true);
    let mut agent = Segmented::new(&problem, &SegmentedConfig::default()).unwrap();
    for _ in 0..9000 {
        world.play(&mut agent);
    }
    for name in ["s0", "s2", "never seen"] {
        let before = agent.policy_in(name).to_vec();
        agent.enter("s1").unwrap();
        agent.decide();
        agent.enter(name).unwrap();
        assert_eq!(agent.decide().policy, before);
    }
}

#[test]
fn rare_segments_share_a_pool_and_leave_it() {
    let mut world = World::random(3, 2, 1, 7);
    world.frequencies = vec![0.6, 0.39, 0.01];
    let each = vec![guardrail("c", 0.3, Scope::Each)];
    let mut agent =
        Segmented::new(&problem(&world, each, false), &SegmentedConfig::default()).unwrap();
    for _ in 0..600 {
        world.play(&mut agent);
    }
    let views = agent.agent.segments(0..usize::MAX);
    let names: Vec<_> = views.iter().filter_map(|view| view.name.clone()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(views.last().unwrap().pooled, ["s2"]);
    agent.enter("s2").unwrap();
    let segment = agent.decide().segment.clone().unwrap();
    assert!(segment.pooled);
    agent.enter("s0").unwrap();
    assert!(!agent.decide().segment.clone().unwrap().pooled);
    // The same arm may cost more in one segment than in the other: the pool keeps its statistics apart.
    let total: u64 = views.iter().map(|view| view.contexts).sum();
    assert_eq!(total, 600);
}

/// The pool plays what is best on the whole, so hardly ever the safe arm: its cost is not known in any segment, but
/// that of the others is, and they keep the guardrail without it.
#[test]
fn segments_are_told_apart_where_the_safe_arm_is_seldom_played() {
    let world = World::random(4, 3, 1, 1);
    let overall = vec![guardrail("c", 0.2, Scope::Overall)];
    let mut agent =
        Segmented::new(&problem(&world, overall, true), &SegmentedConfig::default()).unwrap();
    for t in 0..8000_usize {
        let (s, turn) = (t % 4, t / 4);
        let arm = if turn < 25 { 0 } else { 1 + turn % 2 };
        // Each arm earns in two of the segments, and costs once in twenty outcomes.
        let reward = f64::from(u8::from(arm == 1 + s % 2));
        let cost = f64::from(u8::from(arm > 0 && turn / 2 % 20 == 0));
        agent.enter(&world.names[s]).unwrap();
        agent.observe(arm, reward, &[cost]).unwrap();
    }
    assert_eq!(agent.agent.view().segment_policies, 5);
    for (s, name) in world.names.iter().enumerate() {
        agent.enter(name).unwrap();
        let safe = agent.agent.estimate(&Round::in_segment(name), 0).unwrap();
        assert!(safe.costs[0].upper > 0.2, "{safe:?}");
        let decision = agent.decide();
        assert_eq!(decision.fallback, None);
        assert!(decision.guardrails[0].pessimistic_cost <= 0.2);
        assert!(decision.probability(1 + s % 2) > 0.9, "{decision:?}");
        // The bound of another arm is not claimed of the safe one.
        let forced = agent.decide_safe(Fallback::Paused).guardrails[0];
        assert_eq!(forced.pessimistic_cost, 0.2);
    }
}

#[test]
fn a_segment_that_turns_bad_raises_an_alarm_of_its_own() {
    let mut world = World::random(3, 2, 1, 13);
    let each = vec![guardrail("c", 0.3, Scope::Each)];
    let config = SegmentedConfig {
        on_breach: Some(OnBreach::Alert),
        ..SegmentedConfig::default()
    };
    let mut agent = Segmented::new(&problem(&world, each, true), &config).unwrap();
    for _ in 0..4000 {
        world.play(&mut agent);
    }
    assert!(agent.monitor().alarms().is_empty());
    // Both arms of one segment.
    world.costs[0][1] = vec![0.6, 0.6];
    for _ in 0..4000 {
        world.play(&mut agent);
    }
    let alarms = agent.monitor().alarms();
    let breach = alarms
        .iter()
        .find(|alarm| alarm.kind == AlarmKind::Breach && alarm.segment.is_some());
    assert_eq!(breach.expect("no alarm of the segment").segment, Some(1));
    assert!(
        alarms
            .iter()
            .all(|alarm| alarm.segment.is_none_or(|s| s == 1))
    );
}

#[test]
fn relative_guardrails_are_relative_to_the_segments_own_safe_arm() {
    // The safe arm converts at 0.8 in one segment and 0.2 in the other; the other arm at 0.5 in both.
    let conversion = |scope| Guardrail {
        name: "conversion".into(),
        at_least: Some(0.9),
        relative: true,
        scope,
        ..Guardrail::default()
    };
    let shares = |scope| {
        let mut world = World::random(2, 2, 1, 16);
        world.frequencies = vec![0.5, 0.5];
        world.rewards = vec![vec![0.1, 0.9]; 2];
        world.costs = vec![vec![vec![0.8, 0.5], vec![0.2, 0.5]]];
        let mut agent = Segmented::new(
            &problem(&world, vec![conversion(scope)], true),
            &SegmentedConfig::default(),
        )
        .unwrap();
        for _ in 0..20_000 {
            world.play(&mut agent);
        }
        ["s0", "s1"].map(|name| {
            agent
                .policy_in(name)
                .iter()
                .find(|x| x.0 == 1)
                .map_or(0.0, |x| x.1)
        })
    };
    // Overall 0.45 suffices: 0.5 in both segments.
    let overall = shares(Scope::Overall);
    assert!(overall[0] > 0.5 && overall[1] > 0.8, "{overall:?}");
    // In each: 0.72 in the first leaves 0.08/0.3 of the other arm.
    let each = shares(Scope::Each);
    assert!(each[0] < 0.267 && each[1] > 0.8, "{each:?}");
}

#[test]
fn names_that_cannot_be_are_refused() {
    let world = World::random(2, 2, 1, 17);
    let guardrails = vec![guardrail("c", 0.2, Scope::Overall)];
    let declared = problem(&world, guardrails, true);
    let mut agent = Segmented::new(&declared, &SegmentedConfig::default()).unwrap();
    let before = agent.save();
    let long = "x".repeat(201);
    for name in [
        "",
        "  ",
        "a\nb",
        "a\u{202e}b",
        "a\u{200b}",
        "a\u{3164}",
        long.as_str(),
    ] {
        let error = agent.enter(name).unwrap_err().to_string();
        assert!(error.contains("segment"), "{error}");
    }
    assert_eq!(agent.save(), before);
}

#[test]
fn segments_beyond_the_limit_stay_in_the_pool() {
    let mut world = World::random(6, 2, 1, 19);
    let config = SegmentedConfig {
        max_segments: 3,
        ..SegmentedConfig::default()
    };
    let mut agent = Segmented::new(
        &problem(&world, vec![guardrail("c", 0.3, Scope::Each)], false),
        &config,
    )
    .unwrap();
    for _ in 0..2000 {
        world.play(&mut agent);
        assert!(agent.decide().guardrails[0].slack >= 0.0);
    }
    let views = agent.agent.segments(0..usize::MAX);
    assert_eq!(views.len(), 4);
    assert_eq!(views.iter().map(|view| view.contexts).sum::<u64>(), 2000);
    let saved = agent.save();
    assert_eq!(Segmented::restore(&saved).unwrap().save(), saved);
}

/// Three segments behind a flood of names that never come again: one context in two, in a world whose last segment
/// those names are of.
fn play_flooded(world: &mut World, agent: &mut Segmented, round: usize) {
    let last = world.names.len() - 1;
    world.names[last] = format!("session-{round}");
    world.play(agent);
}

#[test]
fn rare_names_give_way_to_those_that_come_again() {
    let mut violating = 0;
    for seed in 0..20 {
        let mut world = World::random(4, 3, 1, seed);
        world.frequencies = vec![0.2, 0.2, 0.1, 0.5];
        let config = SegmentedConfig {
            max_segments: 50,
            ..SegmentedConfig::default()
        };
        let guardrails = vec![guardrail("c", 0.2, Scope::Overall)];
        let mut agent = Segmented::new(&problem(&world, guardrails, false), &config).unwrap();
        // All places are taken before a segment comes for the first time.
        for round in 0..200 {
            agent.enter(&format!("early-{round}")).unwrap();
            let arm = agent.decide().draw(0.5);
            let (reward, costs) = world.pull(3, arm);
            agent.observe(arm, reward, &costs).unwrap();
        }
        let mut violates = false;
        for round in 0..1500 {
            play_flooded(&mut world, &mut agent, round);
            if round % 100 == 0 && seed < 4 {
                let saved = agent.save();
                agent = Segmented::restore(&saved).unwrap();
                assert_eq!(agent.save(), saved);
            }
            let costs = world.costs_of(&mut agent, 0);
            violates |= world.overall(&costs) > 0.2;
        }
        violating += u32::from(violates);
        let view = agent.view();
        assert_eq!((view.segment_names.len(), view.max_segments), (50, 50));
        agent.enter("s0").unwrap();
        let own = agent.decide().segment.clone().unwrap();
        assert!(own.contexts > 200, "{}", own.contexts);
        let views = agent.agent.segments(0..usize::MAX);
        assert_eq!(views.iter().map(|view| view.contexts).sum::<u64>(), 1700);
    }
    // δ = 0.01: two of 20 would be many.
    assert!(violating <= 1, "{violating}");
}

#[test]
fn places_of_names_that_gave_way_are_given_once() {
    let world = World::random(2, 2, 1, 3);
    let config = SegmentedConfig {
        max_segments: 2,
        ..SegmentedConfig::default()
    };
    let guardrails = vec![guardrail("c", 0.3, Scope::Overall)];
    let mut agent = Segmented::new(&problem(&world, guardrails, false), &config).unwrap();
    let mut restored = agent.clone();
    for round in 0..300 {
        restored = Segmented::restore(&restored.save()).unwrap();
        for agent in [&mut agent, &mut restored] {
            agent.enter(&format!("n{round}")).unwrap();
            agent.observe(round % 2, 1.0, &[0.0]).unwrap();
        }
        assert_eq!(agent.save(), restored.save());
    }
}

#[test]
fn a_warning_tells_that_names_are_near_their_limit() {
    let world = World::random(2, 2, 1, 3);
    let guardrails = vec![guardrail("c", 0.3, Scope::Overall)];
    let warnings = |declared: bool, max_segments: usize, names: usize| {
        let problem = problem(&world, guardrails.clone(), declared);
        let config = SegmentedConfig {
            max_segments,
            ..SegmentedConfig::default()
        };
        let mut agent = Segmented::new(&problem, &config).unwrap();
        for i in 0..names {
            agent.enter(&format!("n{i}")).unwrap();
            agent.observe(0, 0.0, &[0.0]).unwrap();
        }
        let alarms = agent.monitor().alarms().to_vec();
        assert!(alarms.iter().all(|alarm| !alarm.forces_safe));
        let told = alarms.iter().map(|alarm| {
            assert_eq!(alarm.kind, AlarmKind::Segments);
            alarm.describe(agent.problem(), None, None)
        });
        told.collect::<Vec<_>>()
    };
    assert!(warnings(false, 100, 89).is_empty());
    let told = warnings(false, 100, 300);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with(
            "90 names of segments were seen, and there is room for 100 (`max_segments`)"
        )
    );
    // Those declared, and none beside them: nobody wanted more.
    assert!(warnings(true, 2, 50).is_empty());
}

#[test]
fn a_context_counts_once_whether_its_outcome_comes_by_decision_or_at_once() {
    let world = World::random(2, 2, 1, 3);
    let problem = problem(&world, vec![guardrail("c", 0.5, Scope::Each)], true);
    let mut agent = Segmented::new(&problem, &SegmentedConfig::default()).unwrap();
    let name = world.names[0].clone();
    for _ in 0..10 {
        agent.enter(&name).unwrap();
        let arm = agent.decide().draw(0.5);
        agent.announce(0, arm, None);
        agent = Segmented::restore(&agent.save()).unwrap();
        agent.enter(&name).unwrap();
        agent.observe(arm, 1.0, &[0.0]).unwrap();
    }
    // An outcome that no decision was drawn for is a context of its own.
    agent.observe(0, 1.0, &[0.0]).unwrap();
    let views = agent.agent.segments(0..usize::MAX);
    let contexts = views.iter().map(|view| view.contexts).sum::<u64>();
    assert_eq!(contexts, 11);
}

#[test]
fn segments_of_several_fields_never_share_a_name() {
    let fields = ["a".to_string(), "b".to_string()];
    let values = ["", ",", "\\", ", b=", "x", "x\\,", "\\\\", "= ,"];
    let mut names = std::collections::HashSet::new();
    for first in values {
        for second in values {
            let name = segment_of_fields([("a", first), ("b", second)]);
            assert!(is_segment_of_fields(&fields, &name), "{name}");
            assert!(names.insert(name));
        }
    }
    for other in ["", "a=1", "b=1, a=2", "a=1, b=2, c=3", "a=1,b=2"] {
        assert!(!is_segment_of_fields(&fields, other), "{other}");
    }
}

#[test]
fn every_segment_with_a_margin_is_explored_where_guardrails_are_in_each() {
    let mut world = World::random(3, 2, 1, 5);
    for costs in &mut world.costs[0] {
        *costs = vec![0.05, 0.05];
    }
    for rewards in &mut world.rewards {
        *rewards = vec![0.3, 0.6];
    }
    let problem = problem(&world, vec![guardrail("c", 0.3, Scope::Each)], true);
    let mut agent = Segmented::new(&problem, &SegmentedConfig::default()).unwrap();
    for _ in 0..6000 {
        world.play(&mut agent);
    }
    for name in world.names.clone() {
        let policy = agent.policy_in(&name);
        assert!(
            policy.iter().any(|&(arm, p)| arm == 1 && p > 0.5),
            "{name}: {policy:?}"
        );
    }
}
