//! Ranges of a signal: one for all arms, or one for each.
//!
//! Where ranges differ by arm (dollars per call of a cheap and of a dear model) every arm's signal is
//! brought to standard units by its own range, and what was learned there is carried to common units, those
//! of the hull of all ranges, by the affine map between them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, finite};
use crate::path::{FieldPath, Within};

/// Range of a signal where none is given.
pub(crate) const UNIT: [f64; 2] = [0.0, 1.0];

/// Lowest and highest value of a signal: `[lo, hi]` for all arms, `[[lo, hi], …]` in the order of the arms,
/// or `{"arm": [lo, hi], …}` by their names.
///
/// ```
/// use banister::Range;
///
/// let range: Range = serde_json::from_str(r#"{"cheap": [0, 0.1], "dear": [0, 2]}"#)?;
/// assert_eq!(range.hull(), [0.0, 2.0]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Range {
    /// One range for all arms; of a declared signal the high end may be infinite, in JSON `"inf"`.
    Shared(#[serde(serialize_with = "endless")] [f64; 2]),
    /// One per arm, in the order of the arms.
    ByArm(Vec<[f64; 2]>),
    /// One per arm, by name.
    ByName(BTreeMap<String, [f64; 2]>),
}

impl From<[f64; 2]> for Range {
    fn from(range: [f64; 2]) -> Self {
        Self::Shared(range)
    }
}

impl Range {
    /// The smallest range that holds those of all arms.
    pub fn hull(&self) -> [f64; 2] {
        let joined = |[a, b]: [f64; 2], [lo, hi]: [f64; 2]| [a.min(lo), b.max(hi)];
        let all = self.each().into_iter().map(|(_, range)| range);
        all.reduce(joined).unwrap_or(UNIT)
    }

    /// The range that all arms share, if they do.
    pub fn shared(&self) -> Option<[f64; 2]> {
        match self {
            Self::Shared(range) => Some(*range),
            _ => None,
        }
    }

    /// All ranges as given, and where.
    pub fn each(&self) -> Vec<(FieldPath, [f64; 2])> {
        match self {
            Self::Shared(range) => vec![(FieldPath::default(), *range)],
            Self::ByArm(list) => (list.iter().enumerate())
                .map(|(a, range)| (a.into(), *range))
                .collect(),
            Self::ByName(map) => (map.iter())
                .map(|(name, range)| (FieldPath::default().key(name), *range))
                .collect(),
        }
    }

    /// Checks the numbers; the hull is returned.
    pub(super) fn check(&self) -> Result<[f64; 2], Error> {
        for (place, range) in self.each() {
            check_pair(range).within(place)?;
        }
        let hull = self.hull();
        check_pair(hull)?;
        Ok(hull)
    }

    /// One range per arm; none where all share one.
    pub(super) fn of_arms(&self, arms: &[String]) -> Result<Vec<[f64; 2]>, Error> {
        match self {
            Self::Shared(_) => Ok(Vec::new()),
            Self::ByArm(list) if list.len() == arms.len() => Ok(list.clone()),
            Self::ByArm(list) => {
                let value = format!("{} ranges", list.len());
                let allowed = format!("expected {}: one per arm, in their order", arms.len());
                Err(Error::invalid("", value, allowed))
            }
            Self::ByName(map) => {
                if let Some(name) = map.keys().find(|name| !arms.contains(name)) {
                    let allowed = format!("there is no such arm; the arms are {}", arms.join(", "));
                    return Err(Error::invalid(("", name), "given", allowed));
                }
                let own = |name: &String| {
                    map.get(name).copied().ok_or_else(|| {
                        let allowed = "where ranges are by arm, every arm needs its own";
                        Error::invalid(("", name), "absent", allowed)
                    })
                };
                arms.iter().map(own).collect()
            }
        }
    }
}

/// Refuses ends that are not finite or in order, or so close or far that a unit overflows.
pub(super) fn check_pair([lo, hi]: [f64; 2]) -> Result<(), Error> {
    finite("", lo)?;
    finite("", hi)?;
    if lo >= hi {
        let value = format!("[{lo}, {hi}]");
        let allowed = "the first number must be below the second";
        return Err(Error::invalid("", value, allowed));
    }
    finite("", hi - lo)?;
    finite("", 1.0 / (hi - lo))?;
    Ok(())
}

/// Ranges that an added arm brings, by signal: `reward`, or the name of a guardrail. One for every signal
/// whose ranges are by arm.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ArmRanges(pub BTreeMap<String, [f64; 2]>);

impl ArmRanges {
    /// True if it brings none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses ranges where those of the problem hold for all arms.
    pub fn refuse(&self) -> Result<(), Error> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let allowed = "the ranges of this problem hold for all arms: leave it out";
                Err(Error::invalid(("ranges", name), "given", allowed))
            }
        }
    }
}

impl<'de> Deserialize<'de> for ArmRanges {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let found = BTreeMap::<String, Pair>::deserialize(source)?;
        let pairs = found.into_iter().map(|(name, Pair(pair))| (name, pair));
        Ok(Self(pairs.collect()))
    }
}

/// Exactly two numbers: some formats would pass over a third one.
struct Pair([f64; 2]);

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        two(Vec::deserialize(source)?).map(Self)
    }
}

fn two<E: serde::de::Error>(list: Vec<f64>) -> Result<[f64; 2], E> {
    <[f64; 2]>::try_from(list).map_err(|list| E::invalid_length(list.len(), &"two numbers"))
}

/// Reads exactly two numbers.
pub(super) fn pair<'de, D: Deserializer<'de>>(source: D) -> Result<[f64; 2], D::Error> {
    Pair::deserialize(source).map(|Pair(pair)| pair)
}

/// Reads exactly two numbers, or nothing.
pub fn two_numbers<'de, D: Deserializer<'de>>(source: D) -> Result<Option<[f64; 2]>, D::Error> {
    let pair = Option::<Pair>::deserialize(source)?;
    Ok(pair.map(|Pair(pair)| pair))
}

/// An entry of a list: a number of the one range, or an arm's range.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, `inf`, or a pair [lo, hi]")]
enum Entry {
    Number(f64),
    Pair(Vec<f64>),
    /// JSON has no infinity.
    Endless(Endless),
}

#[derive(Deserialize)]
enum Endless {
    #[serde(rename = "inf")]
    Inf,
}

fn endless<S: Serializer>(range: &[f64; 2], target: S) -> Result<S::Ok, S::Error> {
    match range {
        [lo, f64::INFINITY] => (lo, "inf").serialize(target),
        range => range.serialize(target),
    }
}

struct RangeVisitor;

impl<'de> Visitor<'de> for RangeVisitor {
    type Value = Range;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("[lo, hi], a list of such pairs, one per arm, or a map from arms to such pairs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Range, A::Error> {
        let (mut numbers, mut pairs) = (Vec::new(), Vec::new());
        while let Some(entry) = list.next_element()? {
            match entry {
                Entry::Number(x) => numbers.push(x),
                Entry::Pair(pair) => pairs.push(two(pair)?),
                Entry::Endless(Endless::Inf) => numbers.push(f64::INFINITY),
            }
        }
        match (numbers.is_empty(), pairs.is_empty()) {
            (_, true) => two(numbers).map(Range::Shared),
            (true, false) => Ok(Range::ByArm(pairs)),
            (false, false) => Err(A::Error::custom(
                "numbers and pairs are mixed: give [lo, hi], or one such pair per arm",
            )),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Range, A::Error> {
        let mut ranges = BTreeMap::new();
        while let Some((name, Pair(pair))) = map.next_entry::<String, Pair>()? {
            if ranges.insert(name.clone(), pair).is_some() {
                let reason = format!("arm `{name}` has two ranges");
                return Err(A::Error::custom(reason));
            }
        }
        Ok(Range::ByName(ranges))
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(RangeVisitor)
    }
}

impl JsonSchema for Range {
    fn schema_name() -> Cow<'static, str> {
        "Range".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let pair = generator.subschema_for::<[f64; 2]>();
        json_schema!({
            "description": "Lowest and highest value: of all arms, or of each by its place or its name",
            "anyOf": [
                pair,
                { "type": "array", "items": pair, "minItems": 1 },
                { "type": "object", "additionalProperties": pair },
            ],
        })
    }
}
