//! Agents of other papers, and the registry of all agents.
//!
//! Rivals stand beside [`banister::Opb`] and [`banister::Oplb`] to be compared with them, on the same problems and
//! through the same interface. Each module states its problem, guarantee ([`banister::guarantee::Guarantee`]), cost per round and
//! paper; a problem outside an agent's setting is refused with the reason.
//!
//! ```
//! use banister::{Guardrail, Problem, Registry as _, Round};
//! use banister_rivals::AgentConfig;
//!
//! let problem = Problem {
//!     arms: vec!["control".into(), "bold".into()],
//!     guardrails: vec![Guardrail {
//!         name: "complaints".into(),
//!         at_most: Some(0.2),
//!         safe_cost: Some(0.05),
//!         ..Guardrail::default()
//!     }],
//!     ..Problem::default()
//! };
//! for kind in ["opb", "s_colts", "thompson"] {
//!     let config = AgentConfig::of_kind(kind)?;
//!     let mut agent = config.build(&problem)?;
//!     println!("{}: {:?}, {}", config.label(), agent.decide(&Round::default())?.policy, config.guarantee().words());
//! }
//! # Ok::<(), banister::Error>(())
//! ```
//!
//! Built on [`banister::toolkit`] alone. Files, in reading order: `registry` (every kind behind one type), `config`
//! and `parameters` (keys that rivals share, problems that they refuse), `grid` (the constants that are tuned), `saved` and `stream` (snapshots and random
//! numbers); then [`arms`] and [`linear`], where `rival` turns a rule into an agent and every other file is one paper.

use banister::solve::Status;

pub mod arms;
mod config;
mod grid;
pub mod linear;
mod parameters;
mod registry;
mod saved;
mod stream;

/// Status of a rival's decision, given the largest distance of its policy from the best: no rival proves more than
/// its intervals say.
fn status(infeasible: bool, gap: f64) -> Status {
    if infeasible {
        Status::Infeasible
    } else if gap <= 1e-12 {
        Status::Optimal
    } else {
        Status::Budget
    }
}

pub use banister::toolkit::DELTA;
pub use registry::AgentConfig;
