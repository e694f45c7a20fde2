//! User-supplied agents: beside registered ones, checked in every round.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use banister::{
    Agent, Choice, Decision, Error, Event, Fallback, OpbConfig, OplbConfig, Origin, Registry as _,
    Round,
};
use banister_rivals::AgentConfig;
use banister_sim::results::InstanceResult;
use banister_sim::{
    AgentSource, CustomAgent, Delay, Experiment, ExperimentConfig, Options, Progress, coverage, run,
};
use common::paper_experiment;
use serde_json::json;

const QUIET: Options = Options { no_timing: true };

/// Plays one policy, whatever comes.
struct Fixed {
    decision: Decision,
    /// Fails in this round.
    fails: Option<u64>,
    t: u64,
}

impl Agent for Fixed {
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error> {
        self.t += 1;
        if let Choice::Offered(actions) = round.choice {
            // The safe action comes last.
            self.decision.policy = vec![(actions.len() / 3, 1.0)];
        }
        if Some(self.t) == self.fails {
            let reason = "out of ideas".into();
            return Err(Error::UserCode { reason });
        }
        Ok(&self.decision)
    }

    fn apply(&mut self, _: &Event) -> Result<(), Error> {
        Ok(())
    }
}

fn fixed(label: &str, policy: &[(usize, f64)], fails: Option<u64>) -> AgentSource {
    let policy = policy.to_vec();
    let make = move |_: &banister::Problem, _: u64, _: u64| -> Result<Box<dyn Agent>, Error> {
        Ok(Box::new(Fixed {
            decision: Decision {
                policy: policy.clone(),
                fallback: Some(Fallback::MarginNotProven),
                ..Decision::default()
            },
            fails,
            t: 0,
        }))
    };
    CustomAgent::new(label, make).into()
}

fn with(config: &ExperimentConfig, agents: Vec<AgentSource>) -> Result<Experiment, Error> {
    config.check_with("mixed", Path::new(""), agents)
}

fn play(config: &ExperimentConfig, agents: Vec<AgentSource>) -> Result<InstanceResult, Error> {
    let done = run(&[with(config, agents)?], QUIET, &Progress::default())?;
    Ok(done.expect("not cancelled").instances.remove(0))
}

#[test]
fn always_safe_has_the_regret_it_must_have() {
    for (delay, batch) in [(0, 1), (20, 4)] {
        let mut config = paper_experiment(0.2, 1000, 3, OpbConfig::default());
        (config.run.delay, config.run.batch) = (Delay::UpTo(delay), batch);
        let agents = vec![
            fixed("always safe", &[(0, 1.0)], None),
            fixed("half", &[(0, 0.5), (2, 0.5)], None),
        ];
        let instance = play(&config, agents).expect("it runs");
        let labels: Vec<&str> = instance.agents.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(labels, ["opb", "always safe", "half"]);
        for summary in &instance.agents[1].runs {
            // r* = 0.7, and the safe arm earns 0.1.
            assert!((summary.regret - 600.0).abs() < 1e-9);
            assert_eq!(summary.violations, Some(0));
            assert_eq!(summary.pulls, [1000, 0, 0, 0]);
        }
        for summary in &instance.agents[2].runs {
            assert!((summary.regret - 1000.0 * (0.7 - 0.25)).abs() < 1e-9);
            // Costs 0.25 where 0.2 is allowed, in every round.
            assert_eq!(summary.violations, Some(1000));
            assert!((summary.worst_exceedance - 0.05).abs() < 1e-12);
        }
        // Nothing proven, no price; and no bearing on its neighbour's.
        let price = |a: usize| &instance.agents[a].curve.price_mean[0];
        assert!(price(1).iter().all(|price| price.is_nan()));
        assert!(price(0).iter().all(|price| *price >= 0.0));
        let alone = common::simulate(config.clone());
        assert_eq!(alone.runs, instance.agents[0].runs);
    }
}

#[test]
fn agents_from_outside_meet_changing_actions_too() {
    let text = r#"
        run = { horizon = 500, runs = 2, checkpoints = 5 }
        environment = { kind = "linear", d = 3, k = 4 }
        guardrail = [{ name = "spend", at_most = 0.6, safe_cost = 0.3 }]
        agent = [{ kind = "oplb" }]
    "#;
    let config: ExperimentConfig = toml::from_str(text).expect("valid TOML");
    let instance = play(&config, vec![fixed("safe", &[], None)]).expect("it runs");
    let experiment = config.check("linear").expect("valid");
    let safe = common::changing(&experiment).safe_means()[0];
    for summary in &instance.agents[1].runs {
        assert_eq!(summary.pulls, [500, 0]);
        assert_eq!(summary.violations, Some(0));
        assert!((summary.reward_end - safe).abs() < 1e-12);
    }
    let error = coverage(
        &with(&config, vec![fixed("safe", &[], None)]).expect("valid"),
        1,
        &Progress::default(),
    );
    assert!(error.is_err(), "a user-supplied agent has no sets");
    // An agent that takes no features says so.
    let opb = |problem: &banister::Problem, _: u64, _: u64| {
        AgentConfig::Opb(OpbConfig::default()).build(problem)
    };
    let found = play(&config, vec![CustomAgent::new("arms", opb).into()]);
    assert_eq!(found, Err(Error::NoFeatures));
}

#[test]
fn what_is_no_policy_is_refused_with_the_agents_label_and_the_round() {
    let third: &[(usize, f64)] = &[(0, 1.0)];
    for (policy, fails, message) in [
        (&[(0, 1.5), (1, -0.5)][..], None, "-0.5 on action 1"),
        (&[(0, f64::NAN), (1, 1.0)][..], None, "NaN on action 0"),
        (&[(0, f64::INFINITY)][..], None, "inf on action 0"),
        (&[(0, 0.4), (1, 0.5)][..], None, "0.9 in all"),
        (&[(0, 0.5), (4, 0.5)][..], None, "on action 4"),
        (&[][..], None, "0 in all"),
        (third, Some(3), "out of ideas"),
    ] {
        let config = paper_experiment(0.2, 1_000_000, 2, OpbConfig::default());
        let error = play(&config, vec![fixed("garbage", policy, fails)]).expect_err(message);
        let text = error.to_string();
        assert!(text.contains(message), "{text}");
        if fails.is_none() {
            assert!(text.contains("policy of garbage in round 1"), "{text}");
        }
    }
    // Rounding is none of that.
    let config = paper_experiment(0.5, 100, 1, OpbConfig::default());
    let thirds = [(0, 0.333_333_333_4), (1, 1.0 / 3.0), (2, 1.0 / 3.0)];
    assert!(play(&config, vec![fixed("thirds", &thirds, None)]).is_ok());
}

#[test]
fn a_registered_agent_from_outside_is_the_same_agent() {
    let mut config = paper_experiment(0.2, 2000, 2, OpbConfig::default());
    let built_in = common::simulate(config.clone());
    config.agent.clear();
    let opb = |problem: &banister::Problem, seed: u64, run: u64| {
        assert!(seed == 7 && run < 2);
        AgentConfig::Opb(OpbConfig::default()).build(problem)
    };
    let oplb = AgentSource::from(AgentConfig::Oplb(OplbConfig::default()).with_parameter_norm(1.0));
    let agents = vec![CustomAgent::new("mine", opb).into(), oplb];
    let instance = play(&config, agents).expect("it runs");
    assert_eq!(instance.agents[0].name, "mine");
    assert_eq!(instance.agents[0].runs, built_in.runs);
    assert_eq!(instance.agents[0].curve, built_in.curve);
}

#[test]
fn labels_are_unique_and_failing_to_build_is_said_at_once() {
    let config = paper_experiment(0.2, 100, 1, OpbConfig::default());
    let error = with(&config, vec![fixed("opb", &[(0, 1.0)], None)]).expect_err("taken");
    assert!(error.to_string().starts_with("`agent[1].label` is opb"));
    let error = with(&config, vec![fixed(" ", &[(0, 1.0)], None)]).expect_err("no label");
    assert!(error.to_string().starts_with("`agent[1].label` is empty"));
    let never = |_: &banister::Problem, _: u64, _: u64| -> Result<Box<dyn Agent>, Error> {
        let reason = "not today".into();
        Err(Error::UserCode { reason })
    };
    let error = with(&config, vec![CustomAgent::new("never", never).into()]).expect_err("fails");
    assert_eq!(error.to_string(), "user-supplied code failed: not today");
}

/// Ages of outcomes, the least and the most, by arm and segment.
type Ages = Arc<Mutex<BTreeMap<(usize, String), [u64; 2]>>>;

/// Plays both arms, and notes how late outcomes come.
struct Noting {
    decision: Decision,
    t: u64,
    ages: Ages,
}

impl Agent for Noting {
    fn decide(&mut self, _: &Round) -> Result<&Decision, Error> {
        self.t += 1;
        Ok(&self.decision)
    }

    // The table of policies is asked for in every segment before each round; decisions are what is drawn.
    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        let outcome = match event {
            Event::Drawn(pending) => {
                self.t = pending.decision;
                return Ok(());
            }
            Event::Outcome(outcome) => outcome,
            other => panic!("{other:?}"),
        };
        let Origin::Announced(decision) = outcome.origin else {
            panic!("{:?}", outcome.origin)
        };
        let age = self.t - decision;
        let key = (outcome.action, outcome.segment.unwrap_or("").to_string());
        let mut ages = self.ages.lock().unwrap();
        let [least, most] = ages.entry(key).or_insert([age, age]);
        (*least, *most) = ((*least).min(age), (*most).max(age));
        Ok(())
    }
}

#[test]
fn delays_are_by_arm_or_by_segment() {
    let ages = |delay: serde_json::Value| {
        let config: ExperimentConfig = serde_json::from_value(json!({
            "run": {"horizon": 4000, "runs": 1, "delay": delay},
            "environment": {
                "kind": "segmented", "arms": ["control", "bold"], "segments": ["de", "fr"],
                "rewards": [[0.2, 0.8], [0.2, 0.8]], "costs": [[[0.1, 0.3], [0.1, 0.3]]],
            },
            "guardrail": [{"name": "cost", "at_most": 0.5}],
        }))
        .unwrap();
        let ages = Ages::default();
        let shared = Arc::clone(&ages);
        let make = move |_: &banister::Problem, _: u64, _: u64| -> Result<Box<dyn Agent>, Error> {
            Ok(Box::new(Noting {
                decision: Decision {
                    policy: vec![(0, 0.5), (1, 0.5)],
                    fallback: Some(Fallback::MarginNotProven),
                    ..Decision::default()
                },
                t: 0,
                ages: Arc::clone(&shared),
            }))
        };
        let agents = vec![CustomAgent::new("noting", make).into()];
        play(&config, agents).expect("it runs");
        let found = ages.lock().unwrap();
        let of = |arm, segment: &str| found[&(arm, segment.to_string())];
        [of(0, "de"), of(0, "fr"), of(1, "de"), of(1, "fr")]
    };
    let (at_once, late) = ([0, 0], [5, 9]);
    assert_eq!(ages(json!(4)), [[0, 4]; 4]);
    assert_eq!(ages(json!([5, 9])), [late; 4]);
    assert_eq!(
        ages(json!({"bold": [5, 9]})),
        [at_once, at_once, late, late]
    );
    assert_eq!(ages(json!({"fr": [5, 9]})), [at_once, late, at_once, late]);
    let both = json!({"fr": [1, 9], "de": [3, 3]});
    assert_eq!(ages(both), [[3, 3], [1, 9], [3, 3], [1, 9]]);
}
