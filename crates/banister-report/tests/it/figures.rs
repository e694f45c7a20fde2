//! Figures: the model, its axes, and the drawings.

use crate::common;

use banister_report::figures::axes::{Axis, Scale};
use banister_report::{Figure, LineKind, Panel, ReferenceLine, Row, Series, png, svg};
use banister_sim::results::Results;

fn polylines(svg: &str) -> usize {
    let document = roxmltree::Document::parse(svg).expect("well-formed XML");
    document
        .descendants()
        .filter(|node| node.has_tag_name("polyline"))
        .count()
}

fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).expect("well-formed XML");
    let nodes = document
        .descendants()
        .filter(|node| node.has_tag_name("text"));
    nodes
        .filter_map(|node| node.text().map(String::from))
        .collect()
}

fn one(panel: Panel) -> Figure {
    let rows = vec![Row {
        label: String::new(),
        panels: vec![panel],
    }];
    Figure {
        title: "One".into(),
        subtitle: String::new(),
        rows,
    }
}

fn curve(x: Vec<f64>, y: Vec<f64>) -> Series {
    Series {
        name: "curve".into(),
        x,
        y,
        ..Series::default()
    }
}

/// Width, height and pixels (red, green, blue and opacity).
fn decode(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = ::png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("a picture");
    pixels.truncate(info.buffer_size());
    (info.width, info.height, pixels)
}

#[test]
fn the_layout_is_one_row_per_instance_and_one_panel_per_guardrail() {
    let figure = Figure::of_results(&common::results());
    let titles: Vec<Vec<&str>> = figure
        .rows
        .iter()
        .map(|row| {
            row.panels
                .iter()
                .map(|panel| panel.title.as_str())
                .collect()
        })
        .collect();
    // The second instance has both guardrails, so the columns go by name and the first instance
    // leaves a hole.
    assert_eq!(
        titles[0],
        [
            "Cumulative regret",
            "Expected spend, €",
            "",
            "Expected reward"
        ]
    );
    let second = [
        "Cumulative regret",
        "Expected spend, €",
        "Expected conversion",
        "Expected reward",
    ];
    assert_eq!(titles[1], second);
    assert_eq!(figure.rows[0].label, common::AWKWARD_INSTANCE);

    // The same agent has the same colour, also where it is not second in line.
    let color = |row: usize, name: &str| {
        let series = figure.rows[row]
            .panels
            .iter()
            .flat_map(|panel| &panel.series);
        let mut colors: Vec<usize> = series.filter(|s| s.name == name).map(|s| s.color).collect();
        colors.dedup();
        colors
    };
    assert_eq!(color(0, "uniform"), color(1, "uniform"));
    assert_ne!(color(0, "uniform"), color(0, common::AWKWARD_AGENT));

    let (low, high) = figure.rows[0].panels[0].series[0]
        .band
        .clone()
        .expect("a band");
    // The curve starts at the origin, so its third checkpoint is its fourth point.
    assert_eq!((low[0], high[0]), (0.0, 0.0));
    assert_eq!((low[3], high[3]), (12_345.678 - 500.0, 12_345.678 + 500.0));
    assert!(figure.subtitle.contains("±0.5 standard deviation"));
}

#[test]
fn the_band_is_clipped_at_zero() {
    let mut results = common::results();
    results.instances[0].agents[0].curve.regret_std[0] = 100.0;
    let figure = Figure::of_results(&results);
    let (low, _) = figure.rows[0].panels[0].series[0]
        .band
        .clone()
        .expect("a band");
    assert_eq!(low[1], 0.0);
}

#[test]
fn thresholds_and_distinct_optima_are_reference_lines() {
    let figure = Figure::of_results(&common::results());
    let lines = |row: usize, panel: usize| {
        let lines = &figure.rows[row].panels[panel].lines;
        lines
            .iter()
            .map(|line| (line.label.as_str(), line.kind))
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(0, 1), [("threshold 0.5", LineKind::Threshold)]);
    let both = [
        ("threshold ≥ 0.1", LineKind::Threshold),
        ("optimum 0.4", LineKind::Optimum),
    ];
    assert_eq!(lines(1, 2), both);
    assert_eq!(lines(0, 3), [("optimum r* = 0.75", LineKind::Optimum)]);
}

#[test]
fn svg_is_xml_with_a_curve_per_series_and_escaped_names() {
    let figure = Figure::of_results(&common::results());
    let drawing = svg::render(&figure);
    let series: usize = figure
        .rows
        .iter()
        .flat_map(|row| &row.panels)
        .map(|p| p.series.len())
        .sum();
    assert_eq!(polylines(&drawing), series);
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    assert_eq!(root.attribute("aria-label"), Some(figure.title.as_str()));
    let texts = texts(&drawing);
    assert!(
        texts.iter().any(|text| text == common::AWKWARD_AGENT),
        "{texts:?}"
    );
    assert!(texts.iter().any(|text| text == "threshold 0.5"));
    for tick in ["0", "250k", "500k", "750k", "1M"] {
        assert!(texts.iter().any(|text| text == tick), "{tick} is missing");
    }
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let figure = Figure::of_results(&common::results());
    let (first, second) = (svg::render(&figure), svg::render(&figure.clone()));
    assert_eq!(first, second);
    assert_eq!(
        png::render(&first).expect("a PNG"),
        png::render(&second).expect("a PNG")
    );
}

#[test]
fn ticks_are_round_numbers_within_the_axis() {
    let text = |low: f64, high: f64, log: bool| {
        let scale = if log { Scale::Log } else { Scale::Linear };
        let axis = Axis { low, high, scale };
        axis.ticks(5)
            .into_iter()
            .map(|tick| tick.1)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        text(0.0, 1e6, false),
        ["0", "200k", "400k", "600k", "800k", "1M"]
    );
    assert_eq!(text(0.0, 1.1e6, false), ["0", "250k", "500k", "750k", "1M"]);
    assert_eq!(
        text(0.0, 2400.0, false),
        ["0", "500", "1000", "1500", "2000"]
    );
    assert_eq!(text(-0.11, 0.31, false), ["−0.1", "0", "0.1", "0.2", "0.3"]);
    assert_eq!(
        text(0.9985, 1.0005, false),
        ["0.9985", "0.999", "0.9995", "1", "1.0005"]
    );
    assert_eq!(text(1.0, 1e6, true), ["1", "100", "10k", "1M"]);
    assert_eq!(text(0.5, 40.0, true), ["1", "10"]);
    assert_eq!(text(2.0, 30.0, true), ["2", "5", "10", "20"]);

    for high in [
        1e-9, 3.3e-5, 0.7, 1.0, 7.0, 99.0, 1450.0, 46_000.0, 3e8, 2e13, 1e300,
    ] {
        let axis = Axis {
            low: 0.0,
            high,
            scale: Scale::Linear,
        };
        let ticks = axis.ticks(4);
        assert!((2..=7).contains(&ticks.len()), "{high}: {ticks:?}");
        assert!(
            ticks
                .iter()
                .all(|tick| tick.0 >= 0.0 && tick.0 <= high * 1.000_001)
        );
        let mut texts: Vec<&String> = ticks.iter().map(|tick| &tick.1).collect();
        texts.dedup();
        assert_eq!(
            texts.len(),
            ticks.len(),
            "two ticks read the same: {ticks:?}"
        );
    }
}

#[test]
fn an_axis_has_room_whatever_it_covers() {
    for values in [
        vec![],
        vec![3.0],
        vec![0.0, 0.0],
        vec![f64::NAN, f64::INFINITY],
        vec![-2.0],
    ] {
        for log in [false, true] {
            let axis = Axis::over(values.clone(), log).padded(0.1, 0.1);
            assert!(axis.high > axis.low && axis.low.is_finite() && axis.high.is_finite());
            assert!(axis.ticks(4).len() < 20);
        }
    }
}

#[test]
fn points_that_are_no_numbers_are_left_out() {
    let x = vec![0.0, 1.0, 2.0, 3.0, f64::INFINITY];
    let y = vec![0.0, f64::NAN, 2.0, f64::NEG_INFINITY, 1.0];
    let nan = ReferenceLine {
        label: "x".into(),
        y: f64::NAN,
        kind: LineKind::Threshold,
    };
    let panel = Panel {
        series: vec![curve(x, y)],
        lines: vec![nan],
        ..Panel::default()
    };
    let drawing = svg::render(&one(panel));
    assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let mut curves = document
        .descendants()
        .filter(|node| node.has_tag_name("polyline"));
    let points = curves
        .next()
        .and_then(|node| node.attribute("points"))
        .expect("points");
    assert_eq!(points.split(' ').count(), 2);
}

#[test]
fn odd_figures_can_be_drawn() {
    let single = Panel {
        series: vec![curve(vec![1.0], vec![1.0])],
        ..Panel::default()
    };
    let negative = Panel {
        x_log: true,
        y_log: true,
        series: vec![curve(vec![-1.0, 0.0], vec![-1.0, 0.0])],
        ..Panel::default()
    };
    let huge = Panel {
        y_from_zero: true,
        series: vec![curve(
            vec![0.0, 1e299, f64::MAX],
            vec![-1e299, 1e299, -f64::MAX],
        )],
        ..Panel::default()
    };
    let none = Figure::of_results(&Results { instances: vec![] });
    let ragged = Figure {
        title: "a\u{0}b\u{1F600} ".repeat(40),
        subtitle: "word ".repeat(200),
        rows: vec![
            Row::default(),
            Row {
                label: "long ".repeat(50),
                panels: vec![Panel::default(), single.clone()],
            },
            Row {
                label: "short".into(),
                panels: vec![negative.clone()],
            },
        ],
    };
    for figure in [
        Figure::default(),
        none,
        ragged,
        one(single),
        one(negative),
        one(huge),
    ] {
        let drawing = svg::render(&figure);
        roxmltree::Document::parse(&drawing).expect("well-formed XML");
        assert!(
            !drawing.contains("NaN") && !drawing.contains("inf"),
            "{drawing}"
        );
        png::render(&drawing).expect("a PNG");
    }
}

#[test]
fn long_curves_are_thinned_but_keep_their_peaks() {
    let x: Vec<f64> = (0..100_000).map(f64::from).collect();
    let mut y = vec![0.25; x.len()];
    y[0] = 0.0;
    y[51_234] = 1.0;
    let panel = Panel {
        series: vec![curve(x.clone(), y)],
        ..Panel::default()
    };
    let flat = Panel {
        series: vec![curve(x, vec![0.25; 100_000])],
        ..Panel::default()
    };
    let points = |panel: Panel| {
        let drawing = svg::render(&one(panel));
        let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
        let curve = document
            .descendants()
            .find(|node| node.has_tag_name("polyline"));
        let points = curve
            .and_then(|node| node.attribute("points"))
            .expect("points");
        points.split(' ').map(String::from).collect::<Vec<_>>()
    };
    assert!(points(flat).len() <= 600);
    let points = points(panel);
    assert!(points.len() <= 600);
    let height = |point: &String| -> f64 {
        point
            .split_once(',')
            .and_then(|pair| pair.1.parse().ok())
            .expect("a height")
    };
    let highest = points.iter().map(height).fold(f64::INFINITY, f64::min);
    let lowest = points.iter().map(height).fold(0.0, f64::max);
    assert!(lowest - highest > 250.0, "the peak is lost");
}

#[test]
fn the_picture_has_twice_the_size_and_shows_curves_and_text() {
    let drawing = svg::render(&Figure::of_results(&common::results()));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let size = |name: &str| -> u32 {
        document
            .root_element()
            .attribute(name)
            .and_then(|v| v.parse().ok())
            .expect("a size")
    };
    let (width, height, pixels) = decode(&png::render(&drawing).expect("a PNG"));
    assert_eq!((width, height), (2 * size("width"), 2 * size("height")));
    let ink = |pixels: &[u8]| {
        pixels
            .chunks(4)
            .filter(|p| p[0] < 250 || p[2] < 250)
            .count()
    };
    assert!(ink(&pixels) > 5_000);

    let without: String = drawing
        .lines()
        .filter(|line| !line.starts_with("<text"))
        .collect();
    let (_, _, silent) = decode(&png::render(&without).expect("a PNG"));
    assert_eq!(silent.len(), pixels.len());
    assert!(ink(&pixels) > ink(&silent) + 5_000, "no text was drawn");
}

#[test]
fn every_letter_we_use_is_in_the_font() {
    let picture = |text: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"40\">\
             <text x=\"10\" y=\"25\" font-family=\"Inter\" font-size=\"16\">{text}</text></svg>"
        );
        decode(&png::render(&svg).expect("a PNG")).2
    };
    let blank = picture("\u{A0}");
    assert!(blank.iter().all(|byte| *byte == 0));
    // What stands for a letter that the font lacks.
    let missing = picture("\u{E000}");
    for letter in "≤≥±√Δδρτν′·−×∞“”’–—…→θΣμαaZ09éß€".chars()
    {
        let drawn = picture(&letter.to_string());
        assert!(drawn != blank && drawn != missing, "{letter} is missing");
    }
}

#[test]
fn what_is_no_svg_is_an_error() {
    assert!(png::render("<p>").is_err());
    assert!(png::render("").is_err());
}

#[test]
fn labels_of_close_lines_do_not_overlap() {
    let line = |label: &str, y, kind| ReferenceLine {
        label: label.into(),
        y,
        kind,
    };
    let panel = Panel {
        series: vec![curve(vec![0.0, 1.0], vec![0.0, 1.0])],
        lines: vec![
            line("threshold 0.5", 0.5, LineKind::Threshold),
            line("optimum 0.49", 0.49, LineKind::Optimum),
        ],
        ..Panel::default()
    };
    let drawing = svg::render(&one(panel));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let place = |start: &str| -> (f64, f64) {
        let is_it = |node: &roxmltree::Node<'_, '_>| {
            node.has_tag_name("text") && node.text().is_some_and(|text| text.starts_with(start))
        };
        let node = document.descendants().find(is_it).expect("the label");
        let number = |name| {
            node.attribute(name)
                .and_then(|v| v.parse().ok())
                .expect("a place")
        };
        (number("x"), number("y"))
    };
    let (threshold, optimum) = (place("threshold"), place("optimum"));
    let apart = (threshold.1 - optimum.1).abs() >= 11.0 || (threshold.0 - optimum.0).abs() > 100.0;
    assert!(apart, "{threshold:?} {optimum:?}");
}

#[test]
fn prices_have_one_panel_per_guardrail() {
    let results = common::results();
    let figure = Figure::of_prices(&results);
    for (row, instance) in figure.rows.iter().zip(&results.instances) {
        assert_eq!(row.panels.len(), instance.guardrails.len());
        for (i, panel) in row.panels.iter().enumerate() {
            assert!(panel.title.contains(&instance.guardrails[i].name));
            assert_eq!(panel.series[0].y, instance.agents[0].curve.price_mean[i]);
        }
    }
}

#[test]
fn names_at_the_ends_of_two_dozen_curves_do_not_overlap() {
    let series = |i: usize| Series {
        name: format!("agent {i}"),
        color: i,
        // Half of them end at nearly the same height.
        ..curve(
            vec![0.0, 1.0],
            vec![0.0, if i.is_multiple_of(2) { 5.0 } else { i as f64 }],
        )
    };
    let panel = Panel {
        series: (0..24).map(series).collect(),
        name_ends: true,
        ..Panel::default()
    };
    let drawing = svg::render(&one(panel));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let ends = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("end"));
    let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
        let value = node.attribute(name).and_then(|v| v.parse().ok());
        value.expect("a number")
    };
    let mut heights: Vec<f64> = Vec::new();
    let mut names = Vec::new();
    for node in ends {
        let name = node.text().expect("a name");
        let right = number(&node, "x") + svg::text_width(name, number(&node, "font-size"), false);
        assert!(right < number(&document.root_element(), "width"), "{name}");
        heights.push(number(&node, "y"));
        names.push(name.to_owned());
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 24);
    heights.sort_by(f64::total_cmp);
    assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= 11.0));
    // All 24 curves look different in the drawing, too.
    let mut looks: Vec<(Option<&str>, Option<&str>)> = document
        .descendants()
        .filter(|node| node.has_tag_name("polyline"))
        .map(|node| (node.attribute("stroke"), node.attribute("stroke-dasharray")))
        .collect();
    looks.sort_unstable();
    looks.dedup();
    assert_eq!(looks.len(), 24);
}

#[test]
fn a_long_legend_stands_in_columns() {
    let series = |i: usize| Series {
        name: format!("an agent with a name {i}"),
        color: i,
        ..curve(vec![0.0, 1.0], vec![0.0, i as f64])
    };
    let panel = Panel {
        series: (0..24).map(series).collect(),
        ..Panel::default()
    };
    let drawing = svg::render(&one(panel));
    let document = roxmltree::Document::parse(&drawing).expect("well-formed XML");
    let mut lefts: Vec<String> = document
        .descendants()
        .filter(|node| node.text().is_some_and(|t| t.starts_with("an agent")))
        .filter_map(|node| node.attribute("x").map(String::from))
        .collect();
    assert_eq!(lefts.len(), 24);
    lefts.sort();
    lefts.dedup();
    assert!((2..=4).contains(&lefts.len()), "{lefts:?}");
}
