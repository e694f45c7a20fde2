//! A log as a table: the columns that an export has and an import knows.

use std::sync::Arc;

use axum::http::StatusCode;
use banister::fields::{Category, Field, FieldValue};
use banister::logs::{Frequencies, LogRows};
use banister::toolkit::{FieldPath, Within, check_segment};
use banister_engine::{
    ExperimentInfo, Found, Import, Kind, Refusal, SegmentFields, Segments, candidate_names,
};
use banister_table::{Column, DataTable, RawTable, Values};

use super::audit::{decision_of, status_of};
use super::exchange::Escape;
use crate::problem::Problem;

/// Columns that every export has.
const OWN: [&str; 9] = [
    "decision", "number", "time", "action", "index", "pscore", "reward", "status", "shadow",
];

/// Column of the segment, where decisions have one, and prefix of columns of its fields.
const SEGMENT: &str = "segment";
const SEGMENT_FIELD: &str = "segment_";

/// Column of the request, in imports where several arms answered one.
const REQUEST: &str = "request";

/// The column of a guardrail's costs: its name, with `cost_` before it if that is, `cost_`s in front aside,
/// the name of another column. So no two columns have one name.
fn cost_column(info: &ExperimentInfo, guardrail: &str) -> String {
    let mut rest = guardrail;
    while let Some(shorter) = rest.strip_prefix("cost_") {
        rest = shorter;
    }
    let is_segment = [SEGMENT, REQUEST].contains(&rest) || rest.starts_with(SEGMENT_FIELD);
    let taken = OWN.contains(&rest)
        || rest.starts_with("context_")
        || rest.starts_with("feature_")
        || (info.segments.is_some() && is_segment);
    if taken {
        format!("cost_{guardrail}")
    } else {
        guardrail.to_string()
    }
}

/// Beginnings of texts that spreadsheets take for formulas.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The text that a cell stands for, without the apostrophe of [`escape_formulas`].
fn unescaped(cell: &str) -> &str {
    let rest = cell.strip_prefix('\'');
    let escaped = rest.filter(|rest| rest.trim_start_matches('\'').starts_with(FORMULAS));
    escaped.unwrap_or(cell)
}

/// Puts an apostrophe before texts that spreadsheets take for formulas, and before those that look as if they had one.
fn escape_formulas(table: &mut DataTable, how: Escape) {
    let escape = |text: &mut String| {
        let rest = text.trim_start_matches('\'');
        let is_due = how == Escape::Formulas || rest.len() < text.len() || rest.starts_with('=');
        if how != Escape::None && is_due && rest.starts_with(FORMULAS) {
            text.insert(0, '\'');
        }
    };
    for column in &mut table.columns {
        escape(&mut column.name);
        if let Values::Text(texts) = &mut column.values {
            texts.iter_mut().for_each(escape);
        }
    }
}

/// Columns that describe the action played or its context. Those of fields have their names.
fn described(info: &ExperimentInfo) -> Vec<String> {
    let numbered = |stem: &str, d: usize| (0..d).map(|i| format!("{stem}_{i}")).collect();
    match (info.kind, &info.fields) {
        (Kind::Arms, _) => Vec::new(),
        (Kind::Context(_), Some(fields)) => {
            let names = fields.0.keys();
            names.map(|name| format!("context_{name}")).collect()
        }
        (Kind::Context(d), None) => numbered("context", d),
        (Kind::Candidates(d), _) => numbered("feature", d),
    }
}

/// Columns without entries for [`described`]: numbers, or the texts of categories and flags.
fn empty_columns(info: &ExperimentInfo) -> Vec<Values> {
    let number = || Values::Number(Vec::new());
    match &info.fields {
        None => described(info).iter().map(|_| number()).collect(),
        Some(fields) => (fields.0.values())
            .map(|field| match field {
                Field::Number { .. } => number(),
                _ => Values::Text(Vec::new()),
            })
            .collect(),
    }
}

/// The value of a field that a cell stands for.
fn value_of(field: &Field, cell: &str) -> FieldValue {
    let text = || FieldValue::Text(cell.into());
    let number = || {
        let number = cell.trim().parse::<f64>().ok();
        number.filter(|x| x.is_finite()).map(FieldValue::Number)
    };
    match field {
        _ if cell.is_empty() => FieldValue::Missing,
        Field::Number { .. } if is_missing(cell) => FieldValue::Missing,
        Field::Number { .. } => number().unwrap_or_else(text),
        Field::Boolean { .. } => match cell.to_ascii_lowercase().as_str() {
            "true" | "1" => FieldValue::Boolean(true),
            "false" | "0" => FieldValue::Boolean(false),
            _ => text(),
        },
        Field::Category { values, .. } => {
            let is_text = values.contains(&Category::Text(cell.into()));
            number().filter(|_| !is_text).unwrap_or_else(text)
        }
    }
}

/// Decisions as a table: the action is what was played (in shadow mode, what the caller did), and
/// `pscore` its probability. What is not known is empty.
pub struct LogTable<'a> {
    info: &'a ExperimentInfo,
    escape: Escape,
    texts: [Vec<String>; 5],
    numbers: [Vec<Option<u64>>; 3],
    reals: Vec<Vec<Option<f64>>>,
    described: Vec<Values>,
    /// Bytes of the cells, about.
    pub bytes: usize,
}

impl<'a> LogTable<'a> {
    pub fn new(info: &'a ExperimentInfo, escape: Escape) -> Self {
        Self {
            info,
            escape,
            texts: Default::default(),
            numbers: Default::default(),
            reals: vec![Vec::new(); 2 + info.costs.len()],
            described: empty_columns(info),
            bytes: 0,
        }
    }

    /// Adds a decision.
    pub fn push(&mut self, found: &Found) -> Result<(), Problem> {
        let Self {
            info,
            texts,
            numbers,
            reals,
            described,
            bytes,
            ..
        } = self;
        let m = info.costs.len();
        let event = decision_of(&found.decision)?;
        let (status, part) = status_of(&found.reports)?;
        let candidates = candidate_names(&event.candidates);
        let (played, pscore) = if event.shadow {
            (part.taken.or(event.taken), event.propensity)
        } else {
            (Some(event.action), Some(event.probability))
        };
        let name = played.map(|action| info.action_name(&candidates, action));
        texts[0].push(found.decision.shown_id());
        texts[1].push(found.decision.time.to_string());
        texts[2].push(name.unwrap_or_default());
        texts[3].push(format!("{status:?}").to_lowercase());
        texts[4].push(event.segment.as_deref().unwrap_or_default().to_string());
        numbers[0].push(Some(found.decision.number));
        numbers[1].push(played.map(u64::from));
        numbers[2].push(Some(u64::from(event.shadow)));
        reals[0].push(pscore);
        reals[1].push(part.reward);
        for i in 0..m {
            reals[2 + i].push(part.costs.get(i).copied().flatten());
        }
        let candidate = played.and_then(|action| event.candidates.get(action as usize));
        let fields = info.fields.as_ref();
        let values = fields.map(|fields| fields.values(&event.context));
        let mut values = values.unwrap_or_default().into_values();
        for (i, column) in described.iter_mut().enumerate() {
            match column {
                Values::Text(cells) => {
                    let cell = cell_of(values.next());
                    *bytes += size_of::<String>() + cell.len();
                    cells.push(cell);
                }
                Values::Number(cells) if fields.is_some() => {
                    cells.push(match values.next() {
                        Some(FieldValue::Number(x)) => Some(x),
                        _ => None,
                    });
                }
                Values::Number(cells) => cells.push(match info.kind {
                    Kind::Context(_) => event.context.get(i).copied(),
                    _ => match candidate {
                        Some(candidate) => candidate.features.get(i).copied(),
                        None => played.and_then(|_| info.safe_action.get(i).copied()),
                    },
                }),
                Values::Count(_) => {}
            }
        }
        let last = texts.iter().filter_map(|column| column.last());
        let text: usize = last.map(|text| size_of::<String>() + text.len()).sum();
        let cells = numbers.len() + reals.len() + described.len();
        *bytes += text + cells * size_of::<Option<f64>>();
        Ok(())
    }

    /// The rows so far; the next ones begin a new table.
    pub fn finish_table(&mut self) -> DataTable {
        let rows = std::mem::replace(self, Self::new(self.info, self.escape));
        let info = rows.info;
        let [decision, time, action, status, segment] = rows.texts.map(Values::Text);
        let [number, index, shadow] = rows.numbers.map(Values::Count);
        let mut reals = rows.reals.into_iter().map(Values::Number);
        let mut next = || reals.next().unwrap_or(Values::Number(Vec::new()));
        let mut columns = vec![
            ("decision".to_string(), decision),
            ("number".into(), number),
            ("time".into(), time),
            ("action".into(), action),
            ("index".into(), index),
            ("pscore".into(), next()),
            ("reward".into(), next()),
        ];
        for name in &info.costs {
            columns.push((cost_column(info, name), next()));
        }
        if info.segments.is_some() {
            columns.push((SEGMENT.into(), segment));
        }
        columns.extend(std::iter::zip(described(info), rows.described));
        columns.push(("status".into(), status));
        columns.push(("shadow".into(), shadow));
        let columns = columns
            .into_iter()
            .map(|(name, values)| Column { name, values });
        let mut table = DataTable {
            columns: columns.collect(),
        };
        escape_formulas(&mut table, rows.escape);
        table
    }
}

/// The outcomes of a table, and how many rows were skipped because they are decisions of the experiment
/// itself (`is_own`, by id). Rows without a reward or a cost were not complete, rows that wait for their
/// time to live are not settled, and units that returned are there already: all are skipped, unless the table is a
/// sample, which these are part of. Third, what
/// the table cannot teach of segments.
pub fn to_import(
    table: &RawTable,
    info: &ExperimentInfo,
    frequencies: Frequencies,
    is_own: impl Fn(&str) -> bool,
) -> Result<(Import, u64, Vec<String>), Problem> {
    let twice =
        (table.names.iter().enumerate()).find(|(place, name)| table.names[..*place].contains(name));
    if let Some((_, name)) = twice {
        let allowed = "every column needs a name of its own";
        return Err(invalid(format!("column {name}"), "there twice", allowed));
    }
    let place = |name: &str| {
        let column = table.names.iter().position(|own| unescaped(own) == name);
        column.ok_or_else(|| {
            let allowed = format!("the columns are {}", table.names.join(", "));
            invalid(format!("column {name}"), "absent", allowed)
        })
    };
    let reward = place("reward")?;
    let costs: Vec<usize> = (info.costs.iter())
        .map(|guardrail| place(&cost_column(info, guardrail)))
        .collect::<Result<_, _>>()?;
    let action = match info.kind {
        Kind::Candidates(_) => None,
        _ => Some(place("action")?),
    };
    let described: Vec<usize> = (described(info).iter())
        .map(|name| place(name))
        .collect::<Result<_, _>>()?;
    let segment = match &info.segments {
        None => None,
        Some(own) => Some((own, SegmentColumns::find(own, table, place)?)),
    };
    let (id, status) = (table.column("decision"), table.column("status"));
    let (request, pscore) = (table.column(REQUEST), table.column("pscore"));
    let mut import = Import::default();
    let (mut requests, mut pscores): (Vec<Arc<str>>, Vec<f64>) = Default::default();
    let mut skipped = 0;
    for row in 0..table.len() {
        let cell = |place: usize| unescaped(table.cell(row, place));
        let mut signals = std::iter::once(reward).chain(costs.iter().copied());
        let waits = status.is_some_and(|place| ["pending", "returned"].contains(&cell(place)));
        let is_own = id.is_some_and(|place| is_own(cell(place)));
        if waits || signals.any(|place| is_missing(cell(place))) {
            if is_own || frequencies == Frequencies::Unknown {
                continue;
            }
            let allowed = "a sample of the same traffic has every outcome: import it without `frequencies`, or without \
                           the requests from this one on";
            return Err(invalid(format!("row {}", row + 1), "incomplete", allowed));
        }
        if is_own {
            skipped += 1;
            continue;
        }
        let number = |place: usize| -> Result<f64, Problem> {
            let cell = cell(place).trim();
            let x = cell.parse::<f64>().ok().filter(|x| x.is_finite());
            x.ok_or_else(|| {
                let field = format!("row {}: {}", row + 1, table.names[place]);
                invalid(field, format!("{cell:?}"), "must be a finite number")
            })
        };
        import.rewards.push(number(reward)?);
        for &cost in &costs {
            import.costs.push(number(cost)?);
        }
        if let Some((own, columns)) = &segment {
            import.segments.push(columns.name(own, row, cell)?);
            requests.extend(request.map(|place| cell(place).into()));
            pscores.extend(pscore.and_then(|place| cell(place).trim().parse::<f64>().ok()));
        }
        let numbers: Vec<f64> = match &info.fields {
            None => {
                let each = described.iter().map(|&place| number(place));
                each.collect::<Result<_, _>>()?
            }
            Some(fields) => (std::iter::zip(&fields.0, &described))
                .map(|((name, field), &place)| {
                    let code = field.code(&value_of(field, cell(place)));
                    code.at(format!("row {}: context_{name}", row + 1))
                })
                .collect::<Result<_, _>>()?,
        };
        match action {
            None => import.features.extend(numbers),
            Some(place) => {
                let name = cell(place);
                let arm = info
                    .arms
                    .iter()
                    .position(|own| own == name)
                    .ok_or_else(|| {
                        let field = format!("row {}: action", row + 1);
                        invalid(field, format!("{name:?}"), "must be the name of an arm")
                    })?;
                import.arms.push(arm as u32);
                if let Kind::Context(_) = info.kind {
                    import.features.extend_from_slice(&info.vector(&numbers));
                }
            }
        }
    }
    if import.rewards.is_empty() && skipped > 0 {
        let detail = format!(
            "all {skipped} rows are decisions of this experiment: their outcomes are learned where they were \
             reported, and must not count twice"
        );
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    if import.rewards.is_empty() {
        return Err(invalid("rows", "none", "no row has a reward and all costs"));
    }
    let names: Vec<&str> = info.arms.iter().map(|name| &name[..]).collect();
    let actions: Vec<usize> = import.arms.iter().map(|&arm| arm as usize).collect();
    let rows = LogRows {
        segments: &import.segments,
        actions: &actions,
        requests: &requests,
        pscores: (pscores.len() == actions.len()).then_some(&pscores[..]),
    };
    let lesson = rows.lesson(frequencies, &names);
    let (origins, not_taught) = lesson?;
    import.set_origins(&origins);
    Ok((import, skipped, not_taught))
}

/// Columns that say the segment.
enum SegmentColumns<'a> {
    /// One with its name.
    Name(usize),
    /// One for each field that it is made from.
    Fields(&'a SegmentFields, Vec<usize>),
}

impl<'a> SegmentColumns<'a> {
    fn find(
        own: &'a Segments,
        table: &RawTable,
        place: impl Fn(&str) -> Result<usize, Problem>,
    ) -> Result<Self, Problem> {
        let Segments::Fields(own) = own else {
            return place(SEGMENT).map(Self::Name);
        };
        if let Some(place) = table.column(SEGMENT) {
            return Ok(Self::Name(place));
        }
        let columns = (own.fields.iter()).map(|field| place(&format!("{SEGMENT_FIELD}{field}")));
        Ok(Self::Fields(own, columns.collect::<Result<_, _>>()?))
    }

    /// Name of the segment of a row.
    fn name<'b>(
        &self,
        own: &Segments,
        row: usize,
        cell: impl Fn(usize) -> &'b str,
    ) -> Result<Arc<str>, Problem> {
        let field = |name: &str| format!("row {}: {name}", row + 1);
        let name = match self {
            Self::Name(place) => cell(*place).to_string(),
            Self::Fields(own, places) => {
                let values = places.iter().map(|&place| cell(place).to_string());
                let values = own.fields.iter().cloned().zip(values).collect();
                own.name(&field(SEGMENT), &values)?
            }
        };
        if let Segments::Fields(own) = own
            && !own.is_name(&name)
        {
            let allowed = format!("must say a value of each of {}", own.fields.join(", "));
            return Err(invalid(field(SEGMENT), format!("{name:?}"), allowed));
        }
        check_segment(&name).at(field(SEGMENT))?;
        Ok(name.into())
    }
}

/// Formats a value of a field as a cell.
fn cell_of(value: Option<FieldValue>) -> String {
    match value {
        Some(FieldValue::Text(text)) => text,
        None | Some(FieldValue::Missing) => String::new(),
        Some(other) => other.to_string(),
    }
}

fn is_missing(cell: &str) -> bool {
    cell.trim().is_empty() || cell.eq_ignore_ascii_case("nan")
}

fn invalid(
    field: impl Into<FieldPath>,
    value: impl std::fmt::Display,
    allowed: impl Into<String>,
) -> Problem {
    Refusal::invalid(field, value, allowed).into()
}
