//! One HTML file with tables and charts that works without a network. Curves are interactive;
//! other drawings say the numbers behind a mark in its tooltip. A click on a table's heading sorts
//! by that column; long tables are folded until they are opened.
//!
//! Style, script and data are all inside the file, and its content security policy forbids loading
//! anything else. The charts are drawn with uPlot (the crate `banister-uplot`, with its licence);
//! without JavaScript, and on paper, the page shows the static drawings.
//!
//! Once all charts are drawn, the script sets `data-drawn` of the root element to their number;
//! an error sets `data-error` to its message and leaves the static drawings in place.
//!
//! `interactive` has the data that the script draws from.

mod interactive;

use banister_uplot::{CSS as UPLOT_CSS, JS as UPLOT_JS};

use crate::figures::canvas::escape;
use crate::{Drawing, ReportError, svg};

/// A report: a title, some words, and sections.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// Headline and name of the page.
    pub title: String,
    /// Opening paragraphs, plain text.
    pub lead: Vec<String>,
    /// Sections from top to bottom.
    pub sections: Vec<Section>,
}

/// A part of a [`Document`]: words, then tables, then figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Opening paragraphs, plain text.
    pub paragraphs: Vec<String>,
    /// Tables in order.
    pub tables: Vec<ReportTable>,
    /// Figures in order.
    pub figures: Vec<FigureRef>,
}

/// A figure with the name of its files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FigureRef {
    /// File stem under `figures/`, unique in the document.
    pub stem: String,
    /// Text below the figure, plain.
    pub caption: String,
    /// Drawing; a [`crate::Figure`] and its like convert with `into()`.
    pub figure: Drawing,
}

/// A table of a [`Section`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportTable {
    /// Text above the table.
    pub title: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, each with one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl ReportTable {
    /// A table of its title, the names of its columns, and its rows.
    pub fn new(
        title: impl Into<String>,
        header: &[&str],
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> Self {
        Self {
            title: title.into(),
            header: header.iter().map(ToString::to_string).collect(),
            rows: rows.into_iter().collect(),
        }
    }

    /// The table without some columns, by name.
    pub fn without(mut self, names: &[&str]) -> Self {
        let is_kept = |name: &String| !names.contains(&name.as_str());
        let kept: Vec<bool> = self.header.iter().map(is_kept).collect();
        for row in &mut self.rows {
            let mut place = kept.iter();
            row.retain(|_| place.next().copied().unwrap_or(true));
        }
        self.header.retain(is_kept);
        self
    }
}

/// A cell of a [`ReportTable`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// Plain text.
    pub text: String,
    /// Colour that tells good from bad.
    pub tone: Tone,
    /// Aligned to the right, with digits of equal width.
    pub number: bool,
    /// Value to sort the column by, if the text alone does not say.
    pub sort: Option<f64>,
}

/// Meaning of a [`Cell`] for the reader.
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
    /// Makes a cell with words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    /// Makes a cell with a number, already written out.
    pub fn number(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            number: true,
            ..Cell::default()
        }
    }

    /// Gives the cell a value to sort by; one that is not finite counts as absent, and the cell
    /// then stands last.
    pub fn sorted_by(self, value: f64) -> Cell {
        Cell {
            sort: Some(value),
            ..self
        }
    }

    /// Gives the cell a tone.
    pub fn toned(self, tone: Tone) -> Cell {
        Cell { tone, ..self }
    }
}

/// Most rows of a table that is shown without being asked for: a page is read from the top.
const UNFOLDED: usize = 40;

/// Most characters of words in a cell that are kept on one line.
const ONE_LINE: usize = 32;

const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");

/// Content security policy: everything comes from the file itself.
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

fn push_table(page: &mut String, table: &ReportTable) {
    // A first column with holes continues the row above, and sorting would tear the two apart.
    let whole = |row: &Vec<Cell>| row.first().is_some_and(|cell| !cell.text.is_empty());
    let sortable = if table.rows.len() > 1 && table.rows.iter().all(whole) {
        " data-sortable"
    } else {
        ""
    };
    let (title, rows) = (escape(&table.title), table.rows.len());
    let folded = rows > UNFOLDED && !title.is_empty();
    if folded {
        *page += &format!("<details><summary>{title} ({rows} rows)</summary>\n");
    }
    *page += &format!("<div class=\"table\"><table{sortable}>\n");
    if !title.is_empty() {
        *page += &format!("<caption>{title}</caption>\n");
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
            let kind = match cell {
                cell if cell.number => "number",
                cell if cell.text.chars().count() <= ONE_LINE => "short",
                _ => "",
            };
            let class = format!("{kind}{tone}");
            let sort = match cell.sort {
                Some(value) if value.is_finite() => format!(" data-sort=\"{value:e}\""),
                Some(_) => " data-sort=\"\"".to_owned(),
                None => String::new(),
            };
            let text = escape(&cell.text);
            *page += &format!("<td class=\"{}\"{sort}>{text}</td>", class.trim());
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table></div>\n";
    if folded {
        *page += "</details>\n";
    }
}

fn push_figure(page: &mut String, figure: &FigureRef) -> Result<(), ReportError> {
    let stem = escape(&figure.stem);
    let title = escape(figure.figure.title());
    let drawing = svg::render(&figure.figure);
    match &figure.figure {
        Drawing::Curves(curves) => {
            *page += &format!(
                "<figure id=\"figure-{stem}\" data-charts=\"{}\">\n<h3>{title}</h3>\n\
                 <p class=\"note\">{}</p>\n<div class=\"live\" hidden></div>\n\
                 <div class=\"static\">{drawing}</div>\n\
                 <script type=\"application/json\">{}</script>\n",
                interactive::charts(curves),
                escape(&curves.subtitle),
                interactive::json(curves)?,
            );
        }
        // The drawing has its title in it; the heading is for those who move by headings.
        Drawing::Dots(_) | Drawing::HeatMap(_) | Drawing::Ranks(_) => {
            *page += &format!(
                "<figure id=\"figure-{stem}\">\n<h3 class=\"unseen\">{title}</h3>\n\
                 <div class=\"static\">{drawing}</div>\n"
            );
        }
    }
    if !figure.caption.is_empty() {
        *page += &format!("<figcaption>{}</figcaption>\n", escape(&figure.caption));
    }
    *page += "</figure>\n";
    Ok(())
}
