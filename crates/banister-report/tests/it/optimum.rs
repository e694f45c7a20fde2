//! Reference lines where every round has its own optimum.

use crate::common;

use banister_report::Figure;

#[test]
fn an_optimum_that_differs_from_round_to_round_is_a_mean_and_has_no_one_cost() {
    let mut results = common::results();
    let one = Figure::of_results(&results);
    for instance in &mut results.instances {
        instance.optimum.averaged = true;
        instance.optimum.policy.clear();
    }
    let averaged = Figure::of_results(&results);
    let labels = |figure: &Figure| -> Vec<String> {
        let lines = figure.rows[0].panels.iter().flat_map(|panel| &panel.lines);
        lines.map(|line| line.label.clone()).collect()
    };
    assert!(labels(&one).contains(&"optimum r* = 0.75".to_owned()));
    assert!(labels(&averaged).contains(&"mean optimum 0.75".to_owned()));
    assert!(
        !labels(&averaged)
            .iter()
            .any(|label| label.starts_with("optimum"))
    );
}
