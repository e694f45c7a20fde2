//! Decisions of one agent, from the draw to the outcome: numbered, announced to the agent, each outcome taken once.
//!
//! ```
//! use banister::{Opb, OpbConfig, Problem, Round, Session};
//!
//! let problem = Problem { arms: vec!["control".into(), "bold".into()], ..Problem::default() };
//! let mut session = Session::new(Box::new(Opb::new(&problem, &OpbConfig::default())?), 1);
//! let published = session.decide(&Round::default(), ())?;
//! let action = published.decision.draw(0.4); // a uniform random number of yours
//! let draw = session.draw(&published, action, None, None)?;
//! // Play it; its outcome comes whenever it comes, and in any order.
//! session.observe(&[&draw], &[1.0], &[])?;
//! assert!(session.observe(&[&draw], &[1.0], &[]).is_err()); // it counts once
//! # Ok::<(), banister::Error>(())
//! ```
//!
//! The draw has all that its outcome needs, so that who holds it may send it through a queue or save it, and memory here
//! does not grow with the decisions that wait. A draw that nobody holds when the session is called next has no outcome,
//! and its agent is told so.

mod numbers;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use crate::agent::{Agent, observe_all};
use crate::decision::Decision;
use crate::error::Error;
use crate::event::Event;
use crate::monitor::Origin;
use crate::round::{Choice, Outcome, Pending, Round};
pub use numbers::Numbers;

/// An agent with its decisions. `T` is what the caller keeps beside each policy.
pub struct Session<T = ()> {
    /// The agent. Outcomes given to it by their arms need no decision.
    pub agent: Box<dyn Agent>,
    numbers: Numbers,
    /// The latest decision whose outcome has come.
    watched: u64,
    /// Draws since the last call: they may have been dropped.
    recent: Option<Recent<T>>,
}

/// Draws from one policy.
struct Recent<T> {
    first: u64,
    actions: SmallVec<[usize; 1]>,
    published: Arc<Published<T>>,
}

/// A policy with its certificate, shared by the draws from it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Published<T = ()> {
    /// The policy and its certificate.
    pub decision: Decision,
    /// Identity of the session.
    pub session: u64,
    /// Time of its round, as the caller gave it.
    pub time: Option<f64>,
    /// Number of the safe action in its round.
    pub safe: usize,
    /// True if actions were offered by their features: outcomes are known by them.
    pub offered: bool,
    /// Order in which outcomes will come.
    pub returns: Returns,
    /// What the caller keeps beside it.
    pub beside: T,
    /// True if outcomes may come by copies of its draws that were saved.
    #[serde(skip)]
    is_copied: AtomicBool,
}

/// Order in which the outcomes of draws will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Returns {
    /// In any order.
    #[default]
    AnyOrder,
    /// In the order of decisions, of a batch by its first number: what segments share learns from a batch that is longer
    /// than the window of decisions that wait, if its outcomes come so.
    InOrder(u64),
    /// By the arm that was played, not by the draw.
    ByArm,
}

/// A decision that was drawn: what its outcome needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Draw<T = ()> {
    /// Number among the session's decisions, from 1.
    pub number: u64,
    /// Number of the action.
    pub action: usize,
    /// Its features, where it has any.
    pub features: Option<Box<[f64]>>,
    /// Context of the round, where it had one.
    pub context: Option<Arc<[f64]>>,
    /// The policy that it was drawn from.
    pub published: Arc<Published<T>>,
}

impl<T> Published<T> {
    /// Name of its segment, where the agent tells them apart.
    pub fn segment(&self) -> Option<&str> {
        Some(&self.decision.segment.as_ref()?.name)
    }

    /// Takes note that draws were saved, so that one that is dropped may have an outcome.
    pub fn note_copy(&self) {
        self.is_copied.store(true, Ordering::Relaxed);
    }

    fn pending(&self, decision: u64, action: usize) -> Pending<'_> {
        let in_any_order = self.returns == Returns::AnyOrder;
        Pending {
            decision,
            action,
            segment: self.segment(),
            safe_probability: in_any_order.then(|| self.decision.probability(self.safe)),
            excess: (self.decision.segment.as_ref()).map_or(&[], |own| &own.excess),
            time: self.time,
        }
    }
}

impl<T> Draw<T> {
    /// Features of what was played, where its outcome is known by them: actions were offered by features, or a part of
    /// one was played.
    pub fn played(&self) -> Option<Cow<'_, [f64]>> {
        let scale = self.published.decision.scale;
        let by_features = self.published.offered || scale != 1.0;
        let x = self.features.as_deref().filter(|_| by_features)?;
        Some(match scale {
            1.0 => x.into(),
            scale => x.iter().map(|x| scale * x).collect(),
        })
    }
}

impl<T> Session<T> {
    /// A session of an agent that has made no decisions.
    pub fn new(agent: Box<dyn Agent>, id: u64) -> Self {
        Self::resume(agent, Numbers::new(id, 0))
    }

    /// A session that goes on, from numbers that were saved with the agent.
    pub fn resume(agent: Box<dyn Agent>, numbers: Numbers) -> Self {
        Self {
            agent,
            numbers,
            watched: 0,
            recent: None,
        }
    }

    /// Identity and numbers, to be saved with the agent.
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Goes on under another identity, as a copy whose siblings number their decisions alike. It takes the outcomes of
    /// decisions so far.
    pub fn split(&mut self, id: u64) {
        self.numbers.split(id);
    }

    /// Starts anew with another agent. Numbers go on, so that no decision is taken for one of an earlier life; outcomes of
    /// earlier decisions teach.
    pub fn restart(&mut self, agent: Box<dyn Agent>) {
        self.agent = agent;
        self.recent = None;
        self.numbers.restart();
    }

    /// Publishes a policy for a round, whose outcomes may come in any order.
    pub fn decide(&mut self, round: &Round, beside: T) -> Result<Arc<Published<T>>, Error> {
        self.decide_for(round, Returns::AnyOrder, |_, _| beside)
    }

    /// Publishes a policy for a round; `beside` makes what is kept beside it.
    pub fn decide_for(
        &mut self,
        round: &Round,
        returns: Returns,
        beside: impl FnOnce(&dyn Agent, &Decision) -> T,
    ) -> Result<Arc<Published<T>>, Error> {
        self.give_up_dropped()?;
        let decision = self.agent.decide(round)?.clone();
        let beside = beside(&*self.agent, &decision);
        Ok(Arc::new(Published {
            decision,
            session: self.numbers.id,
            time: round.time,
            safe: self.agent.view().safe,
            offered: matches!(round.choice, Choice::Offered(_)),
            returns,
            beside,
            is_copied: AtomicBool::new(false),
        }))
    }

    /// Numbers a decision and announces it to the agent.
    pub fn draw(
        &mut self,
        published: &Arc<Published<T>>,
        action: usize,
        features: Option<Box<[f64]>>,
        context: Option<Arc<[f64]>>,
    ) -> Result<Draw<T>, Error> {
        let number = self.numbers.next();
        (self.agent).apply(&Event::Drawn(&published.pending(number, action)))?;
        match &mut self.recent {
            Some(recent) if Arc::ptr_eq(&recent.published, published) => {
                recent.actions.push(action)
            }
            _ if published.returns == Returns::AnyOrder => {
                self.recent = Some(Recent {
                    first: number,
                    actions: smallvec![action],
                    published: Arc::clone(published),
                });
            }
            _ => {}
        }
        Ok(Draw {
            number,
            action,
            features,
            context,
            published: Arc::clone(published),
        })
    }

    /// Gives up the draws since the last call if nobody holds them any more.
    #[inline]
    fn give_up_dropped(&mut self) -> Result<(), Error> {
        let Some(recent) = self.recent.take() else {
            return Ok(());
        };
        let published = &recent.published;
        let is_held = Arc::strong_count(published) > 1;
        if is_held || published.is_copied.load(Ordering::Relaxed) {
            return Ok(());
        }
        for (number, &action) in (recent.first..).zip(&recent.actions) {
            (self.agent).apply(&Event::Lost(&published.pending(number, action)))?;
        }
        Ok(())
    }

    /// Gives up a draw that will have no outcome: it was not carried out, or its time to live is over.
    pub fn cancel(&mut self, draw: &Draw<T>) -> Result<(), Error> {
        self.give_up_dropped()?;
        self.numbers.check(&[draw])?;
        if draw.number > self.numbers.restarted_after {
            let pending = draw.published.pending(draw.number, draw.action);
            (self.agent).apply(&Event::Lost(&pending))?;
        }
        self.numbers.note_outcome(draw.number);
        Ok(())
    }

    /// Takes outcomes by their actions, which are those of the last decision or of a log: all, or none if one is refused.
    pub fn observe_by_arm<'a>(
        &mut self,
        outcomes: impl Iterator<Item = Outcome<'a>> + Clone,
    ) -> Result<(), Error> {
        self.give_up_dropped()?;
        observe_all(&mut *self.agent, outcomes)
    }

    /// Saves the agent, to be restored with the [`Numbers`].
    pub fn save(&mut self) -> Result<String, Error> {
        self.give_up_dropped()?;
        self.agent.save()
    }

    /// Takes the outcomes of draws: all, or none if one is refused. `costs` has those of each in turn.
    pub fn observe(
        &mut self,
        draws: &[&Draw<T>],
        rewards: &[f64],
        costs: &[f64],
    ) -> Result<(), Error> {
        self.give_up_dropped()?;
        self.numbers.check(draws)?;
        let played: SmallVec<[_; 1]> = draws.iter().map(|draw| draw.played()).collect();
        let origin = self.origin(draws);
        let m = costs.len() / draws.len().max(1);
        let outcomes = draws.iter().enumerate().map(|(i, &draw)| {
            let (published, origin) = (&*draw.published, origin(draw));
            let claims = published.decision.claims(draw.action);
            Outcome {
                action: draw.action,
                choice: match (&draw.context, &played[i]) {
                    (Some(context), _) => Choice::Context(context),
                    (None, Some(x)) => Choice::Offered(x),
                    (None, None) => Choice::Arms,
                },
                segment: published.segment(),
                reward: rewards[i],
                costs: &costs[i * m..(i + 1) * m],
                origin,
                time: published.time,
                claims: claims.filter(|_| origin != Origin::Logged),
            }
        });
        observe_all(&mut *self.agent, outcomes)?;
        for draw in draws {
            self.watched = self.watched.max(draw.number);
            self.numbers.note_outcome(draw.number);
        }
        Ok(())
    }

    /// Origin of each of some outcomes. In segments those of a batch in order ([`Returns::InOrder`]) count if they come so,
    /// with none omitted: what segments share is watched in that order.
    fn origin(&self, draws: &[&Draw<T>]) -> impl Fn(&Draw<T>) -> Origin + Clone + use<T> {
        let starts = draws.first().is_some_and(|one| {
            one.number == self.watched + 1
                || (one.published.returns == Returns::InOrder(one.number)
                    && one.number > self.watched)
        });
        let follow = |pair: &[&Draw<T>]| {
            let [one, next] = pair else { return false };
            next.number == one.number + 1 && next.published.returns == one.published.returns
        };
        let is_in_order = starts && draws.windows(2).all(follow);
        let restarted_after = self.numbers.restarted_after;
        move |draw| match (draw.published.returns, draw.published.segment()) {
            _ if draw.number <= restarted_after => Origin::Logged,
            (Returns::AnyOrder, _) => Origin::Announced(draw.number),
            (_, Some(_)) if !is_in_order => Origin::Logged,
            _ => Origin::InOrder(draw.number),
        }
    }
}
