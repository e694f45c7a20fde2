//! Grids: the constants of rivals that are worth tuning, with the values that are tried.

use serde_json::{Value, json};

use crate::registry::AgentConfig;

/// A constant with its values. Where no kind is named, every rival with that key has it.
type Constant = (&'static str, Option<&'static str>, &'static [f64]);

/// Constants without a guarantee that depends on them, or whose guarantee tuning may give up to see what that earns.
/// δ is a promise, and none of them.
const CONSTANTS: [Constant; 8] = [
    // COLTS: scale of the random moves.
    ("omega", None, &[0.1, 0.3, 1.0]),
    // Bandits with knapsacks: share held back, or rate of the prices.
    ("epsilon", None, &[0.01, 0.05, 0.2]),
    // Mirror descent.
    ("learning_rate", None, &[0.01, 0.05, 0.2]),
    // Primal-dual: V_t and the tightening of thresholds.
    (
        "reward_weight",
        Some("pessimistic_optimistic"),
        &[2.0 / 3.0, 20.0 / 3.0, 200.0 / 3.0],
    ),
    (
        "tightening",
        Some("pessimistic_optimistic"),
        &[0.0, 0.6, 6.0],
    ),
    ("exploration", Some("ucb1"), &[0.25, 1.0, 4.0]),
    ("v", Some("lin_ts"), &[0.1, 0.3, 1.0]),
    // HPLC-LUCB and Safe-LTS: the first term of the radii; R alone is valid.
    ("noise_factor", None, &[0.5, 1.0, 2.0]),
];

impl AgentConfig {
    /// Grid of the agent: a copy for every combination of the declared constants, labelled with them. Empty for an
    /// agent without a declared grid, and for banister's own, which are never tuned.
    ///
    /// ```
    /// use banister::Registry as _;
    /// use banister_rivals::AgentConfig;
    ///
    /// let grid = AgentConfig::of_kind("s_colts")?.grid();
    /// assert_eq!(grid[0].label(), "s_colts, omega = 0.1");
    /// assert!(AgentConfig::of_kind("opb")?.grid().is_empty());
    /// # Ok::<(), banister::Error>(())
    /// ```
    pub fn grid(&self) -> Vec<Self> {
        if matches!(self, Self::Opb(_) | Self::Oplb(_) | Self::Segmented(_)) {
            return Vec::new();
        }
        let kind = self.kind();
        let own = |(_, of, _): &&Constant| of.is_none_or(|of| of == kind);
        let Ok(declared) = serde_json::to_value(self) else {
            return Vec::new();
        };
        let mut points: Vec<(String, Value)> = vec![(self.label(), declared)];
        for (key, _, values) in CONSTANTS.iter().filter(own) {
            // A key that this kind lacks is refused as unknown.
            let set = |(label, point): &(String, Value), x: f64| {
                let mut point = point.clone();
                point[*key] = json!(x);
                let known = serde_json::from_value::<Self>(point.clone()).is_ok();
                let label = format!("{label}, {key} = {}", (1000.0 * x).round() / 1000.0);
                known.then_some((label, point))
            };
            let all: Vec<_> = (points.iter())
                .flat_map(|point| values.iter().filter_map(|&x| set(point, x)))
                .collect();
            if !all.is_empty() {
                points = all;
            }
        }
        if points.len() == 1 {
            return Vec::new();
        }
        (points.into_iter())
            .filter_map(|(label, mut point)| {
                point["label"] = json!(label);
                serde_json::from_value(point).ok()
            })
            .collect()
    }

    /// Gives the agent another name in results.
    pub fn with_label(self, label: impl Into<String>) -> Self {
        let declared = serde_json::to_value(&self).and_then(|mut declared| {
            declared["label"] = json!(label.into());
            serde_json::from_value(declared)
        });
        declared.unwrap_or(self)
    }
}
