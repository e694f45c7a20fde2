//! The report of an experiment as a page to print: one file, no scripts. Texts of callers go through [`text`].

use std::cmp::Reverse;

use banister::lift::{ArmLift, LiftInterval};
use banister_engine::{ArmState, ExperimentReport, Light, Timestamp};

const STYLE: &str = "@page{size:A4;margin:18mm}body{font:15px/1.5 system-ui,sans-serif;color:#1a1c1e;background:#fff;\
    max-width:48rem;margin:2rem auto;padding:0 1rem;overflow-wrap:break-word}h1{margin:0}.answer{font-size:1.2rem}\
    h2{font-size:1.05rem;margin:1.6rem 0 .4rem;break-after:avoid}p{margin:.4rem 0}div{overflow-x:auto}svg{width:7rem}\
    table{border-collapse:collapse;width:100%}tr{break-inside:avoid}th,td{text-align:left;vertical-align:top;\
    padding:.25rem .8rem .25rem 0;border-bottom:1px solid #cdd2d7}td{min-width:3rem}td:first-child{min-width:6rem;\
    overflow-wrap:anywhere}\
    td:last-child{min-width:9rem}.note{color:#585e66}.good{color:#00694d}.warn{color:#7a4d00}.bad{color:#b3142b}\
    @media print{body{margin:0;padding:0;font-size:10pt;max-width:none}}";
/// Arms that a report lists.
const MOST_ARMS: usize = 30;

pub fn html(report: &ExperimentReport) -> String {
    let (view, counts, lift) = (&report.experiment, &report.experiment.counts, &report.lift);
    let (name, description) = (text(&view.name), text(&view.description));
    let (arms, unit) = (
        arms(report),
        view.unit.as_ref().map(|unit| text(&unit.per())),
    );
    let each = unit.as_ref().map(|unit| format!(", one per {unit}"));
    let each = each.unwrap_or_default();
    let (since, now) = (moment(view.created), moment(lift.time));
    let sum = report.earned.as_ref().map_or("not known".into(), within);
    let settled = lift.settled.map_or("not yet".into(), moment);
    let enough = text(lift.enough.as_deref().unwrap_or("not known"));
    let certified = view.certified.as_deref();
    let certified = certified.map_or(String::new(), |own| format!("<p>Certified: {}.", text(own)));
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{name}: report</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\n<h1>{name}</h1>\
         <p class=\"answer\">{}<p>{description}\n<h2>What was tried, and what it earned</h2>\
         <p>{} decisions since {since}{each}; the safe action was forced {} times.\
         <p>Reward in sum beyond what the safe arm would have earned: <b>{sum}</b>.{}\
         <p>Enough: {enough}. Settled: {settled}.\n<h2>Guardrails</h2>{}\n<h2>Alarms</h2>{}\n\
         <h2>Can it be trusted?</h2>{}\n<h2>What it rests on</h2>{}{certified}\n\
         <p class=\"note\">As of {now}, event {} of the log.\n",
        answer(report, &arms, unit.as_deref().unwrap_or("decision")),
        counts.decisions,
        counts.forced,
        worth(&arms, report.state.arms.len()),
        guardrails(report),
        alarms(report),
        checks(report),
        assumptions(report),
        view.number,
    )
}

/// Name of the reward's signal.
fn reward(report: &ExperimentReport) -> &str {
    let named = report.experiment.reward.name();
    named.unwrap_or("reward")
}

type Row<'a> = (&'a ArmState, Option<&'a ArmLift>);

/// The arms, those played most first: policies play what earns most among what keeps the guardrails.
fn arms(report: &ExperimentReport) -> Vec<Row<'_>> {
    let mut arms: Vec<&ArmState> = report.state.arms.iter().collect();
    arms.sort_by_key(|arm| Reverse(arm.estimate.pulls));
    arms.truncate(MOST_ARMS);
    let reward = reward(report);
    let is_of = |own: &ArmLift, arm: &ArmState| own.signal == reward && own.arm == arm.name;
    let lift = |arm| report.lift.lifts.iter().find(|own| is_of(own, arm));
    arms.into_iter().map(|arm| (arm, lift(arm))).collect()
}

/// The result in a sentence.
fn answer(report: &ExperimentReport, arms: &[Row<'_>], per: &str) -> String {
    let safe = text(report.experiment.safe.as_deref().unwrap_or("the safe one"));
    let earned = arms.iter().find_map(|row| row.1).map(|own| {
        let by = own.percent.as_ref().unwrap_or(&own.difference);
        let arm = text(&own.arm);
        let unit = if own.percent.is_some() { "%" } else { "" };
        let range = format!("({}{unit} to {}{unit})", number(by.lower), number(by.upper));
        let known = by.estimate.map_or(String::new(), |by| number(by.abs()));
        let earned = match (by.lower > 0.0, by.upper < 0.0) {
            (true, _) => format!("earned {known}{unit} more"),
            (_, true) => format!("earned {known}{unit} less"),
            _ => "may have earned more or less".to_string(),
        };
        let reward = text(reward(report));
        format!("<b>{arm}</b> {earned} {reward} per {per} than <b>{safe}</b> {range}, and ")
    });
    let broken = report.guardrails.iter().filter(|own| !own.held);
    let broken: Vec<String> = broken.map(|own| text(&own.name)).collect();
    let held = match broken.join(", ") {
        _ if report.guardrails.is_empty() => "there are no guardrails".to_string(),
        none if none.is_empty() => "every guardrail held".to_string(),
        broken => format!("<b class=\"bad\">this did not hold: {broken}</b>"),
    };
    earned.unwrap_or("Arms are not compared here, and ".into()) + &held + "."
}

/// The arms with their differences to the safe one and the intervals of these, around a line at 0.
fn worth(arms: &[Row<'_>], all: usize) -> String {
    let lifts = || arms.iter().filter_map(|row| row.1);
    let low = lifts().fold(0.0, |low: f64, own| low.min(own.difference.lower));
    let high = lifts().fold(0.0, |high: f64, own| high.max(own.difference.upper));
    let x = |at: f64| 5.0 + 150.0 * (at - low) / (high - low).max(1e-300);
    let rows = arms.iter().map(|(arm, own)| {
        let (name, share) = (text(&arm.name), number(arm.probability.map(|p| 100.0 * p)));
        let (pulls, mean) = (arm.estimate.pulls.map(|n| n as f64), arm.estimate.reward.mean);
        let [pulls, mean] = [pulls, mean].map(number);
        let plot = own.map_or(["<td><td>", "<td>the safe arm<td>"][usize::from(arm.safe)].into(), |own| {
            let (by, zero) = (&own.difference, x(0.0));
            let (from, to, dot) = (x(by.lower), x(by.upper), by.estimate.map_or(-9.0, x));
            let percent = own.percent.as_ref().map(|own| format!(", in percent {}", within(own)));
            let words = within(by) + &percent.unwrap_or_default();
            format!(
                "<td><svg viewBox=\"0 0 160 16\" role=\"img\" aria-label=\"{words}\"><path d=\"M{zero} 0V16\" \
                 stroke=\"#585e66\"/><path d=\"M{from} 8H{to}\" stroke=\"#0072b2\" stroke-width=\"2\"/>\
                 <circle cx=\"{dot}\" cy=\"8\" r=\"4\" fill=\"#0072b2\"/></svg><td>{words}"
            )
        });
        format!("<td>{name}<td>{share}%<td>{pulls}<td>{mean}{plot}")
    });
    let arm = ["arm".to_string(), format!("arm (most played of {all})")];
    let arm = &arm[usize::from(all > MOST_ARMS)];
    let head = "<th>traffic<th>outcomes<th>mean reward<th>beyond the safe arm’s<th>";
    table(&format!("<th>{arm}{head}"), rows)
}

fn guardrails(report: &ExperimentReport) -> String {
    let rows = report.guardrails.iter().zip(&report.experiment.guardrails);
    let rows = rows.map(|(own, declared)| {
        let side = ["at least", "at most"][usize::from(declared.at_most.is_some())];
        let of = ["", " × the safe one’s"][usize::from(declared.relative)];
        let limit = number(declared.at_most.or(declared.at_least));
        let limit = (own.promise.as_deref()).map_or(format!("{side} {limit}{of}"), text);
        let held = ["✕ not held", "✓ held"][usize::from(own.held)];
        let price = (own.price.as_deref()).map_or("holds nothing back".into(), text);
        let [mean, threshold, worst] = [own.mean, own.threshold, own.certified].map(number);
        let name = text(&own.name);
        format!("<td>{name}: {limit}<td>{mean}<td>{threshold}<td>{worst}<td>{held}<td>{price}")
    });
    let head = "<th>guardrail<th>mean<th>threshold<th>certified<th><th>price";
    table(head, rows)
}

fn alarms(report: &ExperimentReport) -> String {
    let rows = report.alarms.iter().map(|own| {
        let by = text(own.acknowledged_by.as_deref().unwrap_or("somebody"));
        let seen = own.acknowledged.map(moment);
        let seen = seen.map_or("nobody yet".into(), |time| format!("{time} by {by}"));
        let (since, words) = (moment(own.since), text(&own.alarm.message));
        format!("<td>{since}<td>{words}<td>{seen}")
    });
    table("<th>since<th>alarm<th>acknowledged", rows)
}

fn checks(report: &ExperimentReport) -> String {
    let rows = report.health.checks.iter().map(|own| {
        let light = match own.light {
            Light::Green => "<b class=\"good\">✓ fine</b>",
            Light::Amber => "<b class=\"warn\">⚠ look</b>",
            Light::Red => "<b class=\"bad\">✕ wrong</b>",
        };
        let (name, reason) = (text(&own.name), text(&own.reason));
        format!("<td>{light}<td>{name}<td>{reason}")
    });
    table("<th><th>check<th>why", rows)
}

fn assumptions(report: &ExperimentReport) -> String {
    let rows = report.experiment.rests_on.iter().map(|own| {
        let who = ["nobody: it is declared", "a monitor"][usize::from(own.watched)];
        format!("<td>{}<td>{who}", text(&own.text))
    });
    table("<th>assumption<th>who would notice", rows)
}

fn table(head: &str, rows: impl Iterator<Item = String>) -> String {
    match rows.map(|cells| format!("<tr>{cells}")).collect::<String>() {
        rows if rows.is_empty() => "<p>None.".to_string(),
        rows => format!("<div><table><tr>{head}{rows}</table></div>"),
    }
}

/// A text as HTML.
fn text(words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('"', "&quot;");
    words.replace('<', "&lt;").replace('>', "&gt;")
}

fn within(own: &LiftInterval) -> String {
    let [estimate, lower, upper] = [own.estimate, Some(own.lower), Some(own.upper)].map(number);
    format!("{estimate} ({lower} to {upper})")
}

/// Three digits; more where they stand before the point.
fn number(value: impl Into<Option<f64>>) -> String {
    let Some(value) = value.into().filter(|value| value.is_finite()) else {
        return "–".to_string();
    };
    let places = 2.0 - value.abs().max(1e-9).log10().floor();
    let unit = 10_f64.powf(places.clamp(0.0, 9.0));
    // Not −0.
    let shown = (value * unit).round() / unit + 0.0;
    shown.to_string().replace('-', "−")
}

/// A time to the minute.
fn moment(time: Timestamp) -> String {
    let shown = time.to_string().replace('T', " ");
    shown.get(..16).unwrap_or_default().to_string() + " UTC"
}
