//! The checks of a declaration that need no agent, and of the agent that comes out.

use std::collections::BTreeMap;

use banister::AgentConfig;
use banister::guarantee::Guarantee;
use banister::toolkit::{FieldPath, Within, check_seen, did_you_mean};
use banister::{Agent, Ask, Expression, Range, Round, Scope, SegmentedConfig, SignalConfig};

use super::{CheckedDeclaration, Declaration, DeclaredArm, DefaultOutcome, LONGEST_NAME, NamedArm};
use crate::object::OneOrMany;
use crate::refusal::Refusal;
use banister::budget::Budget;

/// Largest number of a signal, and largest feature: squares and sums of them stay finite.
const LARGEST_SIGNAL: f64 = 1e100;
pub(crate) const LARGEST_FEATURE: f64 = 1e50;
/// Largest amount of a budget, and largest cost under one: sums of billionths stay exact.
const LARGEST_AMOUNT: f64 = 1e15;
/// Things whose values outcomes bring among their costs.
pub(crate) const MEASURED: &str = "guardrail or signal";
/// The longest time to live, ten years in seconds.
const LONGEST_TTL: f64 = 315_360_000.0;

impl Declaration {
    /// Refuses names that were allowed before, and so may be in a log.
    pub(super) fn check_labels(&self) -> Result<(), Refusal> {
        for (i, arm) in self.arms.iter().enumerate() {
            let (DeclaredArm::Name(name) | DeclaredArm::Arm(NamedArm { name, .. })) = arm;
            check_label(&format!("arms[{i}].name"), name)?;
        }
        for (i, guardrail) in self.guardrails.iter().enumerate() {
            check_label(&format!("guardrails[{i}].name"), &guardrail.name)?;
        }
        for name in self.signals.keys() {
            check_label("signals", name)?;
        }
        Ok(())
    }

    /// Refuses numbers so large, or ranges so narrow, that what is computed from them would overflow.
    pub(super) fn check_sizes(&self, arms: &[NamedArm]) -> Result<(), Refusal> {
        let given = |key: &str, x: Option<f64>| check(key, x.unwrap_or(0.0), LARGEST_SIGNAL);
        let signal = |signal: &SignalConfig| {
            for (place, range) in signal.range.iter().flat_map(Range::each) {
                check_range(place.within("range"), range)?;
            }
            given("cap", signal.cap)?;
            given("sub_gaussian", signal.sub_gaussian)
        };
        signal(&self.reward).within("reward")?;
        for (i, guardrail) in self.guardrails.iter().enumerate() {
            let place = ("guardrails", i);
            signal(&guardrail.signal).within(place)?;
            if let Some((direction, bound)) = guardrail.bound() {
                check(direction.key(), bound, LARGEST_SIGNAL).within(place)?;
            }
            given("safe_cost", guardrail.safe_cost).within(place)?;
            if let Some(Expression::Exceedance(event)) = &guardrail.expression {
                check("expression", event.bound, LARGEST_SIGNAL).within(place)?;
            }
        }
        for (name, own) in &self.signals {
            let mut own = own.config();
            // Without a highest value it gets one from the quantile that bounds it.
            own.range = own.range.filter(|range| range.hull()[1] < f64::INFINITY);
            signal(&own).within(("signals", name))?;
        }
        for (j, &x) in self.safe_action.iter().flatten().enumerate() {
            check(("safe_action", j), x, LARGEST_FEATURE)?;
        }
        for (i, arm) in arms.iter().enumerate() {
            for (j, &x) in arm.features.iter().flatten().enumerate() {
                check(format!("arms[{i}].features[{j}]"), x, LARGEST_FEATURE)?;
            }
        }
        Ok(())
    }
}

fn check(field: impl Into<FieldPath>, x: f64, largest: f64) -> Result<(), Refusal> {
    if x.abs() <= largest {
        return Ok(());
    }
    let allowed = format!("must lie within ±{largest:e}");
    Err(Refusal::invalid(field, x, allowed))
}

/// Refuses a range that is too narrow, or too far out.
pub(crate) fn check_range(field: impl Into<FieldPath>, [lo, hi]: [f64; 2]) -> Result<(), Refusal> {
    let field = field.into();
    check(field.clone(), lo, LARGEST_SIGNAL)?;
    check(field.clone(), hi, LARGEST_SIGNAL)?;
    if hi > lo && hi - lo < 1.0 / LARGEST_SIGNAL {
        let allowed = format!("must be at least {:e} wide", 1.0 / LARGEST_SIGNAL);
        return Err(Refusal::invalid(field, format!("[{lo}, {hi}]"), allowed));
    }
    Ok(())
}

impl CheckedDeclaration {
    /// Checks a time to live and the outcome that follows it.
    pub fn check_ttl(
        &self,
        ttl: Option<f64>,
        default: Option<&DefaultOutcome>,
    ) -> Result<(), Refusal> {
        match (ttl, default) {
            (None, None) => return Ok(()),
            (Some(ttl), _) if !(ttl > 0.0 && ttl <= LONGEST_TTL) => {
                let allowed = format!("must be above 0, and at most {LONGEST_TTL} (ten years)");
                return Err(Refusal::invalid("ttl_seconds", ttl, allowed));
            }
            _ => {}
        }
        let Some(default) = default else {
            return Ok(());
        };
        // Whichever arm it befalls.
        let check = |signal: usize, field: &str, x: f64| {
            let mut own = self.standard.own_signals(signal).iter();
            own.try_for_each(|own| own.check_value(x)).at(field)
        };
        let reported = self.standard.reported();
        check(reported, "default_outcome.reward", default.reward)?;
        for (position, name) in self.standard.measured().enumerate() {
            let field = format!("default_outcome.costs.{name}");
            let Some(&cost) = default.costs.get(name) else {
                let allowed = "it needs a cost for every guardrail and signal";
                return Err(Refusal::invalid(field, "absent", allowed));
            };
            check(self.standard.place_of(position), &field, cost)?;
        }
        let names = self.standard.measured();
        check_names("default_outcome.costs", &default.costs, MEASURED, names)
    }
}

impl CheckedDeclaration {
    /// Checks budgets: what a decision may cost must be bounded by what reports are held against.
    pub fn check_budgets(
        &self,
        budgets: &BTreeMap<String, OneOrMany<Budget>>,
    ) -> Result<(), Refusal> {
        let guardrails = self.standard.guardrails.iter();
        let names = guardrails.map(|own| own.name.as_str());
        check_names("budgets", budgets, "guardrail", names)?;
        if !budgets.is_empty() {
            let why = "budgets are kept of costs that are reported: leave out the `budgets`";
            self.standard.refuse_made(why)?;
        }
        for (i, guardrail) in self.standard.guardrails.iter().enumerate() {
            let Some(own) = budgets.get(&guardrail.name) else {
                continue;
            };
            if own.as_slice().is_empty() {
                let field = format!("budgets.{}", guardrail.name);
                let allowed = "must have at least one budget; omit the key for none";
                return Err(Refusal::invalid(field, "empty", allowed));
            }
            for (n, (field, budget)) in fields_of(&guardrail.name, own).enumerate() {
                let before = &own.as_slice()[..n];
                if before.iter().any(|other| other.per == budget.per) {
                    let allowed = "give at most one budget per period";
                    let per = budget.per.name();
                    return Err(Refusal::invalid(format!("{field}.per"), per, allowed));
                }
                self.check_budget(i, &field, budget)?;
            }
        }
        Ok(())
    }

    fn check_budget(&self, i: usize, field: &str, budget: &Budget) -> Result<(), Refusal> {
        let guardrail = &self.standard.guardrails[i];
        let refuse = |allowed: &str| Err(Refusal::invalid(field, "given", allowed));
        let declared = &self.standard.declared.guardrails[i];
        if declared.at_most.is_none() {
            return refuse("a budget is for costs: the guardrail needs `at_most`");
        }
        if declared.signal.sub_gaussian.is_some() {
            return refuse(
                "with `sub_gaussian` nothing bounds the cost of a decision: declare a `range` \
                 that no observation leaves",
            );
        }
        if declared.signal.cap.is_some() {
            return refuse(
                "with `cap` a decision may cost more than counts, so that nothing bounds it: \
                 declare a `range` that no observation leaves",
            );
        }
        for own in self.standard.own_signals(i + 1) {
            if !(own.lo >= 0.0 && own.hi <= LARGEST_AMOUNT) {
                let allowed = format!(
                    "a budget needs a signal within 0 and {LARGEST_AMOUNT:e}, and this one's range \
                     is [{}, {}]",
                    own.lo, own.hi
                );
                return refuse(&allowed);
            }
        }
        if !(budget.amount > 0.0 && budget.amount <= LARGEST_AMOUNT) {
            let allowed = format!("must be above 0, and at most {LARGEST_AMOUNT:e}");
            let field = format!("{field}.amount");
            return Err(Refusal::invalid(field, budget.amount, allowed));
        }
        if budget.pacing && guardrail.factor != 0.0 {
            let allowed = "a relative guardrail has no threshold to lower: write false, or declare \
                           its `safe_cost`";
            return Err(Refusal::invalid(format!("{field}.pacing"), true, allowed));
        }
        let by_segment = declared.safe_cost.is_none() && guardrail.scope == Scope::Overall;
        if budget.pacing && by_segment && self.has_segments() {
            let allowed = "the safe arm may cost more in one segment than in another, so that nobody knows \
                           how much of it keeps the pace: write false, or declare its `safe_cost`";
            return Err(Refusal::invalid(format!("{field}.pacing"), true, allowed));
        }
        Ok(())
    }
}

/// Budgets of a guardrail, each with its field.
fn fields_of<'a>(
    guardrail: &str,
    own: &'a OneOrMany<Budget>,
) -> impl Iterator<Item = (String, &'a Budget)> {
    let field = move |n: usize| match own {
        OneOrMany::One(_) => format!("budgets.{guardrail}"),
        OneOrMany::Many(_) => format!("budgets.{guardrail}[{n}]"),
    };
    (own.as_slice().iter().enumerate()).map(move |(n, budget)| (field(n), budget))
}

impl CheckedDeclaration {
    /// Refuses budgets of a new experiment that could never pay for anything but the safe action. Later an
    /// amount may be lowered as far as one likes, to stop spending.
    pub(super) fn check_budgets_pay(&self) -> Result<(), Refusal> {
        for (i, guardrail) in self.standard.guardrails.iter().enumerate() {
            let Some(own) = self.declaration.budgets.get(&guardrail.name) else {
                continue;
            };
            let others =
                (0..self.arms.len().max(1)).filter(|arm| self.arms.is_empty() || *arm != self.safe);
            let worst = others.map(|arm| self.standard.own_signal(arm, i + 1).hi);
            let cheapest = worst.fold(f64::INFINITY, f64::min);
            let scarce = fields_of(&guardrail.name, own).find(|(_, own)| own.amount < cheapest);
            if let Some((field, budget)) = scarce.filter(|_| cheapest.is_finite()) {
                let allowed = format!(
                    "it never covers any action but the safe one: of the others, one costs up to {cheapest} \
                     at least, the upper end of its range; raise the amount, or declare tighter ranges"
                );
                let field = format!("{field}.amount");
                return Err(Refusal::invalid(field, budget.amount, allowed));
            }
        }
        Ok(())
    }
}

/// Refuses an agent whose first decision is not made of finite numbers: its parameters overflow.
pub(super) fn check_finite(agent: &mut dyn Agent) -> Result<(), Refusal> {
    let safe = agent.view().safe;
    let round = Round {
        time: Some(0.0),
        ..Round::default()
    };
    let belief = agent.ask(Ask::Estimates(&round, Some(&[safe])));
    let belief = belief.estimates().unwrap_or_default();
    let decision = agent.decide(&round);
    let decision = decision?;
    let mut numbers = vec![decision.optimistic_reward, decision.solver.upper_bound];
    for guardrail in &decision.guardrails {
        numbers.extend([guardrail.pessimistic_cost, guardrail.slack, guardrail.price]);
    }
    for estimate in belief
        .iter()
        .flat_map(|b| b.costs.iter().chain([&b.reward]))
    {
        numbers.extend([estimate.lower, estimate.upper]);
    }
    if numbers.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    let allowed = "its parameters are so large or small that its first decision overflows";
    Err(Refusal::invalid("agent", "given", allowed))
}

/// Refuses a key that is not the name of `what` is declared.
pub(crate) fn check_names<'a, V>(
    field: &str,
    given: &BTreeMap<String, V>,
    what: &str,
    declared: impl IntoIterator<Item = &'a str>,
) -> Result<(), Refusal> {
    let names: Vec<&str> = declared.into_iter().collect();
    let Some(name) = given.keys().find(|name| !names.contains(&name.as_str())) else {
        return Ok(());
    };
    let allowed = if names.is_empty() {
        format!("the experiment declares no {what}: leave it out")
    } else {
        let (all, hint) = (names.join(", "), did_you_mean(name, names));
        format!("must be the name of a declared {what} ({all}){hint}")
    };
    Err(Refusal::invalid(
        format!("{field}.{name}"),
        "given",
        allowed,
    ))
}

/// Refuses parameters that void the agent's own guarantee: they are for simulations.
pub(super) fn check_guarantee(config: &AgentConfig) -> Result<(), Refusal> {
    let void = config.guarantee() != Guarantee::EveryRound;
    let (field, value) = match config {
        AgentConfig::Opb(opb) if void => match opb.log_term {
            Some(x) => ("agent.log_term", x.to_string()),
            None => ("agent.intervals", "published".to_string()),
        },
        AgentConfig::Oplb(oplb) if void => ("agent.radius_scale", oplb.radius_scale.to_string()),
        AgentConfig::Segmented(SegmentedConfig {
            log_term: Some(x), ..
        }) => ("agent.log_term", x.to_string()),
        _ => return Ok(()),
    };
    let allowed = "it voids the guarantee, and is for simulations only: leave it out";
    Err(Refusal::invalid(field, value, allowed))
}

/// Refuses a name that cannot stand in an address as it is.
pub(super) fn check_name(name: &str) -> Result<(), Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric();
    let starts = name.starts_with(plain);
    let fits = name.chars().all(|c| plain(c) || "._-".contains(c));
    if starts && fits && name.len() <= 64 {
        return Ok(());
    }
    let allowed = "must be 1 to 64 letters, digits, `.`, `_` or `-`, the first a letter or digit";
    let shown = if name.is_empty() {
        "empty".to_string()
    } else {
        format!("{:?}", name.chars().take(80).collect::<String>())
    };
    Err(Refusal::invalid("name", shown, allowed))
}

/// Refuses a text for people that is too long or has control characters, line ends aside.
pub(crate) fn check_length(field: &str, text: &str, most: usize) -> Result<(), Refusal> {
    let count = text.chars().count();
    if count > most {
        let allowed = format!("at most {most} characters");
        return Err(Refusal::invalid(
            field,
            format!("{count} characters"),
            allowed,
        ));
    }
    match text.chars().find(|c| c.is_control() && *c != '\n') {
        None => Ok(()),
        Some(c) => {
            let allowed = "control characters are not allowed";
            Err(Refusal::invalid(
                field,
                format!("a text with {c:?}"),
                allowed,
            ))
        }
    }
}

/// Refuses a name that is too long, or that shows as something else than it is.
pub(crate) fn check_label(field: &str, name: &str) -> Result<(), Refusal> {
    check_length(field, name, LONGEST_NAME)?;
    Ok(check_seen(name).at(field)?)
}
