//! OPLB on feature vectors that change each round: an offer's reward and cost are linear in its features.
//!
//! `cargo run -p banister --example oplb_on_features`

use banister::{Agent, Event, Guardrail, Oplb, OplbConfig, Outcome, Problem, Round};

struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn main() -> Result<(), banister::Error> {
    // Features are (1, discount, urgency); the safe offer has neither discount nor urgency.
    let safe = vec![1.0, 0.0, 0.0];
    let guardrail = Guardrail {
        name: "complaints".into(),
        at_most: Some(0.3),
        safe_cost: Some(0.1),
        ..Guardrail::default()
    };
    let problem = Problem::contextual(safe, vec![guardrail]);
    let config = OplbConfig {
        // S: no unknown parameter is longer. It scales the radii, so it must be declared.
        parameter_norm: Some(1.0),
        ..OplbConfig::default()
    };
    let mut agent = Oplb::new(&problem, &config)?;

    // What is true: discounts pay, urgency pays more and annoys.
    let (reward, cost) = ([0.2, 0.3, 0.4], [0.1, 0.0, 0.5]);
    let mut uniform = Uniform(11);
    let (mut earned, mut spent, mut rounds) = (0.0, 0.0, 0);
    println!(
        "  rounds   mean reward   mean true cost   (safe alone: 0.200, 0.100; threshold 0.300)"
    );
    for round in 1..=20_000u32 {
        // Four offers a round; the safe one is always there too, after the last.
        let offers: Vec<f64> = (0..4)
            .flat_map(|_| [1.0, uniform.next(), uniform.next()])
            .collect();
        let decision = agent.decide(&Round::offering(&offers))?;
        assert!(decision.guardrails[0].slack >= 0.0);
        let action = decision.draw(uniform.next());
        let own = offers.get(3 * action..3 * action + 3);
        let x = own.unwrap_or(&[1.0, 0.0, 0.0]);
        let noise = [0.2 * (uniform.next() - 0.5), 0.2 * (uniform.next() - 0.5)];
        let r = (dot(x, &reward) + noise[0]).clamp(0.0, 1.0);
        let c = (dot(x, &cost) + noise[1]).clamp(0.0, 1.0);
        agent.apply(&Event::Outcome(&Outcome::of_features(x, r, &[c])))?;
        earned += dot(x, &reward);
        spent += dot(x, &cost);
        rounds += 1;
        if [100, 1_000, 5_000, 20_000].contains(&round) {
            let n = f64::from(rounds);
            println!("{round:8}   {:11.3}   {:14.3}", earned / n, spent / n);
            (earned, spent, rounds) = (0.0, 0.0, 0);
        }
    }
    Ok(())
}
