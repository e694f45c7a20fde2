//! The report of a comparison, and its summary for programs.

use banister_report::tables::{self, spec::Place};
use banister_report::{Document, ReportTable, Section};
use banister_sim::Results;
use banister_sim::compare::{Comparison, LeftOut, leaderboards, pairs, rankings};
use serde_json::{Value, json};

use super::{figures, heat, published};
use crate::terminal::LIMIT;

/// Verdicts on promises.
const PROMISES: &str = "Agents are grouped by what they promise, and ranked by regret among those that kept it. A promise \
    for every round or action was kept if no round of any run violated. A cumulative budget is about the net excess \
    (Σ(c − τ))₊: agents that promise none after any round, or none at the horizon beyond what noise explains, are held to \
    that. Where only slow growth is promised, it was kept if the net excess is no more than that either, or grew \
    from T/4 to T by less than the power 3/4 of T, halfway between √T and T; it was broken if by more, and the runs do not \
    tell if the 95% interval allows both. \
    Σ(c − τ)₊ counts rounds above the threshold only.";

/// Meaning of the comparison over instances.
const OVER_ALL: &str = "The share of the possible gain that an agent lost is its regret divided by what the best feasible \
    policies earn beyond the safe action: 0 for the best policy, 1 for the safe action alone, so that instances can be \
    averaged. The intervals are over instances, as if these were a sample, and hold for all pairs at once. Won and lost \
    count instances, in parentheses those where the paired interval on the instance is clear. A claim that one agent \
    is better than another is a row of this table, of the pairs on an instance or, if it is about ranks, of those.";

/// Subject of the report.
pub struct Subject<'a> {
    pub title: &'a str,
    pub comparison: &'a Comparison,
    pub results: &'a Results,
    pub published: &'a [tables::PublishedRow<'a>],
    /// The fields of the heat maps, if there are any.
    pub axes: Option<&'a (String, String)>,
}

impl Subject<'_> {
    /// One leaderboard per instance, with the columns that there is room for.
    pub fn leaderboards(&self, place: Place) -> Vec<ReportTable> {
        let board =
            |instance| tables::measured(instance).unwrap_or_else(|| tables::board(instance, place));
        self.results.instances.iter().map(board).collect()
    }

    pub fn document(&self) -> Document {
        let runs = (self.comparison.experiments.iter()).map(|e| e.resolved.run.runs);
        let runs = match (runs.clone().min(), runs.max()) {
            (_, Some(1)) => "One run".to_string(),
            (Some(least), Some(most)) if least != most => format!("{least} to {most} runs"),
            (_, most) => format!("{} runs", most.unwrap_or(0)),
        };
        let mut sections = Vec::new();
        let safety = figures::safety(self.results);
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
                tables: vec![tables::published_shown(self.published)],
                ..Section::default()
            });
        }
        let instances = &self.results.instances;
        let over_all = tables::overall_shown(self.results);
        let standings = leaderboards(instances);
        let rankings = rankings(&standings);
        if over_all.is_some() || !rankings.is_empty() {
            sections.push(Section {
                title: "Over all instances".into(),
                paragraphs: vec![OVER_ALL.into()],
                tables: over_all.into_iter().collect(),
                figures: rankings.iter().map(figures::ranks).collect(),
            });
        }
        let boards = self.leaderboards(Place::Report);
        for ((instance, board), paired) in instances.iter().zip(boards).zip(pairs(&standings)) {
            let mut tables = vec![ReportTable {
                title:
                    "Leaderboard by promise: who kept it, by regret; then who did not, by violation"
                        .into(),
                ..board
            }];
            tables.extend(tables::pairs_shown(&paired));
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
                PROMISES.into(),
                LIMIT.into(),
            ],
            sections,
        }
    }

    /// All of it for a program.
    pub fn json(&self) -> Value {
        let instances = &self.results.instances;
        let standings = leaderboards(instances);
        let boards = std::iter::zip(instances, pairs(&standings)).map(|(instance, pairs)| {
            json!({
                "instance": instance.name,
                "horizon": instance.horizon,
                "leaderboard": tables::board_json(instance),
                "pairs": tables::pairs_json(&pairs),
            })
        });
        let published = self.published.iter().map(tables::published_json);
        let left_out = self.comparison.left_out.iter().map(|left| {
            json!({
                "agent": left.agent,
                "instance": left.instance,
                "reason": left.why(),
            })
        });
        json!({
            "instances": boards.collect::<Vec<_>>(),
            "overall": tables::overall_json(self.results),
            "ranks": rankings(&standings),
            "published": published.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
        })
    }
}
