//! One HTML file with tables and interactive charts that works without a network.
//!
//! Style, script and data are all inside the file, and its content security policy forbids loading
//! anything else. The charts are drawn with uPlot (its licence stands beside it in `assets/`);
//! without JavaScript, and on paper, the page shows the static drawings.
//!
//! Once all charts are drawn, the script sets `data-drawn` of the root element to their number;
//! an error sets `data-error` to its message and leaves the static drawings in place.

use crate::canvas::escape;
use crate::figure::Figure;
use crate::{ReportError, interactive, svg};

/// A report: a title, some words, and sections.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// Headline and name of the page.
    pub title: String,
    /// Opening paragraphs, plain text.
    pub lead: Vec<String>,
    /// From top to bottom.
    pub sections: Vec<Section>,
}

/// A part of a [`Document`]: words, then tables, then figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Plain text.
    pub paragraphs: Vec<String>,
    /// Tables in order.
    pub tables: Vec<Table>,
    /// Figures in order.
    pub figures: Vec<FigureRef>,
}

/// A figure with the name of its files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FigureRef {
    /// File stem under `figures/`, unique in the document.
    pub stem: String,
    /// Shown below the figure, plain text.
    pub caption: String,
    /// What to draw.
    pub figure: Figure,
}

/// A table of a [`Section`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Shown above the table.
    pub title: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// Plain text.
    pub text: String,
    /// How the reader should take it.
    pub tone: Tone,
    /// Aligned to the right, with digits of equal width.
    pub number: bool,
}

/// How the reader should take a [`Cell`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Neither good nor bad.
    #[default]
    Plain,
    /// As hoped: green.
    Good,
    /// Needs attention: red and bold.
    Bad,
    /// Of little weight: grey.
    Quiet,
}

impl Cell {
    /// A cell with words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    /// A cell with a number, already written out.
    pub fn number(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            number: true,
            ..Cell::default()
        }
    }

    /// The same cell in another tone.
    pub fn toned(self, tone: Tone) -> Cell {
        Cell { tone, ..self }
    }
}

const UPLOT_JS: &str = include_str!("../assets/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../assets/uPlot.min.css");
const SCRIPT: &str = include_str!("../assets/report.js");
const STYLE: &str = include_str!("../assets/report.css");

/// Everything comes from the file itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Renders the document as one HTML file.
///
/// # Errors
/// [`ReportError::Data`], which no figure made by this crate causes.
pub fn render(document: &Document) -> Result<String, ReportError> {
    let title = escape(&document.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{UPLOT_CSS}\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n"
    );
    for paragraph in &document.lead {
        page += &format!("<p class=\"lead\">{}</p>\n", escape(paragraph));
    }
    page += "</header>\n";
    for section in &document.sections {
        push_section(&mut page, section)?;
    }
    page += &format!(
        "<footer>Made with banister {}. The numbers behind the curves are in \
         <code>curves.csv</code> and <code>runs.csv</code> beside this page.</footer>\n</main>\n\
         <script>{UPLOT_JS}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    Ok(page)
}

fn push_section(page: &mut String, section: &Section) -> Result<(), ReportError> {
    *page += "<section>\n";
    if !section.title.is_empty() {
        *page += &format!("<h2>{}</h2>\n", escape(&section.title));
    }
    for paragraph in &section.paragraphs {
        *page += &format!("<p>{}</p>\n", escape(paragraph));
    }
    for table in &section.tables {
        push_table(page, table);
    }
    for figure in &section.figures {
        push_figure(page, figure)?;
    }
    *page += "</section>\n";
    Ok(())
}

fn push_table(page: &mut String, table: &Table) {
    *page += "<div class=\"table\"><table>\n";
    if !table.title.is_empty() {
        *page += &format!("<caption>{}</caption>\n", escape(&table.title));
    }
    // A heading stands over its column as the column's cells do.
    let number = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.any(|cell| cell.number)
    };
    *page += "<thead><tr>";
    for (column, name) in table.header.iter().enumerate() {
        let class = if number(column) {
            " class=\"number\""
        } else {
            ""
        };
        *page += &format!("<th scope=\"col\"{class}>{}</th>", escape(name));
    }
    *page += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        *page += "<tr>";
        for cell in row {
            let tone = match cell.tone {
                Tone::Plain => "",
                Tone::Good => " good",
                Tone::Bad => " bad",
                Tone::Quiet => " quiet",
            };
            let class = format!("{}{tone}", if cell.number { "number" } else { "" });
            *page += &format!("<td class=\"{}\">{}</td>", class.trim(), escape(&cell.text));
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table></div>\n";
}

fn push_figure(page: &mut String, figure: &FigureRef) -> Result<(), ReportError> {
    let stem = escape(&figure.stem);
    *page += &format!(
        "<figure id=\"figure-{stem}\" data-charts=\"{}\">\n<h3>{}</h3>\n<p class=\"note\">{}</p>\n\
         <div class=\"live\" hidden></div>\n<div class=\"static\">{}</div>\n\
         <script type=\"application/json\">{}</script>\n",
        interactive::charts(&figure.figure),
        escape(&figure.figure.title),
        escape(&figure.figure.subtitle),
        svg::render(&figure.figure),
        interactive::json(&figure.figure)?,
    );
    if !figure.caption.is_empty() {
        *page += &format!("<figcaption>{}</figcaption>\n", escape(&figure.caption));
    }
    *page += "</figure>\n";
    Ok(())
}
