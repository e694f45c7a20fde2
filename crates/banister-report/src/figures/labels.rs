//! Places for labels where they hide nothing.

use super::canvas::Rect;

/// A horizontal line to label: its height in pixels and the size of the label.
pub(crate) struct Request {
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// Finds for each request a frame just above or below its line, inside the plot if there is room,
/// away from the curves, the other lines and the labels placed before.
///
/// The right end is preferred: there the curves have settled, and the eye looks for names there.
pub(crate) fn place(requests: &[Request], plot: Rect, curves: &[Vec<(f64, f64)>]) -> Vec<Rect> {
    const GAP: f64 = 3.0;
    const STEPS: usize = 12;
    let mut placed: Vec<Rect> = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        let slack = (plot.width() - request.width).max(0.0);
        let mut best: Option<(f64, Rect)> = None;
        for step in 0..=STEPS {
            for below in [false, true] {
                let left = plot.left + slack * (1.0 - step as f64 / STEPS as f64);
                let top = if below {
                    request.y + GAP
                } else {
                    request.y - GAP - request.height
                };
                let frame = Rect::new((left, top), (request.width, request.height));
                let mut cost = 0.2 * step as f64 + if below { 0.7 } else { 0.0 };
                if frame.top < plot.top - request.height || frame.bottom > plot.bottom {
                    cost += 1e4;
                }
                cost += 1e3 * placed.iter().filter(|other| overlap(&frame, other)).count() as f64;
                for (other, line) in requests.iter().enumerate() {
                    if other != index && line.y > frame.top - 1.0 && line.y < frame.bottom + 1.0 {
                        cost += 100.0;
                    }
                }
                let hits = |curve: &Vec<(f64, f64)>| {
                    curve
                        .windows(2)
                        .filter(|ends| meets(&frame, ends[0], ends[1]))
                        .count()
                };
                // A curve that only grazes costs less than one that runs along the text.
                cost += curves
                    .iter()
                    .map(|c| (hits(c) as f64).min(40.0))
                    .sum::<f64>();
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, frame));
                }
            }
        }
        placed.extend(best.map(|(_, frame)| frame));
    }
    placed
}

/// Moves heights apart: as near the wanted ones as possible, in their order and at least `gap`
/// apart, within the bounds. Where they cannot all fit the gap shrinks.
pub(crate) fn spread(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let room = (bottom - top).max(0.0);
    let gap = gap.min(room / wanted.len().saturating_sub(1).max(1) as f64);
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    // Without the gaps the heights need only ascend: neighbours out of order share their mean.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (rank, &i) in order.iter().enumerate() {
        let mut block = (wanted[i] - rank as f64 * gap, 1);
        while let Some(&(mean, count)) = blocks.last()
            && mean >= block.0
        {
            let both = count + block.1;
            block.0 = (mean * count as f64 + block.0 * block.1 as f64) / both as f64;
            block.1 = both;
            blocks.pop();
        }
        blocks.push(block);
    }
    let last = bottom - gap * wanted.len().saturating_sub(1) as f64;
    let means = blocks
        .iter()
        .flat_map(|(mean, count)| std::iter::repeat_n(*mean, *count));
    let mut heights = wanted.to_vec();
    for ((rank, &i), mean) in order.iter().enumerate().zip(means) {
        heights[i] = mean.min(last).max(top) + rank as f64 * gap;
    }
    heights
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

/// True if the straight line between two points passes through (Liang and Barsky's clipping).
fn meets(frame: &Rect, from: (f64, f64), to: (f64, f64)) -> bool {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let sides = [
        (-dx, from.0 - frame.left),
        (dx, frame.right - from.0),
        (-dy, from.1 - frame.top),
        (dy, frame.bottom - from.1),
    ];
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (slope, room) in sides {
        if slope == 0.0 {
            if room < 0.0 {
                return false;
            }
        } else if slope < 0.0 {
            enter = enter.max(room / slope);
        } else {
            leave = leave.min(room / slope);
        }
    }
    enter <= leave
}
