//! Words for the share that an arm has now, made of facts of the API alone.

use serde_json::Value;

/// Difference below which numbers count as the same.
const TOLERANCE: f64 = 1e-6;

/// A number as people write it.
fn shown(x: f64) -> String {
    let digits = if x.abs() >= 100.0 { 0 } else { 3 };
    let text = format!("{x:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        text
    }
}

fn percent(share: f64) -> String {
    format!("{}%", shown((share * 1e4).round() / 100.0))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Explains the share of an arm, by the experiment and its live state.
pub fn explain(experiment: &Value, state: &Value, arm: &str) -> Result<String, String> {
    let arms = list(&state["arms"]);
    let Some(own) = arms.iter().find(|own| own["name"] == arm) else {
        let known: Vec<&str> = arms.iter().filter_map(|own| own["name"].as_str()).collect();
        return Err(format!(
            "`arm` is {arm:?}: must be one of {}",
            known.join(", ")
        ));
    };
    let mut said = Vec::new();
    let outcomes = format!(
        "{} of its {} outcomes are {arm}'s",
        own["pulls"], state["outcomes"]
    );
    let share = own["probability"].as_f64();
    said.push(match share {
        Some(share) => format!(
            "{arm} gets {} of decisions now; {outcomes}.",
            percent(share)
        ),
        None => format!("The share of {arm} is another one for every decision; {outcomes}."),
    });
    if own["safe"] == true {
        said.push(format!(
            "{arm} is the safe arm: it gets whatever no other arm is certified for."
        ));
    }
    if own["offered"] == false {
        said.push(format!("{arm} is retired: it is offered no more."));
    }
    if experiment["status"] != "running" {
        said.push(format!(
            "The experiment is {}.",
            experiment["status"].as_str().unwrap_or("stopped")
        ));
    }
    let certificate = &state["certificate"];
    if let Some(reason) = certificate["fallback"].as_str() {
        said.push(format!(
            "The safe arm is forced: {}.",
            reason.replace('_', " ")
        ));
    }
    for alarm in list(&state["alarms"]) {
        said.push(format!(
            "Alarm since {}: {}.",
            alarm["since"].as_str().unwrap_or("?"),
            alarm["message"].as_str().unwrap_or("?")
        ));
    }
    if experiment["settled"].is_string() {
        said.push("The policy has settled and explores no more.".into());
    }
    let reward = interval(&own["reward"]);
    said.push(format!("Its reward is {reward}."));
    let guardrails = list(&experiment["guardrails"]);
    for (place, guardrail) in guardrails.iter().enumerate() {
        said.extend(guardrail_words(
            guardrail,
            &certificate["guardrails"][place],
            (arms, own),
            place,
        ));
    }
    if certificate["fallback"].is_null() && share == Some(0.0) && own["safe"] == false {
        said.push(format!("The policy with the highest optimistic reward within the guardrails gives {arm} nothing."));
    }
    Ok(said.join(" "))
}

fn interval(own: &Value) -> String {
    let [mean, lower, upper] = ["mean", "lower", "upper"].map(|key| shown(number(&own[key])));
    let mean = if own["mean"].is_number() {
        format!("{mean} on average")
    } else {
        "without outcomes yet".into()
    };
    format!("{mean}, and between {lower} and {upper} by what is known")
}

/// Explains the effect of a guardrail on an arm's share.
fn guardrail_words(
    guardrail: &Value,
    certified: &Value,
    (arms, own): (&[Value], &Value),
    place: usize,
) -> Vec<String> {
    let name = guardrail["name"].as_str().unwrap_or("?");
    let arm = own["name"].as_str().unwrap_or("?");
    let (is_most, threshold) = match guardrail["at_most"].as_f64() {
        Some(most) => (true, most),
        None => (false, number(&guardrail["at_least"])),
    };
    let (word, extreme) = if is_most {
        ("at most", "high")
    } else {
        ("at least", "low")
    };
    let worst =
        |own: &Value| number(&own["guardrails"][place][if is_most { "upper" } else { "lower" }]);
    let is_relative = guardrail["relative"] == true;
    let relative = if is_relative {
        ", relative to the safe arm"
    } else {
        ""
    };
    let mut said = vec![format!(
        "{name} of {arm} is {}: it could be as {extreme} as {}, and must be {word} {}{relative} in the mean of the policy.",
        interval(&own["guardrails"][place]),
        shown(worst(own)),
        shown(threshold)
    )];
    // Only where the certificate is the mean of these bounds do they say what it allows.
    let mean: f64 = arms
        .iter()
        .map(|own| number(&own["probability"]) * worst(own))
        .sum();
    let bound = number(&certified["pessimistic_cost"]);
    let safe = arms.iter().find(|own| own["safe"] == true);
    if let Some(safe) =
        safe.filter(|safe| !is_relative && (mean - bound).abs() < TOLERANCE && *safe != own)
    {
        let (gap, margin) = (worst(own) - worst(safe), threshold - worst(safe));
        let share = margin / gap;
        said.push(if (0.0..1.0).contains(&share) && gap.abs() > TOLERANCE {
            let (safe, own) = (safe["name"].as_str().unwrap_or("?"), shown(worst(safe)));
            format!(
                "With the rest on {safe} ({own} at worst), that allows {arm} {} at most.",
                percent(share)
            )
        } else {
            format!("{name} alone would not hold {arm} back.")
        });
    }
    let (slack, price) = (number(&certified["slack"]), number(&certified["price"]));
    if slack.abs() < TOLERANCE {
        let price = if price > 0.0 {
            format!(
                ": one more unit of it would be worth {} of reward",
                shown(price)
            )
        } else {
            String::new()
        };
        said.push(format!("The policy uses all that {name} allows{price}."));
    } else if slack.is_finite() {
        said.push(format!(
            "{name} does not bind now: {} is left.",
            shown(slack)
        ));
    }
    said
}
