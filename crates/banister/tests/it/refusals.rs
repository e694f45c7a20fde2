//! Everything that is refused, as tables: what is declared, and words of the message that a user reads.

use crate::common;

use crate::common::player::{Oplb, OplbPerArm, Segmented};
use banister::toolkit::Within;
use banister::{Error, Guardrail, Opb, OpbConfig, Problem, SignalConfig};
use common::{at_most, problem, read, refused, rows};

/// Guardrails, the second of two.
const GUARDRAILS: &str = "
    at_most = 0.5, at_least = 0.1                            | `guardrails[1]` is given both
    safe_cost = 0.1                                          | `guardrails[1]` is given neither
    at_most = nan, safe_cost = 0.1                           | `guardrails[1].at_most` is NaN
    at_most = inf, safe_cost = 0.1                           | `guardrails[1].at_most` is inf
    at_least = -inf, safe_cost = 0.1                         | `guardrails[1].at_least` is -inf
    at_most = 0.5, safe_cost = nan                           | `guardrails[1].safe_cost` is NaN
    at_most = 0.5, range = [nan, 1]                          | `guardrails[1].range` is NaN
    at_most = 0.5, range = [0, inf]                          | `guardrails[1].range` is inf
    at_most = 0.5, range = [-1e308, 1e308]                   | `guardrails[1].range` is inf
    at_most = 0.5, sub_gaussian = nan                        | `guardrails[1].sub_gaussian` is NaN
    at_most = 0.5, sub_gaussian = 0                          | `guardrails[1].sub_gaussian` is 0:
    at_most = 0.5, sub_gaussian = -1                         | `guardrails[1].sub_gaussian` is -1:
    at_most = 0.5, range = [1, 0]                            | `guardrails[1].range` is [1, 0]
    at_most = 0.5, range = [2, 2]                            | `guardrails[1].range` is [2, 2]
    at_most = 0.5, safe_cost = 1.5                           | `guardrails[1].safe_cost` is 1.5:
    at_most = 0.5, safe_cost = -0.1                          | `guardrails[1].safe_cost` is -0.1:
    at_most = 0.5, safe_cost = 0.5                           | `guardrails[1].safe_cost` is 0.5:
    at_most = 0.5, safe_cost = 0.6                           | `guardrails[1].safe_cost` is 0.6:
    at_least = 0.5, safe_cost = 0.5                          | `guardrails[1].safe_cost` is 0.5:
    relative = true, at_most = 1.5, safe_cost = 0            | `guardrails[1].safe_cost` is 0:
    at_most = 0                                              | `guardrails[1].at_most` is 0:
    at_least = 1                                             | `guardrails[1].at_least` is 1:
    relative = true, at_most = 1                             | `guardrails[1].at_most` is 1:
    relative = true, at_most = 0.9                           | `guardrails[1].at_most` is 0.9:
    relative = true, at_most = -2                            | `guardrails[1].at_most` is -2:
    relative = true, at_least = 1                            | `guardrails[1].at_least` is 1:
    relative = true, at_least = 1.1                          | `guardrails[1].at_least` is 1.1:
    relative = true, at_least = 0                            | `guardrails[1].at_least` is 0:
    relative = true, at_least = -0.5                         | `guardrails[1].at_least` is -0.5:
    relative = true, at_most = 1.1, range = [-1, 1]          | `guardrails[1].at_most` is 1.1 with range [-1, 1]
    name = '  ', at_most = 0.5                               | `guardrails[1].name` is empty
    name = 'first', at_most = 0.5                            | `guardrails[1].name` is first
    name = 'reward', at_most = 0.5, range = [[0, 1], [0, 2]] | `guardrails[1].name` & another name
    at_most = 5                                              | nothing can violate it & percent? write 0.05
    at_least = 90                                            | no action can meet it & write 0.9
    at_least = -1                                            | nothing can violate it & declare the `range`
    at_most = 500, range = [0, 100]                          | range is [0, 100]
    at_most = 0.5, cap = nan                                 | `guardrails[1].cap` & finite
    at_most = 0.5, cap = 0                                   | `guardrails[1].cap` & above 0
    at_most = 0.5, cap = -1, range = [-1, 1]                 | `guardrails[1].cap` & above -1
    at_most = 0.5, cap = 2, range = [0, 1]                   | `guardrails[1].cap` & the range ends at 1
    at_most = 0.5, cap = 1, sub_gaussian = 1                 | `guardrails[1].cap` & leave out `sub_gaussian`
    at_most = 3, cap = 2                                     | `guardrails[1].at_most` & [0, 2]
    at_most = 0.5, range = { a = [0, 1] }                    | `guardrails[1].range.b` & every arm
    at_most = 0.5, range = { a = [0, 1], b = [0, 1], c = [0, 1] } | `guardrails[1].range.c` & the arms are a, b
    at_most = 0.5, range = { a = [0.1, 0.1], b = [0, 1] }    | `guardrails[1].range.a` & [0.1, 0.1]
    at_most = 0.5, range = { a = [0, nan], b = [0, 1] }      | `guardrails[1].range.a` & NaN
    at_most = 0.5, range = [[0, 1]]                          | `guardrails[1].range` & expected 2: one per arm
    at_most = 0.5, range = [[0, 1], [1, 0]]                  | `guardrails[1].range[1]` & below the second
    at_most = 0.5, range = [[0, 0.1], [0, 2]], safe_cost = 0.2 | `guardrails[1].safe_cost` & [0, 0.1]
    at_most = 3, range = [[0, 0.1], [0, 2]]                  | `guardrails[1].at_most` & [0, 2]
";

/// Their neighbours that are allowed: the end of the range is the paper's own τ = 1.
const ALLOWED: [&str; 4] = [
    "at_most = 0.5, safe_cost = 0.1",
    "at_most = 1",
    "at_most = 50, range = [0, 100]",
    "at_most = 0.5, cap = 0.6, range = [0, 9]",
];

fn check(keys: &str) -> Result<(), Error> {
    let named = if keys.contains("name") {
        String::new()
    } else {
        "name = 'second', ".into()
    };
    let second: Guardrail = read(&(named + keys));
    let mut declared: Problem = read("arms = ['a', 'b'], safe = 0");
    declared.guardrails = vec![read("name = 'first', at_most = 0.9"), second];
    declared.check().map(|_| ())
}

#[test]
fn guardrails() {
    for (cells, words) in rows(GUARDRAILS) {
        refused(check(cells[0]), &words, cells[0]);
    }
    for keys in ALLOWED {
        assert_eq!(check(keys), Ok(()), "{keys}");
    }
}

#[test]
fn problems() {
    let table = "
        arms = [], safe = 0                                               | `arms` is empty
        arms = ['a', ''], safe = 0                                        | `arms[1]` is empty
        arms = ['a', 'b', 'a'], safe = 0                                  | `arms[2]` is a:
        arms = ['a', 'b'], safe = 2                                       | `safe` is 2:
        arms = ['a', 'b'], safe = 0, reward = { range = [3, 2] }          | `reward.range` is [3, 2]
        arms = ['a', 'b'], safe = 0, reward = { sub_gaussian = nan }      | `reward.sub_gaussian` is NaN
        arms = ['a', 'b'], safe = 0, reward = { range = { b = [0, 2] } }  | `reward.range.a` & every arm
        arms = ['a', 'b'], safe = 0, features = [[1, 0]]                  | features & 1 vectors & expected 2
        arms = ['a', 'b'], safe = 0, features = [[1, 0], [1]]             | features[1] & a vector of 1 & length 2
        arms = ['a', 'b'], safe = 0, features = [[], []]                  | features[0] & empty
        arms = ['a', 'b'], safe = 0, features = [[1, 0], [0, nan]]        | features[1][1] & NaN & finite
    ";
    for (cells, words) in rows(table) {
        refused(read::<Problem>(cells[0]).check(), &words, cells[0]);
    }
    let guardrail = serde_json::from_str::<Guardrail>(r#"{"name": "x", "atmost": 0.5}"#);
    refused(guardrail, &["atmost"], "guardrail");
    let config = serde_json::from_str::<OpbConfig>(r#"{"detla": 0.5}"#);
    refused(config, &["detla"], "config");
}

/// A constant that nobody knows is no number: the message says what to do instead.
#[test]
fn sub_gaussian_constants() {
    let advice = ["cap", "range", "voids the certificate"];
    for value in ["true", "false", "\"unknown\"", "[1]"] {
        let text = format!(r#"{{"name": "x", "at_most": 0.5, "sub_gaussian": {value}}}"#);
        refused(serde_json::from_str::<Guardrail>(&text), &advice, value);
        let text = format!(r#"{{"sub_gaussian": {value}}}"#);
        refused(serde_json::from_str::<SignalConfig>(&text), &advice, value);
    }
    for value in ["0", "-1", "nan", "inf"] {
        let reward: SignalConfig = read(&format!("sub_gaussian = {value}"));
        let words = [&["`reward.sub_gaussian`"], &advice[..]].concat();
        refused(reward.check().within("reward"), &words, value);
    }
    let known = |text: &str| {
        serde_json::from_str::<SignalConfig>(text)
            .unwrap()
            .sub_gaussian
    };
    assert_eq!(known(r#"{"sub_gaussian": 2}"#), Some(2.0));
    assert_eq!(known(r#"{"sub_gaussian": null}"#), None);
}

/// Problems that agents are built for.
fn problem_of(name: &str) -> Problem {
    let relative = Guardrail {
        relative: true,
        ..at_most(1.2, None)
    };
    let noisy = Guardrail {
        signal: SignalConfig {
            sub_gaussian: Some(1.0),
            ..SignalConfig::default()
        },
        ..at_most(0.5, Some(0.1))
    };
    let below = Guardrail {
        signal: SignalConfig {
            range: Some([-1.0, 1.0].into()),
            ..SignalConfig::default()
        },
        ..at_most(-0.2, None)
    };
    let known = at_most(0.5, Some(0.1));
    let contextual = |x: &[f64], guardrail| Problem::contextual(x.to_vec(), vec![guardrail]);
    match name {
        "none" => problem(2, vec![]),
        "known" => problem(3, vec![known]),
        "two" => problem(2, vec![known.clone(), known]),
        "unknown" => problem(2, vec![at_most(0.5, None)]),
        "relative" => problem(2, vec![relative]),
        "noisy" => problem(2, vec![noisy]),
        "features" => contextual(&[1.0, 0.0], known),
        "features, unknown" => contextual(&[1.0], at_most(0.5, None)),
        "features, relative" => contextual(&[1.0], relative),
        "features, noisy" => contextual(&[1.0, 0.0], noisy),
        "features, no margin" => contextual(&[1.0], at_most(0.5, Some(0.5))),
        "features, rare" => contextual(&[0.7, -0.7, 0.0], at_most(0.3, Some(0.01))),
        "zero" => contextual(&[0.0, 0.0], known),
        "zero, below" => contextual(&[0.0, 0.0], below),
        "context" => Problem {
            context: Some(3),
            ..problem(2, vec![at_most(0.5, None)])
        },
        "by arm" => read(
            "arms = ['a', 'b'], safe = 0, features = [[1, 0], [0, 1]],
             guardrails = [{ name = 'dollars', at_most = 0.5, range = [[0, 0.1], [0, 2]] }]",
        ),
        "segments" => Problem {
            segments: vec!["a".into(), "b".into()],
            ..problem(2, vec![known])
        },
        "segments twice" => Problem {
            segments: vec!["a".into(), "a".into()],
            ..problem(2, vec![known])
        },
        other => panic!("no problem {other}"),
    }
}

fn build(kind: &str, problem: &Problem, keys: &str) -> Result<(), Error> {
    match kind {
        "opb" => Opb::new(problem, &read(keys)).map(|_| ()),
        "oplb" => Oplb::new(problem, &read(keys)).map(|_| ()),
        "per_arm" => {
            OplbPerArm::new(problem, &read(&format!("model = 'per_arm', {keys}"))).map(|_| ())
        }
        "segmented" => Segmented::new(problem, &read(keys)).map(|_| ()),
        other => panic!("no agent {other}"),
    }
}

const AGENTS: &str = "
    opb       | known              | delta = 0                                                  | `delta` is 0:
    opb       | known              | delta = 1                                                  | `delta` is 1:
    opb       | known              | delta = -0.5                                               | `delta` is -0.5:
    opb       | known              | delta = nan                                                | `delta` is NaN
    opb       | known              | rho = 0                                                    | `rho` is 0:
    opb       | known              | rho = -1                                                   | `rho` is -1:
    opb       | known              | rho = inf                                                  | `rho` is inf
    opb       | known              | log_term = 0                                               | `log_term` is 0:
    opb       | known              | log_term = nan                                             | `log_term` is NaN
    opb       | known              | optimism_delta = 0                                         | `optimism_delta` is 0:
    opb       | known              | optimism_delta = 1                                         | `optimism_delta` is 1:
    opb       | known              | optimism_delta = nan                                       | `optimism_delta` is NaN
    opb       | known              | lazy = -0.1                                                | `lazy` is -0.1:
    opb       | known              | lazy = 1.5                                                 | `lazy` is 1.5:
    opb       | known              | lazy = inf                                                 | `lazy` is inf
    opb       | known              | horizon = 0                                                | `horizon` is 0:
    opb       | known              | intervals = 'paper'                                        | `horizon` is absent
    opb       | known              | intervals = 'published'                                    | `horizon` is absent
    opb       | known              | floor = -0.1                                               | `floor`
    opb       | known              | floor = 1                                                  | `floor`
    opb       | known              | floor = nan                                                | `floor`
    opb       | known              | alarm_delta = 0                                            | `alarm_delta`
    opb       | known              | alarm_delta = 1                                            | `alarm_delta`
    opb       | known              | alarm_delta = nan                                          | `alarm_delta`
    opb       | known              | intervals = 'paper', optimism = 'paper', horizon = 1000, floor = 0.1 | does not go with optimism `paper`
    opb       | known              | optimism = 'paper'                                         | `optimism` is paper
    opb       | known              | intervals = 'kl', optimism = 'paper'                       | `optimism` is paper
    opb       | known              | intervals = 'mixture', optimism = 'paper'                  | `optimism` is paper
    opb       | known              | optimism = 'published', horizon = 9                        | `intervals` is published
    opb       | none               | intervals = 'published', optimism = 'published', horizon = 100 | `intervals` is published
    opb       | unknown            | intervals = 'published', optimism = 'published', horizon = 100 | `intervals` is published
    opb       | two                | intervals = 'published', optimism = 'published', horizon = 100 | `intervals` is published
    opb       | noisy              | intervals = 'kl'                                           | `intervals` is kl
    opb       | noisy              | intervals = 'mixture'                                      | `intervals` is mixture
    opb       | unknown            | unknown_safe_cost = 'paper'                                | `horizon` is absent
    opb       | relative           | intervals = 'paper', optimism = 'paper', horizon = 100     | `optimism` is paper
    opb       | relative           | unknown_safe_cost = 'paper', horizon = 100                 | `unknown_safe_cost` is paper
    oplb      | features           | parameter_norm = 1, delta = 0                              | `delta` is 0:
    oplb      | features           | parameter_norm = 1, delta = 1                              | `delta` is 1:
    oplb      | features           | parameter_norm = 1, delta = -0.5                           | `delta` is -0.5:
    oplb      | features           | parameter_norm = 1, delta = nan                            | `delta` is NaN
    oplb      | features           | parameter_norm = 1, optimism_delta = nan                   | optimism_delta & NaN
    oplb      | features           | parameter_norm = 1, max_work = 0                           | max_work & 0
    oplb      | features           | parameter_norm = 1, horizon = 0                            | horizon & 0
    oplb      | features           | parameter_norm = 1, radius = 'multiscale', solver = 'exact' | radius & multiscale & one ellipsoid
    oplb      | features           | parameter_norm = 1, radius = 'multiscale', optimism = 'paper' | radius & multiscale & logdet
    oplb      | features           | parameter_norm = 1, radius = 'paper'                       | norm & absent & logdet
    oplb      | features           | parameter_norm = 1, optimism = 'published'                 | optimism & published
    oplb      | features           | parameter_norm = 1, solver = 'exact', optimism = 'least'   | optimism & least & exact
    oplb      | features           | parameter_norm = 1, norm = 0.5                             | features[0] & length 1 & norm
    oplb      | features           | parameter_norm = 1, norm = 0.5, long_features = 'clip'     | norm & 0.5 & never shortened
    oplb      | features           |                                                            | parameter_norm & absent & √K & (1, v) & m = 1
    oplb      | features, unknown  | parameter_norm = 1, unknown_safe_cost = 'paper'            | horizon & absent & T_0
    oplb      | features, relative | parameter_norm = 1, unknown_safe_cost = 'paper', horizon = 10 | unknown_safe_cost & relative
    oplb      | features, relative | parameter_norm = 1, optimism = 'paper'                     | optimism & relative
    oplb      | features, no margin | parameter_norm = 1                                        | guardrails[0].safe_cost & margin
    oplb      | zero               | parameter_norm = 1                                         | guardrails[0].safe_cost & 0.1 & its mean is 0
    oplb      | zero, below        | parameter_norm = 1                                         | guardrails[0].safe_cost & margin
    oplb      | by arm             | parameter_norm = 2                                         | `guardrails[0].range` is given by arm
    oplb      | features           | links = { clicks = 'logistic' }                            | links & clicks
    oplb      | features           | link = 'logistic'                                          | parameter_norm & Log-odds
    oplb      | features           | link = 'logistic', parameter_norm = 6, solver = 'exact'    | linearised
    oplb      | features, rare     | link = 'logistic', parameter_norm = 2                      | safe_cost & log-odds
    oplb      | features, noisy    | link = 'logistic', parameter_norm = 6                      | may leave its range
    oplb      | context            | model = 'per_arm', parameter_norm = 2                      | OplbPerArm
    per_arm   | features           | parameter_norm = 2                                         | length of the context
    per_arm   | context            | parameter_norm = 2, solver = 'exact'                       | solver
    per_arm   | context            |                                                            | parameter_norm
    segmented | known              | delta = 0                                                  | delta
    segmented | known              | pool_until = 0                                             | pool_until
    segmented | segments           | max_segments = 1                                           | max_segments
    segmented | segments twice     |                                                            | segments[1]
";

#[test]
fn agents() {
    for (cells, words) in rows(AGENTS) {
        let result = build(cells[0], &problem_of(cells[1]), cells[2]);
        refused(result, &words, &format!("{cells:?}"));
    }
    for key in [
        "lambda",
        "norm",
        "parameter_norm",
        "relative_gap",
        "radius_scale",
    ] {
        for bad in ["0", "-1", "inf", "nan"] {
            let norm = if key == "parameter_norm" {
                ""
            } else {
                "parameter_norm = 1, "
            };
            let keys = format!("{norm}{key} = {bad}");
            refused(build("oplb", &problem_of("features"), &keys), &[key], &keys);
        }
    }
    // Where every safe cost is known the rule has nothing to do.
    let t_zero = "unknown_safe_cost = 'paper'";
    assert_eq!(build("opb", &problem_of("known"), t_zero), Ok(()));
    for safe_cost in [None, Some(0.0)] {
        let zero = Problem::contextual(vec![0.0, 0.0], vec![at_most(0.5, safe_cost)]);
        assert_eq!(build("oplb", &zero, "parameter_norm = 1"), Ok(()));
    }
}
