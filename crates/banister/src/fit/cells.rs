//! Cells: the parts of the outcomes whose costs are compared with the model, and the sums kept of them.
//!
//! All outcomes but the safe action's; the halves and the terciles of every feature; the quadrants of pairs and the
//! octants of triples of features; the arms, where actions have names. Sums are kept of all, of the upper half, the
//! lowest and the highest third of every feature, of where all features of a pair or a triple are high, and of every
//! arm; the others follow by inclusion and exclusion.

use serde::{Deserialize, Serialize};

use crate::monitor::FeatureRange;

/// Arms with a test of their own that have all its cells; later ones have fewer.
const WHOLE_ARMS: usize = 32;
/// Outcomes whose features the cuts are learned from.
const PREFIX: usize = 100;
/// Growth of the outcomes after which features that did not vary are looked at again.
const AGAIN: u64 = 4;

/// Sums per feature: its upper half, its lowest and its highest third.
const SUMS: usize = 3;
/// Cells per feature: its halves and its thirds; per pair: its quadrants; and per triple: its octants.
const PARTS: usize = 5;
const QUADRANTS: usize = 4;
const OCTANTS: usize = 8;
/// Triples of features that have cells, at most: all of 12 features.
const TRIPLES: usize = 220;

/// Most cells that there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Features that have cells: the first ones.
    features: usize,
    /// Pairs of features that have cells: neighbours first, then those two apart, and so on.
    pairs: usize,
    /// Arms that have cells: the first ones, counting those that are gone.
    arms: usize,
}

impl Extent {
    /// Cells of a model that all arms share.
    pub(crate) const SHARED: Self = Self {
        features: 64,
        pairs: 128,
        arms: 128,
    };

    /// Cells of the model of one arm, by its number.
    pub(crate) fn of_arm(arm: usize) -> Self {
        let features = if arm < WHOLE_ARMS { 64 } else { 16 };
        Self {
            features,
            pairs: 2 * features,
            arms: 0,
        }
    }
}

/// Cells of a feature space, and what is summed over them.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// Numbers per sum.
    width: usize,
    features: usize,
    /// Arms that may have cells.
    most_arms: usize,
    pairs: Vec<(usize, usize)>,
    /// Triples of features all of whose pairs have cells: neighbours first.
    triples: Vec<[usize; 3]>,
    pub state: CellsState,
    /// Room for the values of one feature, and for the parts that an outcome lies in.
    values: Vec<f64>,
    parts: Vec<[bool; SUMS]>,
}

/// All that outcomes change; what a snapshot keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellsState {
    /// Times that cuts were learned.
    pub generation: u32,
    /// Outcomes of actions other than the safe one.
    taken: u64,
    /// Outcomes from which on features are collected again.
    collect_from: u64,
    /// Features collected, one outcome after another.
    collected: Vec<f64>,
    /// Per feature: the middle, and the ends of the middle third; absent where it did not vary.
    cuts: Vec<Option<[f64; SUMS]>>,
    /// Sums, one after another: all, each feature's, each pair's, each triple's, each arm's.
    sums: Vec<f64>,
    /// Arms that have had a sum so far.
    arms: usize,
}

/// A cell: its sum is that of rows, each with its sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    rows: [Option<(usize, f64)>; OCTANTS],
    pub arm: Option<usize>,
    pub ranges: [Option<FeatureRange>; 3],
}

impl Cells {
    /// Cells of `d` features, with sums of `width` numbers.
    pub(super) fn new(d: usize, width: usize, extent: Extent, arms: usize) -> Self {
        let features = d.min(extent.features);
        let apart = (1..features).flat_map(|by| (0..features - by).map(move |f| (f, f + by)));
        let pairs: Vec<_> = apart.take(extent.pairs).collect();
        let between = |&(f, h): &(usize, usize)| (f + 1..h).map(move |g| [f, g, h]);
        let triples: Vec<_> = pairs.iter().flat_map(between).take(TRIPLES).collect();
        let arms = arms.min(extent.arms);
        let rows = 1 + SUMS * features + pairs.len() + triples.len() + arms;
        Self {
            width,
            features,
            most_arms: extent.arms,
            pairs,
            triples,
            state: CellsState {
                generation: 0,
                taken: 0,
                collect_from: 0,
                collected: Vec::with_capacity(PREFIX * features),
                cuts: vec![None; features],
                sums: vec![0.0; rows * width],
                arms,
            },
            values: Vec::with_capacity(PREFIX),
            parts: vec![[false; SUMS]; features],
        }
    }

    /// Forgets all outcomes; arms stay.
    pub(super) fn clear(&mut self) {
        let state = &mut self.state;
        (state.generation, state.taken, state.collect_from) = (0, 0, 0);
        state.collected.clear();
        state.cuts.fill(None);
        state.sums.fill(0.0);
    }

    /// Cells that there can ever be: δ is shared by all of them.
    pub(super) fn most(&self) -> usize {
        let corners = QUADRANTS * self.pairs.len() + OCTANTS * self.triples.len();
        1 + self.most_arms + PARTS * self.features + corners
    }

    /// Cells that there are.
    pub(super) fn count(&self) -> usize {
        self.most() - self.most_arms + self.arm_rows()
    }

    fn first_arm_row(&self) -> usize {
        1 + SUMS * self.features + self.pairs.len() + self.triples.len()
    }

    fn arm_rows(&self) -> usize {
        self.state.sums.len() / self.width - self.first_arm_row()
    }

    /// Outcomes in all cells.
    pub(super) fn outcomes(&self) -> f64 {
        self.state.sums[0]
    }

    /// Makes room for one more arm, whose number is `arm`; it has no cell where others before it have none.
    pub(super) fn add_arm(&mut self, arm: usize) {
        if arm == self.arm_rows() && self.state.arms < self.most_arms {
            self.state.arms += 1;
            let numbers = self.state.sums.len() + self.width;
            self.state.sums.resize(numbers, 0.0);
        }
    }

    /// Adds a row to the sums of every cell that an outcome lies in. Its own features change nothing about that.
    pub(super) fn add(&mut self, features: &[f64], arm: Option<usize>, row: &[f64]) {
        let state = &mut self.state;
        let width = self.width;
        let mut add = |place: usize| {
            let sum = &mut state.sums[place * width..(place + 1) * width];
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        };
        add(0);
        for (f, (part, x)) in self.parts.iter_mut().zip(features).enumerate() {
            *part = match state.cuts[f] {
                Some([middle, low, high]) => [*x > middle, *x <= low, *x > high],
                None => [false; SUMS],
            };
            for (s, _) in part.iter().enumerate().filter(|(_, is_in)| **is_in) {
                add(1 + SUMS * f + s);
            }
        }
        let first = 1 + SUMS * self.features;
        for (q, &(f, g)) in self.pairs.iter().enumerate() {
            if self.parts[f][0] && self.parts[g][0] {
                add(first + q);
            }
        }
        let first = first + self.pairs.len();
        for (q, triple) in self.triples.iter().enumerate() {
            if triple.iter().all(|&f| self.parts[f][0]) {
                add(first + q);
            }
        }
        if let Some(arm) = arm.filter(|arm| *arm < self.arm_rows()) {
            let at = (self.first_arm_row() + arm) * width;
            let sum = &mut self.state.sums[at..at + width];
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        self.collect(features);
    }

    /// Collects features, and learns the cuts from them. Cells then start anew where they differ from before, with a
    /// share of δ of their own.
    fn collect(&mut self, features: &[f64]) {
        let state = &mut self.state;
        state.taken += 1;
        if state.taken <= state.collect_from {
            return;
        }
        state
            .collected
            .extend_from_slice(&features[..self.features]);
        if state.collected.len() < PREFIX * self.features {
            return;
        }
        state.collect_from = AGAIN * state.taken;
        let varies = |f: usize| {
            let mut values = state.collected.iter().skip(f).step_by(self.features);
            values.any(|x| *x != state.collected[f])
        };
        let news = (0..self.features).any(|f| state.cuts[f].is_none() && varies(f));
        if news {
            state.generation += 1;
            state.sums.fill(0.0);
            for f in 0..self.features {
                let values = state.collected.iter().skip(f).step_by(self.features);
                self.values.clear();
                self.values.extend(values);
                self.values.sort_unstable_by(f64::total_cmp);
                state.cuts[f] = cuts(&self.values).or(state.cuts[f]);
            }
        }
        state.collected.clear();
    }

    /// A cell by its number: all, arms, features, pairs; `None` where its feature does not vary.
    pub(super) fn cell(&self, number: usize) -> Option<Cell> {
        let plain = |row: usize| Cell {
            rows: rows([(row, 1.0)]),
            arm: None,
            ranges: [None; 3],
        };
        if number == 0 {
            return Some(plain(0));
        }
        let place = number - 1;
        let Some(place) = place.checked_sub(self.arm_rows()) else {
            return Some(Cell {
                arm: Some(place),
                ..plain(self.first_arm_row() + place)
            });
        };
        let Some(place) = place.checked_sub(PARTS * self.features) else {
            return self.part(place / PARTS, place % PARTS);
        };
        let Some(place) = place.checked_sub(QUADRANTS * self.pairs.len()) else {
            let (f, g) = self.pairs[place / QUADRANTS];
            return self.corner(&[f, g], place % QUADRANTS, 0);
        };
        let triple = self.triples.get(place / OCTANTS)?;
        self.corner(triple, place % OCTANTS, place / OCTANTS)
    }

    /// A quadrant of a pair or an octant of a triple, whose number among them is `q`: where bit i of `lows` is set, the
    /// i-th feature is low.
    fn corner(&self, features: &[usize], lows: usize, q: usize) -> Option<Cell> {
        let mut ranges = [None; 3];
        for (i, &feature) in features.iter().enumerate() {
            let [middle, ..] = self.state.cuts[feature]?;
            let is_high = lows >> i & 1 == 0;
            ranges[i] = Some(FeatureRange {
                feature,
                above: is_high.then_some(middle),
                at_most: (!is_high).then_some(middle),
            });
        }
        // Sums over where the high features and some of the low ones are high, by turns added and taken away.
        let all = (1 << features.len()) - 1;
        let terms = (0..=all).filter(|high| high | lows == all).map(|high| {
            let mut chosen = features.iter().enumerate();
            let mut next = || chosen.find(|(i, _)| high >> i & 1 == 1).map(|(_, f)| *f);
            let sign = if (high & lows).count_ones().is_multiple_of(2) {
                1.0
            } else {
                -1.0
            };
            let row = match [next(), next(), next()] {
                [Some(f), None, _] => 1 + SUMS * f,
                [Some(f), Some(g), None] => self.pair_row(f, g),
                [Some(_), Some(_), Some(_)] => self.first_arm_row() - self.triples.len() + q,
                _ => 0,
            };
            (row, sign)
        });
        Some(Cell {
            rows: rows(terms),
            arm: None,
            ranges,
        })
    }

    /// Row of the sum where both features are high: pairs come by their distance.
    fn pair_row(&self, f: usize, g: usize) -> usize {
        let closer = g - f - 1;
        1 + SUMS * self.features + closer * self.features - closer * (closer + 1) / 2 + f
    }

    /// A half or a third of a feature.
    fn part(&self, feature: usize, part: usize) -> Option<Cell> {
        let [middle, low, high] = self.state.cuts[feature]?;
        let (all, row) = (Some((0, 1.0)), 1 + SUMS * feature);
        let (rows, above, at_most) = match part {
            0 => ([Some((row, 1.0)), None], Some(middle), None),
            1 => ([all, Some((row, -1.0))], None, Some(middle)),
            2 => ([Some((row + 1, 1.0)), None], None, Some(low)),
            3 => ([Some((row + 2, 1.0)), None], Some(high), None),
            _ => ([all, Some((row + 1, -1.0))], Some(low), Some(high)),
        };
        let last = (part == 4).then_some((row + 2, -1.0));
        Some(Cell {
            rows: self::rows([rows[0], rows[1], last].into_iter().flatten()),
            arm: None,
            ranges: [
                Some(FeatureRange {
                    feature,
                    above,
                    at_most,
                }),
                None,
                None,
            ],
        })
    }

    /// Outcomes in a cell.
    pub(super) fn outcomes_in(&self, cell: &Cell) -> f64 {
        let rows = cell.rows.iter().flatten();
        rows.map(|&(row, sign)| sign * self.state.sums[row * self.width])
            .sum()
    }

    /// Writes the sum of a cell.
    pub(super) fn sum(&self, cell: &Cell, out: &mut [f64]) {
        out.fill(0.0);
        for &(row, sign) in cell.rows.iter().flatten() {
            let sum = &self.state.sums[row * self.width..(row + 1) * self.width];
            out.iter_mut()
                .zip(sum)
                .for_each(|(out, x)| *out += sign * x);
        }
    }

    /// Restores a saved state; `false` if it does not match.
    #[must_use]
    pub(super) fn restore(&mut self, mut state: CellsState) -> bool {
        let fixed = self.first_arm_row();
        let rows = state.sums.len() / self.width;
        let numbers = state.sums.iter().chain(&state.collected);
        let fits = state.sums.len() == rows * self.width
            && (fixed..=fixed + state.arms.min(self.most_arms)).contains(&rows)
            && state.cuts.len() == self.features
            && state.collected.len().is_multiple_of(self.features)
            && state.collected.len() < PREFIX * self.features
            && numbers
                .chain(state.cuts.iter().flatten().flatten())
                .all(|x| x.is_finite());
        if fits {
            let room = PREFIX * self.features - state.collected.len();
            state.collected.reserve_exact(room);
            self.state = state;
        }
        fits
    }
}

fn rows(terms: impl IntoIterator<Item = (usize, f64)>) -> [Option<(usize, f64)>; OCTANTS] {
    let mut terms = terms.into_iter();
    std::array::from_fn(|_| terms.next())
}

/// Cuts of sorted values at the middle and at the thirds, between two different values; `None` where all are equal.
fn cuts(values: &[f64]) -> Option<[f64; SUMS]> {
    let cut = |rank: usize| {
        let is_cut = |at: &usize| values[at - 1] < values[*at];
        let at = (1..values.len())
            .filter(is_cut)
            .min_by_key(|at| at.abs_diff(rank))?;
        let (low, high) = (values[at - 1], values[at]);
        let middle = 0.5 * low + 0.5 * high;
        Some(if middle < high { middle } else { low })
    };
    let n = values.len();
    Some([cut(n / 2)?, cut(n / 3)?, cut(n - n / 3)?])
}
