//! Rate limiting: a token bucket per caller.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use axum::http::StatusCode;

use crate::problem::Problem;

/// Buckets kept; full ones are forgotten when there are more.
const MOST_BUCKETS: usize = 10_000;

/// Token buckets by caller.
pub struct RateLimiter {
    /// Requests per second; 0: any number.
    rate: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    filled: f64,
    at: Instant,
}

impl RateLimiter {
    /// Allows `rate` requests per second, and as many at once.
    pub fn new(rate: f64) -> Self {
        Self {
            rate,
            buckets: Mutex::default(),
        }
    }

    /// Returns true if there is a limit.
    pub fn is_limited(&self) -> bool {
        self.rate > 0.0
    }

    /// Takes one request out of a caller's bucket.
    pub fn take(&self, who: &str, now: Instant) -> Result<(), Problem> {
        let Ok(mut buckets) = self.buckets.lock() else {
            return Ok(());
        };
        let most = self.rate.max(1.0);
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(who) {
            buckets.retain(|_, bucket| {
                bucket.filled + (now - bucket.at).as_secs_f64() * self.rate < most
            });
        }
        let bucket = buckets.entry(who.to_string()).or_insert(Bucket {
            filled: most,
            at: now,
        });
        let gained = now.saturating_duration_since(bucket.at).as_secs_f64() * self.rate;
        bucket.filled = (bucket.filled + gained).min(most);
        bucket.at = now;
        if bucket.filled < 1.0 {
            let detail = format!("more than {} requests a second", self.rate);
            let wait = ((1.0 - bucket.filled) / self.rate).ceil().max(1.0);
            let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail);
            problem.retry_after = Some(wait as u32);
            return Err(problem);
        }
        bucket.filled -= 1.0;
        Ok(())
    }
}
