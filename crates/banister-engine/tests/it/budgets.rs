//! Money over time: reservations, charges, exhaustion, pacing, and what outlives a restart.

use crate::common;

use banister::Fallback;
use banister::budget::Period;
use banister_engine::{
    BudgetView, Decide, Decided, Import, ImportOutcomes, PublishedPolicy, Refusal, Timestamp,
    period_bounds, rebuild,
};
use common::engine::{Caller, Engine, check, conflict, field, plain, unknown};
use common::{Place, both, until};
use serde_json::{Value, json};

both!(
    a_batch_never_reserves_more_than_there_is,
    a_budget_may_stand_at_its_guardrail,
    only_the_safe_action_goes_beyond,
    a_cost_is_charged_as_soon_as_it_is_known,
    budgets_change_while_they_run,
    a_week_and_a_month_are_kept_together,
    a_decision_that_is_cancelled_costs_nothing,
    decisions_with_policies_of_their_own_are_cancelled_too,
    a_cost_below_its_range_gives_no_money_back,
    in_shadow_mode_nothing_is_spent,
    the_policy_leans_to_the_safe_action_before_the_money_is_gone,
    a_certificate_of_exhaustion_is_the_agents_own,
);

/// A plain experiment whose errors have a budget; periods are so long that no test sees their end.
fn budgeted(budget: Value) -> Value {
    let mut declaration = plain("x");
    declaration["budgets"] = json!({ "errors": budget });
    declaration
}

fn month(amount: f64) -> Value {
    json!({"amount": amount, "per": "month", "when_exhausted": "refuse", "pacing": false})
}

/// Creates it and shows that the safe arm earns nothing, so that the others are tried. Outcomes of another log
/// were not paid by this budget.
fn create(engine: &Caller, declaration: Value) {
    engine.create(declaration).unwrap();
    let import = Import {
        arms: vec![0; 500],
        rewards: vec![0.0; 500],
        costs: (0..500).map(|i| f64::from(u8::from(i % 10 == 0))).collect(),
        ..Import::default()
    };
    let experiment = "x".into();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
    assert_eq!((shown(engine).spent, shown(engine).reserved), (0.0, 0.0));
}

fn batch(engine: &Caller, ids: &[&str]) -> Vec<Result<Decided, Refusal>> {
    let request = |id: &&str| serde_json::from_value(json!({ "id": id })).unwrap();
    let commands = ids.iter().map(|id| Decide::new("x".into(), request(id)));
    engine.execute_all(commands.collect()).unwrap()
}

fn shown(engine: &Caller) -> BudgetView {
    engine.show("x").unwrap().budgets["errors"].as_slice()[0].clone()
}

fn sums(engine: &Caller) -> (f64, f64, f64) {
    let view = shown(engine);
    (view.spent, view.reserved, view.remaining)
}

fn cost(engine: &Caller, id: &str, cost: f64) {
    let report = json!({"reward": 1, "costs": {"errors": cost}});
    engine.report("x", id, report).unwrap();
}

fn is_exhausted<T>(answer: &Result<T, Refusal>) -> bool {
    match answer {
        Err(Refusal::Exhausted {
            guardrail,
            reason,
            retry_after,
            ..
        }) => {
            assert_eq!(guardrail, "errors");
            assert!(
                reason.contains("`errors`") && reason.contains("per month"),
                "{reason}"
            );
            (1..=31 * 86_400).contains(retry_after)
        }
        _ => false,
    }
}

fn a_batch_never_reserves_more_than_there_is(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(budgeted(month(3.0))).unwrap();
    let answers = batch(&engine, &["a", "b", "c", "d", "e"]);
    let made: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(made, [true, true, true, false, false]);
    assert!(answers[3..].iter().all(is_exhausted));
    assert_eq!(sums(&engine), (0.0, 3.0, 0.0));
    let refusing = engine.show("x").unwrap().refusing.clone().unwrap();
    let end = shown(&engine).period_end;
    assert_eq!((&refusing.guardrail[..], refusing.until), ("errors", end));
    // Three quarters are free again, which is not enough; then seven quarters.
    cost(&engine, "a", 0.25);
    assert!(is_exhausted(&engine.decide("x", "d")));
    cost(&engine, "b", 0.0);
    assert_eq!(engine.show("x").unwrap().refusing, None);
    engine.decide("x", "d").unwrap();
    assert_eq!(sums(&engine), (0.25, 2.0, 0.75));
    // Said and asked again, nothing changes.
    cost(&engine, "a", 0.25);
    engine.decide("x", "c").unwrap();
    assert_eq!(sums(&engine), (0.25, 2.0, 0.75));
    let stats = engine.stats().experiments.remove(0).budgets;
    assert_eq!(stats["errors"].as_slice(), [shown(&engine)]);
    engine.stop();
    let engine = Engine::start(&place.database);
    assert_eq!(sums(&engine), (0.25, 2.0, 0.75));
    assert!(is_exhausted(&engine.decide("x", "e")));
    cost(&engine, "d", 1.0);
    assert_eq!(sums(&engine), (1.25, 1.0, 0.75));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn a_week_and_a_month_are_kept_together(place: &Place) {
    let budgets = |week: f64, month: f64| {
        let one = |amount: f64, per: &str| json!({"amount": amount, "per": per, "when_exhausted": "refuse", "pacing": false});
        json!([one(week, "week"), one(month, "month")])
    };
    let both = |engine: &Caller| {
        let view = engine.show("x").unwrap();
        let own = view.budgets["errors"].as_slice().iter();
        own.map(|b| (b.budget.per, b.spent, b.reserved, b.remaining))
            .collect::<Vec<_>>()
    };
    let refuses =
        |engine: &Caller| matches!(engine.decide("x", "c"), Err(Refusal::Exhausted { .. }));
    let engine = Engine::start(&place.database);
    engine.create(budgeted(budgets(2.0, 100.0))).unwrap();
    let until = |engine: &Caller| engine.show("x").unwrap().summary.refusing.unwrap().until;
    let end = |engine: &Caller, n: usize| {
        engine.show("x").unwrap().budgets["errors"].as_slice()[n].period_end
    };
    batch(&engine, &["a", "b"]);
    assert!(refuses(&engine));
    assert_eq!(until(&engine), end(&engine, 0));
    cost(&engine, "a", 0.5);
    let sums = |week: f64, month: f64| {
        [
            (Period::Week, 0.5, 1.0, week - 1.5),
            (Period::Month, 0.5, 1.0, month - 1.5),
        ]
    };
    assert_eq!(both(&engine), sums(2.0, 100.0));
    // Both are exhausted, and one has to wait for the later.
    let change = json!({"budgets": {"errors": budgets(1.0, 2.0)}});
    engine.change("x", change.clone()).unwrap();
    let number = engine.show("x").unwrap().number;
    assert_eq!(engine.change("x", change).unwrap().number, number);
    assert!(refuses(&engine));
    assert_eq!(until(&engine), end(&engine, 0).max(end(&engine, 1)));
    let none = engine.change("x", json!({"budgets": {"errors": []}}));
    assert_eq!(field(none), "budgets.errors");
    let twice = json!([month(2.0), month(3.0)]);
    let refused = engine.change("x", json!({"budgets": {"errors": twice}}));
    assert_eq!(field(refused), "budgets.errors[1].per");
    engine.stop();
    let engine = Engine::start(&place.database);
    assert_eq!(both(&engine)[1], sums(1.0, 2.0)[1]);
    // Only the one that does not cover every action has forced the safe one.
    let safe = |amount: f64, per: &str| json!({"amount": amount, "per": per, "pacing": false});
    let ample = json!({"budgets": {"errors": [safe(0.1, "week"), safe(900.0, "month")]}});
    engine.change("x", ample).unwrap();
    let forced = engine.decide("x", "d").unwrap().published.fallback;
    assert_eq!(forced, Some(Fallback::BudgetExhausted));
    let view = engine.show("x").unwrap();
    let exhausted: Vec<u64> = (view.budgets["errors"].as_slice().iter())
        .map(|own| own.exhausted)
        .collect();
    assert_eq!(exhausted, [1, 0]);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn a_decision_that_is_cancelled_costs_nothing(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(budgeted(month(2.0))).unwrap();
    batch(&engine, &["a", "b"]);
    assert!(is_exhausted(&engine.decide("x", "c")));
    assert_eq!(engine.cancel("x", "a").unwrap().decision, "a");
    assert_eq!(sums(&engine), (0.0, 1.0, 1.0));
    let view = engine.show("x").unwrap();
    assert_eq!((view.counts.missing, view.counts.outcomes), (1, 0));
    let settled = |engine: &Caller| {
        let arms = engine.live_state("x").arms.into_iter();
        arms.fold((0, 0), |sum, own| {
            (sum.0 + own.matured, sum.1 + own.missing)
        })
    };
    assert_eq!(settled(&engine), (1, 1));
    // Twice is once, and what is cancelled has no outcome.
    engine.cancel("x", "a").unwrap();
    assert_eq!(engine.show("x").unwrap().number, view.number);
    let report = json!({"reward": 1, "costs": {"errors": 1}});
    assert!(conflict(engine.report("x", "a", report)).contains("cancelled"));
    cost(&engine, "b", 0.5);
    assert!(conflict(engine.cancel("x", "b")).contains("carried out"));
    assert_eq!(unknown(engine.cancel("x", "nobody")), "decision");
    assert_eq!(sums(&engine), (0.5, 0.0, 1.5));
    assert_eq!(settled(&engine), (2, 1));
    engine.decide("x", "c").unwrap();
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    let engine = Engine::start(&place.database);
    assert_eq!(engine.digest("x").unwrap(), digest);
    engine.cancel("x", "a").unwrap();
    engine.cancel("x", "c").unwrap();
    assert_eq!(sums(&engine), (0.5, 0.0, 1.5));
}

/// Decisions in memory lack their own policy: in a segment, and among candidates.
fn decisions_with_policies_of_their_own_are_cancelled_too(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut segmented = budgeted(month(2.0));
    segmented["segments"] = json!(["de", "fr"]);
    engine.create(segmented).unwrap();
    let mut candidates = plain("y");
    for field in ["arms", "safe"] {
        candidates.as_object_mut().unwrap().remove(field);
    }
    candidates["dimension"] = json!(2);
    candidates["safe_action"] = json!([1.0, 0.0]);
    candidates["agent"] = json!({"kind": "oplb", "parameter_norm": 2});
    engine.create(candidates).unwrap();
    engine
        .decide_with("x", json!({"id": "a", "segment": "de"}))
        .unwrap();
    engine
        .decide_with("y", json!({"id": "a", "actions": [[0.0, 1.0]]}))
        .unwrap();
    for name in ["x", "y"] {
        engine.cancel(name, "a").unwrap();
        assert_eq!(engine.show(name).unwrap().counts.missing, 1);
    }
    assert_eq!(sums(&engine), (0.0, 0.0, 2.0));
    // What was done before is answered as before, in an archived experiment too.
    engine.change("y", json!({"status": "archived"})).unwrap();
    engine.cancel("y", "a").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn only_the_safe_action_goes_beyond(place: &Place) {
    let engine = Engine::start(&place.database);
    let ranges = json!({"old": [0, 1], "new": [0, 2], "odd": [0, 1.5]});
    let budget = json!({"amount": 5, "per": "month", "pacing": false});
    let mut declaration = budgeted(budget);
    declaration["guardrails"][0]["range"] = ranges;
    create(&engine, declaration);
    let (worst, mut explored) = ([1.0, 2.0, 1.5], 0.0);
    for number in 0..60 {
        let id = format!("d{number}");
        let before = shown(&engine);
        let decided = engine.decide("x", &id).unwrap();
        check(&decided);
        let forced = decided.published.fallback == Some(Fallback::BudgetExhausted);
        if forced {
            assert_eq!(decided.published.policy, [(0, 1.0)]);
        } else {
            // Whatever could have been drawn was covered.
            let policy = decided.published.policy.iter();
            let worst = policy.map(|entry| worst[entry.0]).fold(0.0, f64::max);
            assert!(before.remaining >= worst - 1e-12, "{before:?} {worst}");
        }
        explored += f64::from(u8::from(decided.index != 0));
        // The safe arm goes on earning nothing.
        let (action, reward) = (decided.index as usize, u8::from(decided.index != 0));
        let cost = [0.1, 0.4, 0.2][action];
        let report = json!({"reward": reward, "costs": {"errors": cost}});
        engine.report("x", &id, report).unwrap();
    }
    let view = shown(&engine);
    assert!(explored > 0.0, "{explored}");
    assert!(view.exhausted > 0 && view.decisions == 60, "{view:?}");
    assert!(
        (view.beyond - (view.spent - 5.0)).abs() < 1e-9 && view.beyond > 0.0,
        "{view:?}"
    );
    assert_eq!((view.remaining, view.reserved), (0.0, 0.0));
    let alarm = engine.show("x").unwrap().summary.alarm.unwrap();
    let live = engine.live_state("x").certificate.unwrap();
    assert_eq!(live.fallback, Some(Fallback::BudgetExhausted));
    assert_eq!(
        serde_json::to_value(alarm.reason).unwrap(),
        "budget_exhausted"
    );
    // With more money nothing is forced, also before the next decision.
    let more = json!({"budgets": {"errors": {"amount": 100, "per": "month"}}});
    assert!(engine.change("x", more).unwrap().alarm.is_none());
    assert!(engine.live_state("x").alarm.is_none() && !engine.stats().experiments[0].is_forced);
}

fn a_cost_is_charged_as_soon_as_it_is_known(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = budgeted(month(10.0));
    declaration["ttl_seconds"] = json!(3600);
    engine.create(declaration).unwrap();
    for id in ["a", "b", "c"] {
        engine.decide("x", id).unwrap();
    }
    // Long before it is learned; the rest of the report changes nothing.
    engine
        .report("x", "a", json!({"costs": {"errors": 0.5}}))
        .unwrap();
    assert_eq!(sums(&engine), (0.5, 2.0, 7.5));
    engine.report("x", "a", json!({"reward": 1})).unwrap();
    assert_eq!(sums(&engine), (0.5, 2.0, 7.5));
    // What never comes costs the most that it can.
    engine.change("x", json!({"ttl_seconds": 0.001})).unwrap();
    until("all are over", || {
        engine.show("x").unwrap().counts.missing == 2
    });
    assert_eq!(sums(&engine), (0.5, 2.0, 7.5));
    // With a default outcome it costs that.
    let default = json!({"default_outcome": {"reward": 0, "costs": {"errors": 0.25}}});
    engine.change("x", default).unwrap();
    engine.decide("x", "d").unwrap();
    until("the default", || {
        engine.show("x").unwrap().counts.expired == 3
    });
    assert_eq!(sums(&engine), (0.75, 2.0, 7.25));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn budgets_change_while_they_run(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    engine.decide("x", "before").unwrap();
    let budgets = |budget: Value| json!({"budgets": {"errors": budget}});
    engine.change("x", budgets(month(2.0))).unwrap();
    // Decisions before it are not its business.
    cost(&engine, "before", 1.0);
    assert_eq!(sums(&engine), (0.0, 0.0, 2.0));
    for id in ["a", "b"] {
        engine.decide("x", id).unwrap();
    }
    assert!(is_exhausted(&engine.decide("x", "c")));
    engine.change("x", budgets(month(4.0))).unwrap();
    engine.decide("x", "c").unwrap();
    engine.change("x", budgets(month(1.0))).unwrap();
    assert!(is_exhausted(&engine.decide("x", "d")));
    cost(&engine, "a", 1.0);
    cost(&engine, "b", 0.5);
    let view = shown(&engine);
    assert_eq!(
        (view.spent, view.reserved, view.remaining, view.beyond),
        (1.5, 1.0, 0.0, 0.5)
    );
    // Another period starts anew, and without a budget nothing is counted.
    let mut weekly = month(1.0);
    weekly["per"] = json!("week");
    engine.change("x", budgets(weekly)).unwrap();
    assert_eq!(sums(&engine), (0.0, 0.0, 1.0));
    cost(&engine, "c", 1.0);
    assert_eq!(sums(&engine), (0.0, 0.0, 1.0));
    let view = engine.change("x", json!({"budgets": null})).unwrap();
    assert!(view.budgets.is_empty());
    engine.decide("x", "d").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn a_cost_below_its_range_gives_no_money_back(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(budgeted(month(2.0))).unwrap();
    for (id, spent) in [("a", 0.5), ("b", -5.0)] {
        engine.decide("x", id).unwrap();
        cost(&engine, id, spent);
    }
    assert_eq!(sums(&engine).0, 0.5);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn in_shadow_mode_nothing_is_spent(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = budgeted(month(2.0));
    declaration["shadow"] = json!(true);
    engine.create(declaration).unwrap();
    for id in ["a", "b", "c"] {
        let request = json!({"id": id, "taken": "new"});
        engine.decide_with("x", request).unwrap();
        cost(&engine, id, 1.0);
    }
    assert_eq!(sums(&engine), (0.0, 0.0, 2.0));
    engine.change("x", json!({"shadow": false})).unwrap();
    engine.decide("x", "d").unwrap();
    engine
        .report("x", "b", json!({"reward": 1, "costs": {"errors": 1}}))
        .unwrap();
    assert_eq!(sums(&engine), (0.0, 1.0, 1.0));
}

fn the_policy_leans_to_the_safe_action_before_the_money_is_gone(place: &Place) {
    let engine = Engine::start(&place.database);
    // One that does not end within its next 4%, so that four times as many decisions are expected.
    let now = Timestamp::now();
    let periods = [Period::Month, Period::Week, Period::Day, Period::Hour];
    let lasts = |period: &&Period| {
        let (start, end) = period_bounds(**period, now);
        end.seconds_since(now) > 0.04 * end.seconds_since(start)
    };
    let per = periods.iter().find(lasts).unwrap();
    create(&engine, budgeted(json!({"amount": 21, "per": per})));
    for number in 0..12 {
        let decided = engine.decide("x", &format!("d{number}")).unwrap();
        if number < 10 {
            assert_eq!(decided.published.guardrails[0].threshold, 0.5);
            assert_eq!(shown(&engine).pace, None);
        }
    }
    let decided = engine.decide("x", "paced").unwrap();
    check(&decided);
    let certificate = decided.published.guardrails[0];
    assert!(
        certificate.threshold >= 0.1 && certificate.threshold < 0.2,
        "{certificate:?}"
    );
    assert!(
        certificate.pessimistic_cost <= certificate.threshold,
        "{certificate:?}"
    );
    let pace = shown(&engine).pace.unwrap();
    assert!(
        pace > 0.0 && pace <= certificate.threshold,
        "{pace} {certificate:?}"
    );
    assert!(decided.published.probability(0) > 0.75 && decided.published.fallback.is_none());
    // By hand: the ends of the intervals, by the probabilities.
    let known = decided.published.known.iter();
    let cost = known.map(|k| decided.published.probability(k.0) * k.1.costs[0].upper);
    assert!((cost.sum::<f64>() - certificate.pessimistic_cost).abs() < 1e-9);
    // The money that is left lasts, and the policy is the agent's own again.
    let more = json!({"budgets": {"errors": {"amount": 1e6, "per": per}}});
    engine.change("x", more).unwrap();
    assert_eq!(shown(&engine).pace, None);
    let decided = engine.decide("x", "rich").unwrap();
    assert_eq!(decided.published.guardrails[0].threshold, 0.5);
    assert!(decided.published.probability(0) < 0.75);
}

fn a_certificate_of_exhaustion_is_the_agents_own(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = budgeted(json!({"amount": 1.5, "per": "month", "pacing": false}));
    let conversion = json!({"name": "conversion", "at_least": 0.8, "relative": true});
    let unknown = json!({"name": "delay", "at_most": 0.9});
    let guardrails = declaration["guardrails"].as_array_mut().unwrap();
    guardrails.extend([conversion, unknown]);
    engine.create(declaration).unwrap();
    let import = Import {
        arms: vec![0; 500],
        rewards: (0..500).map(|i| f64::from(i % 3) / 4.0).collect(),
        costs: [0.1, 0.75, 0.25].repeat(500),
        ..Import::default()
    };
    let experiment = "x".into();
    engine
        .execute(ImportOutcomes { experiment, import })
        .unwrap();
    assert_eq!(engine.decide("x", "a").unwrap().published.fallback, None);
    let exhausted = engine.decide("x", "b").unwrap().published;
    assert_eq!(exhausted.fallback, Some(Fallback::BudgetExhausted));
    engine.change("x", json!({"status": "paused"})).unwrap();
    let paused = engine.decide("x", "c").unwrap().published;
    assert_eq!(paused.fallback, Some(Fallback::Paused));
    assert_eq!(exhausted.policy, paused.policy);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{exhausted:?} {paused:?}");
    for (own, agents) in exhausted.guardrails.iter().zip(&paused.guardrails) {
        near(own.pessimistic_cost, agents.pessimistic_cost);
        near(own.threshold, agents.threshold);
        near(own.slack, agents.slack);
        near(own.price, agents.price);
    }
    near(exhausted.optimistic_reward, paused.optimistic_reward);
    let estimates = |p: &PublishedPolicy| [p.estimates.reward, p.estimates.guardrails[1]];
    for (own, agents) in estimates(&exhausted).iter().zip(estimates(&paused)) {
        near(own.lower, agents.lower);
        near(own.upper, agents.upper);
    }
}

/// A budget may stand at its guardrail; it is shown, and changed, among the budgets.
fn a_budget_may_stand_at_its_guardrail(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["guardrails"][0]["budget"] = month(3.0);
    create(&engine, declaration.clone());
    assert_eq!(shown(&engine).remaining, 3.0);
    assert_eq!(batch(&engine, &["a", "b"]).len(), 2);
    assert_eq!(sums(&engine), (0.0, 2.0, 1.0));
    declaration["name"] = json!("twice");
    declaration["budgets"] = json!({"errors": month(2.0)});
    assert_eq!(field(engine.create(declaration)), "guardrails[0].budget");
}

#[test]
fn budgets_are_checked_field_by_field() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    let budget = json!({"amount": 1, "per": "day"});
    let refused = |edit: &dyn Fn(&mut Value)| {
        let mut declaration = budgeted(budget.clone());
        edit(&mut declaration);
        field(engine.create(declaration))
    };
    assert_eq!(
        refused(&|d| d["budgets"]["other"] = budget.clone()),
        "budgets.other"
    );
    // Half of what any arm may cost buys nothing, ever.
    for amount in [0.0, -1.0, 1e16, 0.5] {
        let field = refused(&|d| d["budgets"]["errors"]["amount"] = json!(amount));
        assert_eq!(field, "budgets.errors.amount");
    }
    let guardrail = |edit: Value| {
        refused(&|d| {
            let mut all = json!({"name": "errors", "at_most": 0.5});
            for (key, value) in edit.as_object().unwrap() {
                all[key] = value.clone();
            }
            d["guardrails"][0] = all;
        })
    };
    assert_eq!(guardrail(json!({"sub_gaussian": 1.0})), "budgets.errors");
    assert_eq!(
        guardrail(json!({"cap": 2.0, "range": [0, 5]})),
        "budgets.errors"
    );
    assert_eq!(guardrail(json!({"range": [-1, 1]})), "budgets.errors");
    assert_eq!(
        guardrail(json!({"at_most": null, "at_least": 0.5})),
        "budgets.errors"
    );
    let relative = json!({"relative": true, "at_most": 1.5, "range": [0, 1]});
    assert_eq!(guardrail(relative), "budgets.errors.pacing");
    let mut none = plain("x");
    none["budgets"] = Value::Null;
    assert!(engine.create(none).unwrap().budgets.is_empty());
    let change = json!({"budgets": {"spend": budget}});
    assert_eq!(field(engine.change("x", change)), "budgets.spend");
}
