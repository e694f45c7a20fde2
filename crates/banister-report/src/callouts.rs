//! Names beside the points of a scatter, none on top of another.

use crate::labels::Frame;

/// A point to be named: where it stands, how far its marker reaches, how large its name is.
pub(crate) struct Callout {
    pub at: (f64, f64),
    pub reach: f64,
    pub size: (f64, f64),
}

/// A straight line between two places.
pub(crate) type Segment = ((f64, f64), (f64, f64));

/// What the names should leave free.
pub(crate) struct Around<'a> {
    /// The names stay inside.
    pub area: Frame,
    /// Other texts and markers.
    pub taken: &'a [Frame],
    /// Whiskers; a name may cross one if it must.
    pub segments: &'a [Segment],
}

const DISTANCES: [f64; 11] = [
    3.0, 8.0, 14.0, 22.0, 32.0, 44.0, 58.0, 74.0, 94.0, 120.0, 150.0,
];
const DIRECTIONS: usize = 16;
const PASSES: usize = 6;

/// A frame for each name: near its point, off everything else if that is possible.
///
/// Each name takes the best of some places around its point; a few passes let the first ones
/// make way for the later ones. Nothing is random, so the same points give the same places.
pub(crate) fn place(points: &[Callout], around: &Around<'_>) -> Vec<Frame> {
    let mut placed: Vec<Option<Frame>> = vec![None; points.len()];
    for _ in 0..PASSES {
        let before = placed.clone();
        for index in 0..points.len() {
            placed[index] = best(index, points, &placed, around);
        }
        if placed == before {
            break;
        }
    }
    let fallback = |point: &Callout| frame_at(point, (1.0, 0.0), 3.0);
    let named = points.iter().zip(placed);
    named
        .map(|(point, frame)| frame.unwrap_or_else(|| fallback(point)))
        .collect()
}

/// The line from a point's marker to its name; none where the name stands right beside it.
pub(crate) fn leader(point: &Callout, frame: &Frame) -> Option<Segment> {
    let (x, y) = point.at;
    let nearest = (
        x.clamp(frame.left, frame.right),
        y.clamp(frame.top, frame.bottom),
    );
    let (dx, dy) = (nearest.0 - x, nearest.1 - y);
    let length = (dx * dx + dy * dy).sqrt();
    if length <= point.reach + 7.0 {
        return None;
    }
    let start = (point.reach + 1.0) / length;
    Some(((x + dx * start, y + dy * start), nearest))
}

/// The frame of the point's name in a direction.
fn frame_at(point: &Callout, (dx, dy): (f64, f64), distance: f64) -> Frame {
    let (width, height) = point.size;
    let reach = point.reach + distance;
    let (x, y) = (point.at.0 + dx * reach, point.at.1 + dy * reach);
    let part = |along: f64| match along {
        a if a > 0.3 => 0.0,
        a if a < -0.3 => 1.0,
        _ => 0.5,
    };
    let (left, top) = (x - part(dx) * width, y - part(dy) * height);
    Frame {
        left,
        top,
        right: left + width,
        bottom: top + height,
    }
}

fn best(
    index: usize,
    points: &[Callout],
    placed: &[Option<Frame>],
    around: &Around<'_>,
) -> Option<Frame> {
    let point = points.get(index)?;
    let mut best: Option<(f64, Frame)> = None;
    for (ring, distance) in DISTANCES.into_iter().enumerate() {
        for step in 0..DIRECTIONS {
            // Rightwards first, then alternately upwards and downwards.
            let turn = step.div_ceil(2);
            let sign = if step % 2 == 1 { -1.0 } else { 1.0 };
            let angle = sign * std::f64::consts::TAU * turn as f64 / DIRECTIONS as f64;
            let direction = (libm::cos(angle), libm::sin(angle));
            let frame = frame_at(point, direction, distance);
            let near = 2.0 * ring as f64 + 0.15 * turn as f64;
            // Nothing further out can be better than what is free here.
            if best.is_some_and(|(least, _)| near >= least) {
                continue;
            }
            let cost = near + trouble(index, &frame, points, placed, around);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, frame));
            }
        }
    }
    best.map(|(_, frame)| frame)
}

/// What is wrong with a name's place.
fn trouble(
    index: usize,
    frame: &Frame,
    points: &[Callout],
    placed: &[Option<Frame>],
    around: &Around<'_>,
) -> f64 {
    let Some(point) = points.get(index) else {
        return 0.0;
    };
    let area = &around.area;
    let inside = frame.left >= area.left
        && frame.right <= area.right
        && frame.top >= area.top
        && frame.bottom <= area.bottom;
    let mut cost = if inside { 0.0 } else { 1e6 };
    let roomy = frame.grown(1.0);
    cost += 1e4 * around.taken.iter().filter(|t| roomy.overlaps(t)).count() as f64;
    let line = leader(point, frame);
    for segment in around.segments {
        if frame.meets(segment.0, segment.1) {
            cost += 7.0;
        }
    }
    for (other, (callout, place)) in points.iter().zip(placed).enumerate() {
        let marker = callout.marker();
        if roomy.overlaps(&marker) {
            cost += 300.0;
        }
        if other == index {
            continue;
        }
        // A name must not seem to belong to another point.
        if frame.grown(5.0).overlaps(&marker) {
            cost += 5.0;
        }
        if let Some((from, to)) = line
            && marker.meets(from, to)
        {
            cost += 12.0;
        }
        let Some(place) = place else { continue };
        if roomy.overlaps(place) {
            cost += 1e4;
        }
        if let Some((from, to)) = line
            && place.meets(from, to)
        {
            cost += 60.0;
        }
        if let Some(theirs) = leader(callout, place) {
            if frame.meets(theirs.0, theirs.1) {
                cost += 60.0;
            }
            if line.is_some_and(|own| cross(own, theirs)) {
                cost += 40.0;
            }
        }
    }
    cost
}

impl Callout {
    fn marker(&self) -> Frame {
        let ((x, y), r) = (self.at, self.reach);
        Frame {
            left: x - r,
            top: y - r,
            right: x + r,
            bottom: y + r,
        }
    }
}

/// Whether two straight lines cross.
fn cross(a: Segment, b: Segment) -> bool {
    let side = |(p, q): Segment, r: (f64, f64)| {
        (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0) > 0.0
    };
    side(a, b.0) != side(a, b.1) && side(b, a.0) != side(b, a.1)
}
