//! Plans: times by arm, against the limit, direct computations and the runs themselves.

use banister::interval::Mixture;
use banister::lift::{Evidence, difference};
use banister_sim::planning::{ALPHA, CERTIFIED, Plan, Question, Times, plan};
use banister_sim::{Experiment, ExperimentConfig, Options, Progress, run};

fn experiment(environment: &str, guardrail: &str) -> Experiment {
    let text = format!(
        "run = {{ runs = 8, seed = 3 }}\nagent = [{{ kind = 'opb' }}]\n\
         environment = {{ kind = 'bernoulli', {environment} }}\nguardrail = [{guardrail}]"
    );
    let config: ExperimentConfig = toml::from_str(&text).unwrap();
    config.check("plan").unwrap()
}

fn planned(experiment: &Experiment, horizon: Option<u64>, lift: Option<f64>) -> Plan {
    let question = Question { horizon, lift };
    plan(experiment, question, &Progress::default())
        .unwrap()
        .unwrap()
}

/// An arm far better than the safe one, whose cost has to be proved.
fn wide_gap() -> Experiment {
    experiment(
        "rewards = [0.1, 0.9], costs = [[0.0, 0.2]]",
        "{ name = 'spend', at_most = 0.5, safe_cost = 0.0 }",
    )
}

/// P(Bin(n, p) ≤ k), term by term.
fn at_most(n: u64, k: u64, p: f64) -> f64 {
    let log_choose = |j: u64| {
        let gamma = |x: u64| libm::lgamma(x as f64 + 1.0);
        gamma(n) - gamma(j) - gamma(n - j)
    };
    let term = |j: u64| log_choose(j) + j as f64 * p.ln() + (n - j) as f64 * (1.0 - p).ln();
    (0..=k).map(|j| term(j).exp()).sum()
}

#[test]
fn the_median_run_is_not_certified_before_the_binomial_limit() {
    let plan = planned(&wide_gap(), Some(3000), None);
    let arm = &plan.arms[1];
    assert_eq!((arm.share, plan.delta), (1.0, 0.01));
    // 90% of the arm are proved by t outcomes if its cost is below 0.5/0.9 at level δ.
    let proved = |t: u64| at_most(t, (0.2 * t as f64).floor() as u64, 0.5 / CERTIFIED) <= 0.01;
    let least = arm.least.unwrap();
    assert!(proved(least) && !proved(least - 1), "{least}");
    // The limit is that of a typical run: a lucky one may come before it.
    let times = arm.certified.as_ref().unwrap();
    assert!(times.quantile(0.5) >= Some(least), "{times:?}");
}

#[test]
fn a_lift_is_known_when_the_outcomes_so_far_say_so() {
    // Rewards without noise: counts of pulls alone say how wide the interval is.
    let own = experiment(
        "rewards = [0.0, 1.0], costs = [[0.0, 0.5]]",
        "{ name = 'spend', at_most = 0.25, safe_cost = 0.0 }",
    );
    let most = 0.02;
    let Times(times) = planned(&own, Some(20_000), Some(most)).arms[1]
        .lift
        .clone()
        .unwrap();
    for (r, time) in times.into_iter().enumerate() {
        let half_width = |horizon: u64| {
            let plan = planned(&own, Some(horizon), None);
            let pulls = &plan.agent().runs[r].pulls;
            let evidence = |n: u64, x: f64| {
                let mut statistics = Mixture::default();
                (0..n).for_each(|_| statistics.push(x));
                Evidence {
                    statistics,
                    range: [0.0, 1.0],
                }
            };
            let (arm, safe) = (evidence(pulls[1], 1.0), evidence(pulls[0], 0.0));
            let ends = difference(&arm, &safe, (1.0 / ALPHA).ln());
            (ends.upper - ends.lower) / 2.0
        };
        let time = time.unwrap();
        assert!(half_width(time) <= most);
        // Looks are a hundredth of the arm's outcomes apart.
        assert!(half_width(time - time / 30) > most, "run {r}: {time}");
    }
}

#[test]
fn watching_changes_nothing_and_a_longer_horizon_goes_on() {
    let mut own = wide_gap();
    let short = planned(&own, Some(1500), Some(0.1));
    assert_eq!(short, planned(&own, Some(1500), Some(0.1)));
    let long = planned(&own, Some(3000), Some(0.1));
    let within = |times: &Option<Times>| {
        let times = times.iter().flat_map(|times| &times.0);
        let within: Vec<_> = times.map(|time| time.filter(|t| *t <= 1500)).collect();
        within
    };
    for (a, b) in short.arms.iter().zip(&long.arms) {
        assert_eq!(within(&a.certified), within(&b.certified));
        assert_eq!(within(&a.lift), within(&b.lift));
    }
    own.resolved.run.horizon = 1500;
    let unwatched = run(&[own], Options { no_timing: true }, &Progress::default());
    assert_eq!(Some(short.results), unwatched.unwrap());
}

#[test]
fn the_horizon_is_doubled_until_everything_has_happened() {
    let plan = planned(&wide_gap(), None, Some(0.1));
    let all = |times: &Option<Times>| times.as_ref().is_none_or(|times| times.missed() == 0);
    let done = plan
        .arms
        .iter()
        .all(|arm| all(&arm.certified) && all(&arm.lift));
    assert!(plan.doubled && (done || plan.instance().horizon == 1_280_000));
    assert_eq!(*plan.rounds.last().unwrap(), plan.instance().horizon);
    for t in 0..plan.rounds.len() {
        assert!(
            plan.arms
                .iter()
                .all(|arm| arm.probability[t].is_sorted() && arm.probability[t][2] <= 1.0 + 1e-9)
        );
    }
}

#[test]
fn what_does_not_happen_is_counted() {
    let times = Times(vec![Some(1), None, Some(3), Some(2)]);
    let quantiles = [0.25, 0.5, 0.75, 0.9].map(|share| times.quantile(share));
    assert_eq!(quantiles, [Some(1), Some(2), Some(3), None]);
    assert_eq!(times.missed(), 1);
    // Too short for any proof; and an arm that the best policy leaves alone.
    let own = experiment(
        "rewards = [0.1, 0.9, 0.05], costs = [[0.0, 0.2, 0.1]]",
        "{ name = 'spend', at_most = 0.5, safe_cost = 0.0 }",
    );
    let plan = planned(&own, Some(5), Some(0.1));
    let [safe, new, worse] = &plan.arms[..] else {
        panic!()
    };
    assert!(safe.certified.is_none() && safe.lift.is_none());
    assert!(worse.certified.is_none() && worse.share == 0.0);
    assert_eq!(new.certified.as_ref().unwrap().missed(), 8);
    assert_eq!(new.least, None);
    assert_eq!(worse.lift.as_ref().unwrap().quantile(0.5), None);
}

#[test]
fn questions_without_an_answer_are_refused() {
    let refused = |experiment: &Experiment, lift: f64| {
        let question = Question {
            horizon: Some(10),
            lift: Some(lift),
        };
        plan(experiment, question, &Progress::default())
            .unwrap_err()
            .to_string()
    };
    for lift in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(&wide_gap(), lift).contains("`lift`"));
    }
    let moving = experiment(
        "rewards = [0.1, 0.9], costs = [[0.0, 0.2]], changes = [{ round = 5, rewards = [0.2, 0.3] }]",
        "{ name = 'spend', at_most = 0.5, safe_cost = 0.0 }",
    );
    assert!(refused(&moving, 0.1).contains("whose means stay"));
    let mut config = wide_gap().resolved;
    config.agent = toml::from_str::<ExperimentConfig>(
        "agent = [{ kind = 'opb', floor = 0.2 }]\nenvironment = { kind = 'bernoulli' }",
    )
    .unwrap()
    .agent;
    assert!(refused(&config.check("floor").unwrap(), 0.1).contains("floor"));
}
