//! Heat maps: colours in order, values that can be read, holes that are seen.

use banister_report::{HeatMap, HeatPanel, png, svg};

fn map(values: Vec<Vec<f64>>) -> HeatMap {
    let names = |n: usize| (0..n).map(|i| format!("setting {i}")).collect();
    HeatMap {
        title: "Regret".into(),
        subtitle: "Means.".into(),
        x_label: "threshold".into(),
        y_label: "gap".into(),
        x: names(values.iter().map(Vec::len).max().unwrap_or(0)),
        y: names(values.len()),
        value_label: "mean regret".into(),
        panels: vec![HeatPanel {
            title: "opb".into(),
            values,
        }],
    }
}

/// Per cell: its colour, its text, and the text's colour.
fn cells(drawing: &str) -> Vec<(String, String, String)> {
    let document = roxmltree::Document::parse(drawing).expect("well-formed XML");
    let cells = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("cell"));
    let parts = |cell: roxmltree::Node<'_, '_>| {
        let find = |name: &str| cell.children().find(|node| node.has_tag_name(name));
        let fill = |node: roxmltree::Node<'_, '_>| node.attribute("fill").map(String::from);
        let (rect, text) = (find("rect").expect("a colour"), find("text").expect("text"));
        (
            fill(rect).expect("a colour"),
            text.text().expect("text").to_owned(),
            fill(text).expect("a colour"),
        )
    };
    cells.map(parts).collect()
}

fn luminance(color: &str) -> f64 {
    let part = |at: usize| {
        let c = f64::from(u8::from_str_radix(&color[at..at + 2], 16).expect("hex")) / 255.0;
        if c <= 0.04045 {
            c / 12.92
        } else {
            ((c + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

#[test]
fn colours_darken_with_the_value_and_text_stands_out() {
    for values in [
        (0..200).map(f64::from).collect::<Vec<_>>(),
        (0..200).map(|i| 10_f64.powf(f64::from(i) / 20.0)).collect(),
        (-100..100).map(|i| f64::from(i).powi(3)).collect(),
    ] {
        let cells = cells(&svg::render(&map(vec![values.clone()])));
        assert_eq!(cells.len(), 200);
        for pair in cells.windows(2) {
            let (before, after) = (luminance(&pair[0].0), luminance(&pair[1].0));
            assert!(after <= before + 1e-3, "{} {}", pair[0].1, pair[1].1);
        }
        // From end to end the grey print has most of its range.
        assert!(luminance(&cells[0].0) - luminance(&cells[199].0) > 0.7);
        for (fill, text, ink) in &cells {
            assert!(contrast(fill, ink) >= 4.5, "{text} in {ink} on {fill}");
        }
    }
}

#[test]
fn panels_share_one_scale() {
    let mut map = map(vec![vec![1.0, 5.0]]);
    map.panels.push(HeatPanel {
        title: "other".into(),
        values: vec![vec![5.0, 9.0]],
    });
    let cells = cells(&svg::render(&map));
    assert_eq!(cells[1].0, cells[2].0);
    assert_ne!(cells[0].0, cells[2].0);
}

#[test]
fn the_first_row_is_at_the_bottom_and_every_cell_says_what_it_is() {
    let drawing = svg::render(&map(vec![vec![-1.5], vec![20_000.0]]));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let height = |wanted: &str| -> f64 {
        let is_it = |node: &roxmltree::Node<'_, '_>| {
            node.attribute("class") == Some("value") && node.text() == Some(wanted)
        };
        let node = document.descendants().find(is_it).expect("the value");
        node.attribute("y")
            .and_then(|y| y.parse().ok())
            .expect("a height")
    };
    assert!(height("−1.5") > height("20k"));
    assert!(
        drawing.contains(
            "<title>opb; threshold: setting 0; gap: setting 1; mean regret: 20000</title>"
        )
    );
}

#[test]
fn holes_are_hatched_and_odd_maps_can_be_drawn() {
    let ragged = map(vec![vec![1.0, f64::NAN, f64::INFINITY], vec![2.0]]);
    let drawing = svg::render(&ragged);
    assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
    let texts: Vec<String> = cells(&drawing).into_iter().map(|cell| cell.1).collect();
    assert_eq!(texts, ["1", "–", "–", "2", "–", "–"]);
    assert!(drawing.matches("<line").count() > 4 * 5, "no hatching");
    for odd in [
        HeatMap::default(),
        map(vec![]),
        map(vec![vec![]]),
        map(vec![vec![f64::NAN]]),
        map(vec![vec![0.0, 0.0]]),
        map(vec![vec![-1e299, 1e299, 1e-300, f64::MAX]]),
        map(vec![vec![3.0]; 40]),
    ] {
        let drawing = svg::render(&odd);
        roxmltree::Document::parse(&drawing).expect("well-formed XML");
        assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
        png::render(&drawing).expect("a PNG");
        assert_eq!(drawing, svg::render(&odd.clone()));
    }
}
