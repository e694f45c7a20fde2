//! Sessions: what an agent is told of its decisions, and which outcomes are taken.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use banister::session::{Draw, Numbers, Published, Returns};
use banister::{
    Agent, Choice, Decision, Error, Event, Opb, OpbConfig, Origin, Problem, Round, Session,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// An agent that writes down what happens.
#[derive(Default)]
struct Recorder {
    decision: Decision,
    said: Arc<Mutex<Vec<String>>>,
}

impl Agent for Recorder {
    fn decide(&mut self, _: &Round) -> Result<&Decision, Error> {
        self.decision.policy = vec![(0, 0.5), (1, 0.5)];
        Ok(&self.decision)
    }

    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        let said = match event {
            Event::Drawn(own) => format!("drawn {} {}", own.decision, own.action),
            Event::Lost(own) => format!("lost {} {}", own.decision, own.action),
            Event::Outcome(own) => match (own.origin, own.choice) {
                (Origin::Announced(n), Choice::Offered(x)) => format!("outcome {n} {x:?}"),
                (Origin::Announced(n), _) => format!("outcome {n}"),
                (origin, _) => format!("{origin:?} {}", own.action),
            },
            _ => return Err(event.refusal()),
        };
        self.said.lock().unwrap().push(said);
        Ok(())
    }
}

type Said = Arc<Mutex<Vec<String>>>;

fn recorded() -> (Session, Said) {
    let recorder = Recorder::default();
    let said = Arc::clone(&recorder.said);
    (Session::new(Box::new(recorder), 7), said)
}

fn decide(session: &mut Session) -> Arc<Published> {
    session.decide(&Round::default(), ()).unwrap()
}

fn draw(session: &mut Session, action: usize) -> Draw {
    let published = decide(session);
    session.draw(&published, action, None, None).unwrap()
}

fn all(said: &Said) -> Vec<String> {
    std::mem::take(&mut said.lock().unwrap())
}

#[test]
fn an_agent_is_told_of_draws_at_once_and_of_dropped_ones_at_the_next_call() {
    let (mut session, said) = recorded();
    let held = draw(&mut session, 1);
    assert_eq!(all(&said), ["drawn 1 1"]);
    drop(draw(&mut session, 0));
    assert_eq!(all(&said), ["drawn 2 0"]);
    let copied = draw(&mut session, 0);
    assert_eq!(all(&said), ["lost 2 0", "drawn 3 0"]);
    // Its copy elsewhere may bring an outcome.
    copied.published.note_copy();
    drop(copied);
    session.observe(&[&held], &[1.0], &[]).unwrap();
    assert_eq!(all(&said), ["outcome 1"]);
    // Draws of one policy are dropped together.
    let published = decide(&mut session);
    let kept = session.draw(&published, 1, None, None).unwrap();
    drop(session.draw(&published, 0, None, None).unwrap());
    drop(published);
    drop(kept);
    decide(&mut session);
    assert_eq!(
        all(&said),
        ["drawn 4 1", "drawn 5 0", "lost 4 1", "lost 5 0"]
    );
}

#[test]
fn a_draw_that_is_cancelled_has_no_outcome() {
    let (mut session, said) = recorded();
    let (one, two) = (draw(&mut session, 1), draw(&mut session, 0));
    session.cancel(&one).unwrap();
    assert_eq!(all(&said), ["drawn 1 1", "drawn 2 0", "lost 1 1"]);
    let late = session.observe(&[&one], &[1.0], &[]).unwrap_err();
    assert!(
        matches!(late, Error::SecondOutcome { number: 1, .. }),
        "{late}"
    );
    session.observe(&[&two], &[1.0], &[]).unwrap();
    assert!(session.cancel(&two).is_err());
    assert_eq!(all(&said), ["outcome 2"]);
}

#[test]
fn draws_that_come_back_by_their_arm_are_not_waited_for() {
    let (mut session, said) = recorded();
    let round = Round::default();
    let published = session
        .decide_for(&round, Returns::ByArm, |_, _| ())
        .unwrap();
    drop(session.draw(&published, 1, None, None).unwrap());
    drop(published);
    decide(&mut session);
    assert_eq!(all(&said), ["drawn 1 1"]);
}

#[test]
fn an_outcome_is_known_by_features_where_actions_were_offered_by_them() {
    let (mut session, said) = recorded();
    let offered = Round::offering(&[1.0, 2.0, 3.0, 4.0]);
    let published = session.decide(&offered, ()).unwrap();
    let features = Some([3.0, 4.0].into());
    let draw = session.draw(&published, 1, features, None).unwrap();
    session.observe(&[&draw], &[1.0], &[]).unwrap();
    assert_eq!(all(&said), ["drawn 1 1", "outcome 1 [3.0, 4.0]"]);
}

#[test]
fn an_outcome_counts_once_and_for_its_own_session() {
    let (mut session, said) = recorded();
    let draws: Vec<Draw> = (0..4).map(|_| draw(&mut session, 0)).collect();
    let (one, two) = (&draws[0], &draws[1]);
    session.observe(&[one], &[1.0], &[]).unwrap();
    all(&said);
    // One that is refused leaves all of them untaken.
    for refused in [vec![two, one], vec![two, two]] {
        let error = session.observe(&refused, &[1.0, 1.0], &[]).unwrap_err();
        assert!(matches!(error, Error::SecondOutcome { .. }), "{error}");
    }
    let (mut other, _) = recorded();
    other.split(8);
    let foreign = draw(&mut other, 0);
    let error = session.observe(&[two, &foreign], &[1.0, 1.0], &[]);
    assert_eq!(error, Err(Error::ForeignDecision { number: 1 }));
    assert!(all(&said).is_empty());
    // A copy takes what was decided before it was split, and none of its sibling's decisions since.
    let mut copy = Session::resume(Box::new(Recorder::default()), session.numbers().clone());
    copy.split(9);
    copy.observe(&[two], &[1.0], &[]).unwrap();
    let since = draw(&mut session, 0);
    let error = copy.observe(&[&since], &[1.0], &[]);
    assert_eq!(error, Err(Error::ForeignDecision { number: 5 }));
    // One that was restored from an earlier snapshot takes what its original decided since.
    let mut restored = Session::resume(Box::new(Recorder::default()), Numbers::new(7, 0));
    restored.observe(&[&since], &[1.0], &[]).unwrap();
    assert_eq!(draw(&mut restored, 0).number, 6);
}

#[test]
fn outcomes_of_an_earlier_life_teach_and_are_not_waited_for() {
    let (mut session, _) = recorded();
    let before = draw(&mut session, 1);
    let (fresh, said) = (Recorder::default(), Said::default());
    session.restart(Box::new(Recorder {
        said: Arc::clone(&said),
        ..fresh
    }));
    let since = draw(&mut session, 0);
    session
        .observe(&[&before, &since], &[1.0, 1.0], &[])
        .unwrap();
    assert_eq!(all(&said), ["drawn 2 0", "Logged 1", "outcome 2"]);
}

/// Whatever the order, exactly the first outcome of each decision is taken: against a set of numbers, through saving and
/// restoring.
#[test]
fn numbers_are_a_set() {
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut session, _) = recorded();
        let draws: Vec<Draw> = (0..60).map(|_| draw(&mut session, 0)).collect();
        let mut taken = BTreeSet::new();
        for _ in 0..200 {
            let one = &draws[rng.next_u64() as usize % draws.len()];
            let is_new = taken.insert(one.number);
            let observed = session.observe(&[one], &[0.0], &[]);
            assert_eq!(
                observed.is_ok(),
                is_new,
                "seed {seed}, decision {}",
                one.number
            );
            if rng.next_u64().is_multiple_of(10) {
                let saved = serde_json::to_string(session.numbers()).unwrap();
                let numbers: Numbers = serde_json::from_str(&saved).unwrap();
                let agent = Box::new(Recorder::default());
                session = Session::resume(agent, numbers.check_saved().unwrap());
            }
        }
    }
}

#[test]
fn damaged_numbers_are_refused() {
    let (mut session, _) = recorded();
    let one = draw(&mut session, 0);
    session.observe(&[&one], &[0.0], &[]).unwrap();
    let saved = serde_json::to_value(session.numbers()).unwrap();
    for observed in [r#"{"2":1}"#, r#"{"1":5}"#, r#"{"0":1,"1":1}"#] {
        let mut damaged = saved.clone();
        damaged["observed"] = serde_json::from_str(observed).unwrap();
        let numbers: Numbers = serde_json::from_value(damaged).unwrap();
        let error = numbers.check_saved().unwrap_err().to_string();
        assert!(error.contains("`numbers`"), "{error}");
    }
}

/// A session teaches its agent what an agent learns that is told everything by hand.
#[test]
fn a_session_learns_as_an_agent_that_is_told_by_hand() {
    let arms = ["control", "bold"].map(String::from).to_vec();
    let problem = Problem {
        arms,
        ..Problem::default()
    };
    let agent = || Opb::new(&problem, &OpbConfig::default()).unwrap();
    let mut session: Session = Session::new(Box::new(agent()), 1);
    let mut by_hand = agent();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for t in 1..500 {
        let published = decide(&mut session);
        let decision = Agent::decide(&mut by_hand, &Round::default())
            .unwrap()
            .clone();
        assert_eq!(published.decision, decision, "round {t}");
        let action = decision.draw(rng.next_u64() as f64 / (u64::MAX as f64 + 1.0));
        let reward = f64::from(u8::from(rng.next_u64().is_multiple_of(2)));
        let draw = session.draw(&published, action, None, None).unwrap();
        session.observe(&[&draw], &[reward], &[]).unwrap();
        let outcome = banister::Outcome::of_arm(action, reward, &[]);
        by_hand.apply(&Event::Outcome(&outcome)).unwrap();
    }
}
