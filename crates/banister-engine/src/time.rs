//! Times in the log: microseconds since 1970, shown as RFC 3339; also of a log whose clock was set.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Now, by the machine's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Moment `seconds` later.
    pub fn plus_seconds(self, seconds: f64) -> Self {
        Self(self.0.saturating_add((seconds * 1e6) as i64))
    }

    /// Moment `seconds` earlier.
    pub fn minus_seconds(self, seconds: f64) -> Self {
        Self(self.0.saturating_sub((seconds * 1e6) as i64))
    }

    pub fn seconds_since(self, earlier: Self) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1e6
    }
}

impl From<SystemTime> for Timestamp {
    /// Times before 1970 are not told apart.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The years that RFC 3339 can write; nothing else gets into a log.
        let micros = u64::try_from(self.0)
            .unwrap_or(0)
            .min(253_402_300_799_999_999);
        let time = UNIX_EPOCH + Duration::from_micros(micros);
        write!(f, "{}", humantime::format_rfc3339_micros(time))
    }
}

impl Serialize for Timestamp {
    /// As text where people read, as the number in the log's own binary records.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return i64::deserialize(deserializer).map(Self);
        }
        let text = Cow::<str>::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text).map_err(D::Error::custom)?;
        Ok(time.into())
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// The times that the log's clock was set. No time passes while it is, so that what was a second old before
/// is a second old afterwards.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockSets(Vec<(u64, i64)>);

impl ClockSets {
    pub(crate) fn push(&mut self, number: u64, from: i64, to: i64) {
        self.0.push((number, to.saturating_sub(from)));
    }

    /// Number of times that it was set.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Most seconds that may have passed since an event: what the clock was set forward by may have, what it was set back
    /// by has not.
    pub(crate) fn most_seconds_since(&self, number: u64, time: Timestamp, now: Timestamp) -> f64 {
        let since = self.0.iter().filter(|(set, _)| *set > number);
        let time = since.fold(time.0, |time, (_, by)| time.saturating_add((*by).min(0)));
        now.seconds_since(Timestamp(time))
    }

    /// Time of an event by the clock as it is now.
    pub(crate) fn time_now(&self, number: u64, time: Timestamp) -> Timestamp {
        let since = self.0.iter().filter(|(set, _)| *set > number);
        Timestamp(since.fold(time.0, |time, (_, by)| time.saturating_add(*by)))
    }
}
