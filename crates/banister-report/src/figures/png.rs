//! SVG as PNG, with the font this crate carries and no other.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::text;
use crate::ReportError;

/// Pixels per SVG unit: sharp on dense screens and in print.
pub const SCALE: f32 = 2.0;

/// Draws an SVG of this crate at [`SCALE`].
///
/// Fonts of the machine are never consulted, so the same SVG gives the same pixels everywhere.
/// Letters that the font lacks (all but Latin, Greek and common signs) are drawn as a box.
///
/// # Errors
/// [`ReportError::Png`] if the text is not SVG or the image would be empty or too large.
pub fn render(svg: &str) -> Result<Vec<u8>, ReportError> {
    render_at(svg, SCALE)
}

/// Draws an SVG of this crate at the given number of pixels per unit; otherwise as [`render`].
///
/// # Errors
/// Those of [`render`].
pub fn render_at(svg: &str, scale: f32) -> Result<Vec<u8>, ReportError> {
    let mut fonts = fontdb::Database::new();
    for file in text::FILES {
        fonts.load_font_data(file.to_vec());
    }
    let options = Options {
        font_family: text::NAME.to_owned(),
        fontdb: Arc::new(fonts),
        ..Options::default()
    };
    let failed = |reason: String| ReportError::Png(reason);
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(scale);
    let size = size.ok_or_else(|| failed("the figure has no size".to_owned()))?;
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| failed(format!("{} x {} pixels", size.width(), size.height())))?;
    resvg::render(
        &tree,
        Transform::from_scale(scale, scale),
        &mut pixels.as_mut(),
    );
    pixels.encode_png().map_err(|e| failed(e.to_string()))
}
