use banister_sim::*;
fn main() {
    let t: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let agents = std::env::args().nth(2).unwrap();
    for tau in [1.0, 0.5, 0.2] {
        for (kind, extra) in [("clipped_gaussian", ", nominal = true"), ("bernoulli", "")] {
            if (kind == "clipped_gaussian") != agents.contains("published") { continue; }
            let text = format!(r#"
run = {{ horizon = {t}, runs = 10, seed = 7 }}
environment = {{ kind = "{kind}", rewards = [0.1, 0.2, 0.4, 0.7], costs = [[0.0, 0.4, 0.5, 0.2]]{extra} }}
guardrail = [{{ name = "cost", at_most = {tau}, safe_cost = 0.0 }}]
agent = [{agents}]
"#);
            let config: ExperimentConfig = toml::from_str(&text).unwrap();
            let e = config.check("x").unwrap();
            let r = run(&[e], Options::default(), &Monitor::default()).unwrap().unwrap();
            for a in &r.instances[0].agents {
                let c = &a.curve;
                println!("tau {tau} {kind} {:25} regret {:9.1} ± {:7.1} viol {} end {:.4} ns {:.1}", a.name, c.regret_mean.last().unwrap(), c.regret_std.last().unwrap(),
                    a.runs.iter().map(|r| r.violations).sum::<u64>(), c.reward_mean.last().unwrap(), a.runs.iter().map(|r| r.nanoseconds_per_round.unwrap()).sum::<f64>()/10.0);
            }
        }
    }
}
