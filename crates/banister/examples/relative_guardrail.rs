//! A guardrail relative to the safe action, watched: conversion at least 90% of what the control converts.
//! Halfway the bold arm gets worse, which no certificate can foresee; the monitor raises an alarm.
//!
//! `cargo run -p banister --example relative_guardrail`

use banister::{Guardrail, Opb, OpbConfig, Problem};

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
    let problem = Problem {
        arms: vec!["control".into(), "bold".into()],
        safe: 0,
        // The control's own conversion is unknown: its interval is part of the bound.
        guardrails: vec![Guardrail {
            name: "conversion".into(),
            at_least: Some(0.9),
            relative: true,
            ..Guardrail::default()
        }],
        ..Problem::default()
    };
    let config = OpbConfig {
        // The control is what the guardrail compares with, so it must be played now and then.
        floor: 0.05,
        ..OpbConfig::default()
    };
    let mut agent = Opb::new(&problem, &config)?;
    let mut uniform = Uniform(3);
    for round in 0..200_000u32 {
        let conversion = if round < 100_000 {
            [0.50, 0.55]
        } else {
            [0.50, 0.20]
        };
        let decision = agent.decide();
        if let Some(alarm) = &decision.alarm {
            println!("{round:7}: alarm: {alarm:?}");
            println!("         policy since then: {:?}", decision.policy);
            return Ok(());
        }
        if round % 25_000 == 0 {
            let share = decision.probability(1);
            println!(
                "{round:7}: bold with probability {share:.3}, fallback {:?}",
                decision.fallback
            );
        }
        let arm = decision.draw(uniform.next());
        let revenue = if arm == 1 { 0.6 } else { 0.4 };
        let converted = f64::from(uniform.next() < conversion[arm]);
        agent.observe(arm, revenue, &[converted])?;
    }
    println!("no alarm");
    Ok(())
}
