//! What a heat map shows: one value per pair of settings.

/// One panel per agent over the same two swept fields, with one colour scale for all.
///
/// Dark is high. The scale is logarithmic where the values call for it. Each cell has its value
/// written in it; a value that is not finite is hatched.
///
/// ```
/// use banister_report::{HeatMap, HeatPanel, svg};
///
/// let map = HeatMap {
///     title: "Regret over threshold and gap".into(),
///     x_label: "threshold".into(),
///     y_label: "gap".into(),
///     value_label: "mean final regret".into(),
///     x: vec!["0.2".into(), "0.5".into()],
///     y: vec!["0.1".into()],
///     panels: vec![HeatPanel { title: "opb".into(), values: vec![vec![120.0, f64::NAN]] }],
///     ..HeatMap::default()
/// };
/// let drawing = svg::render(&map);
/// assert!(drawing.contains(">120</text>") && drawing.contains(">–</text>"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatMap {
    /// Headline.
    pub title: String,
    /// What the cells mean: means, runs.
    pub subtitle: String,
    /// Name of the field that varies from left to right.
    pub x_label: String,
    /// Name of the field that varies from bottom to top.
    pub y_label: String,
    /// The first field's values, from left to right.
    pub x: Vec<String>,
    /// The second field's values, from bottom to top.
    pub y: Vec<String>,
    /// From left to right, as many in a row as fit.
    pub panels: Vec<HeatPanel>,
    /// What the colours stand for.
    pub value_label: String,
}

/// The cells of one agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatPanel {
    /// Shown above.
    pub title: String,
    /// Per entry of the map's `y`, one value per entry of its `x`. What is absent or not finite
    /// is shown as missing.
    pub values: Vec<Vec<f64>>,
}
