//! SVG as PNG, with the font this crate carries and no other.
//!
//! The figures use half a dozen elements and one font, so they are drawn here: a general renderer of SVG shapes text and
//! reads fonts of all kinds, and was a fifth of what a newcomer compiles.

use roxmltree::{Document, Node};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::OutlineBuilder;

use super::text::Font;
use crate::ReportError;

/// Pixels per SVG unit: sharp on dense screens and in print.
pub const SCALE: f32 = 2.0;

/// Draws an SVG of this crate at [`SCALE`].
///
/// Fonts of the machine are never consulted, so the same SVG gives the same pixels everywhere.
/// Letters that the font lacks (all but Latin, Greek and common signs) are drawn as a box.
///
/// # Errors
/// [`ReportError::Png`] if the text is not SVG, has elements that no figure of this crate has, or the image would be empty or
/// too large.
pub fn render(svg: &str) -> Result<Vec<u8>, ReportError> {
    render_at(svg, SCALE)
}

/// Draws an SVG of this crate at the given number of pixels per unit; otherwise as [`render`].
///
/// # Errors
/// Those of [`render`].
pub fn render_at(svg: &str, scale: f32) -> Result<Vec<u8>, ReportError> {
    let failed = |reason: String| ReportError::Png(reason);
    let document = Document::parse(svg).map_err(|e| failed(e.to_string()))?;
    let root = document.root_element();
    let side = |name| (scale * number(root, name)).round() as u32;
    let (width, height) = (side("width"), side("height"));
    let mut pixels =
        Pixmap::new(width, height).ok_or_else(|| failed(format!("{width} x {height} pixels")))?;
    for node in root.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        let path = match name {
            "svg" | "g" | "title" | "desc" => continue,
            "rect" => rectangle(node),
            "line" => lines(&[at(node, "x1", "y1"), at(node, "x2", "y2")], false),
            "polyline" | "polygon" => lines(&points(node), name == "polygon"),
            "circle" => {
                let (x, y) = at(node, "cx", "cy");
                PathBuilder::from_circle(x, y, number(node, "r"))
            }
            "text" => letters(node),
            other => return Err(failed(format!("<{other}> is in no figure"))),
        };
        if let Some(path) = path {
            draw(&mut pixels, node, &path, scale);
        }
    }
    pixels.encode_png().map_err(|e| failed(e.to_string()))
}

/// Fills and strokes a path as its element says.
fn draw(pixels: &mut Pixmap, node: Node<'_, '_>, path: &Path, scale: f32) {
    let transform = turned(node).post_scale(scale, scale);
    let fill = |pixels: &mut Pixmap| {
        if let Some(paint) = paint(node, "fill") {
            pixels.fill_path(path, &paint, FillRule::Winding, transform, None);
        }
    };
    let stroke = |pixels: &mut Pixmap| {
        let dashes = numbers(node.attribute("stroke-dasharray").unwrap_or(""));
        let stroke = Stroke {
            width: number(node, "stroke-width"),
            line_join: match node.attribute("stroke-linejoin") {
                Some("round") => LineJoin::Round,
                _ => LineJoin::Miter,
            },
            dash: StrokeDash::new(dashes, 0.0),
            ..Stroke::default()
        };
        if let Some(paint) = paint(node, "stroke") {
            pixels.stroke_path(path, &paint, &stroke, transform, None);
        }
    };
    if node.attribute("paint-order") == Some("stroke") {
        stroke(pixels);
        fill(pixels);
    } else {
        fill(pixels);
        stroke(pixels);
    }
}

/// Colour of an element's `fill`, black unless it is given, or `stroke`; `None` where it has none.
fn paint(node: Node<'_, '_>, of: &str) -> Option<Paint<'static>> {
    let default = (of == "fill").then_some("#000000");
    let hex = node.attribute(of).or(default)?.strip_prefix('#')?;
    let value = u32::from_str_radix(hex, 16).ok()?;
    let channel = |shift: u32| ((value >> shift) & 0xFF) as u8;
    let mut color = Color::from_rgba8(channel(16), channel(8), channel(0), 255);
    let opacity = (of == "fill")
        .then(|| node.attribute("fill-opacity"))
        .flatten();
    if let Some(opacity) = opacity.and_then(|text| text.parse().ok()) {
        color.set_alpha(opacity);
    }
    let mut paint = Paint::default();
    paint.set_color(color);
    Some(paint)
}

/// The letters of a text, one after the other, without kerning, as they are measured.
fn letters(node: Node<'_, '_>) -> Option<Path> {
    let written = node.text()?;
    let font = Font::new(node.attribute("font-weight").is_some())?;
    let size = f64::from(number(node, "font-size"));
    let (x, y) = at(node, "x", "y");
    let before = match node.attribute("text-anchor") {
        Some("middle") => 0.5,
        Some("end") => 1.0,
        _ => 0.0,
    };
    let mut outline = Outline {
        path: PathBuilder::new(),
        x: x - (before * font.width(written, size)) as f32,
        y,
        scale: (size / font.units()) as f32,
    };
    for letter in written.chars() {
        font.outline(letter, &mut outline);
        outline.x += font.advance(letter, size) as f32;
    }
    outline.path.finish()
}

/// Takes letters in the font's units, whose y points up.
struct Outline {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, self.y - self.scale * y)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

fn rectangle(node: Node<'_, '_>) -> Option<Path> {
    let (x, y) = at(node, "x", "y");
    let rect = Rect::from_xywh(x, y, number(node, "width"), number(node, "height"))?;
    Some(PathBuilder::from_rect(rect))
}

fn lines(points: &[(f32, f32)], closed: bool) -> Option<Path> {
    let (&(x, y), rest) = points.split_first()?;
    let mut path = PathBuilder::new();
    path.move_to(x, y);
    for &(x, y) in rest {
        path.line_to(x, y);
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// `rotate(DEGREES x y)`, the one transform of figures.
fn turned(node: Node<'_, '_>) -> Transform {
    let inside = node.attribute("transform").unwrap_or("");
    let inside = inside.trim_start_matches("rotate(").trim_end_matches(')');
    match numbers(inside)[..] {
        [degrees, x, y] => Transform::from_rotate_at(degrees, x, y),
        _ => Transform::identity(),
    }
}

fn points(node: Node<'_, '_>) -> Vec<(f32, f32)> {
    let all = numbers(node.attribute("points").unwrap_or(""));
    all.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn at(node: Node<'_, '_>, x: &str, y: &str) -> (f32, f32) {
    (number(node, x), number(node, y))
}

/// A number of an element; 0 where it is absent, as in SVG.
fn number(node: Node<'_, '_>, name: &str) -> f32 {
    let text = node.attribute(name).unwrap_or("0");
    text.parse().unwrap_or(0.0)
}

fn numbers(text: &str) -> Vec<f32> {
    let parts = text.split([' ', ',']).filter(|part| !part.is_empty());
    parts.filter_map(|part| part.parse().ok()).collect()
}
