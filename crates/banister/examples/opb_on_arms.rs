//! OPB on three variants of a page: the most clicks, with complaints at most 10% of the visits.
//!
//! `cargo run -p banister --example opb_on_arms`

use banister::{Guardrail, Opb, OpbConfig, Problem};

/// A small generator of uniform numbers, so that the example needs no other crate.
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

fn main() -> Result<(), banister::Error> {
    // What is declared: the arms, the safe one, and the guardrail with the safe arm's known rate.
    let problem = Problem {
        arms: vec!["control".into(), "bold".into(), "reckless".into()],
        safe: 0,
        guardrails: vec![Guardrail {
            name: "complaints".into(),
            at_most: Some(0.10),
            safe_cost: Some(0.02),
            ..Guardrail::default()
        }],
        ..Problem::default()
    };
    // What is true, and the agent must find out.
    let (clicks, complaints) = ([0.10, 0.20, 0.60], [0.02, 0.05, 0.40]);

    let mut agent = Opb::new(&problem, &OpbConfig::default())?;
    let mut uniform = Uniform(7);
    println!("  visits   control      bold  reckless   pessimistic complaints   true");
    for visit in 0..=100_000u32 {
        let decision = agent.decide();
        if [0, 100, 1_000, 10_000, 100_000].contains(&visit) {
            let p: Vec<f64> = (0..3).map(|arm| decision.probability(arm)).collect();
            let truth: f64 = std::iter::zip(&p, complaints).map(|(p, c)| p * c).sum();
            println!(
                "{visit:8}  {:8.3}  {:8.3}  {:8.3}   {:22.3}   {truth:.3}",
                p[0], p[1], p[2], decision.guardrails[0].pessimistic_cost
            );
            // The certificate: whatever the intervals allow, the policy keeps the guardrail.
            assert!(decision.guardrails[0].slack >= 0.0);
        }
        let arm = decision.draw(uniform.next());
        let reward = f64::from(uniform.next() < clicks[arm]);
        let cost = f64::from(uniform.next() < complaints[arm]);
        agent.observe(arm, reward, &[cost])?;
    }
    println!("\nThe best safe policy mixes: no single arm that keeps the guardrail earns as much.");
    Ok(())
}
