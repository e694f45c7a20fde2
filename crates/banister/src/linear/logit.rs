//! Confidence sets for a signal in [0, 1] with mean σ(⟨x, θ⟩): a likelihood ratio, and quadratics below it.
//!
//! With z_s any number fixed before the outcome y_s, ℓ_s(z) = ln(1 + e^z) − y_s z and z*_s = ⟨x_s, θ⟩,
//!
//! ```text
//! (1)  P( some t: Σ_{s≤t} ℓ_s(z*_s) − ℓ_s(z_s) ≥ ln(1/δ_s) ) ≤ δ_s,
//! ```
//!
//! as exp(ℓ_s(z*_s) − ℓ_s(z_s)) is convex in y_s, and at the ends y_s = 0 and 1 the ratio of two probabilities: its mean is
//! at most 1 (Ville). Nothing is lost on a supremum over θ. If z*_s is within an interval around z_s that was known
//! before y_s, then with a_s the least curvature there ([`curvature`]) and g_s = σ(z_s) − y_s
//!
//! ```text
//! (2)  ℓ_s(z*_s) − ℓ_s(z_s) ≥ g_s (z*_s − z_s) + a_s (z*_s − z_s)²/2.
//! ```
//!
//! Summed, with λ(‖θ‖² − S²)/2 ≤ 0 added: F_t(θ) ≤ ln(1/δ_s) + λS²/2 for a quadratic F_t with second derivative
//! H_t = λI + Σ a_s x_s x_sᵀ, so with θ̂_t its minimiser
//!
//! ```text
//! (3)  ‖θ − θ̂_t‖²_{H_t} ≤ β_t² = 2 ln(1/δ_s) + λS² − 2 min F_t.
//! ```
//!
//! The interval of (2) is that of (3) before the outcome, cut to ±S‖x‖: on the one event of (1) all of them hold, by
//! induction. θ̂_t is the ridge regression of z_s − g_s/a_s on x_s with weights a_s, and with c = ⟨x, θ̂_{t−1}⟩, e = z_t − c
//! and h = ‖x‖² in H_{t−1}⁻¹ the minimum moves in closed form:
//!
//! ```text
//! (4)  −2 min F_t = −2 min F_{t−1} + 2 g e − a e² + h (a e − g)²/(1 + a h),
//! ```
//!
//! which for e = 0 is g²‖x‖² in H_t⁻¹: O(d²) per outcome, and β_t² grows like ln det H_t. No constant like
//! 1/min σ' enters: curvature is counted where the outcomes are. Where the safe action's mean is known, a large multiple
//! of (⟨x_0, θ⟩ − z_0)² is in F too: it is 0 at the parameter.

use banister_solve::dense::{self, WhitenPass, Whitened};
use serde::{Deserialize, Serialize};

use super::actions::{Actions, Columns};
use super::link::{curvature, sigmoid};
use super::regression::{Regression, RegressionState, Update};
use super::space::Space;

/// Curvature below which an outcome says too little to be counted; known before it.
const FLAT: f64 = 1e-9;

/// Rounding of one step of (4), at most.
const ROUNDING: f64 = 1e-10;

/// Weight of what is known of ⟨x_0, θ⟩ beforehand, beside λ: any is valid, as the square is 0 at θ; more loses digits.
const KNOWN: f64 = 1e6;

/// Confidence set of one signal's parameter.
#[derive(Debug, Clone)]
pub(crate) struct Logit {
    dimension: usize,
    /// Weighted ridge regression whose estimate is θ̂ and whose matrix H.
    regression: Regression,
    /// S.
    parameter_norm: f64,
    /// −2 min F.
    gain: f64,
    /// A vector x_0 and ⟨x_0, θ⟩, where known beforehand.
    known: Option<(Vec<f64>, f64)>,
    /// Room for features, plain and whitened, and an update that no table follows.
    x: Vec<f64>,
    y: Vec<f64>,
    targets: Vec<f64>,
    update: Update,
    /// Room for a pass over all actions.
    pass: Pass,
}

/// Tables of a pass over all actions: θ̂ whitened, predictions and lengths, last coordinates, a chunk of actions.
#[derive(Debug, Clone, Default)]
struct Pass {
    whitened: [Vec<f64>; 1],
    columns: Columns,
    last: Vec<f64>,
    room: Vec<f64>,
}

/// State that a snapshot keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogitState {
    regression: RegressionState,
    gain: f64,
}

/// Width of a set: its level, and the factor of negative controls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// ln(1/δ_s).
    pub log_level: f64,
    /// Multiplies the radius.
    pub scale: f64,
}

/// An estimated mean in standard units, and the ends it lies between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ends {
    pub lower: f64,
    pub mean: f64,
    pub upper: f64,
}

impl Ends {
    /// Before anything is known.
    pub(crate) const UNKNOWN: Self = Self {
        lower: 0.0,
        mean: 0.5,
        upper: 1.0,
    };
}

/// The set's view of one vector x.
#[derive(Debug, Clone, Copy)]
struct View {
    /// ⟨x, θ̂⟩.
    centre: f64,
    /// ‖x‖² in H⁻¹.
    square: f64,
    /// Ends of ⟨x, θ⟩.
    lower: f64,
    upper: f64,
}

impl View {
    /// From ⟨x, θ̂⟩, ‖x‖² in H⁻¹, the set's radius and the most that |⟨x, θ⟩| can be.
    fn new(centre: f64, square: f64, radius: f64, most: f64) -> Self {
        let width = radius * square.sqrt();
        // Written so that NaN says nothing.
        let (lower, upper) = ((centre - width).max(-most), (centre + width).min(most));
        // Should they contradict each other, the declared S does too: nothing is known but that.
        let (lower, upper) = if lower <= upper {
            (lower, upper)
        } else {
            (-most, most)
        };
        Self {
            centre,
            square,
            lower,
            upper,
        }
    }

    /// The mean, in [0, 1].
    fn ends(&self) -> Ends {
        Ends {
            lower: sigmoid(self.lower),
            mean: sigmoid(self.centre.max(self.lower).min(self.upper)),
            upper: sigmoid(self.upper),
        }
    }
}

impl Logit {
    /// No outcomes yet, for features of length d and parameters at most S long.
    pub(crate) fn new(d: usize, parameter_norm: f64) -> Self {
        // λS² = d: about what the first outcomes of d directions add to β².
        let lambda = d as f64 / (parameter_norm * parameter_norm);
        let regression = Regression::new(d, d, lambda, vec![d]);
        Self {
            x: vec![0.0; regression.padded()],
            y: vec![0.0; regression.padded()],
            targets: vec![0.0; regression.padded_signals()],
            update: Update::default(),
            pass: Pass::default(),
            dimension: d,
            regression,
            parameter_norm,
            gain: 0.0,
            known: None,
        }
    }

    /// Takes ⟨x_0, θ⟩ as known: adds a square to F that is 0 at θ.
    pub(crate) fn with_known(mut self, x: Vec<f64>, z: f64) -> Self {
        self.known = Some((x, z));
        self.learn_known();
        self
    }

    fn learn_known(&mut self) {
        let Some((x, z)) = self.known.take() else {
            return;
        };
        let (lambda, square) = (self.regression.lambda(), dense::dot(&x, &x));
        if square > 0.0 && z.is_finite() {
            let weight = KNOWN * lambda / square;
            self.x[..self.dimension].copy_from_slice(&x);
            // (4) with g = 0, from c = 0.
            self.gain -= weight * z * z / (1.0 + KNOWN);
            self.fit(weight, z, z.abs());
        }
        self.known = Some((x, z));
    }

    /// Adds a (⟨x, θ⟩ − target)²/2 to F for x as written; `size` is that of the target's parts.
    fn fit(&mut self, a: f64, target: f64, size: f64) {
        let weight = a.sqrt();
        self.x.iter_mut().for_each(|x| *x *= weight);
        self.targets[0] = weight * target;
        self.regression.add_target(0, weight * size);
        self.regression
            .observe(&self.x, None, &self.targets, &mut self.update);
    }

    /// Forgets all outcomes.
    pub(crate) fn clear(&mut self) {
        self.regression.clear();
        self.gain = 0.0;
        self.learn_known();
    }

    /// β, with what rounding may add.
    pub(crate) fn radius(&self, reach: Reach) -> f64 {
        let s = self.parameter_norm;
        let square = 2.0 * reach.log_level + self.regression.lambda() * s * s + self.gain;
        let beta = square.max(0.0).sqrt();
        reach.scale * (beta + self.regression.rounding_reach(0, beta))
    }

    /// The mean at x, in [0, 1]; `write` writes x.
    pub(crate) fn ends(&mut self, reach: Reach, write: impl FnOnce(&mut [f64])) -> Ends {
        self.view(reach, write).ends()
    }

    fn view(&mut self, reach: Reach, write: impl FnOnce(&mut [f64])) -> View {
        write(&mut self.x[..self.dimension]);
        let norm = dense::dot(&self.x, &self.x);
        let most = self.parameter_norm * norm.sqrt();
        let (centre, square) = if self.regression.is_blank() {
            (0.0, norm / self.regression.lambda())
        } else {
            self.regression.whiten(&self.x, &mut self.y);
            let y = &self.y[..self.dimension];
            (self.regression.predict(0, y), dense::dot(y, y))
        };
        View::new(centre, square, self.radius(reach), most)
    }

    /// Ends of ⟨x, θ⟩ of all actions, in one pass over them; `put` takes the number of each.
    pub(crate) fn view_all(
        &mut self,
        reach: Reach,
        (actions, space): (&Actions, &Space),
        mut put: impl FnMut(usize, [f64; 2]),
    ) {
        let radius = self.radius(reach);
        let Pass {
            whitened,
            columns: Columns { squares, means, .. },
            last,
            room,
        } = &mut self.pass;
        self.regression.whitened(0, &mut whitened[0]);
        means.resize(1, Vec::new());
        let lists = squares.iter_mut().chain(&mut *means).chain([&mut *last]);
        lists.for_each(|list| list.resize(actions.stride, 0.0));
        let (factor, factor_stride) = self.regression.factor();
        let pass = WhitenPass {
            features: &actions.features,
            reflector: &space.reflector,
            factor,
            factor_stride,
            across: self.dimension,
            whitened,
        };
        pass.run(&mut Whitened {
            table: None,
            stride: actions.stride,
            squares,
            last,
            means,
            solved: None,
            room,
        });
        for (a, norm) in actions.norms.iter().enumerate() {
            let most = self.parameter_norm * norm.sqrt();
            let View { lower, upper, .. } = View::new(means[0][a], squares[1][a], radius, most);
            put(a, [lower, upper]);
        }
    }

    /// Takes an outcome y in [0, 1] at x. Returns its mean as known before.
    pub(crate) fn observe(&mut self, x: &[f64], y: f64, reach: Reach) -> Ends {
        let view = self.view(reach, |own| own.copy_from_slice(x));
        let View {
            centre,
            square: h,
            lower,
            upper,
        } = view;
        let z = centre.max(lower).min(upper);
        let a = curvature(z, lower - z, upper - z);
        // NaN fails.
        if !(a >= FLAT) {
            return view.ends();
        }
        let (g, e) = (sigmoid(z) - y, z - centre);
        let step = a * e - g;
        // (4) changes with c by no more than 2 + |e|.
        let slack = ROUNDING + (2.0 + e.abs()) * self.regression.rounding().predicted(0) * h.sqrt();
        let gain = self.gain + 2.0 * g * e - a * e * e + h * step * step / (1.0 + a * h) + slack;
        // Where rounding has taken everything, nothing is known but S.
        self.gain = if gain < f64::MAX { gain } else { f64::MAX };
        self.fit(a, z - g / a, z.abs() + (g / a).abs());
        view.ends()
    }

    /// Distance of a parameter from the estimate, in radii.
    pub(crate) fn distance(&self, parameter: &[f64], reach: Reach) -> f64 {
        let estimate = self.regression.estimate(0);
        let difference: Vec<f64> = std::iter::zip(&estimate, parameter)
            .map(|(estimate, truth)| estimate - truth)
            .collect();
        self.regression.length(&difference) / self.radius(reach)
    }

    /// θ̂.
    pub(crate) fn estimate(&self) -> Vec<f64> {
        self.regression.estimate(0)
    }

    pub(crate) fn save(&self) -> LogitState {
        LogitState {
            regression: self.regression.state().clone(),
            gain: self.gain,
        }
    }

    /// Restores a saved state; `false` if it does not match.
    #[must_use]
    pub(crate) fn restore(&mut self, saved: LogitState) -> bool {
        self.gain = saved.gain;
        self.regression.restore(saved.regression)
    }
}

/// Restores saved states in their order; `false` if they do not match.
#[must_use]
pub(crate) fn restore_logits<'a>(
    logits: impl Iterator<Item = &'a mut Logit>,
    saved: Vec<LogitState>,
) -> bool {
    let mut saved = saved.into_iter();
    let fits = logits
        .into_iter()
        .all(|logit| (saved.next()).is_some_and(|one| logit.restore(one)));
    fits && saved.next().is_none()
}
