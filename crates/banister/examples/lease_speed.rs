//! Local decisions a second under a lease: `cargo run --release -p banister --features lease --example lease_speed`.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use banister::lease::{Lease, LeaseClient, LeaseSigner};

fn main() -> Result<(), banister::Error> {
    let arms = 10;
    let lease = Lease {
        experiment: "checkout".into(),
        lease: 17,
        issued: 0,
        expires: 60_000,
        most: u64::MAX,
        arms: (0..arms).map(|i| format!("arm-{i}")).collect(),
        safe: 0,
        key: 6_543_210_987_654_321,
        prefix: "17/".into(),
        holdout: None,
        gate: None,
        policies: BTreeMap::from([(String::new(), (0..arms).map(|i| (i, 0.1)).collect())]),
        certificate: serde_json::Value::Null,
    };
    let batch: Vec<String> = (0..100_000).map(|i| format!("user-{i}")).collect();
    let mut client = LeaseClient::new("checkout", "arm-0", None, batch.len());
    let signed = LeaseSigner::new(&[7; 32]).sign(&lease, 0)?;
    client.accept(&signed, 0)?;
    let mut rates: Vec<f64> = (0..20)
        .map(|_| {
            let start = Instant::now();
            for unit in &batch {
                black_box(client.decide("", black_box(unit), 1));
            }
            let rate = batch.len() as f64 / start.elapsed().as_secs_f64();
            assert_eq!(client.waiting(), batch.len());
            client.take_exposures();
            rate
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!(
        "{:.1} million decisions a second, exposures kept, {arms} arms (median of 20; {:.1} to {:.1})",
        rates[10] / 1e6,
        rates[0] / 1e6,
        rates[19] / 1e6
    );
    Ok(())
}
