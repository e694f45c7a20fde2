//! A few SVG elements, written with short numbers and escaped text.

use std::fmt::Write;

use crate::font::{self, Weight};
use crate::labels::Frame;

/// SVG elements in drawing order.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    out: String,
}

/// Where a text's position lies along it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextStyle {
    pub size: f64,
    pub weight: Weight,
    pub color: &'static str,
    pub anchor: Anchor,
    /// A white rim, so that the text can be read on top of curves.
    pub halo: bool,
    /// Turned to read from bottom to top.
    pub upwards: bool,
    /// SVG's `class`; empty for none.
    pub class: &'static str,
}

impl TextStyle {
    pub(crate) fn new(size: f64, color: &'static str) -> Self {
        let (weight, anchor) = (Weight::Regular, Anchor::Start);
        TextStyle {
            size,
            weight,
            color,
            anchor,
            halo: false,
            upwards: false,
            class: "",
        }
    }

    pub(crate) fn bold(self) -> Self {
        TextStyle {
            weight: Weight::Bold,
            ..self
        }
    }

    pub(crate) fn anchored(self, anchor: Anchor) -> Self {
        TextStyle { anchor, ..self }
    }

    pub(crate) fn haloed(self) -> Self {
        TextStyle { halo: true, ..self }
    }

    pub(crate) fn upwards(self) -> Self {
        TextStyle {
            upwards: true,
            ..self
        }
    }

    pub(crate) fn classed(self, class: &'static str) -> Self {
        TextStyle { class, ..self }
    }

    pub(crate) fn width(&self, text: &str) -> f64 {
        font::width(text, self.size, self.weight)
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stroke {
    pub color: &'static str,
    pub width: f64,
    /// SVG's `stroke-dasharray`; empty for a solid line.
    pub dashes: &'static str,
}

impl Stroke {
    fn attributes(&self) -> String {
        let mut text = format!(
            r#"stroke="{}" stroke-width="{}""#,
            self.color,
            px(self.width)
        );
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

    /// A text whose baseline passes through the position.
    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, style: TextStyle) {
        if text.is_empty() {
            return;
        }
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let weight = if style.weight == Weight::Bold {
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

    /// A straight line.
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

    /// A curve through the points.
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        self.push(format_args!(
            r#"<polyline class="series" points="{}" fill="none" stroke-linejoin="round" {}/>"#,
            pairs(points),
            stroke.attributes()
        ));
    }

    /// A translucent area within the points.
    pub(crate) fn area(&mut self, points: &[(f64, f64)], color: &str, opacity: f64) {
        self.push(format_args!(
            r#"<polygon class="band" points="{}" fill="{color}" fill-opacity="{}"/>"#,
            pairs(points),
            px(opacity)
        ));
    }

    /// A filled dot.
    pub(crate) fn dot(&mut self, at: (f64, f64), radius: f64, color: &str) {
        self.push(format_args!(
            r#"<circle cx="{}" cy="{}" r="{}" fill="{color}"/>"#,
            px(at.0),
            px(at.1),
            px(radius)
        ));
    }

    /// A marker of one of four shapes of about equal area, with a white rim so that crowded ones
    /// can be told apart.
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

    /// A filled rectangle.
    pub(crate) fn rect(&mut self, frame: Frame, fill: &str) {
        self.push(format_args!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{fill}"/>"#,
            px(frame.left),
            px(frame.top),
            px(frame.right - frame.left),
            px(frame.bottom - frame.top)
        ));
    }

    /// What is drawn inside belongs together and has a tooltip.
    pub(crate) fn group(&mut self, class: &str, tip: &str, inside: impl FnOnce(&mut Canvas)) {
        let tip = escape(tip);
        self.push(format_args!(r#"<g class="{class}"><title>{tip}</title>"#));
        inside(self);
        self.push(format_args!("</g>"));
    }

    /// The drawing as a document, with what a screen reader says.
    pub(crate) fn document(self, size: (f64, f64), title: &str, description: &str) -> String {
        let (width, height) = (px(size.0.ceil()), px(size.1.ceil()));
        let (title, description) = (escape(title), escape(description));
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
            f = font::FAMILY,
            body = self.out
        )
    }
}

fn pairs(points: &[(f64, f64)]) -> String {
    let pair = |(x, y): &(f64, f64)| format!("{},{}", px(*x), px(*y));
    points.iter().map(pair).collect::<Vec<_>>().join(" ")
}

/// A coordinate to the hundredth of a pixel.
fn px(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Text safe inside XML and HTML elements and quoted attributes. Control characters, which XML
/// forbids even as references, become spaces.
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
