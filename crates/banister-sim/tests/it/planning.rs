//! Plans: times by arm, against the limit, direct computations and the runs themselves.

use banister::interval::Mixture;
use banister::lift::{Evidence, difference};
use banister_sim::planning::{ALPHA, CERTIFIED, Plan, Times, plan};
use banister_sim::{Experiment, ExperimentConfig, Options, Progress, run};

fn experiment(environment: &str, guardrail: &str) -> Experiment {
    let text = format!(
        "run = {{ runs = 8, seed = 3 }}\nagent = [{{ kind = 'opb', delta = 0.01 }}]\n\
         environment = {{ kind = 'bernoulli', {environment} }}\nguardrail = [{guardrail}]"
    );
    let config: ExperimentConfig = toml::from_str(&text).unwrap();
    config.check("plan").unwrap()
}

fn planned(experiment: &Experiment, horizon: u64, lift: Option<f64>) -> Plan {
    let mut own = experiment.clone();
    own.resolved.run.horizon = horizon;
    plan(&own, lift, None, &Progress::default())
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
    let plan = planned(&wide_gap(), 3000, None);
    let times = times(&plan, "arm 1", "certified");
    assert_eq!(times.share, 1.0);
    // 90% of the arm are proved by t outcomes if its cost is below 0.5/0.9 at level δ.
    let proved = |t: u64| at_most(t, (0.2 * t as f64).floor() as u64, 0.5 / CERTIFIED) <= 0.01;
    let least = times.least.unwrap();
    assert!(proved(least) && !(1..least).any(proved), "{least}");
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
    let plan = planned(&own, 20_000, Some(most));
    for (r, time) in times(&plan, "arm 1", "lift").runs.iter().enumerate() {
        let half_width = |horizon: u64| {
            let plan = planned(&own, horizon, None);
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
    let short = planned(&own, 1500, Some(0.1));
    assert_eq!(short, planned(&own, 1500, Some(0.1)));
    let long = planned(&own, 3000, Some(0.1));
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
fn probabilities_are_quantiles_of_policies_up_to_the_horizon() {
    let plan = planned(&wide_gap(), 3000, None);
    assert_eq!(plan.probability.last().unwrap().0, 3000);
    for (_, arms) in &plan.probability {
        assert!(
            arms.iter()
                .all(|own| own.is_sorted() && own[2] <= 1.0 + 1e-9)
        );
    }
    // The median time is that at which half of the runs have the needed probability.
    let median = times(&plan, "arm 1", "certified").median.unwrap();
    for (t, arms) in &plan.probability {
        assert!(*t >= median || arms[1][1] < CERTIFIED, "{t}: {arms:?}");
    }
}

#[test]
fn what_does_not_happen_is_counted() {
    // Horizons at which some of the runs have ended before the arm is certified.
    let plan = planned(&wide_gap(), 3000, None);
    let mut all = times(&plan, "arm 1", "certified").runs.clone();
    all.sort();
    let (first, middle) = (all[0].unwrap(), all[3].unwrap());
    for horizon in [first + 10, middle + 1, 3000] {
        let plan = planned(&wide_gap(), horizon, None);
        let own = times(&plan, "arm 1", "certified");
        let mut known: Vec<u64> = own.runs.iter().flatten().copied().collect();
        known.sort_unstable();
        // Of 8 runs, half are 4, and 90% are all 8: what has not happened comes last.
        assert_eq!(own.runs.len(), 8);
        assert_eq!(
            (own.median, own.q90),
            (known.get(3).copied(), known.get(7).copied())
        );
    }
    // Too short for any proof; and an arm that the best policy leaves alone.
    let own = experiment(
        "rewards = [0.1, 0.9, 0.05], costs = [[0.0, 0.2, 0.1]]",
        "{ name = 'spend', at_most = 0.5, safe_cost = 0.0 }",
    );
    let plan = planned(&own, 5, Some(0.1));
    assert!(plan.times.iter().all(|own| own.arm != "arm 0"));
    let worse = times(&plan, "arm 2", "certified");
    assert!(worse.runs.is_empty() && worse.share == 0.0 && worse.least.is_none());
    let new = times(&plan, "arm 1", "certified");
    assert_eq!(
        (&new.runs[..], new.least, new.median),
        (&[None; 8][..], None, None)
    );
    assert_eq!(times(&plan, "arm 2", "lift").q90, None);
}

#[test]
fn questions_without_an_answer_are_refused() {
    let refused = |experiment: &Experiment, lift, traffic| {
        plan(experiment, lift, traffic, &Progress::default())
            .unwrap_err()
            .to_string()
    };
    for x in [0.0, -1.0, f64::NAN, f64::INFINITY].map(Some) {
        assert!(refused(&wide_gap(), x, None).contains("`lift`"));
        assert!(refused(&wide_gap(), None, x).contains("`traffic`"));
    }
    let moving = experiment(
        "rewards = [0.1, 0.9], costs = [[0.0, 0.2]], changes = [{ round = 5, rewards = [0.2, 0.3] }]",
        "{ name = 'spend', at_most = 0.5, safe_cost = 0.0 }",
    );
    assert!(refused(&moving, None, None).contains("whose means stay"));
    let mut config = wide_gap().resolved;
    config.agent = toml::from_str::<ExperimentConfig>(
        "agent = [{ kind = 'opb', floor = 0.2 }]\nenvironment = { kind = 'bernoulli' }",
    )
    .unwrap()
    .agent;
    assert!(refused(&config.check("floor").unwrap(), None, None).contains("floor"));
}
