//! Grids of constants: declared values only, every point an agent that can be built, ours without any.

use banister::{Guardrail, Problem, Registry as _};
use banister_rivals::AgentConfig;

#[test]
fn grids_change_the_declared_constants_and_nothing_else() {
    let mut with_grid = Vec::new();
    for kind in AgentConfig::kinds() {
        let default = AgentConfig::of_kind(&kind).expect("a kind");
        let grid = default.grid();
        if grid.is_empty() {
            continue;
        }
        let declared = |agent: &AgentConfig| serde_json::to_value(agent).expect("JSON");
        let before = declared(&default);
        let mut labels: Vec<String> = grid.iter().map(AgentConfig::label).collect();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), grid.len(), "{kind}: labels differ");
        for point in &grid {
            assert_eq!(point.kind(), kind);
            assert_eq!(point.guarantee(), default.guarantee());
            assert_eq!(point.delta(), default.delta(), "δ is a promise");
            let after = declared(point);
            for (key, value) in after.as_object().expect("keys") {
                // Written in the label if it is another one.
                let is_named = point.label().contains(&format!(", {key} = "));
                assert!(
                    key == "label" || before.get(key) == Some(value) || is_named,
                    "{kind}: {key}"
                );
            }
        }
        with_grid.push((kind, grid.len()));
    }
    let points = |kind: &str| {
        with_grid
            .iter()
            .find(|(own, _)| own == kind)
            .map(|(_, n)| *n)
    };
    assert_eq!(points("s_colts"), Some(3));
    assert_eq!(points("pessimistic_optimistic"), Some(9));
    assert_eq!(points("ucb1"), Some(3));
    for ours in ["opb", "oplb", "segmented"] {
        assert_eq!(points(ours), None, "{ours} is never tuned");
    }
}

#[test]
fn every_point_on_arms_can_be_built() {
    let problem = Problem {
        arms: vec!["safe".into(), "bold".into()],
        guardrails: vec![Guardrail {
            name: "cost".into(),
            at_most: Some(0.3),
            safe_cost: Some(0.1),
            ..Guardrail::default()
        }],
        ..Problem::default()
    };
    for kind in AgentConfig::kinds() {
        let default = AgentConfig::of_kind(&kind).expect("a kind");
        // One that refuses this problem refuses it with every constant.
        let build = |agent: AgentConfig| agent.with_horizon(1000, false).build(&problem).is_ok();
        let fits = build(default.clone());
        for point in default.grid() {
            assert_eq!(build(point.clone()), fits, "{}", point.label());
        }
    }
}
