//! The page and the results directory.

use crate::common;

use std::fs;
use std::path::Path;

use banister_report::{
    Cell, Document, Dot, DotPanel, DotPlot, FigureRef, HeatMap, HeatPanel, ReportError,
    ReportTable, Section, Series, html, palette, write_atomically, write_results,
};

fn files_below(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                let path = entry.path();
                let name = path.strip_prefix(dir).expect("a path below");
                found.push(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_page_loads_nothing() {
    let page = html::render(&common::document(&common::results())).expect("a page");
    for load in [
        "src=",
        "@import",
        "url(",
        "<link",
        "<iframe",
        "fetch(",
        "XMLHttpRequest",
    ] {
        assert!(!page.contains(load), "{load}");
    }
    // The only addresses are the name of SVG's namespace and uPlot's home in its notice.
    let addresses = page
        .split("http")
        .skip(1)
        .filter(|rest| rest.starts_with([':', 's']));
    for rest in addresses {
        let known = rest.starts_with("://www.w3.org/2000/svg")
            || rest.starts_with("s://github.com/leeoniya/uPlot (v");
        assert!(known, "http{}", rest.chars().take(60).collect::<String>());
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let page = html::render(&common::document(&common::results())).expect("a page");
    assert!(!page.contains("</script><b>"));
    assert!(!page.contains("<first>") && !page.contains("<one>") && !page.contains("<c>"));
    assert!(page.contains("&lt;/script&gt;&lt;b&gt;opb"));
    // One script element for the data of the figure, one for uPlot, one for ours.
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script").count(), 3);
}

#[test]
fn the_data_of_a_figure_is_json_with_aligned_curves() {
    let results = common::results();
    let page = html::render(&common::document(&results)).expect("a page");
    let start = "<script type=\"application/json\">";
    let (_, rest) = page.split_once(start).expect("data");
    let (text, _) = rest.split_once("</script>").expect("an end");
    let data: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(data["legend"][0]["name"], common::AWKWARD_AGENT);
    assert_eq!(data["rows"].as_array().map(Vec::len), Some(2));
    // The hole of the first row is not a chart.
    assert_eq!(data["rows"][0]["panels"].as_array().map(Vec::len), Some(3));
    assert!(page.contains("data-charts=\"7\""));
    let regret = &data["rows"][0]["panels"][0];
    assert_eq!(regret["x"], serde_json::json!([0.0, 100.0, 200.0, 1e6]));
    assert_eq!(regret["series"][0]["y"][3], 12345.7);
    assert_eq!(regret["series"][0]["low"][3], 11845.7);
}

#[test]
fn tables_align_numbers_and_carry_tones() {
    let page = html::render(&common::document(&common::results())).expect("a page");
    assert!(page.contains("<th scope=\"col\" class=\"number\">regret</th>"));
    assert!(page.contains("<td class=\"number bad\">12</td>"));
    assert!(page.contains("<caption>Table &amp; co</caption>"));
    assert!(page.contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_results_directory_is_complete_and_repeatable() {
    let results = common::results();
    let document = common::document(&results);
    let extra = [("experiment.toml".to_owned(), b"[run]\n".to_vec())];
    let dir = common::scratch("complete");
    let paths = write_results(&dir, &results, &document, &extra).expect("files");
    let expected = [
        "curves.csv",
        "curves.parquet",
        "experiment.toml",
        "figures/curves.png",
        "figures/curves.svg",
        "report.html",
        "runs.csv",
        "runs.parquet",
    ];
    assert_eq!(files_below(&dir), expected);
    assert_eq!(paths.len(), expected.len());
    let read = || {
        paths
            .iter()
            .map(|path| fs::read(path).expect("a file"))
            .collect::<Vec<_>>()
    };
    let first = read();
    write_results(&dir, &results, &document, &extra).expect("files");
    assert_eq!(first, read(), "the same input gave other bytes");
    assert_eq!(files_below(&dir), expected);
}

#[test]
fn an_unwritable_target_is_named_and_nothing_is_left() {
    let results = common::results();
    let document = common::document(&results);

    // A file where the directory should be.
    let dir = common::scratch("blocked");
    fs::create_dir_all(&dir).expect("a directory");
    fs::write(dir.join("taken"), b"x").expect("a file");
    let error = write_results(&dir.join("taken"), &results, &document, &[]).expect_err("no place");
    assert!(error.to_string().contains("taken"), "{error}");
    assert_eq!(files_below(&dir), ["taken"]);

    // A directory where the page should be: found before any file has its name.
    let dir = common::scratch("occupied");
    fs::create_dir_all(dir.join("report.html")).expect("a directory");
    let error = write_results(&dir, &results, &document, &[]).expect_err("no place");
    assert!(matches!(&error, ReportError::Write { path, .. } if path.ends_with("report.html")));
    assert!(error.to_string().contains("report.html"), "{error}");
    assert!(files_below(&dir).is_empty(), "{:?}", files_below(&dir));
}

#[test]
fn names_that_leave_the_directory_are_refused_before_anything_is_written() {
    let results = common::results();
    let dir = common::scratch("names");
    for name in [
        "../up.txt",
        "/absolute",
        "",
        "a/../../b",
        "dir/",
        "report.html",
        "Runs.CSV",
    ] {
        let extra = [(name.to_owned(), Vec::new())];
        let refused = write_results(&dir, &results, &Document::default(), &extra);
        let refused = refused.expect_err(name);
        let as_expected = matches!(refused, ReportError::Name(_) | ReportError::Twice(_));
        assert!(as_expected, "{name}: {refused}");
    }
    for stem in ["", "..", "a/b", "../up"] {
        let mut document = common::document(&results);
        let figure = document.sections[0].figures[0].figure.clone();
        document.sections[0].figures = vec![FigureRef {
            stem: stem.into(),
            caption: String::new(),
            figure,
        }];
        let refused = write_results(&dir, &results, &document, &[]).expect_err(stem);
        assert!(matches!(refused, ReportError::Name(_)), "{stem}: {refused}");
    }
    assert!(!dir.exists());
}

#[test]
fn two_figures_with_one_stem_are_refused() {
    let results = common::results();
    let mut document = common::document(&results);
    let again = document.sections[0].figures[0].clone();
    document.sections[0].figures.push(again);
    let dir = common::scratch("twice");
    let refused = write_results(&dir, &results, &document, &[]).expect_err("one stem");
    assert!(matches!(refused, ReportError::Twice(name) if name == "figures/curves.svg"));
}

#[test]
fn one_file_is_replaced_as_a_whole() {
    let dir = common::scratch("single");
    let path = dir.join("deep/file.txt");
    write_atomically(&path, b"first").expect("a file");
    write_atomically(&path, b"second").expect("a file");
    assert_eq!(fs::read(&path).expect("a file"), b"second");
    assert_eq!(files_below(&dir), ["deep/file.txt"]);
    let error = write_atomically(&dir.join("deep"), b"x").expect_err("a directory");
    assert!(matches!(error, ReportError::Write { .. }));
    assert_eq!(files_below(&dir), ["deep/file.txt"]);
}

#[test]
fn dot_plots_and_heat_maps_are_static_with_tooltips_and_have_files() {
    let dot = Dot {
        label: "<opb>".into(),
        value: -3.0,
        interval: Some((-4.0, -2.0)),
        share: 0.25,
        ..Dot::default()
    };
    let plot = DotPlot {
        title: "Trade & off".into(),
        groups: vec!["unsafe".into()],
        value_label: "regret".into(),
        share_label: "share".into(),
        panels: vec![DotPanel {
            title: "τ".into(),
            dots: vec![dot],
        }],
        ..DotPlot::default()
    };
    let map = HeatMap {
        title: "Cells".into(),
        x: vec!["1".into()],
        y: vec!["2".into()],
        panels: vec![HeatPanel {
            title: "opb".into(),
            values: vec![vec![7.0]],
        }],
        ..HeatMap::default()
    };
    let reference = |stem: &str, figure| FigureRef {
        stem: stem.into(),
        caption: String::new(),
        figure,
    };
    let document = Document {
        sections: vec![Section {
            figures: vec![
                reference("trade", plot.into()),
                reference("cells", map.into()),
            ],
            ..Section::default()
        }],
        ..Document::default()
    };
    let page = html::render(&document).expect("a page");
    assert!(
        page.contains("<title>&lt;opb&gt; (unsafe); τ; regret: −3 (−4 to −2); share: 25%</title>")
    );
    assert!(page.contains("<title>opb; : 1; : 2; : 7</title>"));
    assert!(page.contains("<h3 class=\"unseen\">Trade &amp; off</h3>"));
    // Nothing for the script to draw.
    assert!(!page.contains("data-charts=") && !page.contains("application/json\">"));
    let dir = common::scratch("kinds");
    write_results(&dir, &common::results(), &document, &[]).expect("files");
    let files = files_below(&dir);
    for name in ["figures/trade.png", "figures/cells.svg"] {
        assert!(files.iter().any(|file| file == name), "{files:?}");
    }
}

#[test]
fn tables_without_holes_can_be_sorted() {
    let table = |first: &str, second: &str| ReportTable {
        title: String::new(),
        header: vec!["agent".into(), "regret".into()],
        rows: vec![
            vec![Cell::text(first), Cell::number("1.5k").sorted_by(1500.0)],
            vec![Cell::text(second), Cell::number("–").sorted_by(f64::NAN)],
        ],
    };
    let whole = page(table("opb", "ucb1"));
    assert!(whole.contains("<table data-sortable>"));
    assert!(whole.contains("<td class=\"number\" data-sort=\"1.5e3\">1.5k</td>"));
    assert!(whole.contains("<td class=\"number\" data-sort=\"\">–</td>"));
    // The second row says by its hole that it belongs to the first.
    assert!(page(table("opb", "")).contains("<table>"));
}

#[test]
fn a_long_table_is_folded_and_says_how_long_it_is() {
    let table = |rows: usize| ReportTable {
        title: "Pairs".into(),
        header: vec!["agent".into()],
        rows: vec![vec![Cell::text("opb")]; rows],
    };
    let short = page(table(40));
    assert!(!short.contains("<details>") && short.contains("<caption>Pairs</caption>"));
    let long = page(table(41));
    assert_eq!(
        long.matches("<details><summary>Pairs (41 rows)</summary>")
            .count(),
        1
    );
    assert_eq!(long.matches("</table></div>\n</details>").count(), 1);
}

/// Renders a table alone.
fn page(table: ReportTable) -> String {
    let document = Document {
        sections: vec![Section {
            tables: vec![table],
            ..Section::default()
        }],
        ..Document::default()
    };
    html::render(&document).expect("a page")
}

#[test]
fn two_dozen_series_look_different_on_the_page() {
    let mut figure = banister_report::Figure::of_results(&common::results());
    let series = |i: usize| Series {
        name: format!("agent {i}"),
        color: i,
        x: vec![0.0, 1.0],
        y: vec![0.0, i as f64],
        ..Series::default()
    };
    figure.rows.truncate(1);
    figure.rows[0].panels.truncate(1);
    figure.rows[0].panels[0].series = (0..24).map(series).collect();
    let mut document = common::document(&common::results());
    document.sections[0].figures[0].figure = figure.into();
    let page = html::render(&document).expect("a page");
    let (_, rest) = page
        .split_once("<script type=\"application/json\">")
        .expect("data");
    let (text, _) = rest.split_once("</script>").expect("an end");
    let data: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let entries = data["legend"].as_array().expect("a legend");
    let mut looks: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} {}", entry["color"], entry["dash"]))
        .collect();
    looks.sort();
    looks.dedup();
    assert_eq!(looks.len(), 24);
    assert_eq!(data["legend"][0]["dash"], serde_json::json!([]));
    let second = entries[palette::LENGTH]["dash"].as_array().map(Vec::len);
    assert_eq!(second, Some(2));
}
