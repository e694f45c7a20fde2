//! Critical-difference diagrams: names never overlap, bars stand apart, everything is on the page.

use banister_report::{RankDiagram, png, svg};

fn diagram(agents: usize, ties: Vec<(usize, usize)>) -> RankDiagram {
    let name =
        |i: usize| format!("an agent with quite a long name, and its parameters, number {i}");
    RankDiagram {
        title: "Mean ranks".into(),
        subtitle: "Means over instances.".into(),
        agents: (0..agents)
            .map(|i| (name(i), 1.0 + 0.9 * i as f64))
            .collect(),
        ties,
        critical_difference: 0.97 * (agents as f64 - 1.0),
        group: 2,
        note: "Without a rank: many others. ".repeat(20),
    }
}

/// Ends of an element's extent to the left, right, top and bottom, where it has any.
fn extent(node: &roxmltree::Node<'_, '_>) -> Option<[f64; 4]> {
    let number = |name: &str| node.attribute(name)?.parse::<f64>().ok();
    if node.has_tag_name("line") {
        let (a, b) = (number("x1")?, number("x2")?);
        let (c, d) = (number("y1")?, number("y2")?);
        return Some([a.min(b), a.max(b), c.min(d), c.max(d)]);
    }
    let (x, y, size) = (number("x")?, number("y")?, number("font-size")?);
    let bold = node.attribute("font-weight").is_some();
    let width = svg::text_width(node.text()?, size, bold);
    let left = match node.attribute("text-anchor") {
        Some("middle") => x - 0.5 * width,
        Some("end") => x - width,
        _ => x,
    };
    Some([left, left + width, y - 0.75 * size, y + 0.2 * size])
}

#[test]
fn texts_do_not_overlap_and_stay_on_the_page() {
    for agents in [2, 3, 7, 25] {
        let drawing = svg::render(&diagram(agents, vec![(0, 1), (0, agents - 1)]));
        let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
        let size = |name: &str| -> f64 {
            let value = document.root_element().attribute(name);
            value.and_then(|v| v.parse().ok()).expect("a size")
        };
        let (width, height) = (size("width"), size("height"));
        let all = || {
            document
                .descendants()
                .filter_map(|node| Some((extent(&node)?, node)))
        };
        for ([left, right, top, bottom], node) in all() {
            let inside = left >= 0.0 && right <= width && top >= 0.0 && bottom <= height;
            assert!(inside, "{agents}: {:?} leaves the page", node.text());
        }
        let texts: Vec<_> = all()
            .filter(|(_, node)| node.has_tag_name("text"))
            .collect();
        for (i, (a, one)) in texts.iter().enumerate() {
            for (b, other) in &texts[i + 1..] {
                let apart = a[1] <= b[0] || b[1] <= a[0] || a[3] <= b[2] || b[3] <= a[2];
                assert!(apart, "{:?} on {:?}", one.text(), other.text());
            }
        }
        png::render(&drawing).expect("a PNG");
    }
}

#[test]
fn bars_that_share_a_row_stand_side_by_side_and_others_in_one_column() {
    let drawing = svg::render(&diagram(6, vec![(0, 2), (1, 3), (4, 5)]));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let bars: Vec<f64> = (document.descendants())
        .filter(|node| node.attribute("stroke-width") == Some("4"))
        .filter_map(|node| node.attribute("x1")?.parse().ok())
        .collect();
    assert_eq!(bars.len(), 3);
    assert!(bars[0] < bars[1] && bars[0] == bars[2], "{bars:?}");
}

#[test]
fn nobody_is_no_trouble() {
    png::render(&svg::render(&RankDiagram::default())).expect("a PNG");
}
