//! The report of a comparison, and its summary for programs.

use banister_report::{Document, Section, Table};
use banister_sim::Results;
use banister_sim::compare::{Comparison, Interval95, LeftOut, leaderboard, pairs};
use serde_json::{Value, json};

use super::{figures, heat, published, tables};
use crate::terminal::LIMIT;

/// Subject of the report.
pub struct Subject<'a> {
    pub title: &'a str,
    pub comparison: &'a Comparison,
    pub results: &'a Results,
    pub published: &'a [published::Row<'a>],
    /// The fields of the heat maps, if there are any.
    pub axes: Option<&'a (String, String)>,
}

impl Subject<'_> {
    /// One leaderboard per instance.
    pub fn leaderboards(&self) -> Vec<Table> {
        let instances = self
            .results
            .instances
            .iter()
            .zip(self.comparison.guarantees());
        instances
            .map(|(instance, guarantees)| {
                tables::measured(instance, &guarantees)
                    .unwrap_or_else(|| tables::board(instance, &guarantees))
            })
            .collect()
    }

    pub fn document(&self) -> Document {
        let runs = (self.comparison.experiments.iter()).map(|e| e.resolved.run.runs);
        let runs = match (runs.clone().min(), runs.max()) {
            (_, Some(1)) => "One run".to_string(),
            (Some(least), Some(most)) if least != most => format!("{least} to {most} runs"),
            (_, most) => format!("{} runs", most.unwrap_or(0)),
        };
        let mut sections = Vec::new();
        let safety = figures::safety(self.results, &self.comparison.guarantees());
        sections.push(Section {
            title: "Regret and violations by agent".into(),
            figures: safety.into_iter().collect(),
            ..Section::default()
        });
        if let Some(axes) = self.axes {
            sections.push(Section {
                title: "The sweep at a glance".into(),
                figures: heat::maps(self.comparison, self.results, axes),
                ..Section::default()
            });
        }
        if !self.published.is_empty() {
            sections.push(Section {
                title: "Published numbers".into(),
                paragraphs: vec![published::VERDICTS.into()],
                tables: vec![published::table(self.published)],
                ..Section::default()
            });
        }
        for (instance, board) in self.results.instances.iter().zip(self.leaderboards()) {
            let mut tables = vec![Table {
                title: "Leaderboard: who broke no guardrail, by regret; then who did".into(),
                ..board
            }];
            tables.extend(tables::against_leader(instance));
            sections.push(Section {
                title: instance.name.clone(),
                tables,
                figures: vec![figures::curves(instance)],
                ..Section::default()
            });
        }
        if !self.comparison.left_out.is_empty() {
            sections.push(Section {
                title: "Skipped agents".into(),
                paragraphs: LeftOut::lines(&self.comparison.left_out),
                ..Section::default()
            });
        }
        Document {
            title: self.title.to_string(),
            lead: vec![
                format!(
                    "{runs} per agent. All agents meet the same outcomes: the n-th pull of an arm brings the same \
                     whoever pulls it, and where actions come anew every round has its own noise; so differences \
                     between agents are less noisy than the agents themselves."
                ),
                "Policies are judged on the true means: a violation is a round whose policy, not merely the \
                 action drawn from it, breaks a guardrail in expectation. Regret is counted against the best \
                 feasible policy, so an agent that breaks guardrails can have less than none."
                    .into(),
                LIMIT.into(),
            ],
            sections,
        }
    }

    /// All of it for a program.
    pub fn json(&self) -> Value {
        let interval = |i: &Interval95| json!({"mean": i.mean, "low": i.low, "high": i.high});
        let guarantees = self.comparison.guarantees();
        let boards = self.results.instances.iter().zip(&guarantees);
        let boards = boards.map(|(instance, guarantees)| {
            let agents = leaderboard(instance).into_iter().map(|standing| {
                let place = instance
                    .agents
                    .iter()
                    .position(|a| a.name == standing.agent);
                let drawn = standing.drawn.as_ref().map(|drawn| {
                    json!({
                        "reward": interval(&drawn.reward),
                        "costs": drawn.costs.iter().map(interval).collect::<Vec<_>>(),
                        "beyond": drawn.beyond,
                        "gain": interval(&drawn.gain),
                        "rounds_to_90": drawn.rounds_to_90,
                    })
                });
                json!({
                    "agent": standing.agent,
                    "drawn": drawn,
                    "guarantee": place.map(|place| guarantees[place]),
                    "regret": interval(&standing.regret),
                    "limit": standing.limit,
                    "regret_over_limit": standing.regret_over_limit,
                    "violations": standing.violations,
                    "violation_share": interval(&standing.violation_share),
                    "worst_exceedance": standing.worst_exceedance,
                    "reward": standing.reward,
                    "of_optimum": standing.of_optimum,
                    "micros_per_round": standing.micros,
                })
            });
            let pairs = pairs(instance).into_iter().map(|pair| {
                json!({
                    "agent": pair.agent,
                    "other": pair.other,
                    "regret_difference": interval(&pair.difference),
                })
            });
            json!({
                "instance": instance.name,
                "horizon": instance.horizon,
                "leaderboard": agents.collect::<Vec<_>>(),
                "pairs": pairs.collect::<Vec<_>>(),
            })
        });
        let published = self.published.iter().map(published::json);
        let left_out = self.comparison.left_out.iter().map(|left| {
            json!({
                "agent": left.agent,
                "instance": left.instance,
                "reason": left.why(),
            })
        });
        json!({
            "instances": boards.collect::<Vec<_>>(),
            "published": published.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
        })
    }
}
