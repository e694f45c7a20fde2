//! [uPlot](https://github.com/leeoniya/uPlot) (MIT, see `LICENSE.txt`), for everything that embeds charts:
//! the stand-alone reports and the service's page.

/// Script; defines the global `uPlot`.
pub const JS: &str = include_str!("uPlot.iife.min.js");
/// Style sheet.
pub const CSS: &str = include_str!("uPlot.min.css");
