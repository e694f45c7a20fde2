//! Metrics for Prometheus.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64};

use banister_engine::{BudgetView, ExperimentStats, Stats};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

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

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BudgetLabels {
    experiment: String,
    guardrail: String,
    per: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HookLabels {
    hook: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeliveryLabels {
    hook: String,
    result: &'static str,
}

type PerBudget = Family<BudgetLabels, Gauge<f64, AtomicU64>>;
type PerGuardrail = Family<GuardrailLabels, Gauge<f64, AtomicU64>>;
type PerExperiment = Family<ExperimentLabels, Gauge<i64, AtomicI64>>;

/// Gauges of every experiment: name, help, value.
type ExperimentGauge = (&'static str, &'static str, fn(&ExperimentStats) -> u64);
const PER_EXPERIMENT: [ExperimentGauge; 10] = [
    ("decisions", "Decisions made", |e| e.counts.decisions),
    ("outcomes", "Outcomes learned from", |e| {
        e.counts.outcomes + e.counts.imported
    }),
    ("expired", "Decisions that got the default outcome", |e| {
        e.counts.expired
    }),
    (
        "fallbacks",
        "Decisions where the safe action was forced",
        |e| e.counts.forced,
    ),
    ("forced", "Whether the safe action is forced now", |e| {
        u64::from(e.is_forced)
    }),
    ("alarms", "Alarms that nobody has acknowledged yet", |e| {
        e.alarms
    }),
    (
        "missing",
        "Decisions whose outcome never came within their time to live",
        |e| e.counts.missing,
    ),
    (
        "segments",
        "Segments told apart, the pool of all others among them",
        |e| e.segments.told_apart as u64,
    ),
    (
        "segment_names",
        "Names of segments that have statistics of their own",
        |e| e.segments.names as u64,
    ),
    (
        "segment_names_max",
        "Most names of segments that there is room for; rare ones give way to others",
        |e| e.segments.max_names as u64,
    ),
];

/// Gauges of every budget in its period of now: name, help, value.
type BudgetGauge = (&'static str, &'static str, fn(&BudgetView) -> f64);
const PER_BUDGET: [BudgetGauge; 6] = [
    ("budget_amount", "Amount of the budget", |b| b.budget.amount),
    ("budget_spent", "Costs reported in this period", |b| b.spent),
    (
        "budget_reserved",
        "Most that decisions of this period may cost whose cost is not known yet",
        |b| b.reserved,
    ),
    (
        "budget_remaining",
        "Amount that is neither spent nor reserved",
        |b| b.remaining,
    ),
    ("budget_beyond", "Costs beyond the amount", |b| b.beyond),
    (
        "budget_exhausted",
        "Decisions of this period at which the budget forced the safe action",
        |b| b.exhausted as f64,
    ),
];

/// Counters and histograms of one service.
pub struct Metrics {
    registry: Registry,
    /// Held while the text is made: what is about experiments is set anew each time.
    rendering: Mutex<()>,
    requests: Family<RouteLabels, Counter>,
    latency: Family<OperationLabels, Histogram, fn() -> Histogram>,
    commits: Histogram,
    commit_events: Histogram,
    pub outages: Counter,
    pub tls_failures: Counter,
    pub connections_cut: Counter,
    log_last: Gauge,
    log_lag: Gauge,
    pub clock_skew: Gauge<f64, AtomicU64>,
    /// In the order of [`PER_EXPERIMENT`].
    experiments: [PerExperiment; PER_EXPERIMENT.len()],
    slack: PerGuardrail,
    /// In the order of [`PER_BUDGET`].
    budgets: [PerBudget; PER_BUDGET.len()],
    /// Set where pacing binds.
    pace: PerBudget,
    refused: Family<GuardrailLabels, Counter>,
    deliveries: Family<DeliveryLabels, Counter>,
    pending: Family<HookLabels, Gauge>,
}

/// A registered metric. What it counts is shared with the registry's copy.
fn registered<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// A registered metric that starts at 0.
fn new<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    registered(registry, name, help, M::default())
}

impl Default for Metrics {
    fn default() -> Self {
        const EVENTS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0];
        let mut registry = Registry::with_prefix("banister");
        let r = &mut registry;
        let seconds = || Histogram::new(SECONDS);
        let latency = Family::new_with_constructor(seconds as fn() -> Histogram);
        Self {
            rendering: Mutex::default(),
            requests: new(r, "http_requests", "Requests answered"),
            latency: registered(r, "http_request_seconds", "Time to answer", latency),
            commits: registered(r, "commit_seconds", "Time of a group commit", seconds()),
            commit_events: {
                let events = Histogram::new(EVENTS);
                registered(r, "commit_events", "Events of a group commit", events)
            },
            outages: new(r, "log_failures", "Times the log could not be used"),
            tls_failures: {
                let help = "Times a new certificate could not be used";
                new(r, "tls_reload_failures", help)
            },
            connections_cut: {
                let help =
                    "Connections that were not taken, gave way, or whose caller did not read";
                new(r, "connections_cut", help)
            },
            log_last: new(r, "log_number", "Number of the log's last event"),
            log_lag: {
                let help = "Events in the log that this process has not folded yet";
                new(r, "log_lag_events", help)
            },
            clock_skew: {
                let help = "Seconds by which the log's time is behind its clock";
                new(r, "clock_skew_seconds", help)
            },
            experiments: PER_EXPERIMENT.map(|(name, help, _)| new(r, name, help)),
            slack: new(r, "guardrail_slack", "Slack of the latest policy"),
            budgets: PER_BUDGET.map(|(name, help, _)| new(r, name, help)),
            pace: {
                let help = "Rest per decision until the period ends, where it holds policies back";
                new(r, "budget_pace", help)
            },
            refused: {
                let help = "Decisions that this process refused since the budget was exhausted";
                new(r, "budget_refused", help)
            },
            deliveries: new(r, "webhook_deliveries", "Tries to deliver notices"),
            pending: new(
                r,
                "webhook_pending",
                "Notices that a receiver did not get yet",
            ),
            registry,
        }
    }
}

impl Metrics {
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

    /// Counts a decision that a budget refused.
    pub fn refused(&self, experiment: &str, guardrail: String) {
        let experiment = experiment.to_owned();
        let labels = GuardrailLabels {
            experiment,
            guardrail,
        };
        self.refused.get_or_create(&labels).inc();
    }

    /// Counts a try to deliver a notice.
    pub fn webhook(&self, hook: &str, result: &'static str) {
        let hook = hook.to_owned();
        let labels = DeliveryLabels { hook, result };
        self.deliveries.get_or_create(&labels).inc();
    }

    /// Sets the number of notices that a receiver did not get yet.
    pub fn webhook_pending(&self, hook: &str, notices: usize) {
        let hook = hook.to_owned();
        let labels = HookLabels { hook };
        self.pending.get_or_create(&labels).set(notices as i64);
    }

    /// Everything as text, with what the writer knows now.
    pub fn render(&self, stats: &Stats) -> String {
        let _alone = self.rendering.lock();
        self.experiments.iter().for_each(PerExperiment::clear);
        self.slack.clear();
        self.budgets.iter().for_each(PerBudget::clear);
        self.pace.clear();
        for experiment in &stats.experiments {
            let labels = ExperimentLabels {
                experiment: experiment.name.clone(),
            };
            for ((_, _, value), family) in PER_EXPERIMENT.iter().zip(&self.experiments) {
                family.get_or_create(&labels).set(value(experiment) as i64);
            }
            let of = |guardrail: &String| GuardrailLabels {
                experiment: experiment.name.clone(),
                guardrail: guardrail.clone(),
            };
            for (guardrail, slack) in &experiment.slacks {
                self.slack.get_or_create(&of(guardrail)).set(*slack);
            }
            for (guardrail, budget) in (experiment.budgets.iter())
                .flat_map(|(guardrail, own)| own.as_slice().iter().map(move |b| (guardrail, b)))
            {
                let labels = BudgetLabels {
                    experiment: experiment.name.clone(),
                    guardrail: guardrail.clone(),
                    per: budget.budget.per.name(),
                };
                for ((_, _, value), family) in PER_BUDGET.iter().zip(&self.budgets) {
                    family.get_or_create(&labels).set(value(budget));
                }
                if let Some(pace) = budget.pace {
                    self.pace.get_or_create(&labels).set(pace);
                }
                // There from the start, so that the first refusal is an increase.
                drop(self.refused.get_or_create(&of(guardrail)));
            }
        }
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}
