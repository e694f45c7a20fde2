//! Scatters: every name once, none on top of another, whatever the numbers are.

use banister_report::{Scatter, ScatterPanel, ScatterPoint, png, svg};
use proptest::prelude::*;

const SIZE: f64 = 11.0;

fn point(label: &str, group: usize, x: f64, y: f64) -> ScatterPoint {
    ScatterPoint {
        label: label.into(),
        group,
        x,
        y,
        x_interval: Some((0.7 * x, 1.3 * x)),
        y_interval: Some((y - 0.2 * y.abs(), y + 0.2 * y.abs())),
    }
}

fn scatter(panels: Vec<Vec<ScatterPoint>>) -> Scatter {
    let panel = |points| ScatterPanel {
        title: "τ = 0.5".into(),
        x_label: "share of rounds that violated a guardrail".into(),
        y_label: "mean regret".into(),
        points,
    };
    Scatter {
        title: "Who pays".into(),
        subtitle: "Means over runs.".into(),
        groups: ["every round", "per action", "budget", "unsafe"]
            .map(String::from)
            .to_vec(),
        zero_label: "as good as the best safe policy".into(),
        panels: panels.into_iter().map(panel).collect(),
    }
}

/// Twenty-four agents: a crowd at none, a crowd at all, some between, regrets of either sign.
fn crowd() -> Vec<ScatterPoint> {
    (0..24)
        .map(|i| {
            let name = format!("agent_with_name_{i}");
            match i % 3 {
                0 => point(&name, 0, 0.0, 100.0 + f64::from(i)),
                1 => point(&name, 3, 0.99, -5000.0 + 10.0 * f64::from(i)),
                _ => point(&name, 2, 10_f64.powi(-i / 4), 40.0 * f64::from(12 - i)),
            }
        })
        .collect()
}

/// A name in the drawing: its text and left, top, right and bottom.
type Label = (String, [f64; 4]);

fn labels(drawing: &str) -> Vec<Label> {
    let document = roxmltree::Document::parse(drawing).expect("well-formed XML");
    let is_label = |node: &roxmltree::Node<'_, '_>| node.attribute("class") == Some("label");
    let label = |node: roxmltree::Node<'_, '_>| {
        let number = |name: &str| -> f64 {
            let value = node.attribute(name).and_then(|v| v.parse().ok());
            value.expect("a place")
        };
        let text = node.text().expect("a name").to_owned();
        let (x, y) = (number("x"), number("y"));
        assert_eq!(number("font-size"), SIZE);
        let right = x + svg::text_width(&text, SIZE, false);
        // Ascenders and descenders of the font take less than this.
        (text, [x, y - 0.75 * SIZE, right, y + 0.2 * SIZE])
    };
    document.descendants().filter(is_label).map(label).collect()
}

fn overlapping(labels: &[Label]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (i, (name, a)) in labels.iter().enumerate() {
        for (other, b) in &labels[..i] {
            if a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3] {
                found.push((name.clone(), other.clone()));
            }
        }
    }
    found
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
fn every_name_appears_once_per_panel_and_overlaps_no_other() {
    let drawing = svg::render(&scatter(vec![crowd(), crowd(), crowd(), crowd()]));
    let labels = labels(&drawing);
    for point in crowd() {
        let times = labels.iter().filter(|l| l.0 == point.label).count();
        assert_eq!(times, 4, "{}", point.label);
    }
    assert_eq!(labels.len(), 4 * 24);
    assert_eq!(overlapping(&labels), []);
    let (width, height) = size(&drawing);
    for (name, [left, top, right, bottom]) in labels {
        let inside = left > 0.0 && top > 0.0 && right < width && bottom < height;
        assert!(inside, "{name} leaves the picture");
    }
}

#[test]
fn those_that_never_violate_stand_left_of_all_others() {
    let points = vec![
        point("never", 0, 0.0, 5.0),
        point("rarely", 1, 1e-9, 5.0),
        point("always", 3, 1.0, 5.0),
    ];
    let drawing = svg::render(&scatter(vec![points]));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let place = |name: &str| -> f64 {
        let group = document.descendants().find(|node| {
            let tip = node.children().find(|child| child.has_tag_name("title"));
            node.has_tag_name("g")
                && tip.is_some_and(|t| t.text().is_some_and(|t| t.starts_with(name)))
        });
        let mark = group.expect("a group").children().find_map(|child| {
            let corner = |text: &str| text.split([',', ' ']).next()?.parse().ok();
            let circle = child.attribute("cx").and_then(corner);
            circle.or_else(|| child.attribute("points").and_then(corner))
        });
        mark.expect("a marker")
    };
    assert!(place("never") + 60.0 < place("rarely"));
    assert!(place("rarely") + 100.0 < place("always"));
    let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
    assert!(texts.contains(&"none") && texts.contains(&"100%"));
}

#[test]
fn groups_differ_by_colour_and_by_shape() {
    let points = (0..4).map(|g| point(&format!("agent {g}"), g, 0.1, 10.0 * g as f64));
    let drawing = svg::render(&scatter(vec![points.collect()]));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let mut fills = Vec::new();
    let mut shapes = Vec::new();
    for group in document
        .descendants()
        .filter(|node| node.attribute("class") == Some("point"))
    {
        let marker = group
            .children()
            .find(|node| node.has_tag_name("circle") || node.has_tag_name("polygon"));
        let marker = marker.expect("a marker");
        fills.push(marker.attribute("fill").expect("a colour"));
        let corners = marker
            .attribute("points")
            .map_or(0, |p| p.split(' ').count());
        let square = marker.attribute("points").is_some_and(|points| {
            let heights: Vec<&str> = points.split([',', ' ']).skip(1).step_by(2).collect();
            corners == 4 && heights[0] == heights[1]
        });
        shapes.push((corners, square));
    }
    fills.sort_unstable();
    fills.dedup();
    shapes.sort_unstable();
    shapes.dedup();
    assert_eq!((fills.len(), shapes.len()), (4, 4));
}

#[test]
fn points_without_a_place_are_named_below_and_nothing_breaks() {
    let nowhere = [
        point("no share", 0, f64::NAN, 1.0),
        point("no regret", 0, 0.0, f64::NAN),
        point("boundless", 1, 0.5, f64::INFINITY),
        point("below none", 1, -0.1, 1.0),
        point("huge", 1, 0.5, f64::MAX),
    ];
    let mut some = nowhere.to_vec();
    some.push(ScatterPoint {
        x_interval: Some((f64::NAN, f64::INFINITY)),
        y_interval: Some((f64::NEG_INFINITY, 1e3)),
        ..point("known", 17, 0.25, 10.0)
    });
    let drawing = svg::render(&scatter(vec![some, nowhere.to_vec(), vec![]]));
    assert!(!drawing.contains("NaN") && !drawing.contains("inf\""));
    let names: Vec<String> = labels(&drawing).into_iter().map(|label| label.0).collect();
    assert_eq!(names, ["known"]);
    for point in &nowhere {
        assert_eq!(drawing.matches(&point.label).count(), 2, "{}", point.label);
    }
    assert_eq!(drawing.matches(">no values<").count(), 2);
    png::render(&drawing).expect("a PNG");
    for empty in [Scatter::default(), scatter(vec![])] {
        png::render(&svg::render(&empty)).expect("a PNG");
    }
}

#[test]
fn equal_scatters_give_equal_bytes() {
    let one = scatter(vec![crowd(), crowd()]);
    assert_eq!(svg::render(&one), svg::render(&one.clone()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn names_never_overlap(
        raw in prop::collection::vec((0..4_usize, prop::bool::ANY, -6.0..0.0_f64, -5.0..5.0_f64, 1..16_usize), 1..24)
    ) {
        let points = raw.iter().enumerate().map(|(i, (group, none, share, y, length))| {
            let x = if *none { 0.0 } else { 10_f64.powf(*share) };
            let name = format!("{i}{}", "m_".repeat(*length / 2));
            point(&name, *group, x, 1000.0 * y.powi(3))
        });
        let drawing = svg::render(&scatter(vec![points.collect()]));
        let labels = labels(&drawing);
        prop_assert_eq!(labels.len(), raw.len());
        prop_assert_eq!(overlapping(&labels), vec![]);
    }
}
