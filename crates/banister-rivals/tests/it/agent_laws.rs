//! Laws of every agent in the registry, whatever its kind: a new one is held to them without being listed.
//!
//! | law | |
//! |---|---|
//! | saved = live | a restored agent and the one that was saved go on bit by bit |
//! | deciding teaches nothing | what is learned follows from outcomes alone |
//! | a batch = single outcomes | and one that is refused changes nothing |
//! | check = observe | refused input is told beforehand, and changes nothing |
//! | arms come and go | numbers stay, late outcomes are taken, the safe arm stays |
//! | the safe action can be asked for | alone, with its certificate |
//! | policies are distributions | and keep what the agent promises |
//! | a cost outside its range | is refused, or raises an alarm that forces the safe action |
//! | order | late outcomes in any order teach what they teach at once |
//! | a damaged snapshot | is an error, never a panic |
//! | a set offered anew | is worth what the same set is that stays |

use crate::common::verbs::Verbs as _;
use banister::guarantee::Guarantee;
use banister::monitor::AlarmKind;
use banister::{
    Agent, AlarmAnswer, ArmRanges, ArmWeights, Choice, Decision, Error, Fallback, Guardrail, Link,
    Origin, Outcome, Pending, Problem, Range, Registry as _, Round, SignalConfig, estimates,
    observe_all,
};
use banister_rivals::AgentConfig;
use serde_json::{Value, json};

use crate::common::Random;

/// Kind of actions that rounds offer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Setting {
    Arms,
    Offered,
    Context,
    Segments,
}

/// An agent as declared, a problem of its setting, and the law of its outcomes.
#[derive(Debug, Clone)]
struct Case {
    config: AgentConfig,
    problem: Problem,
    setting: Setting,
}

/// A round, or the action of an outcome, that owns its numbers.
#[derive(Debug, Clone, Default)]
struct Given {
    numbers: Vec<f64>,
    segment: Option<&'static str>,
}

/// An outcome that owns its numbers.
#[derive(Debug, Clone)]
struct Report {
    action: usize,
    given: Given,
    reward: f64,
    costs: Vec<f64>,
    origin: Origin,
}

const SEGMENTS: [&str; 3] = ["new", "loyal", "rare"];

impl Case {
    fn choice<'a>(&self, numbers: &'a [f64]) -> Choice<'a> {
        match self.setting {
            Setting::Arms | Setting::Segments => Choice::Arms,
            Setting::Offered => Choice::Offered(numbers),
            Setting::Context => Choice::Context(numbers),
        }
    }

    fn round<'a>(&self, given: &'a Given) -> Round<'a> {
        Round {
            choice: self.choice(&given.numbers),
            segment: given.segment,
            ..Round::default()
        }
    }

    fn outcome<'a>(&self, report: &'a Report) -> Outcome<'a> {
        Outcome {
            action: report.action,
            // A part of an arm is told by its features.
            choice: match report.given.numbers[..] {
                [] => Choice::Arms,
                _ if self.setting == Setting::Arms => Choice::Offered(&report.given.numbers),
                _ => self.choice(&report.given.numbers),
            },
            segment: report.given.segment,
            reward: report.reward,
            costs: &report.costs,
            origin: report.origin,
            time: None,
            claims: None,
        }
    }

    fn build(&self) -> Box<dyn Agent> {
        let mut agent = self.config.build(&self.problem).expect("its setting");
        agent.reseed(3, 1);
        agent
    }

    fn draw_round(&self, random: &mut Random) -> Given {
        let mut numbers = |n: usize| (0..n).map(|_| random.between(-0.5, 0.5)).collect();
        Given {
            numbers: match self.setting {
                Setting::Arms | Setting::Segments => Vec::new(),
                Setting::Offered => numbers(2 * 4),
                Setting::Context => numbers(2),
            },
            segment: (self.setting == Setting::Segments).then(|| random.choose(&SEGMENTS)),
        }
    }

    /// The outcome of what a decision draws. Signals are within their ranges, and depend on the action.
    fn pull(&self, decision: &Decision, given: &Given, random: &mut Random) -> Report {
        let action = decision.draw(random.unit());
        let features = match self.setting {
            Setting::Offered => {
                let own = given.numbers.get(2 * action..2 * action + 2);
                own.unwrap_or(&self.problem.features[self.problem.safe])
                    .to_vec()
            }
            Setting::Arms if decision.scale != 1.0 => {
                let added = vec![0.3, 0.3];
                self.problem.features.get(action).cloned().unwrap_or(added)
            }
            _ => given.numbers.clone(),
        };
        let worth = 0.3 + 0.1 * (action % 4) as f64;
        let m = self.problem.guardrails.len();
        let costs = [10.0 * worth * random.unit(), random.bernoulli(1.0 - worth)];
        Report {
            action,
            given: Given {
                numbers: features.iter().map(|x| decision.scale * x).collect(),
                segment: given.segment,
            },
            reward: 2.0 * random.bernoulli(worth) - 1.0,
            costs: costs[..m].to_vec(),
            origin: Origin::Immediate,
        }
    }

    /// Plays a round; the decision and its outcome.
    fn play(&self, agent: &mut dyn Agent, random: &mut Random) -> (Decision, Report) {
        let given = self.draw_round(random);
        let decision = agent.decide(&self.round(&given)).expect("a round");
        let decision = decision.clone();
        let report = self.pull(&decision, &given, random);
        agent.observe(&self.outcome(&report)).expect("in range");
        (decision, report)
    }

    fn run(&self, rounds: usize) -> (Box<dyn Agent>, Vec<Report>) {
        let (mut agent, mut random) = (self.build(), Random::new(4));
        let reports = (0..rounds).map(|_| self.play(&mut *agent, &mut random).1);
        let reports = reports.collect();
        (agent, reports)
    }

    fn restored(&self, agent: &mut dyn Agent) -> Box<dyn Agent> {
        let json = agent.save().expect("numbers");
        let restored = AgentConfig::restore(&json).expect("its own snapshot");
        assert_eq!(restored.config, self.config);
        assert_eq!(restored.problem, self.problem);
        restored.agent
    }
}

fn guardrails() -> Vec<Guardrail> {
    vec![
        Guardrail {
            name: "spend".into(),
            at_most: Some(4.0),
            safe_cost: Some(2.0),
            signal: SignalConfig {
                range: Some([0.0, 10.0].into()),
                ..SignalConfig::default()
            },
            ..Guardrail::default()
        },
        Guardrail {
            name: "returns".into(),
            at_least: Some(0.45),
            safe_cost: Some(0.7),
            ..Guardrail::default()
        },
    ]
}

fn problem(arms: usize) -> Problem {
    Problem {
        arms: (0..arms).map(|a| format!("arm {a}")).collect(),
        safe: arms / 2,
        reward: SignalConfig {
            range: Some([-1.0, 1.0].into()),
            ..SignalConfig::default()
        },
        guardrails: guardrails(),
        ..Problem::default()
    }
}

/// A kind in the setting that it is for.
fn case(declared: Value, setting: Setting, change: impl Fn(&mut Problem)) -> Case {
    let config: AgentConfig = serde_json::from_value(declared).expect("known keys");
    let config = config.with_horizon(3000, false).with_parameter_norm(8.0);
    let mut problem = problem(4);
    let at_zero = config.plays_parts();
    if config.takes_features() && setting != Setting::Context {
        let safe = if at_zero { 0.0 } else { 1.0 };
        problem.features = vec![
            vec![0.6, 0.8],
            vec![0.8, -0.6],
            vec![safe, 0.0],
            vec![0.0, 0.9],
        ];
    }
    if setting == Setting::Context {
        problem.context = Some(2);
    }
    if at_zero {
        problem.guardrails.truncate(1);
        problem.guardrails[0].safe_cost = Some(0.0);
    }
    change(&mut problem);
    Case {
        config,
        problem,
        setting,
    }
}

/// Every kind with its defaults, and our own agents in all their settings.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in AgentConfig::kinds() {
        let mut declared = json!({ "kind": kind });
        if kind == "safe_lucb" {
            declared["exploration"] = json!(40);
        }
        let segmented = kind == "segmented";
        let arms = if segmented {
            Setting::Segments
        } else {
            Setting::Arms
        };
        let own = case(declared.clone(), arms, |_| {});
        if own.config.takes_features() {
            cases.push(case(declared, Setting::Offered, |_| {}));
        }
        cases.push(own);
    }
    assert!(cases.len() > 40, "{}", cases.len());
    let unknown = |problem: &mut Problem| {
        problem.guardrails[0].safe_cost = None;
        problem.guardrails[1].safe_cost = None;
    };
    let relative = |problem: &mut Problem| {
        problem.guardrails = vec![Guardrail {
            at_most: Some(1.8),
            relative: true,
            safe_cost: None,
            ..guardrails().remove(0)
        }];
    };
    let own = |keys: Value| {
        let mut declared = json!({ "kind": "opb" });
        let all = declared.as_object_mut().expect("an object");
        all.extend(keys.as_object().expect("an object").clone());
        declared
    };
    let paper = json!({ "intervals": "paper", "optimism": "paper" });
    cases.push(case(own(paper.clone()), Setting::Arms, |_| {}));
    let t_zero = json!({ "intervals": "paper", "optimism": "paper", "unknown_safe_cost": "paper" });
    cases.push(case(own(t_zero), Setting::Arms, unknown));
    let published = json!({ "intervals": "published", "optimism": "published" });
    cases.push(case(own(published), Setting::Arms, |problem| {
        problem.guardrails.truncate(1);
    }));
    for keys in [
        json!({ "intervals": "kl", "optimism": "least" }),
        json!({ "floor": 0.1 }),
        json!({ "intervals": "kl", "intersect": false, "lazy": 0.0 }),
        json!({ "intervals": "subgaussian", "intersect": false, "lazy": 0.0 }),
    ] {
        cases.push(case(own(keys.clone()), Setting::Arms, unknown));
        cases.push(case(own(keys), Setting::Arms, relative));
    }
    cases.push(case(
        own(json!({ "on_breach": "relearn" })),
        Setting::Arms,
        |_| {},
    ));
    cases.push(case(own(json!({})), Setting::Arms, |problem| {
        let ranges = vec![[0.0, 9.0], [0.0, 12.0], [0.0, 10.0], [0.0, 10.0]];
        problem.guardrails[0].signal.range = Some(Range::ByArm(ranges));
    }));
    let oplb = |keys: Value| {
        let mut declared = own(keys);
        declared["kind"] = json!("oplb");
        declared
    };
    let exact = json!({ "solver": "exact" });
    cases.push(case(oplb(exact.clone()), Setting::Arms, |_| {}));
    let logistic = json!({ "link": "logistic" });
    for keys in [json!({}), exact, logistic.clone()] {
        cases.push(case(oplb(keys.clone()), Setting::Offered, unknown));
        cases.push(case(oplb(keys), Setting::Context, |_| {}));
    }
    let mut per_arm = json!({ "model": "per_arm", "lambda": 0.05 });
    cases.push(case(oplb(per_arm.clone()), Setting::Context, unknown));
    per_arm["link"] = json!("logistic");
    cases.push(case(oplb(per_arm), Setting::Context, relative));
    let each = |problem: &mut Problem| problem.guardrails[0].scope = banister::Scope::Each;
    let segmented = json!({ "kind": "segmented", "pool_until": 10 });
    cases.push(case(segmented, Setting::Segments, each));
    cases
}

#[test]
fn a_restored_agent_and_the_one_that_was_saved_go_on_bit_by_bit() {
    for case in cases() {
        let (mut live, mut random) = (case.build(), Random::new(4));
        // Beyond the outcomes of an arm after which intervals are computed now and then.
        let rounds = if case.config.kind() == "opb" {
            900
        } else {
            150
        };
        for round in 0..rounds {
            if round % 31 == 7 {
                // Somebody's outcome is on its way.
                let pending = Pending {
                    decision: round as u64 + 1,
                    action: case.problem.safe,
                    segment: case.draw_round(&mut Random::new(1)).segment,
                    safe_probability: Some(0.5),
                    excess: &[],
                    time: None,
                };
                live.announce(&pending).expect("an arm");
                let mut restored = case.restored(&mut *live);
                assert_eq!(live.save(), restored.save(), "{case:?}");
                for seed in 0..8 {
                    let (mut one, mut other) = (Random::new(seed), Random::new(seed));
                    let live = case.play(&mut *live, &mut one).0;
                    let again = case.play(&mut *restored, &mut other).0;
                    assert_eq!(live, again, "{case:?}");
                }
                assert_eq!(live.save(), restored.save(), "{case:?}");
                assert_eq!(live.view().outcomes, restored.view().outcomes);
                live = restored;
            }
            case.play(&mut *live, &mut random);
        }
    }
}

/// A snapshot without the position of a random stream, which decisions draw from, and without the detectors of breaches,
/// which bet on what decisions claimed.
fn learned_by(agent: &mut dyn Agent) -> Value {
    let json = agent.save().expect("numbers");
    let mut snapshot: Value = serde_json::from_str(&json).expect("JSON");
    if let Some(stream) = snapshot["learner"].get_mut("stream") {
        stream.take();
    }
    if let Some(monitor) = snapshot["monitor"].as_object_mut() {
        monitor.retain(|key, _| key != "detectors" && key != "segments");
    }
    snapshot
}

#[test]
fn deciding_teaches_nothing_and_a_batch_is_its_outcomes() {
    for case in cases() {
        let (mut played, mut reports) = case.run(120);
        let (mut told, mut batch) = (case.build(), case.build());
        for report in &reports {
            told.observe(&case.outcome(report)).expect("in range");
        }
        let outcomes = reports.iter().map(|report| case.outcome(report));
        observe_all(&mut *batch, outcomes).expect("in range");
        let learned = learned_by(&mut *told);
        assert_eq!(learned_by(&mut *batch), learned, "{case:?}");
        assert_eq!(learned_by(&mut *played), learned, "{case:?}");
        // The last of many is refused: none is taken.
        reports[119].costs[0] = f64::NAN;
        let outcomes = reports.iter().map(|report| case.outcome(report));
        assert!(observe_all(&mut *batch, outcomes).is_err());
        assert_eq!(learned_by(&mut *batch), learned, "{case:?}");
    }
}

#[test]
fn refused_input_is_told_beforehand_and_changes_nothing() {
    for case in cases() {
        let (mut agent, reports) = case.run(40);
        let before = agent.save();
        let good = reports[39].clone();
        let bad = [
            Report {
                reward: f64::NAN,
                ..good.clone()
            },
            Report {
                costs: vec![f64::INFINITY; good.costs.len()],
                ..good.clone()
            },
            Report {
                costs: Vec::new(),
                ..good.clone()
            },
            Report {
                costs: vec![0.5; 3],
                ..good.clone()
            },
            Report {
                action: 9,
                given: match case.setting {
                    // These are told by their features.
                    Setting::Offered => Given {
                        numbers: vec![0.1],
                        segment: None,
                    },
                    _ => Given::default(),
                },
                ..good.clone()
            },
            Report {
                given: Given {
                    numbers: vec![f64::NAN; 2],
                    segment: good.given.segment,
                },
                ..good.clone()
            },
        ];
        for report in &bad {
            let outcome = Outcome {
                choice: match report.given.numbers[..] {
                    [] => Choice::Arms,
                    _ if case.setting == Setting::Context => Choice::Context(&report.given.numbers),
                    _ => Choice::Offered(&report.given.numbers),
                },
                ..case.outcome(report)
            };
            let refused = agent.check_outcome(&outcome).expect_err("checked");
            assert_eq!(agent.observe(&outcome), Err(refused), "{case:?}");
            assert_eq!(agent.save(), before, "{case:?} {report:?}");
        }
        let round = Round::offering(&[0.1, 0.2, 0.3]);
        assert!(agent.decide(&round).is_err(), "{case:?}");
        assert_eq!(agent.save(), before);
        assert_eq!(agent.check_outcome(&case.outcome(&good)), Ok(()));
        agent.observe(&case.outcome(&good)).expect("checked");
    }
}

#[test]
fn arms_come_and_go_and_keep_their_numbers() {
    let mut movable = 0;
    for case in cases() {
        let (mut agent, reports) = case.run(60);
        let none = ArmRanges::default();
        let by_arm = (case.problem.guardrails.iter())
            .any(|g| matches!(g.signal.range, Some(Range::ByArm(_))));
        let ranges: ArmRanges = if by_arm {
            serde_json::from_value(json!({ "spend": [0.0, 10.0] })).expect("ranges")
        } else {
            none.clone()
        };
        let features = (!case.problem.features.is_empty()).then_some(&[0.3, 0.3][..]);
        match agent.add_arm("late", features, &ranges, &ArmWeights::default()) {
            Ok(number) => assert_eq!(number, 4),
            // Fixed arms, arms that a horizon counts, or a context whose length they make.
            Err(_) => continue,
        }
        movable += 1;
        assert!(
            agent
                .add_arm("late", features, &ranges, &ArmWeights::default())
                .is_err()
        );
        assert!(agent.retire_arm(2).is_err(), "the safe arm stays");
        assert!(agent.retire_arm(7).is_err());
        agent.retire_arm(1).expect("it is offered");
        assert!(agent.retire_arm(1).is_err(), "it is retired");
        let names: Vec<&str> = (agent.view().arms.iter())
            .map(|arm| &arm.name[..])
            .collect();
        assert_eq!(names, ["arm 0", "arm 1", "arm 2", "arm 3", "late"]);
        let mut restored = case.restored(&mut *agent);
        assert_eq!(agent.save(), restored.save(), "{case:?}");
        let (mut one, mut other) = (Random::new(8), Random::new(8));
        for _ in 0..20 {
            let live = case.play(&mut *agent, &mut one).0;
            assert_eq!(live, case.play(&mut *restored, &mut other).0, "{case:?}");
            assert!(case.setting == Setting::Offered || live.probability(1) == 0.0);
        }
        // An outcome of the arm that was retired comes late.
        let late = reports.iter().find(|report| report.action == 1);
        if let Some(report) = late {
            agent.observe(&case.outcome(report)).expect("it was played");
        }
        assert_eq!(
            agent.add_arm("arm 1", None, &none, &ArmWeights::default()),
            Ok(1),
            "{case:?}"
        );
        assert!(agent.view().arms[1].offered);
    }
    assert!(movable > 20, "{movable}");
}

#[test]
fn policies_are_distributions_and_promises_are_kept() {
    for case in cases() {
        let (mut agent, mut random) = (case.build(), Random::new(5));
        let m = case.problem.guardrails.len();
        for _ in 0..120 {
            let given = case.draw_round(&mut random);
            let only_safe = Round {
                only_safe: Some(Fallback::Paused),
                ..case.round(&given)
            };
            let safe = agent.decide(&only_safe).expect("a round").clone();
            let number = agent.view().safe;
            assert_eq!(safe.policy, [(number, 1.0)], "{case:?}");
            assert_eq!(safe.fallback, Some(Fallback::Paused));
            let decision = agent.decide(&case.round(&given)).expect("a round").clone();
            let total: f64 = decision.policy.iter().map(|e| e.1).sum();
            assert!((total - 1.0).abs() < 1e-12, "{case:?}: {decision:?}");
            assert!(decision.policy.iter().all(|e| e.1 > 0.0 && e.0 < 5));
            assert!(decision.policy.windows(2).all(|w| w[0].0 < w[1].0));
            assert!(decision.optimistic_reward.is_finite() && decision.solver.gap >= 0.0);
            if !agent.view().samples {
                let again = agent.decide(&case.round(&given)).expect("a round");
                assert_eq!(again, &decision, "{case:?}");
            }
            for own in [&safe, &decision] {
                let promised = own.fallback.is_some()
                    || matches!(
                        case.config.guarantee(),
                        Guarantee::EveryRound | Guarantee::PerAction
                    );
                assert_eq!(own.guardrails.len(), m);
                assert!(
                    !promised || own.guardrails.iter().all(|g| g.slack >= 0.0),
                    "{case:?}"
                );
            }
            let report = case.pull(&decision, &given, &mut random);
            agent.observe(&case.outcome(&report)).expect("in range");
            let estimates = estimates(&mut *agent, &case.round(&given));
            assert_eq!(estimates.len(), agent.view().actions, "{case:?}");
            let ends = estimates
                .iter()
                .flat_map(|e| e.costs.iter().chain([&e.reward]));
            assert!(ends.into_iter().all(|e| e.lower <= e.upper), "{case:?}");
        }
    }
}

#[test]
fn a_cost_outside_its_range_is_refused_or_forces_the_safe_action() {
    for case in cases() {
        let (mut agent, mut reports) = case.run(30);
        let report = reports.last_mut().expect("one");
        report.costs[0] = 40.0;
        let outcome = case.outcome(report);
        let taken = agent.observe(&outcome);
        assert_eq!(taken.is_ok(), agent.view().monitor.is_some(), "{case:?}");
        let Some(monitor) = agent.view().monitor else {
            assert!(agent.answer_alarms(AlarmAnswer::Acknowledge).is_ok());
            continue;
        };
        let kinds: Vec<AlarmKind> = monitor.alarms().iter().map(|alarm| alarm.kind).collect();
        assert!(kinds.contains(&AlarmKind::Range), "{case:?}: {kinds:?}");
        let given = case.draw_round(&mut Random::new(6));
        let decision = agent.decide(&case.round(&given)).expect("a round").clone();
        let reacts = case.config.guarantee() == Guarantee::EveryRound;
        assert_eq!(
            decision.fallback == Some(Fallback::Alarm),
            reacts,
            "{case:?}"
        );
        assert!(decision.alarm.is_some());
        let mut restored = case.restored(&mut *agent);
        let again = restored.decide(&case.round(&given)).expect("a round");
        assert_eq!(again, &decision, "{case:?}");
        agent
            .answer_alarms(AlarmAnswer::Acknowledge)
            .expect("watched");
        let decision = agent.decide(&case.round(&given)).expect("a round");
        assert_eq!(
            (decision.fallback == Some(Fallback::Alarm), decision.alarm),
            (false, None),
            "{case:?}"
        );
    }
}

/// Announced outcomes in any order are learned as those that come at once; given up ones do not stall the monitor.
#[test]
fn late_outcomes_in_any_order_teach_what_they_teach_at_once() {
    for case in cases() {
        let linked = matches!(&case.config, AgentConfig::Oplb(own) if own.link == Link::Logistic);
        if !["opb", "oplb", "segmented"].contains(&case.config.kind()) || linked {
            continue; // Rules of other papers, and steps towards log-odds, may depend on the order.
        }
        let intersects =
            !matches!(&case.config, AgentConfig::Opb(own) if own.intersect == Some(false));
        let (mut at_once, reports) = case.run(90);
        let (mut late, mut random) = (case.build(), Random::new(7));
        let mut waiting = Vec::new();
        for (t, report) in reports.iter().enumerate() {
            let pending = Pending {
                decision: t as u64 + 1,
                action: report.action,
                segment: report.given.segment,
                safe_probability: Some(0.5),
                excess: &[],
                time: None,
            };
            // Actions that were offered by features have no number of their own.
            if case.setting != Setting::Offered {
                late.announce(&pending).expect("an arm");
            }
            waiting.push(Report {
                origin: Origin::Announced(t as u64 + 1),
                ..report.clone()
            });
        }
        while !waiting.is_empty() {
            let report = waiting.swap_remove(random.below(waiting.len()));
            late.observe(&case.outcome(&report)).expect("in range");
        }
        let given = case.draw_round(&mut random);
        let round = case.round(&given);
        let own = estimates(&mut *at_once, &round);
        for (one, other) in std::iter::zip(own, estimates(&mut *late, &round)) {
            let pairs = std::iter::zip(&one.costs, &other.costs);
            for (a, b) in pairs.chain([(&one.reward, &other.reward)]) {
                let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
                let mean = (a.mean.unwrap_or(0.0), b.mean.unwrap_or(0.0));
                assert!(near(mean.0, mean.1), "{case:?}: {a:?} {b:?}");
                // Intersections keep what was true of the outcomes before.
                let ends = near(a.lower, b.lower) && near(a.upper, b.upper);
                assert!(ends || intersects, "{case:?}: {a:?} {b:?}");
            }
            assert_eq!(one.pulls, other.pulls, "{case:?}");
        }
        assert_eq!(at_once.view().outcomes, late.view().outcomes);
        let pulls = |agent: &mut dyn Agent| -> Vec<_> {
            let views = agent.segments(0..usize::MAX).into_iter();
            let own = views.map(|view| {
                let arms = view.arms.iter().map(|arm| (arm.pulls, arm.reward.mean));
                (view.name, arms.collect::<Vec<_>>())
            });
            own.collect()
        };
        assert_eq!(pulls(&mut *at_once), pulls(&mut *late), "{case:?}");
    }
}

/// Arms by their numbers, and by their features in every round. Policies may tie, and the agent for arms that stay may
/// keep one within its gap; but they are worth the same.
#[test]
fn a_set_offered_anew_is_played_like_one_that_stays() {
    let mut compared = 0;
    for case in cases() {
        let samples = case.build().view().samples;
        if case.setting != Setting::Arms || case.problem.features.is_empty() || samples {
            continue;
        }
        let rows = case.problem.features.concat();
        let (mut still, mut anew, mut random) = (case.build(), case.build(), Random::new(9));
        for round in 0..150 {
            let offered = anew
                .decide(&Round::offering(&rows))
                .expect("its own")
                .clone();
            let decision = still.decide(&Round::default()).expect("arms").clone();
            let gap = decision.solver.gap + offered.solver.gap;
            let (a, b) = (decision.optimistic_reward, offered.optimistic_reward);
            let near = gap + 1e-6 * (1.0 + a.abs());
            assert!(
                (a - b).abs() <= near,
                "{round} {case:?}: {decision:?} {offered:?}"
            );
            assert_eq!(decision.fallback, offered.fallback, "{case:?}");
            let report = case.pull(&decision, &Given::default(), &mut random);
            let x = match &report.given.numbers[..] {
                [] => &case.problem.features[report.action],
                part => part,
            };
            let own = Outcome::of_features(x, report.reward, &report.costs);
            still.observe(&case.outcome(&report)).expect("in range");
            anew.observe(&own).expect("in range");
        }
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}

#[test]
fn another_stream_changes_what_samples_and_nothing_else() {
    for case in cases() {
        let decisions = |stream: u64| {
            let mut agent = case.build();
            agent.reseed(11, stream);
            let mut random = Random::new(1);
            let rounds = (0..60).map(|_| case.play(&mut *agent, &mut random).0.policy);
            let policies: Vec<_> = rounds.collect();
            (policies, agent.view().samples)
        };
        let (one, samples) = decisions(1);
        assert_eq!(one, decisions(1).0, "{case:?}");
        assert_eq!(one != decisions(2).0, samples, "{case:?}");
    }
}

#[test]
fn a_damaged_snapshot_is_an_error_and_never_a_panic() {
    let hostile = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!("x"),
        json!([]),
    ];
    for case in cases() {
        let json = case.run(25).0.save().expect("numbers");
        for end in (0..json.len()).filter(|&end| json.is_char_boundary(end)) {
            if end % 7 == 0 {
                assert!(AgentConfig::restore(&json[..end]).is_err());
            }
        }
        let value: Value = serde_json::from_str(&json).expect("JSON");
        let mut pointers = Vec::new();
        collect(&value, String::new(), &mut pointers);
        let (mut refused, mut taken) = (0, 0);
        for (place, pointer) in pointers.iter().enumerate() {
            let mut damaged = value.clone();
            let other = hostile[place % hostile.len()].clone();
            *damaged.pointer_mut(pointer).expect("it is there") = other;
            match AgentConfig::restore(&damaged.to_string()) {
                Err(_) => refused += 1,
                Ok(restored) => {
                    taken += 1;
                    let (mut agent, mut random) = (restored.agent, Random::new(2));
                    for _ in 0..2 {
                        let given = case.draw_round(&mut random);
                        if let Ok(decision) = agent.decide(&case.round(&given)) {
                            let decision = decision.clone();
                            let report = case.pull(&decision, &given, &mut random);
                            let _ = agent.observe(&case.outcome(&report));
                        }
                    }
                }
            }
        }
        assert!(
            refused > taken,
            "{case:?}: {refused} of {}",
            refused + taken
        );
        let mut surprise = value.clone();
        surprise["learner"]["surprise"] = json!(1);
        assert!(
            AgentConfig::restore(&surprise.to_string()).is_err(),
            "{case:?}"
        );
        let mut older = value;
        older["version"] = json!(0);
        let error = AgentConfig::restore(&older.to_string())
            .err()
            .expect("refused");
        assert!(error.to_string().contains("earlier versions"), "{error}");
    }
    for broken in ["", "{}", r#"{"format": "banister.nothing", "version": 1}"#] {
        assert!(matches!(
            AgentConfig::restore(broken),
            Err(Error::Snapshot { .. })
        ));
    }
}

/// Every place in a value but the root, of lists the first two entries.
fn collect(value: &Value, pointer: String, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(list) => (list.iter().take(2).enumerate())
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let own = format!("{pointer}/{key}");
        out.push(own.clone());
        collect(child, own, out);
    }
}
