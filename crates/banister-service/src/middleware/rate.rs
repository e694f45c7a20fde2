//! Limits on requests, bytes and work, per caller and per experiment: a bucket for each.
//!
//! A bucket holds what one second allows, and at least one unit. A caller with a unit left is admitted, and charged
//! afterwards for what the request has cost, if need be into debt: so a large batch is possible at any rate. An
//! experiment's account is for decisions and reports alone: reading or stopping it is never limited.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::http::StatusCode;

use crate::problem::Problem;

/// Accounts kept; those that owe nothing are forgotten when there are more.
const MOST_ACCOUNTS: usize = 10_000;
/// Seconds after which every debt is paid.
const LONGEST_DEBT: f64 = 60.0;
/// Longest name of an experiment; there is none with a longer one.
const LONGEST_NAME: usize = 64;

/// Amounts, or amounts per second where 0 means any: requests (each entry of a batch is one), bytes of bodies,
/// and seconds of work.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amounts {
    pub requests: f64,
    pub bytes: f64,
    pub work: f64,
}

impl Amounts {
    fn each(self) -> [f64; 3] {
        [self.requests, self.bytes, self.work]
    }

    fn is_any(self) -> bool {
        self.each().iter().all(|rate| *rate == 0.0)
    }
}

const UNITS: [&str; 3] = [
    "requests a second (a batch counts as its entries)",
    "bytes a second",
    "seconds of work a second",
];

/// Limits of a service, and the accounts of all callers that have any.
pub struct Limits {
    caller: Amounts,
    experiment: Amounts,
    accounts: Mutex<HashMap<String, Account>>,
}

/// Accounts that a request is charged to, each with its rates.
#[derive(Debug, Clone, Default)]
pub struct Charged(Option<Arc<[(String, Amounts)]>>);

impl Charged {
    fn accounts(&self) -> &[(String, Amounts)] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Returns true if no limit applies.
    pub fn is_free(&self) -> bool {
        self.0.is_none()
    }
}

struct Account {
    rates: Amounts,
    buckets: [f64; 3],
    at: Instant,
}

/// Most that a bucket holds.
fn most(rate: f64) -> f64 {
    rate.max(1.0)
}

impl Account {
    fn new(rates: Amounts, now: Instant) -> Self {
        Self {
            rates,
            buckets: rates.each().map(most),
            at: now,
        }
    }

    /// Fills the buckets for the time that has passed.
    fn fill(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        for (bucket, rate) in self.buckets.iter_mut().zip(self.rates.each()) {
            *bucket = (*bucket + seconds * rate).min(most(rate));
        }
        self.at = self.at.max(now);
    }

    fn is_full(&self) -> bool {
        let mut each = self.buckets.iter().zip(self.rates.each());
        each.all(|(bucket, rate)| rate == 0.0 || *bucket >= most(rate))
    }

    fn spend(&mut self, amounts: Amounts) {
        let each = amounts.each().into_iter().zip(self.rates.each());
        for (bucket, (amount, rate)) in self.buckets.iter_mut().zip(each) {
            // A debt ends within a bounded time, however large a batch was.
            *bucket = (*bucket - amount).max(-LONGEST_DEBT * rate);
        }
    }

    /// The limit that refuses a request of these amounts: its place, and the seconds until it admits one.
    fn over(&self, amounts: Amounts) -> Option<(usize, f64)> {
        let rates = self.rates.each();
        let over = (0..3).filter_map(|place| {
            let missing = amounts.each()[place].min(1.0) - self.buckets[place];
            (rates[place] > 0.0 && missing > 0.0).then(|| (place, missing / rates[place]))
        });
        over.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Limits {
    pub fn new(caller: Amounts, experiment: Amounts) -> Self {
        Self {
            caller,
            experiment,
            accounts: Mutex::default(),
        }
    }

    /// Returns true if experiments have limits.
    pub fn are_per_experiment(&self) -> bool {
        !self.experiment.is_any()
    }

    /// Accounts of a caller, with a rate of requests of its own perhaps, and of an experiment. `who` is asked only if the
    /// caller has a limit.
    pub fn charged(
        &self,
        who: impl FnOnce() -> String,
        rate: Option<f64>,
        experiment: Option<&str>,
    ) -> Charged {
        let rates = Amounts {
            requests: rate.unwrap_or(self.caller.requests),
            ..self.caller
        };
        let caller = (!rates.is_any()).then(|| (who(), rates));
        let experiment = experiment
            .filter(|name| !self.experiment.is_any() && name.len() <= LONGEST_NAME)
            .map(|name| (format!("the experiment `{name}`"), self.experiment));
        let is_free = caller.is_none() && experiment.is_none();
        Charged((!is_free).then(|| caller.into_iter().chain(experiment).collect()))
    }

    /// Admits a request and charges it for itself and its bytes, unless one of its accounts is used up.
    pub fn admit(&self, charged: &Charged, bytes: u64, now: Instant) -> Result<(), Problem> {
        if charged.is_free() {
            return Ok(());
        }
        let amounts = Amounts {
            requests: 1.0,
            bytes: bytes as f64,
            work: 0.0,
        };
        let Ok(mut accounts) = self.accounts.lock() else {
            return Ok(());
        };
        for (who, rates) in charged.accounts() {
            let account = filled(&mut accounts, who, *rates, now);
            if let Some((place, wait)) = account.over(amounts) {
                let rate = rates.each()[place];
                let detail = format!("{who}: more than {rate} {}", UNITS[place]);
                let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail);
                problem.retry_after = Some(wait.ceil().max(1.0) as u32);
                return Err(problem);
            }
        }
        for (who, rates) in charged.accounts() {
            filled(&mut accounts, who, *rates, now).spend(amounts);
        }
        Ok(())
    }

    /// Charges an admitted request for what it turned out to cost beyond itself.
    pub fn spend(&self, charged: &Charged, amounts: Amounts) {
        if charged.is_free() {
            return;
        }
        let now = Instant::now();
        if let Ok(mut accounts) = self.accounts.lock() {
            for (who, rates) in charged.accounts() {
                filled(&mut accounts, who, *rates, now).spend(amounts);
            }
        }
    }

    /// Charges for seconds of computation.
    pub fn worked(&self, charged: &Charged, seconds: f64) {
        let work = Amounts {
            work: seconds,
            ..Amounts::default()
        };
        self.spend(charged, work);
    }
}

/// An account, filled up to now; a new one is full. Where there are too many, new ones share one.
fn filled<'a>(
    accounts: &'a mut HashMap<String, Account>,
    who: &str,
    rates: Amounts,
    now: Instant,
) -> &'a mut Account {
    let mut key = who;
    if accounts.len() >= MOST_ACCOUNTS && !accounts.contains_key(who) {
        accounts.retain(|_, account| {
            account.fill(now);
            !account.is_full()
        });
        if accounts.len() >= MOST_ACCOUNTS {
            key = "others";
        }
    }
    let account = (accounts.entry(key.to_string())).or_insert_with(|| Account::new(rates, now));
    account.fill(now);
    account.rates = rates;
    account
}
