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
    let question = Question {
        horizon,
        lift,
        traffic: None,
    };
    plan(experiment, question, &Progress::default())
        .unwrap()
        .unwrap()
}

/// Times of an arm until an event.
fn times<'a>(plan: &'a Plan, arm: &str, until: &str) -> &'a Times {
    let mut times = plan.times.iter();
    let own = times.find(|own| own.arm == arm && own.until == until);
    own.unwrap()
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
    let times = times(&plan, "arm 1", "certified");
    assert_eq!((times.share, plan.delta), (1.0, 0.01));
    // 90% of the arm are proved by t outcomes if its cost is below 0.5/0.9 at level δ.
    let proved = |t: u64| at_most(t, (0.2 * t as f64).floor() as u64, 0.5 / CERTIFIED) <= 0.01;
    let least = times.least.unwrap();
    assert!(proved(least) && !proved(least - 1), "{least}");
    // The limit is that of a typical run: a lucky one may come before it.
    assert!(times.median >= Some(least), "{times:?}");
}

#[test]
fn a_lift_is_known_when_the_outcomes_so_far_say_so() {
    // Rewards without noise: counts of pulls alone say how wide the interval is.
    let own = experiment(
        "rewards = [0.0, 1.0], costs = [[0.0, 0.5]]",
        "{ name = 'spend', at_most = 0.25, safe_cost = 0.0 }",
    );
    let most = 0.02;
    let plan = planned(&own, Some(20_000), Some(most));
    for (r, time) in times(&plan, "arm 1", "lift").runs.iter().enumerate() {
        let half_width = |horizon: u64| {
            let plan = planned(&own, Some(horizon), None);
            let pulls = &plan.results.instances[0].agents[0].runs[r].pulls;
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
        // Looks are a fiftieth of the decisions apart.
        assert!(half_width(time - time / 30) > most, "run {r}: {time}");
    }
}

#[test]
fn watching_changes_nothing_and_a_longer_horizon_goes_on() {
    let mut own = wide_gap();
    let short = planned(&own, Some(1500), Some(0.1));
    assert_eq!(short, planned(&own, Some(1500), Some(0.1)));
    let long = planned(&own, Some(3000), Some(0.1));
    let within = |times: &Times| {
        let runs = times.runs.iter();
        let within: Vec<_> = runs.map(|time| time.filter(|t| *t <= 1450)).collect();
        within
    };
    assert_eq!(short.times.len(), 2);
    for (a, b) in short.times.iter().zip(&long.times) {
        assert_eq!(within(a), within(b));
    }
    own.resolved.run.horizon = 1500;
    let unwatched = run(&[own], Options { no_timing: true }, &Progress::default());
    assert_eq!(Some(short.results), unwatched.unwrap());
}

#[test]
fn the_horizon_is_doubled_until_everything_has_happened() {
    let plan = planned(&wide_gap(), None, Some(0.1));
    let done = plan
        .times
        .iter()
        .all(|own| own.runs.iter().all(Option::is_some));
    assert!(plan.question.horizon.is_none() && (done || plan.horizon == 1_280_000));
    assert_eq!(plan.probability.last().unwrap().0, plan.horizon);
    for (_, arms) in &plan.probability {
        assert!(
            arms.iter()
                .all(|own| own.is_sorted() && own[2] <= 1.0 + 1e-9)
        );
    }
}

#[test]
fn what_does_not_happen_is_counted() {
    let own = Times {
        runs: vec![Some(1), None, Some(3), Some(2)],
        ..Times::default()
    };
    let quantiles = [0.25, 0.5, 0.75, 0.9].map(|share| own.quantile(share));
    assert_eq!(quantiles, [Some(1), Some(2), Some(3), None]);
    // Too short for any proof; and an arm that the best policy leaves alone.
    let own = experiment(
        "rewards = [0.1, 0.9, 0.05], costs = [[0.0, 0.2, 0.1]]",
        "{ name = 'spend', at_most = 0.5, safe_cost = 0.0 }",
    );
    let plan = planned(&own, Some(5), Some(0.1));
    assert!(plan.times.iter().all(|own| own.arm != plan.safe));
    let worse = times(&plan, "arm 2", "certified");
    assert!(worse.runs.is_empty() && worse.share == 0.0 && worse.least.is_none());
    let new = times(&plan, "arm 1", "certified");
    assert_eq!((new.missed, new.least, new.median), (8, None, None));
    assert_eq!(times(&plan, "arm 2", "lift").q90, None);
}

#[test]
fn questions_without_an_answer_are_refused() {
    let refused = |experiment: &Experiment, lift: f64| {
        let question = Question {
            horizon: Some(10),
            lift: Some(lift),
            traffic: None,
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
