//! SVG elements, written with short numbers and escaped text.

use std::fmt::Write;

use super::text::{self, Anchor, TextStyle};

/// A rectangle in pixels; `top` is the smaller height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub(crate) fn new((left, top): (f64, f64), (width, height): (f64, f64)) -> Rect {
        Rect {
            left,
            top,
            right: left + width,
            bottom: top + height,
        }
    }

    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn center(&self) -> (f64, f64) {
        (
            0.5 * (self.left + self.right),
            0.5 * (self.top + self.bottom),
        )
    }
}

/// Figure of any kind that can be drawn.
pub trait Draw {
    /// Draws the figure as an SVG document.
    fn svg(&self) -> String;
}

/// SVG elements in drawing order.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    out: String,
}

/// Look of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stroke {
    pub color: &'static str,
    pub width: f64,
    /// SVG's `stroke-dasharray`; empty for a solid line.
    pub dashes: &'static str,
}

impl Stroke {
    pub(crate) fn solid(color: &'static str, width: f64) -> Stroke {
        let dashes = "";
        Stroke {
            color,
            width,
            dashes,
        }
    }

    fn attributes(&self) -> String {
        let (color, width) = (self.color, px(self.width));
        let mut text = format!(r#"stroke="{color}" stroke-width="{width}""#);
        if !self.dashes.is_empty() {
            text += &format!(r#" stroke-dasharray="{}""#, self.dashes);
        }
        text
    }
}

impl Canvas {
    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(element);
        self.out.push('\n');
    }

    /// Writes a text whose baseline passes through the position.
    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, style: TextStyle) {
        if text.is_empty() {
            return;
        }
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let weight = if style.bold {
            r#" font-weight="600""#
        } else {
            ""
        };
        let halo = if style.halo {
            concat!(
                r##" stroke="#ffffff" stroke-width="3" stroke-linejoin="round""##,
                r#" paint-order="stroke""#
            )
        } else {
            ""
        };
        let class = if style.class.is_empty() {
            String::new()
        } else {
            format!(r#" class="{}""#, style.class)
        };
        let (x, y) = (px(x), px(y));
        let turn = if style.upwards {
            format!(r#" transform="rotate(-90 {x} {y})""#)
        } else {
            String::new()
        };
        self.push(format_args!(
            r#"<text{class} x="{x}" y="{y}" font-size="{}"{weight} fill="{}"{anchor}{halo}{turn}>{}</text>"#,
            px(style.size),
            style.color,
            escape(text)
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.push(format_args!(
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" {}/>"#,
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1),
            stroke.attributes()
        ));
    }

    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        self.push(format_args!(
            r#"<polyline class="series" points="{}" fill="none" stroke-linejoin="round" {}/>"#,
            pairs(points),
            stroke.attributes()
        ));
    }

    /// Fills the polygon, translucent.
    pub(crate) fn area(&mut self, points: &[(f64, f64)], color: &str, opacity: f64) {
        self.push(format_args!(
            r#"<polygon class="band" points="{}" fill="{color}" fill-opacity="{}"/>"#,
            pairs(points),
            px(opacity)
        ));
    }

    pub(crate) fn dot(&mut self, at: (f64, f64), radius: f64, color: &str) {
        self.push(format_args!(
            r#"<circle cx="{}" cy="{}" r="{}" fill="{color}"/>"#,
            px(at.0),
            px(at.1),
            px(radius)
        ));
    }

    /// Draws a marker of one of four shapes of about equal area, with a white rim that keeps crowded
    /// ones apart.
    pub(crate) fn marker(&mut self, shape: usize, (x, y): (f64, f64), radius: f64, color: &str) {
        let rim = format!(r##"fill="{color}" stroke="#ffffff" stroke-width="1""##);
        let corners = |points: &[(f64, f64)]| {
            let at = |(dx, dy): &(f64, f64)| (x + dx * radius, y + dy * radius);
            pairs(&points.iter().map(at).collect::<Vec<_>>())
        };
        let points = match shape % 4 {
            0 => {
                let (x, y, r) = (px(x), px(y), px(radius));
                return self.push(format_args!(r#"<circle cx="{x}" cy="{y}" r="{r}" {rim}/>"#));
            }
            1 => corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            2 => corners(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
            _ => corners(&[(0.0, -1.25), (1.2, 0.85), (-1.2, 0.85)]),
        };
        self.push(format_args!(r#"<polygon points="{points}" {rim}/>"#));
    }

    pub(crate) fn rect(&mut self, frame: Rect, fill: &str) {
        self.push(format_args!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{fill}"/>"#,
            px(frame.left),
            px(frame.top),
            px(frame.width()),
            px(frame.height())
        ));
    }

    /// Groups what is drawn inside under one tooltip.
    pub(crate) fn group(&mut self, class: &str, tip: &str, inside: impl FnOnce(&mut Canvas)) {
        let tip = escape(tip);
        self.push(format_args!(r#"<g class="{class}"><title>{tip}</title>"#));
        inside(self);
        self.push(format_args!("</g>"));
    }

    /// Closes the drawing. A screen reader says the title, and the subtitle where there is one.
    pub(crate) fn document(self, size: (f64, f64), title: &str, subtitle: &str) -> String {
        let (width, height) = (px(size.0.ceil()), px(size.1.ceil()));
        let said = if subtitle.is_empty() { title } else { subtitle };
        let (title, description) = (escape(title), escape(said));
        format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" "#,
                r#"viewBox="0 0 {w} {h}" role="img" aria-label="{t}" font-family="{f}">"#,
                "\n<title>{t}</title>\n<desc>{d}</desc>\n",
                r##"<rect width="{w}" height="{h}" fill="#ffffff"/>"##,
                "\n{body}</svg>\n"
            ),
            w = width,
            h = height,
            t = title,
            d = description,
            f = text::FAMILY,
            body = self.out
        )
    }
}

fn pairs(points: &[(f64, f64)]) -> String {
    let pair = |(x, y): &(f64, f64)| format!("{},{}", px(*x), px(*y));
    points.iter().map(pair).collect::<Vec<_>>().join(" ")
}

/// Writes a coordinate to the hundredth of a pixel.
fn px(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Makes text safe inside XML and HTML elements and quoted attributes. Control characters, which
/// XML forbids even as references, become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{FFFE}' | '\u{FFFF}' => out.push(' '),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
