//! What a scatter shows: who pays for safety with what.

use crate::axis::drawable;

/// One point per agent in one panel per instance: regret against violation.
///
/// Agents that never violate stand in a column of their own, left of a logarithmic axis; the
/// vertical scale is logarithmic on either side of zero where the regrets call for it. Colour and
/// shape tell the groups apart.
///
/// ```
/// use banister_report::{Scatter, ScatterPanel, ScatterPoint, svg};
///
/// let point = |label: &str, group, x, y| ScatterPoint { label: label.into(), group, x, y, ..ScatterPoint::default() };
/// let scatter = Scatter {
///     title: "Who pays for safety".into(),
///     groups: vec!["safe in every round".into(), "unsafe".into()],
///     panels: vec![ScatterPanel {
///         title: "τ = 0.5".into(),
///         x_label: "share of rounds that violated a guardrail".into(),
///         y_label: "regret at the horizon".into(),
///         points: vec![point("opb", 0, 0.0, 120.0), point("ucb1", 1, 0.9, -4000.0)],
///     }],
///     ..Scatter::default()
/// };
/// assert!(svg::render(&scatter).contains(">ucb1</text>"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scatter {
    /// Headline.
    pub title: String,
    /// What the marks mean: points, whiskers, runs.
    pub subtitle: String,
    /// What colours and shapes stand for, the safest first; four of them have their own.
    pub groups: Vec<String>,
    /// Written at the horizontal line through zero, e.g. `as good as the best safe policy`.
    pub zero_label: String,
    /// From left to right, up to three in a row.
    pub panels: Vec<ScatterPanel>,
}

/// The points of one instance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScatterPanel {
    /// Shown above.
    pub title: String,
    /// Name of the horizontal axis, a share.
    pub x_label: String,
    /// Name of the vertical axis.
    pub y_label: String,
    /// In any order.
    pub points: Vec<ScatterPoint>,
}

/// One agent. A point whose position is not finite is not drawn but named below the panel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScatterPoint {
    /// Written at the point.
    pub label: String,
    /// Index into the groups.
    pub group: usize,
    /// A share: 0 is set apart, else on a logarithmic axis in percent.
    pub x: f64,
    /// Of either sign.
    pub y: f64,
    /// The whisker along the share, clipped to what a share can be.
    pub x_interval: Option<(f64, f64)>,
    /// The whisker along the height.
    pub y_interval: Option<(f64, f64)>,
}

impl ScatterPoint {
    /// Whether the point has a place: a share below zero has none.
    pub(crate) fn is_drawable(&self) -> bool {
        drawable(self.x, false) && self.x >= 0.0 && drawable(self.y, false)
    }

    /// The whisker along the share. Many intervals are symmetric; beyond none and all there is
    /// nothing.
    pub(crate) fn x_ends(&self) -> Option<(f64, f64)> {
        let (low, high) = Self::ends(self.x_interval)?;
        Some((low.max(0.0).min(self.x), high.min(self.x.max(1.0))))
    }

    /// The whisker along the height.
    pub(crate) fn y_ends(&self) -> Option<(f64, f64)> {
        Self::ends(self.y_interval)
    }

    /// An interval's ends, ascending, if both have a place and they differ.
    fn ends(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
        let (a, b) = interval?;
        let usable = drawable(a, false) && drawable(b, false) && a != b;
        usable.then(|| (a.min(b), a.max(b)))
    }
}
