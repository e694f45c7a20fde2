//! Dot plots: every agent named once per row of panels, all panels on one axis, whatever the numbers are.

use banister_report::{Dot, DotPanel, DotPlot, png, svg};
use banister_sim::banister::guarantee::Guarantee;
use proptest::prelude::*;

use crate::common;

fn dot(label: &str, group: usize, share: f64, value: f64) -> Dot {
    Dot {
        label: label.into(),
        group,
        value,
        interval: Some((value - 0.2 * value.abs(), value + 0.2 * value.abs())),
        share,
        share_interval: Some((0.7 * share, 1.3 * share)),
    }
}

fn plot(panels: Vec<Vec<Dot>>) -> DotPlot {
    let panel = |(i, dots)| DotPanel {
        title: format!("instance {i}"),
        dots,
    };
    DotPlot {
        title: "Who pays".into(),
        subtitle: "Means over runs.".into(),
        groups: ["every round", "per action", "budget", "unsafe"]
            .map(String::from)
            .to_vec(),
        value_label: "mean regret".into(),
        share_label: "violated".into(),
        panels: panels.into_iter().enumerate().map(panel).collect(),
    }
}

/// Twenty-four agents: some never violate, some always, some between, regrets of either sign.
fn crowd() -> Vec<Dot> {
    (0..24)
        .map(|i| {
            let name = format!("agent_with_name_{i}");
            match i % 3 {
                0 => dot(&name, 0, 0.0, 100.0 + f64::from(i)),
                1 => dot(&name, 3, 0.99, -5000.0 + 10.0 * f64::from(i)),
                _ => dot(&name, 2, 10_f64.powi(-i / 4), 40.0 * f64::from(12 - i)),
            }
        })
        .collect()
}

/// Text, left edge and baseline of each element of a class.
fn texts(drawing: &str, class: &str) -> Vec<(String, f64, f64)> {
    let document = roxmltree::Document::parse(drawing).expect("well-formed XML");
    let wanted = document
        .descendants()
        .filter(|node| node.attribute("class") == Some(class));
    let number = |node: roxmltree::Node<'_, '_>, name: &str| -> f64 {
        let value = node.attribute(name).and_then(|v| v.parse().ok());
        value.expect("a place")
    };
    wanted
        .map(|node| {
            let text = node.text().expect("a name").to_owned();
            (text, number(node, "x"), number(node, "y"))
        })
        .collect()
}

#[test]
fn a_row_of_panels_names_only_the_agents_that_play_in_it() {
    // Eleven panels are several rows; only the last has the second agent.
    let mut panels = vec![vec![dot("opb", 0, 0.0, 5.0)]; 10];
    panels.push(vec![dot("opb", 0, 0.0, 5.0), dot("ucb1", 3, 0.5, -7.0)]);
    let drawing = svg::render(&plot(panels));
    let names: Vec<String> = texts(&drawing, "label").into_iter().map(|t| t.0).collect();
    assert!(names.iter().filter(|name| *name == "opb").count() > 1);
    assert_eq!(names.iter().filter(|name| *name == "ucb1").count(), 1);
    assert_eq!(drawing.matches(">unsafe</text>").count(), 1);
}

/// Place and fill of the marker of the dot with this tooltip, and the number of its corners.
fn marker(drawing: &str, tip: &str) -> (f64, String, usize) {
    let document = roxmltree::Document::parse(drawing).expect("well-formed XML");
    let group = document.descendants().find(|node| {
        let title = node.children().find(|child| child.has_tag_name("title"));
        node.attribute("class") == Some("point")
            && title.is_some_and(|t| t.text().is_some_and(|t| t.starts_with(tip)))
    });
    let marker = group.expect("a group").children().find_map(|child| {
        let fill = child.attribute("fill")?.to_owned();
        if let Some(x) = child.attribute("cx") {
            return Some((x.parse().ok()?, fill, 0));
        }
        let points: Vec<f64> = child
            .attribute("points")?
            .split([',', ' '])
            .step_by(2)
            .filter_map(|x| x.parse().ok())
            .collect();
        let ends = points
            .iter()
            .fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
        Some((0.5 * (ends.0 + ends.1), fill, points.len()))
    });
    marker.expect("a marker")
}

fn size(drawing: &str) -> (f64, f64) {
    let document = roxmltree::Document::parse(drawing).expect("well-formed XML");
    let number = |name: &str| -> f64 {
        let value = document.root_element().attribute(name);
        value.and_then(|v| v.parse().ok()).expect("a size")
    };
    (number("width"), number("height"))
}

#[test]
fn every_agent_is_named_once_per_row_of_panels_and_the_page_is_wide_enough() {
    for (panels, rows) in [(1, 1), (3, 1), (5, 1), (7, 2), (10, 2)] {
        let drawing = svg::render(&plot(vec![crowd(); panels]));
        let labels = texts(&drawing, "label");
        assert_eq!(labels.len(), rows * 24, "{panels} panels");
        let (width, height) = size(&drawing);
        assert!(width <= 1200.0, "{width}");
        assert!(labels.iter().all(|label| label.2 < height));
        let points = drawing.matches(r#"class="point""#).count();
        assert_eq!(points, panels * 24);
    }
}

#[test]
fn groups_follow_each_other_with_the_least_regret_first() {
    let dots = vec![
        dot("bold", 3, 1.0, -50.0),
        dot("slow", 0, 0.0, 900.0),
        dot("fast", 0, 0.0, 20.0),
        dot("unknown", 0, 0.0, f64::NAN),
        dot("frugal", 2, 0.1, 400.0),
    ];
    let drawing = svg::render(&plot(vec![dots]));
    let names: Vec<String> = texts(&drawing, "label").into_iter().map(|l| l.0).collect();
    assert_eq!(names, ["fast", "slow", "unknown", "frugal", "bold"]);
    let place = |text: &str| drawing.find(text).expect("a heading");
    assert!(place(">every round<") < place(">fast<") && place(">slow<") < place(">budget<"));
    assert!(!drawing.contains(">per action<"), "nobody is in it");
}

#[test]
fn panels_share_their_axis_and_shares_are_written_out() {
    let first = vec![dot("a", 0, 0.0, 10.0), dot("b", 3, 0.5, -2000.0)];
    let second = vec![dot("a", 0, 1e-5, 30_000.0), dot("b", 3, 0.9996, 10.0)];
    let drawing = svg::render(&plot(vec![first, second]));
    let x = |tip: &str| marker(&drawing, tip).0;
    let step = x("b (unsafe); instance 1") - x("a (every round); instance 0");
    assert!(step > 100.0, "equal regrets stand at equal places");
    assert!(x("b (unsafe); instance 0") < x("a (every round); instance 0"));
    assert!(x("b (unsafe); instance 1") < x("a (every round); instance 1"));
    for text in [">none<", ">50%<", ">0.001%<", ">&gt;99%<"] {
        assert_eq!(drawing.matches(text).count(), 1, "{text}");
    }
}

#[test]
fn groups_differ_by_colour_and_by_shape() {
    let dots = (0..4).map(|g| dot(&format!("agent {g}"), g, 0.1, 10.0 * g as f64));
    let drawing = svg::render(&plot(vec![dots.collect()]));
    let looks = (0..4).map(|g| marker(&drawing, &format!("agent {g}")));
    let mut fills: Vec<String> = looks.map(|look| look.1).collect();
    fills.sort_unstable();
    fills.dedup();
    assert_eq!(fills.len(), 4);
    let corners: Vec<usize> = (0..4)
        .map(|g| marker(&drawing, &format!("agent {g}")).2)
        .collect();
    assert_eq!(corners, [0, 4, 4, 3]);
}

#[test]
fn unknown_numbers_are_said_and_nothing_breaks() {
    let unknown = vec![
        dot("no share", 0, f64::NAN, 1.0),
        dot("no regret", 0, 0.0, f64::NAN),
        dot("boundless", 1, 0.5, f64::INFINITY),
        dot("huge", 1, 0.5, f64::MAX),
        Dot {
            interval: Some((f64::NEG_INFINITY, 1e3)),
            ..dot("many groups", 17, 0.25, 10.0)
        },
    ];
    let drawing = svg::render(&plot(vec![unknown, vec![]]));
    assert!(!drawing.contains("NaN") && !drawing.contains("inf\""));
    assert_eq!(drawing.matches(">unknown<").count(), 3);
    assert_eq!(drawing.matches(">–<").count(), 1);
    png::render(&drawing).expect("a PNG");
    for empty in [DotPlot::default(), plot(vec![])] {
        png::render(&svg::render(&empty)).expect("a PNG");
    }
}

#[test]
fn results_become_a_panel_per_judged_instance() {
    let mut results = common::results();
    results.instances[0].agents[1].guarantee = Guarantee::Unsafe;
    results.instances[1].guardrails.clear();
    let plot = DotPlot::of_results(&results);
    assert_eq!(plot.panels.len(), 1);
    assert_eq!(plot.panels[0].title, common::AWKWARD_INSTANCE);
    let dots = &plot.panels[0].dots;
    assert_eq!((dots[0].group, dots[1].group), (0, 3));
    assert_eq!(dots[1].label, "uniform");
    assert!(dots[1].interval.is_some());
}

#[test]
fn equal_plots_give_equal_bytes() {
    let one = plot(vec![crowd(), crowd()]);
    assert_eq!(svg::render(&one), svg::render(&one.clone()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn names_never_overlap(
        raw in prop::collection::vec((0..4_usize, prop::bool::ANY, -6.0..0.0_f64, -5.0..5.0_f64, 1..40_usize), 1..24)
    ) {
        let dots = raw.iter().enumerate().map(|(i, (group, none, share, value, length))| {
            let share = if *none { 0.0 } else { 10_f64.powf(*share) };
            let name = format!("{i}{}", "m_".repeat(*length / 2));
            dot(&name, *group, share, 1000.0 * value.powi(3))
        });
        let drawing = svg::render(&plot(vec![dots.collect()]));
        let labels = texts(&drawing, "label");
        prop_assert_eq!(labels.len(), raw.len());
        for pair in labels.windows(2) {
            prop_assert!(pair[1].2 - pair[0].2 > 12.0);
        }
        let axis = drawing.lines().filter(|line| line.contains(r#"class="point""#)).count();
        prop_assert_eq!(axis, raw.len());
    }
}
