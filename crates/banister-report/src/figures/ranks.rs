//! Critical-difference diagrams: mean ranks of agents over instances, and which do not differ significantly.
//!
//! Agents are rows, as in a dot plot, rather than names on elbows around one axis: a dozen of them stay readable, and
//! the bars that join agents never cross a name.

use banister_sim::banister::guarantee::Guarantee;
use banister_sim::compare::Ranking;

use super::axes::{self, Axis, Scale, TICK_SIZE, significant};
use super::canvas::{Canvas, Draw, Rect, Stroke};
use super::legend::{self, MARGIN};
use super::palette::{self, AXIS, FAINT, INK, QUIET};
use super::text::TextStyle;

/// Mean ranks of some agents. A bar beside the rows joins agents of which no two differ significantly.
///
/// ```
/// use banister_report::{RankDiagram, svg};
///
/// let diagram = RankDiagram {
///     title: "Mean ranks".into(),
///     agents: vec![("opb".into(), 1.2), ("s_colts".into(), 1.9), ("s_ops".into(), 2.9)],
///     ties: vec![(0, 1)],
///     ..RankDiagram::default()
/// };
/// assert!(svg::render(&diagram).contains(">s_colts</text>"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RankDiagram {
    /// Headline.
    pub title: String,
    /// Meaning of ranks and bars, and the tests behind them.
    pub subtitle: String,
    /// Labels and mean ranks, the best first.
    pub agents: Vec<(String, f64)>,
    /// First and last row that each bar joins.
    pub ties: Vec<(usize, usize)>,
    /// Length of the ruler above the axis; none is drawn for 0.
    pub critical_difference: f64,
    /// Group whose colour and marker the agents have.
    pub group: usize,
    /// Words about agents that have no rank.
    pub note: String,
}

const ROW: f64 = 24.0;
const NAME: f64 = 12.5;
const PLOT: f64 = 380.0;
const WIDEST_NAME: f64 = 260.0;
const MARKER: f64 = 5.2;
/// Between the axis and the first bar, and between two bars.
const BESIDE: f64 = 34.0;
const LANE: f64 = 13.0;
/// Room for the ruler.
const RULER: f64 = 40.0;

impl RankDiagram {
    /// Lays out a ranking.
    pub fn of_ranking(ranking: &Ranking) -> RankDiagram {
        let (agents, instances) = (ranking.agents.len(), ranking.instances.len());
        let test = &ranking.friedman;
        let p = |p: f64| match p {
            p if p < 1e-4 => "p < 0.0001".to_owned(),
            p => format!("p = {}", significant(p, 2)),
        };
        let left = ranking.unranked.iter();
        let left: Vec<String> = left
            .map(|own| format!("{} ({})", own.agent, own.reason.words()))
            .collect();
        RankDiagram {
            title: format!("Mean ranks by regret: {}", ranking.guarantee.words()),
            subtitle: format!(
                "{agents} agents on {instances} instances; rank 1 has the least regret. All equal? Friedman’s test: \
                 F = {}, {}. A bar joins agents of whom no two are told apart by Wilcoxon’s signed-rank test with \
                 Holm’s correction at 5%.{}",
                significant(test.f, 3),
                p(test.p),
                // The signed-rank test gives 2/2ⁿ at least.
                if ranking.pairs.len() as f64 * 2_f64.powi(1 - instances as i32) >= 0.05 {
                    " With so few instances no pair can be."
                } else {
                    ""
                },
            ),
            agents: (ranking.agents.iter())
                .map(|own| (own.agent.clone(), own.mean_rank))
                .collect(),
            ties: ranking.ties.clone(),
            critical_difference: ranking.critical_difference,
            group: (Guarantee::ALL.iter())
                .position(|own| *own == ranking.guarantee)
                .unwrap_or(0),
            note: if left.is_empty() {
                String::new()
            } else {
                format!("Without a rank: {}.", left.join(", "))
            },
        }
    }

    /// Lane of each bar: bars that share a row stand side by side.
    fn lanes(&self) -> Vec<usize> {
        let mut lanes: Vec<usize> = Vec::new();
        for (at, tie) in self.ties.iter().enumerate() {
            let taken = |lane: &usize| {
                let earlier = self.ties[..at].iter().zip(&lanes);
                earlier
                    .clone()
                    .any(|(other, own)| own == lane && other.1 >= tie.0)
            };
            let lane = (0..=at).find(|lane| !taken(lane));
            lanes.push(lane.unwrap_or(at));
        }
        lanes
    }
}

impl Draw for RankDiagram {
    fn svg(&self) -> String {
        let style = TextStyle::new(NAME, INK).classed("label");
        let cut = |name: &str| style.fit(name, WIDEST_NAME);
        let names = style.widest(self.agents.iter().map(|own| cut(&own.0))) + 22.0;
        let lanes = self.lanes();
        let bars = lanes
            .iter()
            .max()
            .map_or(0.0, |most| (*most + 1) as f64 * LANE);
        let width = (2.0 * MARGIN + names + PLOT + BESIDE + bars + 10.0).max(600.0);
        let axis = Axis {
            low: 1.0,
            high: (self.agents.len() as f64).max(2.0),
            scale: Scale::Linear,
        };
        let mut canvas = Canvas::default();
        let top = legend::titles(&mut canvas, &self.title, &self.subtitle, width) + RULER;
        let height = ROW * self.agents.len() as f64;
        let frame = Rect::new((MARGIN + names, top), (PLOT, height));
        let to_x = |rank: f64| frame.left + axis.place(rank) * frame.width();
        let row = |at: usize| frame.top + (at as f64 + 0.5) * ROW;

        // Whole ranks only, and not more than can be read.
        let step = self.agents.len().div_ceil(14).max(1);
        let ticks: Vec<(f64, String)> = (1..=axis.high as usize)
            .step_by(step)
            .map(|rank| (to_x(rank as f64), rank.to_string()))
            .collect();
        for (x, _) in &ticks {
            let stroke = Stroke::solid(FAINT, 1.0);
            canvas.line((*x, frame.top), (*x, frame.bottom), stroke);
        }
        let places = ticks.iter().map(|(x, text)| (*x, text.as_str()));
        axes::draw_bottom(&mut canvas, (frame.left, frame.right, frame.bottom), places);
        let small = TextStyle::new(TICK_SIZE, QUIET);
        canvas.text(
            frame.center().0,
            frame.bottom + 35.0,
            "mean rank",
            small.centered(),
        );
        self.draw_ruler(&mut canvas, &axis, frame);

        let color = palette::color(palette::group(self.group));
        for (at, (name, rank)) in self.agents.iter().enumerate() {
            let y = row(at);
            let edge = y + 0.5 * ROW;
            let stroke = Stroke::solid(FAINT, 1.0);
            canvas.line((MARGIN, edge), (frame.right, edge), stroke);
            canvas.text(MARGIN, y + 4.5, &cut(name), style);
            let tip = format!("{name}: mean rank {}", significant(*rank, 4));
            canvas.group("point", &tip, |canvas| {
                let x = to_x(*rank);
                canvas.line((frame.left, y), (x, y), Stroke::solid(color, 1.4));
                canvas.marker(self.group, (x, y), MARKER, color);
                canvas.text(
                    x + MARKER + 5.0,
                    y + 4.0,
                    &format!("{rank:.2}"),
                    small.haloed(),
                );
            });
        }
        for ((first, last), lane) in self.ties.iter().zip(&lanes) {
            let x = frame.right + BESIDE + (*lane as f64 + 0.5) * LANE;
            let (from, to) = ((x, row(*first) - 6.0), (x, row(*last) + 6.0));
            canvas.line(from, to, Stroke::solid(palette::OPTIMUM, 4.0));
        }
        let mut y = frame.bottom + 44.0;
        let note = TextStyle::new(12.0, QUIET);
        for line in note.wrap(&self.note, width - 2.0 * MARGIN) {
            y += 18.0;
            canvas.text(MARGIN, y, &line, note);
        }
        canvas.document((width, y + 0.6 * MARGIN), &self.title, &self.subtitle)
    }
}

impl RankDiagram {
    /// Draws Nemenyi's critical difference, where it fits the axis.
    fn draw_ruler(&self, canvas: &mut Canvas, axis: &Axis, frame: Rect) {
        let length = self.critical_difference;
        if !(length > 0.0 && 1.0 + length <= axis.high) {
            return;
        }
        let y = frame.top - 12.0;
        let right = frame.left + axis.place(1.0 + length) * frame.width();
        let stroke = Stroke::solid(AXIS, 1.4);
        canvas.line((frame.left, y), (right, y), stroke);
        for x in [frame.left, right] {
            canvas.line((x, y - 4.0), (x, y + 4.0), stroke);
        }
        let text = format!("Nemenyi’s critical difference {}", significant(length, 3));
        canvas.text(frame.left, y - 9.0, &text, TextStyle::new(TICK_SIZE, QUIET));
    }
}
