//! Named fields that describe a case (a country, an hour, a flag), and the bounded vector that a linear model
//! sees of them.
//!
//! A vector begins with a constant 1, the intercept; then come the fields in the order of their names. Every
//! field adds at most 1 to the squared length, so the vectors of F fields are at most √(1 + F) long. They are
//! not divided by that: a parameter's entries keep a plain meaning, the mean in the middle of everything and
//! how much each field moves it.

use crate::path::Within;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::range::{check_pair, pair};
use crate::error::Error;

/// Longest name of a field, and longest text among its values, in characters.
const LONGEST: usize = 200;
/// Integers up to here are doubles too.
const LARGEST_INTEGER: i64 = 1 << 53;
/// Values that a message lists before it stops.
const LISTED: usize = 20;
/// The value that stands for all that are not listed.
const OTHER: &str = "other";

/// Fields by name. A row has a value for each; [`Fields::codes`] checks it and [`Fields::vector`] makes the
/// features.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use banister::fields::{FieldValue, Fields};
///
/// let fields: Fields = serde_json::from_str(
///     r#"{"country": {"kind": "category", "values": ["de", "fr"]},
///         "hour": {"kind": "number", "range": [0, 24]}}"#,
/// )?;
/// fields.check()?;
/// assert_eq!(fields.names(), ["intercept", "country=de", "country=fr", "hour"]);
///
/// let mut row: BTreeMap<String, FieldValue> = serde_json::from_str(r#"{"country": "fr", "hour": 18}"#)?;
/// assert_eq!(fields.vector(&fields.codes(&row)?), [1.0, 0.0, 1.0, 0.5]);
///
/// row.insert("country".into(), FieldValue::Text("es".into()));
/// let error = fields.codes(&row).unwrap_err();
/// assert_eq!(error.to_string(), r#"`country` is "es": must be one of "de", "fr""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Fields(pub BTreeMap<String, Field>);

/// A field as declared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Field {
    /// One of some values. Each is a feature: 1 for the value that it is, 0 for the others.
    Category {
        /// The values, texts or integers.
        values: Vec<Category>,
        /// Treatment of a value that is not among them.
        #[serde(default, skip_serializing_if = "is_default")]
        unseen: Unseen,
        /// Treatment of a row without a value.
        #[serde(default, skip_serializing_if = "is_default")]
        missing: Missing,
    },
    /// A number. Its feature is −1 at the low end of the range and 1 at the high end.
    Number {
        /// Lowest and highest value.
        #[serde(deserialize_with = "pair")]
        range: [f64; 2],
        /// Treatment of a number outside the range.
        #[serde(default, skip_serializing_if = "is_default")]
        outside: OutOfRange,
        /// Treatment of a row without a value.
        #[serde(default, skip_serializing_if = "is_default")]
        missing: Missing,
    },
    /// A flag. Its feature is −1 for false and 1 for true.
    Boolean {
        /// Treatment of a row without a value.
        #[serde(default, skip_serializing_if = "is_default")]
        missing: Missing,
    },
}

/// A value of a category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a value is a text or an integer")]
pub enum Category {
    /// An integer, such as the number of a shop.
    Integer(i64),
    /// A text.
    Text(String),
}

/// Treatment of values that are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// They are refused.
    #[default]
    Refuse,
    /// They all count as one more value, `other`.
    Other,
}

/// Treatment of numbers outside their range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutOfRange {
    /// They are refused.
    #[default]
    Refuse,
    /// They count as the nearer end.
    Clip,
}

/// Treatment of missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// They are refused.
    #[default]
    Refuse,
    /// A feature of its own is 1, and the field's other features are 0.
    Indicator,
}

/// A value of a field in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a value of a field is a text, a number, true, false or null"
)]
pub enum FieldValue {
    /// No value: null.
    Missing,
    /// True or false.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::Boolean(flag) => write!(f, "{flag}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => {
                // A text may be as long as a whole request.
                let shown: String = text.chars().take(LONGEST).collect();
                write!(f, "{shown:?}")
            }
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Category {
    /// True if a value is this one: integers also as 17.0, as tables with gaps have them.
    fn is(&self, value: &FieldValue) -> bool {
        match (self, value) {
            (Self::Integer(own), FieldValue::Number(x)) => *own as f64 == *x,
            (Self::Text(own), FieldValue::Text(text)) => own == text,
            _ => false,
        }
    }

    fn value(&self) -> FieldValue {
        match self {
            Self::Integer(number) => FieldValue::Number(*number as f64),
            Self::Text(text) => FieldValue::Text(text.clone()),
        }
    }
}

impl Unseen {
    /// Place of the value that stands for those that are not listed, if one does.
    fn place(self, values: &[Category]) -> Option<usize> {
        let is_other = |own: &Category| matches!(own, Category::Text(text) if text == OTHER);
        match self {
            Self::Refuse => None,
            Self::Other => Some(values.iter().position(is_other).unwrap_or(values.len())),
        }
    }
}

impl Fields {
    /// Refuses fields without sense: values that are there twice, empty ranges.
    pub fn check(&self) -> Result<(), Error> {
        if self.0.is_empty() {
            return Err(Error::invalid("", "empty", "name at least one field"));
        }
        for (name, field) in &self.0 {
            if !is_label(name) {
                let allowed =
                    "a field needs a name of 1 to 200 characters, none of them a control character";
                return Err(Error::invalid(("", name), "a name", allowed));
            }
            field.check().within(("", name))?;
        }
        Ok(())
    }

    /// Length of the vectors.
    pub fn dimension(&self) -> usize {
        1 + self.0.values().map(Field::width).sum::<usize>()
    }

    /// Upper bound on the Euclidean length of every vector.
    pub fn norm(&self) -> f64 {
        ((1 + self.0.len()) as f64).sqrt()
    }

    /// Names of the numbers of a vector.
    pub fn names(&self) -> Vec<String> {
        let mut names = vec!["intercept".to_string()];
        for (name, field) in &self.0 {
            match field {
                Field::Category { .. } => {
                    names.extend(field.values().iter().map(|value| format!("{name}={value}")));
                }
                _ => names.push(name.clone()),
            }
            if field.has_indicator() {
                names.push(format!("{name} missing"));
            }
        }
        names
    }

    /// A row as one number per field, in the order of their names: the number itself, 0 or 1 for a flag, the
    /// place of a category's value, NaN where it is missing. An error names the field.
    pub fn codes(&self, row: &BTreeMap<String, FieldValue>) -> Result<Vec<f64>, Error> {
        if let Some((name, value)) = row.iter().find(|(name, _)| !self.0.contains_key(*name)) {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let allowed = format!(
                "there is no such field; the fields are {}",
                known.join(", ")
            );
            return Err(Error::invalid(("", name), value, allowed));
        }
        let each = self.0.iter();
        each.map(|(name, field)| {
            let value = row.get(name).unwrap_or(&FieldValue::Missing);
            field.code(value).within(("", name))
        })
        .collect()
    }

    /// The vector of a row that [`Fields::codes`] checked.
    pub fn vector(&self, codes: &[f64]) -> Vec<f64> {
        let mut x = Vec::with_capacity(self.dimension());
        x.push(1.0);
        for (field, code) in std::iter::zip(self.0.values(), codes) {
            field.write(*code, &mut x);
        }
        x
    }

    /// The values of a row that [`Fields::codes`] checked. Values that are not listed are `other`.
    pub fn values(&self, codes: &[f64]) -> BTreeMap<String, FieldValue> {
        let each = std::iter::zip(&self.0, codes);
        each.map(|((name, field), code)| (name.clone(), field.value(*code)))
            .collect()
    }
}

impl Field {
    fn check(&self) -> Result<(), Error> {
        match self {
            Self::Boolean { .. } => Ok(()),
            Self::Number { range, .. } => check_pair(*range).within("range"),
            Self::Category { values, .. } => {
                if values.is_empty() {
                    let allowed = "list at least one value";
                    return Err(Error::invalid("values", "empty", allowed));
                }
                for (i, value) in values.iter().enumerate() {
                    let fits = match value {
                        Category::Integer(number) => {
                            (-LARGEST_INTEGER..=LARGEST_INTEGER).contains(number)
                        }
                        Category::Text(text) => is_label(text),
                    };
                    let allowed = if !fits {
                        "a value is a text of 1 to 200 characters, none of them a control character, or an \
                         integer within ±2^53"
                    } else if values[..i].contains(value) {
                        "it is there twice"
                    } else {
                        continue;
                    };
                    return Err(Error::invalid(("values", i), value.value(), allowed));
                }
                Ok(())
            }
        }
    }

    fn has_indicator(&self) -> bool {
        let (Self::Category { missing, .. }
        | Self::Number { missing, .. }
        | Self::Boolean { missing }) = self;
        *missing == Missing::Indicator
    }

    /// Values of a category, with `other` where it stands for the rest and is not listed.
    fn values(&self) -> Vec<Category> {
        let Self::Category { values, .. } = self else {
            return Vec::new();
        };
        let mut values = values.clone();
        if self.own_width() > values.len() {
            values.push(Category::Text(OTHER.into()));
        }
        values
    }

    /// Number of features, without the indicator.
    fn own_width(&self) -> usize {
        match self {
            Self::Category { values, unseen, .. } => {
                let other = unseen.place(values).map_or(0, |place| place + 1);
                values.len().max(other)
            }
            _ => 1,
        }
    }

    /// Number of features.
    fn width(&self) -> usize {
        self.own_width() + usize::from(self.has_indicator())
    }

    /// Number that stands for a value; see [`Fields::codes`].
    pub fn code(&self, value: &FieldValue) -> Result<f64, Error> {
        let found = match (self, value) {
            (_, FieldValue::Missing) if self.has_indicator() => Some(f64::NAN),
            (Self::Boolean { .. }, FieldValue::Boolean(flag)) => Some(f64::from(*flag)),
            (Self::Number { range, outside, .. }, FieldValue::Number(x)) => {
                let is_inside = range[0] <= *x && *x <= range[1];
                let fits = is_inside || (*outside == OutOfRange::Clip && x.is_finite());
                fits.then_some(*x)
            }
            (
                Self::Category { values, unseen, .. },
                FieldValue::Text(_) | FieldValue::Number(_),
            ) => {
                let place = values.iter().position(|own| own.is(value));
                let place = place.or_else(|| unseen.place(values));
                place.map(|place| place as f64)
            }
            _ => None,
        };
        found.ok_or_else(|| Error::invalid("", value, self.allowed()))
    }

    /// Description of allowed values.
    fn allowed(&self) -> String {
        let mut text = match self {
            Self::Boolean { .. } => "must be true or false".to_string(),
            Self::Number {
                range: [lo, hi],
                outside,
                ..
            } => match outside {
                OutOfRange::Refuse => format!("must be a number in [{lo}, {hi}]"),
                OutOfRange::Clip => "must be a finite number".to_string(),
            },
            Self::Category { values, unseen, .. } => match unseen {
                Unseen::Other => "must be a text or a number".to_string(),
                Unseen::Refuse => {
                    let each = values.iter().take(LISTED);
                    let each: Vec<String> = each.map(|value| value.value().to_string()).collect();
                    let rest = match values.len().saturating_sub(LISTED) {
                        0 => String::new(),
                        rest => format!(" and {rest} others"),
                    };
                    format!("must be one of {}{rest}", each.join(", "))
                }
            },
        };
        if self.has_indicator() {
            text += ", or missing";
        }
        text
    }

    /// Adds the features of a code.
    fn write(&self, code: f64, x: &mut Vec<f64>) {
        let (from, is_missing) = (x.len(), code.is_nan());
        x.resize(from + self.width(), 0.0);
        if is_missing {
            if self.has_indicator() {
                x[from + self.own_width()] = 1.0;
            }
            return;
        }
        match self {
            Self::Boolean { .. } => x[from] = 2.0 * code - 1.0,
            Self::Number {
                range: [lo, hi], ..
            } => x[from] = 2.0 * ((code.clamp(*lo, *hi) - lo) / (hi - lo)) - 1.0,
            Self::Category { .. } => {
                if let Some(one) = x[from..].get_mut(code as usize) {
                    *one = 1.0;
                }
            }
        }
    }

    /// Value that a code stands for.
    fn value(&self, code: f64) -> FieldValue {
        if code.is_nan() {
            return FieldValue::Missing;
        }
        match self {
            Self::Boolean { .. } => FieldValue::Boolean(code == 1.0),
            Self::Number { .. } => FieldValue::Number(code),
            Self::Category { .. } => {
                let values = self.values();
                values
                    .get(code as usize)
                    .map_or(FieldValue::Missing, Category::value)
            }
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// True for a text that fits on a line of a message.
fn is_label(text: &str) -> bool {
    (1..=LONGEST).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with a field under each name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, field)) = map.next_entry::<String, Field>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            fields.insert(name, field);
        }
        Ok(Fields(fields))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(FieldsVisitor)
    }
}
