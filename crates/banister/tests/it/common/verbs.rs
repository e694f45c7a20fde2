//! Short names for events and questions, which tests have many of.

use std::ops::Range;

use banister::lift::{ArmLift, WorthLeft};
use banister::monitor::Assumption;
use banister::toolkit::SegmentView;
use banister::{
    Agent, AlarmAnswer, ArmEstimate, ArmOffer, ArmRanges, ArmWeights, Ask, Error, Event, Floors,
    Outcome, Pending, Round,
};

pub trait Verbs: Agent {
    fn observe(&mut self, outcome: &Outcome) -> Result<(), Error> {
        self.apply(&Event::Outcome(outcome))
    }

    fn check_outcome(&self, outcome: &Outcome) -> Result<(), Error> {
        self.check(&Event::Outcome(outcome), 0)
    }

    fn announce(&mut self, pending: &Pending) -> Result<(), Error> {
        self.apply(&Event::Drawn(pending))
    }

    fn give_up(&mut self, pending: &Pending) -> Result<(), Error> {
        self.apply(&Event::Lost(pending))
    }

    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
        weights: &ArmWeights,
    ) -> Result<usize, Error> {
        let offer = ArmOffer {
            name,
            features,
            ranges,
            weights,
        };
        // What is checked is taken.
        let checked = self.check(&Event::ArmOffered(offer), 0);
        assert_eq!(self.apply(&Event::ArmOffered(offer)), checked);
        checked.and_then(|()| self.view().arm_named(name))
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.apply(&Event::ArmRetired(arm))
    }

    fn forget_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.apply(&Event::ArmChanged(arm))
    }

    fn set_weights(&mut self, arm: usize, weights: &ArmWeights) -> Result<(), Error> {
        let checked = self.check(&Event::Weights(arm, weights), 0);
        assert_eq!(self.apply(&Event::Weights(arm, weights)), checked);
        checked
    }

    fn set_floors(&mut self, floors: &Floors) -> Result<(), Error> {
        self.apply(&Event::Floors(floors))
    }

    fn settle(&mut self, settled: bool) -> Result<(), Error> {
        self.apply(&Event::Settled(settled))
    }

    fn answer_alarms(&mut self, answer: AlarmAnswer) -> Result<(), Error> {
        self.apply(&Event::Answered(answer))
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.apply(&Event::Reseeded { seed, stream }).unwrap();
    }

    fn estimate(&mut self, round: &Round, action: usize) -> Option<ArmEstimate> {
        let found = self.ask(Ask::Estimates(round, Some(&[action])));
        found.estimates().and_then(|mut own| own.pop())
    }

    fn segments(&mut self, places: Range<usize>) -> Vec<SegmentView> {
        let found = self.ask(Ask::Segments(places)).segments();
        found.unwrap_or_default()
    }

    fn lifts(&mut self, signal: Option<usize>) -> Vec<ArmLift> {
        self.ask(Ask::Lifts(signal)).lifts().unwrap_or_default()
    }

    fn worth_left(&mut self) -> Option<WorthLeft> {
        self.ask(Ask::WorthLeft).worth_left()
    }

    fn assumptions(&mut self) -> Vec<Assumption> {
        self.ask(Ask::Assumptions).assumptions().unwrap_or_default()
    }
}

impl<A: Agent + ?Sized> Verbs for A {}
