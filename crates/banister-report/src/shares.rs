//! The horizontal axis of a scatter: shares from none to all.

use libm::{ceil, floor, log10};

use crate::axis::significant;
use crate::canvas::TextStyle;
use crate::font::{self, Weight};
use crate::labels::Frame;
use crate::panel::{INK, LABEL_SIZE};
use crate::scale::power;
use crate::scatter::ScatterPoint;

/// From the column's left edge to its markers, and from those to their names.
pub(crate) const INDENT: f64 = 14.0;
pub(crate) const FAN: f64 = 20.0;
/// Between the column and the logarithmic axis, and at both ends of the latter.
pub(crate) const BREAK: f64 = 9.0;
pub(crate) const INSET: f64 = 14.0;
/// Longer names are cut.
pub(crate) const WIDEST: f64 = 130.0;

/// The horizontal axis that all panels share: a column for none, then decades, and beyond them a
/// list of the names of those that violate the most. The two ends are where agents crowd.
pub(crate) struct Shares {
    pub column: f64,
    /// The powers of ten at both ends of the axis; absent if nobody violates.
    pub decades: Option<(i32, i32)>,
    /// The length of the decades and of the list, in pixels.
    pub lengths: (f64, f64),
}

impl Shares {
    pub(crate) fn over(points: &[&ScatterPoint], length: f64) -> Shares {
        let style = TextStyle::new(LABEL_SIZE, INK);
        let widest = |wanted: &dyn Fn(f64) -> bool| {
            let those = points.iter().filter(|point| wanted(point.x));
            let widths = those.map(|point| style.width(&name_of(point)));
            widths.fold(None, |most: Option<f64>, w| {
                Some(most.map_or(w, |m| m.max(w)))
            })
        };
        let column = INDENT + FAN + widest(&|x| x == 0.0).unwrap_or(0.0) + 8.0;
        // The upper end of a whisker from none must have a place too.
        let ends = points.iter().flat_map(|point| {
            let end = point.x_ends().map_or(point.x, |ends| ends.1);
            [point.x, end]
        });
        let (least, most) = ends
            .filter(|x| *x > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(least, most), x| {
                (least.min(x), most.max(x))
            });
        if least > most {
            return Shares {
                column: column.max(length + 120.0),
                decades: None,
                lengths: (0.0, 0.0),
            };
        }
        let first = floor(log10(least) + 1e-9) as i32;
        let last = (ceil(log10(most) - 1e-9) as i32).max(0);
        let mut shares = Shares {
            column,
            decades: Some((first.min(last - 1), last)),
            lengths: (length, INSET),
        };
        if let Some(widest) = widest(&|x| shares.lists(x)) {
            shares.lengths.1 = FAN + widest + 4.0;
        }
        shares
    }

    /// The width of a plot.
    pub(crate) fn width(&self) -> f64 {
        match self.decades {
            Some(_) => self.column + BREAK + INSET + self.lengths.0 + self.lengths.1,
            None => self.column,
        }
    }

    /// Whether a share's name stands in the list beyond the axis: those of the last decade do.
    pub(crate) fn lists(&self, share: f64) -> bool {
        self.decades
            .is_some_and(|(_, last)| share >= power(last - 1))
    }

    pub(crate) fn place(&self, share: f64, plot: Frame) -> f64 {
        match self.decades {
            Some((first, last)) if share > 0.0 => {
                let left = self.left(plot);
                let along = (log10(share) - f64::from(first)) / f64::from(last - first);
                // A whisker's lower end may lie below the axis.
                (left + along * self.lengths.0).max(left - INSET)
            }
            _ => plot.left + INDENT,
        }
    }

    /// Where the first decade stands.
    pub(crate) fn left(&self, plot: Frame) -> f64 {
        plot.left + self.column + BREAK + INSET
    }

    /// Where the axis ends and the list begins.
    pub(crate) fn end(&self, plot: Frame) -> f64 {
        match self.decades {
            Some(_) => self.left(plot) + self.lengths.0 + INSET,
            None => plot.right,
        }
    }

    /// The decades with their texts, which some lack for want of room.
    pub(crate) fn ticks(&self, plot: Frame) -> Vec<(f64, String)> {
        let Some((first, last)) = self.decades else {
            return Vec::new();
        };
        let most = (self.lengths.0 / 40.0).max(1.0) as usize;
        let every = ((last - first) as usize).div_ceil(most).max(1);
        let text = |step: usize, decade| match step % every {
            0 => format!("{}%", significant(power(decade + 2), 3)),
            _ => String::new(),
        };
        (first..=last)
            .rev()
            .enumerate()
            .filter(|(step, _)| every < 4 || step % every == 0)
            .map(|(step, decade)| (self.place(power(decade), plot), text(step, decade)))
            .collect()
    }
}

/// A point's name, cut if it is very long; the tooltip has all of it.
pub(crate) fn name_of(point: &ScatterPoint) -> String {
    font::fit(&point.label, LABEL_SIZE, Weight::Regular, WIDEST)
}
