//! Lessons of a log about segments, beside the means of arms in them.
//!
//! A log's outcomes teach the mean of each pair of a segment and an arm, whoever chose the arms. Two more things are
//! learned from the traffic itself, and only from a log of the same traffic, which the caller declares:
//!
//! - frequencies: the segment of each request counts once, however many arms answered it;
//! - the pool, the mean of an arm over the segments that share a policy. An arm's outcomes are a sample of it if the arm
//!   was chosen without regard to the segment. The log shows that where the arm answered every request, or where every
//!   arm has one `pscore` throughout and these sum to 1: were an arm rarer in some segment, another would be more
//!   frequent there, with another `pscore`.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::monitor::Origin;

/// Frequencies of segments in a log, as its reader declares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frequencies {
    /// They may be others than those of the requests to come.
    #[default]
    Unknown,
    /// Requests of the log and those to come are drawn from the same traffic; none was left out for its segment or its
    /// outcome.
    Same,
}

/// Rows of a log, each an outcome of an arm, in the order of decisions.
#[derive(Debug, Clone, Copy)]
pub struct LogRows<'a, R> {
    /// Segment by row; empty where the agent or the log has none.
    pub segments: &'a [R],
    /// Arm by row.
    pub actions: &'a [usize],
    /// Request by row, where several arms answered one: its rows stand together. Empty: every row is one.
    pub requests: &'a [R],
    /// Probability with which its arm was chosen, by row.
    pub pscores: Option<&'a [f64]>,
}

/// Origins by row; what the log cannot teach, and why.
pub type Lesson = (Vec<Origin>, Vec<String>);

impl<R: Eq + Hash + std::fmt::Display> LogRows<'_, R> {
    /// Finds out what the log teaches; `names` are those of the arms, by number.
    pub fn lesson(&self, frequencies: Frequencies, names: &[&str]) -> Result<Lesson, Error> {
        let is_same = frequencies == Frequencies::Same;
        if self.segments.is_empty() {
            let allowed = "needs an agent that tells segments apart, and a log with segments";
            let refused = is_same.then(|| Error::invalid("frequencies", "same", allowed));
            let origins = vec![Origin::Logged; self.actions.len()];
            return refused.map_or(Ok((origins, Vec::new())), Err);
        }
        if let Some(&arm) = self.actions.iter().find(|&&arm| arm >= names.len()) {
            let last = names.len().saturating_sub(1);
            return Err(Error::NoSuchArm { arm, last });
        }
        let firsts = self.firsts()?;
        let mut not_taught = Vec::new();
        let rows = self.actions.iter().zip(&firsts);
        let origins = if !is_same {
            let why =
                "the log is not declared a sample of the same traffic (`frequencies` = \"same\")";
            not_taught.push(format!("frequencies of segments: {why}"));
            not_taught.push(format!("segments that share a policy: {why}"));
            rows.map(|_| Origin::Logged).collect()
        } else {
            let blind = self.blind(&firsts, names.len());
            for (name, _) in names.iter().zip(&blind).filter(|(_, blind)| !**blind) {
                not_taught.push(format!(
                    "segments that share a policy: the log does not show that `{name}` was chosen without regard to the \
                     segment: neither has it an outcome of every request, nor every arm one `pscore` throughout"
                ));
            }
            let origin = |(&arm, &is_first)| Origin::Sampled {
                is_first,
                is_blind: blind[arm],
            };
            rows.map(origin).collect()
        };
        Ok((origins, not_taught))
    }

    /// True by row for the first of each request. Refuses rows that a request cannot have.
    fn firsts(&self) -> Result<Vec<bool>, Error> {
        let refuse = |row: usize, allowed: &str| {
            let field = format!("request[{row}]");
            Err(Error::invalid(field, &self.requests[row], allowed))
        };
        let (mut starts, mut firsts) = (HashMap::new(), vec![true; self.actions.len()]);
        for (row, request) in self.requests.iter().enumerate() {
            let start = *starts.entry(request).or_insert(row);
            firsts[row] = start == row;
            if row > start && self.requests[row - 1] != *request {
                return refuse(row, "rows of one request have to stand together");
            } else if self.segments.get(row) != self.segments.get(start) {
                return refuse(row, "rows of one request have to have one segment");
            } else if self.actions[start..row].contains(&self.actions[row]) {
                return refuse(row, "has two outcomes of one arm: a request teaches once");
            }
        }
        Ok(firsts)
    }

    /// True by arm if the log shows that it was chosen without regard to the segment.
    fn blind(&self, firsts: &[bool], arms: usize) -> Vec<bool> {
        let requests = firsts.iter().filter(|&&is_first| is_first).count();
        let (mut rows, mut own) = (vec![0; arms], vec![0.0; arms]);
        let mut is_constant = self.pscores.is_some() && requests == self.actions.len();
        for (row, &arm) in self.actions.iter().enumerate() {
            let p = self.pscores.map_or(0.0, |p| p[row]);
            is_constant &= rows[arm] == 0 || own[arm] == p;
            own[arm] = p;
            rows[arm] += 1;
        }
        is_constant &= (own.iter().sum::<f64>() - 1.0).abs() <= 1e-9;
        let is_blind = |&rows: &usize| is_constant || rows == requests;
        rows.iter().map(is_blind).collect()
    }
}
