//! A warm start is the same as observing by hand.

use crate::common;

use banister::logs::Frequencies;
use banister::monitor::AlarmKind;
use banister::{
    Agent, Choice, Error, Event, Guardrail, Opb, OpbConfig, Oplb, OplbConfig, Origin, Outcome,
    Problem,
};
use banister_offline::{CheckedLog, Features, Log, disjoint_features, warm_start};
use common::{Columns, World, rng, uniform};

/// Number of outcomes learned.
fn learn(agent: &mut dyn Agent, log: &CheckedLog) -> Result<u64, Error> {
    let before = agent.view().outcomes;
    let not_taught = warm_start(agent, log, Frequencies::Unknown)?;
    assert!(not_taught.is_empty(), "{not_taught:?}");
    Ok(agent.view().outcomes - before)
}

fn spend() -> Guardrail {
    Guardrail {
        name: "spend".into(),
        at_most: Some(0.5),
        safe_cost: Some(0.1),
        ..Guardrail::default()
    }
}

fn named(features: Vec<Vec<f64>>) -> Problem {
    Problem {
        arms: vec!["a".into(), "b".into(), "c".into()],
        features,
        guardrails: vec![spend()],
        ..Problem::default()
    }
}

/// Observes by hand what was played in every round, as another policy's; `features` where it is told by them.
fn by_hand(agent: &mut dyn Agent, columns: &Columns, features: impl Fn(usize) -> Vec<f64>) {
    for t in 0..columns.actions.len() {
        let x = features(t);
        let outcome = Outcome {
            choice: if x.is_empty() {
                Choice::Arms
            } else {
                Choice::Offered(&x)
            },
            origin: Origin::Logged,
            ..Outcome::of_arm(
                columns.actions[t],
                columns.rewards[t],
                &columns.costs[t..t + 1],
            )
        };
        agent.apply(&Event::Outcome(&outcome)).unwrap();
    }
}

fn oplb() -> OplbConfig {
    OplbConfig {
        parameter_norm: Some(1.0),
        ..OplbConfig::default()
    }
}

#[test]
fn a_k_armed_agent_takes_outcomes_by_arm() {
    let columns = World::three().log(&mut rng(1), 300);
    let mut warm = Opb::new(&named(vec![]), &OpbConfig::default()).unwrap();
    let mut hand = warm.clone();
    assert_eq!(learn(&mut warm, &columns.checked()), Ok(300));
    by_hand(&mut hand, &columns, |_| Vec::new());
    assert_eq!(warm.save(), hand.save());
    assert_eq!(warm.decide(), hand.decide());
    // Features mean nothing to it, and neither do logging probabilities.
    let context = vec![0.3; 600];
    let log = Log {
        features: Features::Context {
            dimension: 2,
            rows: &context,
        },
        pscores: None,
        ..columns.log()
    };
    let mut other = Opb::new(&named(vec![]), &OpbConfig::default()).unwrap();
    assert_eq!(learn(&mut other, &log.check().unwrap()), Ok(300));
    hand = Opb::restore(&hand.save().unwrap()).unwrap();
    assert_eq!(other.decide(), hand.decide());
}

#[test]
fn a_linear_agent_takes_outcomes_by_features() {
    let random = &mut rng(2);
    let (n, arms, d) = (200, 3, 2);
    let columns = World::three().log(random, n);
    let mut numbers =
        |count: usize| -> Vec<f64> { (0..count).map(|_| 0.5 * uniform(random)).collect() };
    let (rows, sets) = (numbers(n * d), numbers(n * arms * d));
    let row = |t: usize| rows[t * d..(t + 1) * d].to_vec();
    let blocks = |t: usize| {
        let (size, a) = (arms * d, columns.actions[t]);
        disjoint_features(&row(t), arms)[a * size..(a + 1) * size].to_vec()
    };
    let offered = |t: usize| {
        let at = (t * arms + columns.actions[t]) * d;
        sets[at..at + d].to_vec()
    };
    let dimension = d;
    type Rows<'a> = &'a dyn Fn(usize) -> Vec<f64>;
    let cases: [(Features, Rows, usize); 3] = [
        (
            Features::Played {
                dimension,
                rows: &rows,
            },
            &row,
            d,
        ),
        (
            Features::Context {
                dimension,
                rows: &rows,
            },
            &blocks,
            arms * d,
        ),
        (
            Features::Offered {
                dimension,
                sets: &sets,
            },
            &offered,
            d,
        ),
    ];
    for (features, played, size) in cases {
        let mut safe_action = vec![0.0; size];
        safe_action[0] = 0.5;
        let problem = Problem::contextual(safe_action, vec![spend()]);
        let mut warm = Oplb::new(&problem, &oplb()).unwrap();
        let mut hand = warm.clone();
        let log = Log {
            features,
            ..columns.log()
        };
        assert_eq!(learn(&mut warm, &log.check().unwrap()), Ok(200));
        let rows: Vec<Vec<f64>> = (0..n).map(played).collect();
        by_hand(&mut hand, &columns, |t| rows[t].clone());
        assert_eq!(warm.save(), hand.save());
    }
}

/// Without features in the log, a linear agent's own fixed actions are meant.
#[test]
fn a_linear_agent_with_fixed_actions_takes_outcomes_by_arm() {
    let columns = World::three().log(&mut rng(3), 100);
    let problem = named(vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![0.6, 0.6]]);
    let mut warm = Oplb::new(&problem, &oplb()).unwrap();
    let mut hand = warm.clone();
    assert_eq!(learn(&mut warm, &columns.checked()), Ok(100));
    by_hand(&mut hand, &columns, |_| Vec::new());
    assert_eq!(warm.save(), hand.save());
}

/// The logging policy may break every guardrail: that is no breach of the agent's own policies.
#[test]
fn costs_of_the_logging_policy_are_no_breach() {
    let columns = Columns {
        actions: vec![1; 2000],
        costs: vec![1.0; 2000],
        rewards: vec![0.5; 2000],
        ..World::three().log(&mut rng(4), 2000)
    };
    let mut warm = Opb::new(&named(vec![]), &OpbConfig::default()).unwrap();
    let mut live = warm.clone();
    assert_eq!(learn(&mut warm, &columns.checked()), Ok(2000));
    assert_eq!(warm.view().monitor.unwrap().alarms(), []);
    // The arm of its own choice is cheap for as long as it takes to learn so, and dear from then on.
    let mut draws = rng(5);
    for t in 0..4000 {
        let arm = live.decide().draw(uniform(&mut draws));
        let cost = if t < 2000 { 0.1 } else { 1.0 };
        live.observe(arm, 0.5 * arm as f64, &[cost]).unwrap();
    }
    let alarms = live.view().monitor.unwrap().alarms();
    assert!(alarms.iter().any(|alarm| alarm.kind == AlarmKind::Breach));
}

/// Ranges declared from the problem are checked before anything is taken; what only the agent can
/// know is refused in its round.
#[test]
fn what_cannot_be_taken_is_refused() {
    let mut columns = World::three().log(&mut rng(4), 10);
    columns.rewards[7] = 1.5;
    let declared = columns.log().declare(&Default::default(), &[spend()]);
    let message = declared.check().unwrap_err().to_string();
    assert_eq!(
        message,
        "`reward[7]` is 1.5: must lie in the declared range [0, 1]"
    );
    let loose = Log {
        reward_range: None,
        ..columns.log()
    };
    let mut agent = Opb::new(&named(vec![]), &OpbConfig::default()).unwrap();
    assert_eq!(learn(&mut agent, &loose.check().unwrap()), Ok(10));
    let alarms = agent.view().monitor.unwrap().alarms();
    assert_eq!(alarms[0].kind, AlarmKind::RewardRange);
    columns.rewards[7] = 1.0;
    columns.arms = 4;
    columns.actions[2] = 3;
    let refused = learn(&mut agent, &columns.checked());
    assert_eq!(refused, Err(Error::NoSuchArm { arm: 3, last: 2 }));
}
