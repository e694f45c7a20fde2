//! Cost of a decision with a unit beside a plain one: both in turns, in one run, in batches of a hundred as a busy
//! service has them. Prints times and their ratio.
//!
//! `cargo run --release -p banister-engine --example unit_cost`

use std::sync::mpsc;
use std::time::{Duration, Instant};

use banister_engine::{
    Command, CreateExperiment, Database, Decide, Monitor, Options, Refusal, Writer, WriterHandle,
};
use serde_json::{Value, json};

struct Quiet;

impl Monitor for Quiet {
    fn committed(&self, _: usize, _: f64) {}
    fn clock(&self, _: f64) {}
    fn follows(&self, _: u64, _: u64) {}
    fn outage(&self, _: Option<&str>) {}
}

fn execute<C: Command>(handle: &WriterHandle, commands: Vec<C>) {
    let (sender, receiver) = mpsc::channel();
    let sent = handle.execute(commands, move |answers: Vec<Result<C::Answer, Refusal>>| {
        let _ = sender.send(answers.into_iter().all(|answer| answer.is_ok()));
    });
    assert!(
        sent.is_ok() && receiver.recv().expect("an answer"),
        "a command was refused"
    );
}

fn decide(handle: &WriterHandle, name: &str, request: impl Fn(usize) -> Value) -> Duration {
    let commands = (0..100).map(|i| {
        let request = serde_json::from_value(request(i)).expect("a request");
        Decide::new(name.into(), request)
    });
    let commands: Vec<Decide> = commands.collect();
    let begun = Instant::now();
    execute(handle, commands);
    begun.elapsed()
}

fn main() {
    let folder = std::env::temp_dir().join(format!("banister-unit-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let database = Database::Sqlite(folder.join("log.db"));
    let writer = Writer::start(database, Options::default(), Box::new(Quiet)).expect("a writer");
    let handle = writer.handle();
    for (name, unit) in [
        ("plain", None),
        ("units", Some(json!({"name": "user", "period": "7d"}))),
    ] {
        let declaration = json!({
            "name": name, "arms": ["old", "new"], "safe": "old", "unit": unit,
            "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
        });
        let declaration = serde_json::from_value(declaration).expect("a declaration");
        execute(&handle, vec![CreateExperiment(declaration)]);
    }
    let mut times = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for round in 0..200 {
        let unit = |i: usize| json!({"unit": format!("u{round}-{i}")});
        let requests = [
            decide(&handle, "plain", |_| json!({})),
            decide(&handle, "plain", |i| json!({"id": format!("d{round}-{i}")})),
            decide(&handle, "units", unit),
            decide(&handle, "units", unit),
        ];
        for (times, time) in times.iter_mut().zip(requests) {
            times.push(time.as_secs_f64() * 1e4);
        }
    }
    let medians = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let [plain, id, first, again] = medians;
    println!("a decision in batches of 100, median of 200 batches, in microseconds");
    println!("plain                 {plain:6.1}");
    println!(
        "with an id            {id:6.1}  {:.2} times a plain one",
        id / plain
    );
    println!(
        "a unit's first        {first:6.1}  {:.2} times a plain one, {:.2} times one with an id",
        first / plain,
        first / id
    );
    println!(
        "a unit that returns   {again:6.1}  {:.2} times a plain one",
        again / plain
    );
    writer.stop().expect("a clean end");
    let _ = std::fs::remove_dir_all(folder);
}
