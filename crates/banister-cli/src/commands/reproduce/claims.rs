//! Claims, the paper's and ours, and whether they were seen.

use banister::theory;
use banister_report::{Cell, ReportTable, Tone};
use banister_sim::Results;
use banister_sim::results::{AgentResult, InstanceResult};
use serde_json::json;

use super::experiments::{MARGINS, Parts};
use super::linear_claims;
use banister_report::tables::words::{count, number, percent};
use banister_report::tables::{final_regret, final_reward};

/// Rounds behind the published figures.
const PUBLISHED_HORIZON: u64 = 1_000_000;
/// Final regrets read off the published plots, for τ = 1, 0.5, 0.2.
const PUBLISHED_REGRET: [f64; 3] = [1447.0, 3117.0, 46_500.0];
/// "Reaches the optimum": this share of it at the end.
const REACHED: f64 = 0.95;

/// Claims that are made of arms and of features alike.
pub const NO_VIOLATION: &str = "No more than δ of the runs ever violate the constraint";
/// δ of every agent of these figures.
const DELTA: f64 = 0.01;
pub const UNKNOWN_LEARNED: &str = "An unknown safe cost is learned without a violation";

/// Claim with its verdict.
pub struct Claim {
    pub claim: &'static str,
    pub agent: String,
    pub seen: bool,
    pub detail: String,
}

impl Claim {
    pub fn to_json(&self) -> serde_json::Value {
        json!({"claim": self.claim, "agent": self.agent, "seen": self.seen, "detail": self.detail})
    }
}

/// Judges every claim about arms and features.
pub fn check(parts: &Parts) -> Vec<Claim> {
    let instances = &parts.paper.instances;
    let mut claims = Vec::new();
    for a in 0..instances[0].agents.len() {
        let agents: Vec<&AgentResult> = instances.iter().map(|i| &i.agents[a]).collect();
        let name = agents[0].name.clone();
        claims.push(regret_grows(&name, &agents));
        claims.push(no_violation(&name, &agents, instances));
        claims.push(reaches_optimum(&name, &agents, instances));
        claims.push(cost_meets_threshold(&name, &instances[2], agents[2]));
        if name == "paper's text" {
            claims.push(below_the_theorem(&name, &agents, instances));
        }
    }
    claims.extend(lower_bound(&parts.lower_bound));
    claims.extend(unknown_cost(&parts.safe_cost));
    claims.extend(linear_claims::check(&parts.linear));
    // By claim rather than by agent, in order of first appearance.
    let mut order: Vec<&str> = Vec::new();
    for claim in &claims {
        if !order.contains(&claim.claim) {
            order.push(claim.claim);
        }
    }
    let place = |claim: &Claim| order.iter().position(|c| *c == claim.claim);
    claims.sort_by_key(place);
    claims
}

fn regret_grows(name: &str, agents: &[&AgentResult]) -> Claim {
    let regrets: Vec<f64> = agents.iter().map(|agent| final_regret(agent).0).collect();
    let shown: Vec<String> = regrets.iter().map(|x| number(*x)).collect();
    Claim {
        claim: "Regret grows as τ falls",
        agent: name.into(),
        seen: regrets.windows(2).all(|w| w[0] < w[1]),
        detail: shown.join(" < "),
    }
}

fn no_violation(name: &str, agents: &[&AgentResult], instances: &[InstanceResult]) -> Claim {
    let broken: Option<u64> = agents.iter().map(|agent| agent.violations()).sum();
    let rounds: u64 = agents
        .iter()
        .zip(instances)
        .map(|(a, i)| a.runs.len() as u64 * i.horizon)
        .sum();
    let runs = || agents.iter().flat_map(|agent| &agent.runs);
    let unsafe_runs = runs().filter(|run| run.violations > Some(0)).count();
    let whole = runs().count();
    Claim {
        claim: NO_VIOLATION,
        agent: name.into(),
        seen: broken.is_some() && at_least(unsafe_runs, whole) > 0.01,
        detail: format!(
            "{} of {} rounds, in {unsafe_runs} of {whole} runs",
            count(broken),
            number(rounds as f64)
        ),
    }
}

/// Probability that k of n runs violate or more, where each does with probability δ.
fn at_least(k: usize, n: usize) -> f64 {
    let odds = DELTA / (1.0 - DELTA);
    let none = (1.0 - DELTA).powi(n as i32);
    let next = |p: &mut f64, j: usize| {
        let own = *p;
        *p *= (n - j) as f64 / (j + 1) as f64 * odds;
        Some(own)
    };
    1.0 - (0..k).scan(none, next).sum::<f64>()
}

fn reaches_optimum(name: &str, agents: &[&AgentResult], instances: &[InstanceResult]) -> Claim {
    let shares = agents
        .iter()
        .zip(instances)
        .map(|(a, i)| final_reward(a) / i.optimum.reward);
    let shown: Vec<String> = shares.clone().map(|share| percent(share, 1.0)).collect();
    Claim {
        claim: "Reward reaches the optimum",
        agent: name.into(),
        seen: shares.into_iter().all(|share| share >= REACHED),
        detail: format!("{} of r* at the end", shown.join(", ")),
    }
}

fn cost_meets_threshold(name: &str, instance: &InstanceResult, agent: &AgentResult) -> Claim {
    let cost = agent.curve.cost_mean[0].last().copied().unwrap_or(f64::NAN);
    let threshold = instance.guardrails[0].threshold;
    Claim {
        claim: "At τ = 0.2 the cost goes up to the threshold",
        agent: name.into(),
        seen: cost <= threshold && cost >= 0.9 * threshold,
        detail: format!("cost {cost:.3} at the end"),
    }
}

fn below_the_theorem(name: &str, agents: &[&AgentResult], instances: &[InstanceResult]) -> Claim {
    let worst = |agent: &AgentResult| {
        agent
            .runs
            .iter()
            .map(|r| r.regret)
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let shares: Vec<f64> = agents
        .iter()
        .zip(instances)
        .map(|(agent, i)| {
            let bound =
                theory::regret_as_printed(4.0, i.horizon as f64, i.guardrails[0].threshold, 0.01);
            worst(agent) / bound
        })
        .collect();
    let largest = shares.iter().copied().fold(0.0, f64::max);
    Claim {
        claim: "Regret stays below Theorem 3's bound",
        agent: name.into(),
        seen: largest <= 1.0,
        detail: format!("worst run at {} of the bound", percent(largest, 1.0)),
    }
}

fn lower_bound(results: &Results) -> Vec<Claim> {
    let agents = results.instances[0].agents.len();
    (0..agents)
        .map(|a| {
            let mut smallest = f64::INFINITY;
            for (pair, margin) in results.instances.chunks(2).zip(MARGINS) {
                let worse = pair
                    .iter()
                    .map(|i| final_regret(&i.agents[a]).0)
                    .fold(0.0, f64::max);
                if let Some(bound) = theory::lower_bound_margin(margin, pair[0].horizon) {
                    smallest = smallest.min(worse / bound);
                }
            }
            let seen = smallest >= 1.0;
            let detail = if smallest.is_finite() {
                format!("never below {smallest:.0}× the bound")
            } else {
                "the horizon is too short for the bound to apply".into()
            };
            Claim {
                claim: "No agent beats the lower bound 1/(18Δ²), which is for unit Gaussians",
                agent: results.instances[0].agents[a].name.clone(),
                seen,
                detail,
            }
        })
        .collect()
}

fn unknown_cost(results: &Results) -> Vec<Claim> {
    let [known, unknown] = &results.instances[..] else {
        return Vec::new();
    };
    unknown
        .agents
        .iter()
        .map(|agent| {
            let same = known.agents.iter().find(|other| other.name == agent.name);
            let base = same.unwrap_or(&known.agents[0]);
            let ratio = final_regret(agent).0 / final_regret(base).0;
            let broken = agent.violations();
            Claim {
                claim: UNKNOWN_LEARNED,
                agent: agent.name.clone(),
                seen: broken == Some(0),
                detail: unknown_detail(broken, ratio),
            }
        })
        .collect()
}

/// Regret and violations of an agent that had to learn the safe cost.
pub fn unknown_detail(broken: Option<u64>, ratio: f64) -> String {
    let broken = count(broken);
    format!("{broken} violations, {ratio:.2}× the regret of knowing it")
}

/// The claims as a table.
pub fn table(claims: &[Claim]) -> ReportTable {
    let rows = claims.iter().map(|claim| {
        let (word, tone) = if claim.seen {
            ("yes", Tone::Good)
        } else {
            ("no", Tone::Bad)
        };
        vec![
            Cell::text(claim.claim),
            Cell::text(&claim.agent),
            Cell::text(word).toned(tone),
            Cell::text(&claim.detail),
        ]
    });
    let header = ["claim", "agent", "seen", "measured"];
    ReportTable::new("Claims, the paper's and ours", &header, rows)
}

/// Regret of one instance beside its published number.
pub struct Distance {
    instance: String,
    published: f64,
    ours: f64,
    sd: f64,
    /// The run is as long as the published one.
    comparable: bool,
}

/// Compares the published settings with the published numbers.
pub fn distances(results: &Results) -> Vec<Distance> {
    let pairs = results.instances.iter().zip(PUBLISHED_REGRET);
    pairs
        .map(|(instance, published)| {
            let (ours, sd) = final_regret(&instance.agents[0]);
            Distance {
                instance: instance.name.clone(),
                published,
                ours,
                sd,
                comparable: instance.horizon == PUBLISHED_HORIZON,
            }
        })
        .collect()
}

/// The distances as a table.
pub fn distance_table(distances: &[Distance]) -> ReportTable {
    let rows = distances.iter().map(|d| {
        let distance = if d.comparable {
            format!("{:+.1}%", 100.0 * (d.ours / d.published - 1.0))
        } else {
            format!("– (needs {} rounds)", number(PUBLISHED_HORIZON as f64))
        };
        vec![
            Cell::text(&d.instance),
            Cell::number(format!("about {}", number(d.published))),
            Cell::number(number(d.ours)),
            Cell::number(number(d.sd)).toned(Tone::Quiet),
            Cell::number(distance),
        ]
    });
    let title = "Distance from the published final regrets (published settings)";
    let header = ["", "published", "ours", "± sd", "distance"];
    ReportTable::new(title, &header, rows)
}

impl Distance {
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "instance": self.instance,
            "published": self.published,
            "ours": self.ours,
            "std": self.sd,
            "comparable": self.comparable,
        })
    }
}
