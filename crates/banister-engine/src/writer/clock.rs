//! The log's clock: one for all replicas, and it does not jump.
//!
//! Times come from the database's clock (PostgreSQL) or the machine's (SQLite), and are held against the time that
//! passed on a clock that cannot be set. Where the two agree, the log follows its source; a source that jumps is
//! approached slowly, so that no time to live ends early, and refused beyond a bound. The log's times never go back,
//! unless the operator says that the clock is right and the log is wrong.
//!
//! A process that starts has nothing to hold its source against, since the log does not say how long it was
//! silent: it believes a source that is up to a year ahead.

use std::time::Duration;

use crate::state::EngineState;
use crate::store::StoreError;
use crate::time::Timestamp;

/// Seconds by which the source may leave the time that passed and is followed at once.
const STEP: f64 = 1.0;
/// Longest silence of a log that is believed, in seconds: a year.
pub(super) const LONGEST_GAP: f64 = 31_622_400.0;

pub(super) struct Clock {
    /// Seconds between the log's time and its source beyond which nothing is written.
    most_skew: f64,
    /// True if the first reading is to be believed whatever the log says.
    accept: bool,
    anchor: Option<Anchor>,
    /// Seconds from the log's time to its source at the last reading.
    skew: f64,
    /// True while an acceptance waits for a commit that sets the clock.
    waits: bool,
    /// Reason of the first refusal since the last good reading: one outage has one reason.
    refusal: Option<String>,
}

/// The log's time at a moment of the machine.
struct Anchor {
    time: Timestamp,
    uptime: Duration,
    /// Number of times that the clock had been set.
    sets: usize,
}

/// Time for the next event.
pub(super) struct Reading {
    pub time: Timestamp,
    /// True if the operator's acceptance sets the clock to it.
    pub set: bool,
}

impl Clock {
    pub(super) fn new(most_skew: Duration, accept: bool) -> Self {
        Self {
            most_skew: most_skew.as_secs_f64(),
            accept,
            anchor: None,
            skew: 0.0,
            waits: false,
            refusal: None,
        }
    }

    /// Seconds from the log's time to its source at the last reading.
    pub(super) fn skew(&self) -> f64 {
        self.skew
    }

    /// Reads the clock: `source` says the time, `uptime` counts evenly, the log's last event is of the time
    /// `last` (`None` if there is no event) and it has been set `sets` times. Where `may_set`, an acceptance
    /// sets it once more.
    pub(super) fn read(
        &mut self,
        source: Timestamp,
        uptime: Duration,
        last: Option<Timestamp>,
        sets: usize,
        may_set: bool,
    ) -> Result<Reading, String> {
        let anchor = self.anchor.take().filter(|anchor| anchor.sets == sets);
        let time = match (&anchor, last) {
            (Some(anchor), _) => {
                let passed = uptime.saturating_sub(anchor.uptime).as_secs_f64();
                let away = source.seconds_since(anchor.time) - passed;
                // Up to twice as fast as time passes, down to half as fast.
                let step = if away.abs() <= STEP {
                    away
                } else {
                    away.clamp(-passed / 2.0, passed)
                };
                anchor.time.plus_seconds((passed + step).max(0.0))
            }
            (None, None) => source,
            (None, Some(last)) if self.accept => {
                let away = source.seconds_since(last);
                let set = away < -self.most_skew || away > LONGEST_GAP;
                if set && !may_set {
                    self.waits = true;
                    return Ok(Reading {
                        time: last,
                        set: false,
                    });
                }
                let time = if set { source } else { source.max(last) };
                self.skew = source.seconds_since(time);
                self.anchored(time, uptime, sets + usize::from(set));
                // The commit that says so may fail: accepted until the log has it.
                self.accept = set;
                return Ok(Reading { time, set });
            }
            (None, Some(last)) => {
                let away = source.seconds_since(last);
                self.skew = away;
                if away > LONGEST_GAP || away < -self.most_skew {
                    return Err(format!(
                        "the log's last event is of {last}, the clock said {source}: set the clock, or, if \
                         it is right, start the service once with --accept-clock"
                    ));
                }
                source.max(last)
            }
        };
        let time = last.map_or(time, |last| time.max(last));
        self.skew = source.seconds_since(time);
        self.anchored(time, uptime, sets);
        if self.skew.abs() > self.most_skew {
            return Err(format!(
                "the clock jumped: it said {source}, and by the time that passed it was {time}; set it right, \
                 or restart the service if it is"
            ));
        }
        Ok(Reading { time, set: false })
    }

    /// Returns true while an acceptance waits for a commit: until then no time passes.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    fn anchored(&mut self, time: Timestamp, uptime: Duration, sets: usize) {
        self.accept = false;
        self.waits = false;
        self.anchor = Some(Anchor { time, uptime, sets });
    }
}

/// Reads the log's clock, given its source and the time that the machine is up, and keeps the time in the state.
pub(super) fn read_clock(
    clock: &mut Clock,
    state: &mut EngineState,
    (source, uptime): (Timestamp, Duration),
    may_set: bool,
) -> Result<Reading, StoreError> {
    let last = (state.number > 0).then_some(state.time);
    let reading = clock.read(source, uptime, last, state.clock_sets().count(), may_set);
    let reading = match reading {
        Ok(reading) => reading,
        Err(reason) => {
            let first = clock.refusal.get_or_insert(reason);
            return Err(StoreError::passing(first.clone()));
        }
    };
    clock.refusal = None;
    state.now = reading.time;
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEAR: i64 = 31_622_400;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(1_700_000_000_000_000 + seconds * 1_000_000)
    }

    fn clock(accept: bool) -> Clock {
        Clock::new(Duration::from_secs(60), accept)
    }

    fn read(clock: &mut Clock, source: i64, uptime: u64, last: i64) -> Result<i64, String> {
        let read = clock.read(
            at(source),
            Duration::from_secs(uptime),
            Some(at(last)),
            0,
            true,
        );
        read.map(|reading| (reading.time.0 - at(0).0) / 1_000_000)
    }

    #[test]
    fn a_source_that_keeps_time_is_followed() {
        let mut clock = clock(false);
        for (source, uptime) in [(0, 5), (1, 6), (100, 104), (101, 106), (3700, 3705)] {
            assert_eq!(read(&mut clock, source, uptime, 0), Ok(source));
        }
    }

    #[test]
    fn a_jump_is_approached_slowly_and_never_backwards() {
        let mut clock = clock(false);
        assert_eq!(read(&mut clock, 0, 0, 0), Ok(0));
        // Half a minute ahead from one second to the next: twice as fast until it is caught up with.
        let mut time = 0;
        for uptime in 1..=60 {
            let now = read(&mut clock, 30 + uptime, uptime as u64, time).unwrap();
            assert!(now > time && now - time <= 2, "{time} {now}");
            time = now;
        }
        assert_eq!(time, 90);
        // Half a minute back: half as fast.
        for uptime in 61..=140 {
            let now = read(&mut clock, uptime, uptime as u64, time).unwrap();
            assert!(now >= time && now - time <= 1, "{time} {now}");
            time = now;
        }
        assert_eq!(time, 140);
    }

    #[test]
    fn a_large_jump_is_refused_until_it_is_mended() {
        for jump in [10 * YEAR, -10 * YEAR, 120, -120] {
            let mut clock = clock(false);
            assert_eq!(read(&mut clock, 0, 0, 0), Ok(0));
            assert!(
                read(&mut clock, 1 + jump, 1, 0)
                    .unwrap_err()
                    .contains("jumped")
            );
            assert!((clock.skew() - jump as f64).abs() < 2.0, "{}", clock.skew());
            // Mended: log time went on as time passed, up to the second that was approached.
            let mended = read(&mut clock, 10, 10, 0).unwrap();
            assert!((9..=11).contains(&mended), "{jump}: {mended}");
        }
    }

    #[test]
    fn a_start_far_from_the_log_needs_acceptance() {
        for away in [2 * YEAR, -61] {
            assert!(read(&mut clock(false), away, 0, 0).is_err());
            let mut accepting = clock(true);
            let waiting = accepting.read(at(away), Duration::ZERO, Some(at(0)), 0, false);
            assert_eq!(waiting.unwrap().time, at(0));
            let reading = accepting.read(at(away), Duration::ZERO, Some(at(0)), 0, true);
            let reading = reading.unwrap();
            assert!(reading.set && reading.time == at(away));
            // It was set once: from now on as ever.
            let next = accepting.read(
                at(away + 1),
                Duration::from_secs(1),
                Some(at(away)),
                1,
                true,
            );
            assert_eq!(next.unwrap().time, at(away + 1));
        }
        // A long pause, and a clock that is a little behind, are nothing special.
        assert_eq!(read(&mut clock(false), YEAR / 2, 0, 0), Ok(YEAR / 2));
        assert_eq!(read(&mut clock(false), -59, 0, 0), Ok(0));
        assert!(
            !clock(true)
                .read(at(5), Duration::ZERO, Some(at(0)), 0, true)
                .unwrap()
                .set
        );
    }

    #[test]
    fn an_acceptance_holds_until_the_log_has_it() {
        let mut clock = clock(true);
        let mut set = |uptime, sets| {
            let reading = clock.read(at(5), Duration::from_secs(uptime), Some(at(90)), sets, true);
            reading.map(|reading| reading.set)
        };
        assert_eq!(set(0, 0), Ok(true));
        // The commit failed, and with it the event.
        assert_eq!(set(1, 0), Ok(true));
        // This time it succeeded; after that a clock that is behind is refused as ever.
        let later = clock.read(at(6), Duration::from_secs(2), Some(at(5)), 1, true);
        assert_eq!(
            later.map(|reading| (reading.time, reading.set)),
            Ok((at(6), false))
        );
        assert!(
            clock
                .read(at(6), Duration::from_secs(3), Some(at(90)), 2, true)
                .is_err()
        );
    }

    #[test]
    fn a_clock_that_another_replica_set_is_read_anew() {
        let mut clock = clock(false);
        assert_eq!(read(&mut clock, 10 * YEAR, 0, 10 * YEAR), Ok(10 * YEAR));
        let mended = clock.read(at(7), Duration::from_secs(1), Some(at(5)), 1, true);
        assert_eq!(mended.unwrap().time, at(7));
    }
}
