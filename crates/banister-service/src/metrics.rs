//! Metrics for Prometheus.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64};

use banister_engine::Stats;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Seconds, from a tenth of a millisecond to ten seconds.
const SECONDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExperimentLabels {
    experiment: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GuardrailLabels {
    experiment: String,
    guardrail: String,
}

type Float = Gauge<f64, AtomicU64>;
type PerExperiment = Family<ExperimentLabels, Gauge<i64, AtomicI64>>;

/// Counters and histograms of one service.
pub struct Metrics {
    registry: Registry,
    /// Held while the text is made: what is about experiments is set anew each time.
    rendering: Mutex<()>,
    requests: Family<RouteLabels, Counter>,
    latency: Family<OperationLabels, Histogram, fn() -> Histogram>,
    commits: Histogram,
    commit_events: Histogram,
    outages: Counter,
    log_last: Gauge,
    log_lag: Gauge,
    decisions: PerExperiment,
    outcomes: PerExperiment,
    expired: PerExperiment,
    forced: PerExperiment,
    forced_now: PerExperiment,
    alarms: PerExperiment,
    missing: PerExperiment,
    slack: Family<GuardrailLabels, Float>,
}

impl Default for Metrics {
    fn default() -> Self {
        let latency = || Histogram::new(SECONDS);
        let mut metrics = Self {
            registry: Registry::with_prefix("banister"),
            rendering: Mutex::default(),
            requests: Family::default(),
            latency: Family::new_with_constructor(latency as fn() -> Histogram),
            commits: Histogram::new(SECONDS),
            commit_events: Histogram::new([
                1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0,
            ]),
            outages: Counter::default(),
            log_last: Gauge::default(),
            log_lag: Gauge::default(),
            decisions: Family::default(),
            outcomes: Family::default(),
            expired: Family::default(),
            forced: Family::default(),
            forced_now: Family::default(),
            alarms: Family::default(),
            missing: Family::default(),
            slack: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let r = &mut self.registry;
        r.register("http_requests", "Requests answered", self.requests.clone());
        r.register(
            "http_request_seconds",
            "Time to answer",
            self.latency.clone(),
        );
        r.register(
            "commit_seconds",
            "Time of a group commit",
            self.commits.clone(),
        );
        r.register(
            "commit_events",
            "Events of a group commit",
            self.commit_events.clone(),
        );
        r.register(
            "log_failures",
            "Times the log could not be used",
            self.outages.clone(),
        );
        r.register(
            "log_number",
            "Number of the log's last event",
            self.log_last.clone(),
        );
        r.register(
            "log_lag_events",
            "Events in the log that this process has not folded yet",
            self.log_lag.clone(),
        );
        r.register("decisions", "Decisions made", self.decisions.clone());
        r.register("outcomes", "Outcomes learned from", self.outcomes.clone());
        r.register(
            "expired",
            "Decisions that got the default outcome",
            self.expired.clone(),
        );
        r.register(
            "fallbacks",
            "Decisions where the safe action was forced",
            self.forced.clone(),
        );
        r.register(
            "forced",
            "Whether the safe action is forced now",
            self.forced_now.clone(),
        );
        r.register(
            "alarms",
            "Alarms that nobody has acknowledged yet",
            self.alarms.clone(),
        );
        r.register(
            "missing",
            "Decisions whose outcome never came within their time to live",
            self.missing.clone(),
        );
        r.register(
            "guardrail_slack",
            "Slack of the latest policy",
            self.slack.clone(),
        );
    }

    /// A request was answered.
    pub fn answered(
        &self,
        method: &'static str,
        route: &'static str,
        operation: &'static str,
        status: u16,
        seconds: f64,
    ) {
        let labels = RouteLabels {
            method,
            route,
            status,
        };
        self.requests.get_or_create(&labels).inc();
        let operation = OperationLabels { operation };
        self.latency.get_or_create(&operation).observe(seconds);
    }

    /// Events were made durable.
    pub fn committed(&self, events: usize, seconds: f64) {
        self.commits.observe(seconds);
        self.commit_events.observe(events as f64);
    }

    /// Sets the log's last event and the lag of this process.
    pub fn follows(&self, folded: u64, last: u64) {
        self.log_last.set(last as i64);
        self.log_lag.set(last.saturating_sub(folded) as i64);
    }

    /// Counts an outage of the log.
    pub fn outage(&self) {
        self.outages.inc();
    }

    /// Everything as text, with what the writer knows now.
    pub fn render(&self, stats: &Stats) -> String {
        let _alone = self.rendering.lock();
        for family in [
            &self.decisions,
            &self.outcomes,
            &self.expired,
            &self.forced,
            &self.forced_now,
            &self.alarms,
            &self.missing,
        ] {
            family.clear();
        }
        self.slack.clear();
        for experiment in &stats.experiments {
            let labels = ExperimentLabels {
                experiment: experiment.name.clone(),
            };
            let set = |family: &PerExperiment, value: u64| {
                family.get_or_create(&labels).set(value as i64);
            };
            let counts = experiment.counts;
            set(&self.decisions, counts.decisions);
            set(&self.outcomes, counts.outcomes + counts.imported);
            set(&self.expired, counts.expired);
            set(&self.forced, counts.forced);
            set(&self.forced_now, u64::from(experiment.is_forced));
            set(&self.alarms, experiment.alarms);
            set(&self.missing, counts.missing);
            for (guardrail, slack) in &experiment.slacks {
                let labels = GuardrailLabels {
                    experiment: experiment.name.clone(),
                    guardrail: guardrail.clone(),
                };
                self.slack.get_or_create(&labels).set(*slack);
            }
        }
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}
