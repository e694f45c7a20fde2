//! Pinned shards: the bytes of a short run in every kind of environment. A change of random streams, of the
//! arithmetic, or of what identifies an experiment shows here.

use banister_sim::{ExperimentConfig, Options, Progress, run_shard};

const BOTH: &str = r#"guardrail = [{ name = "spend", at_most = 0.6 }, { name = "quality", at_least = 0.3 }]
    agent = [{ kind = "opb" }, { kind = "opb", label = "floor", floor = 0.1 }]"#;

const ONE: &str = r#"guardrail = [{ name = "spend", at_most = 0.6, safe_cost = 0.3 }]
    agent = [{ kind = "oplb" }, { kind = "lin_ts" }]"#;

const CENTRED: &str = r#"reward = { range = [-1, 1] }
    guardrail = [{ name = "spend", at_most = 0.4, range = [-1, 1], safe_cost = 0.0 }]
    agent = [{ kind = "oplb" }, { kind = "roful" }]"#;

const NOISY: &str = r#"reward = { sub_gaussian = 0.2 }
    guardrail = [{ name = "spend", at_most = 0.6, sub_gaussian = 0.2 }]
    agent = [{ kind = "opb" }]"#;

/// FNV-1a of every agent's shard, one after another.
fn digest(environment: &str, rest: &str) -> u64 {
    let text = format!(
        "run = {{ horizon = 300, runs = 3, checkpoints = 7, delay = 2 }}\nenvironment = {{ {environment} }}\n{rest}"
    );
    let config: ExperimentConfig = toml::from_str(&text).expect("valid TOML");
    let experiment = config.check("pinned").expect(environment);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for agent in 0..experiment.agents().len() {
        let quiet = Options { no_timing: true };
        let shard = run_shard(&experiment, agent, 0..3, quiet, &Progress::default());
        let shard = shard.expect("it runs").expect("not cancelled");
        for byte in shard.to_bytes().expect("bytes") {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

const MEANS: &str = "rewards = [0.1, 0.5, 0.8], costs = [[0.1, 0.3, 0.9], [0.9, 0.8, 0.1]], arms = [\"a\", \"b\", \"c\"]";

#[test]
fn every_kind_of_environment_plays_the_same_bytes() {
    let hard = "agent = [{ kind = \"opb\" }]";
    let origin = "agent = [{ kind = \"oplb\", parameter_norm = 0.5 }, { kind = \"roful\", parameter_norm = 0.5 }]";
    let list = "kind = \"linear\", actions = [[0, 0], [0.6, 0], [0, 0.5]], theta = [0.5, 0.9], mu = [[0.9, -0.2]], safe = 0, arms = [\"x\", \"y\", \"z\"]";
    let changes = format!(
        "kind = \"bernoulli\", {MEANS}, safe = \"a\", changes = [{{ round = 100, rewards = [0.1, 0.9, 0.2] }}]"
    );
    let cases = [
        (
            format!("kind = \"bernoulli\", {MEANS}"),
            BOTH,
            0x08b3_5c29_0801_9dc1,
        ),
        (changes, BOTH, 0xb3b0_1a38_845e_5038),
        (
            "kind = \"gaussian\", rewards = [0.1, 0.8], costs = [[0.1, 0.9]], sd = 0.2".into(),
            NOISY,
            0xf50f_6afb_3585_0479,
        ),
        (
            format!("kind = \"clipped_gaussian\", {MEANS}"),
            BOTH,
            0x5d27_5b3c_6f9f_15eb,
        ),
        (
            format!("kind = \"clipped_gaussian\", {MEANS}, sd = 0.2, nominal = true"),
            BOTH,
            0x4d22_b39c_9aa1_4738,
        ),
        (
            format!("kind = \"beta\", {MEANS}, concentration = 6.0"),
            BOTH,
            0x7912_d8c2_0ad5_c94e,
        ),
        (
            "kind = \"lower_bound\", k = 5, margin = 0.1, threshold = 0.4, alternative = true"
                .into(),
            hard,
            0x3614_8eb9_5248_b67b,
        ),
        (
            "kind = \"l1\", margin = 0.1, alternative = true".into(),
            hard,
            0x7d68_e718_52b1_0d3a,
        ),
        (
            "kind = \"l2\", best_margin = 0.2".into(),
            hard,
            0xe3d1_1fa8_8369_9f52,
        ),
        (
            "kind = \"linear\", d = 3, k = 4".into(),
            ONE,
            0xad7f_9cc3_2157_7575,
        ),
        (
            "kind = \"linear\", d = 3, k = 4, actions = \"fixed\", instance_seed = 7".into(),
            ONE,
            0x73af_cb0a_c110_c33b,
        ),
        (
            "kind = \"linear\", d = 3, k = 4, actions = \"sphere\"".into(),
            CENTRED,
            0xad63_17e5_d056_1d39,
        ),
        (
            "kind = \"linear\", d = 2, k = 4, actions = \"ball\", theta = [0.5, 0.1]".into(),
            CENTRED,
            0xda49_50ba_2f03_9f2e,
        ),
        (list.into(), CENTRED, 0x2f0c_821c_ad23_0945),
        (
            "kind = \"authors_linear\", threshold = 0.4".into(),
            "agent = [{ kind = \"oplb\" }, { kind = \"hplc_lucb\" }]",
            0x50ac_f0ff_b13f_ec19,
        ),
        (
            "kind = \"directions\", instance_seed = 3".into(),
            origin,
            0xc006_c54f_3d59_449b,
        ),
        (
            "kind = \"directions\", instances = \"published\"".into(),
            origin,
            0xba56_78fb_e744_b06c,
        ),
    ];
    let found: Vec<u64> = (cases.iter())
        .map(|(environment, rest, _)| digest(environment, rest))
        .collect();
    let pinned: Vec<u64> = cases.iter().map(|case| case.2).collect();
    assert_eq!(found, pinned);
}
