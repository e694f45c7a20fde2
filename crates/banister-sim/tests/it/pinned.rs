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
            0x3c05_ef91_7305_292b,
        ),
        (changes, BOTH, 0x878d_d8cf_c64f_c149),
        (
            "kind = \"gaussian\", rewards = [0.1, 0.8], costs = [[0.1, 0.9]], sd = 0.2".into(),
            NOISY,
            0x115b_9ecd_d31c_f12c,
        ),
        (
            format!("kind = \"clipped_gaussian\", {MEANS}"),
            BOTH,
            0x9049_6551_af3a_e3f2,
        ),
        (
            format!("kind = \"clipped_gaussian\", {MEANS}, sd = 0.2, nominal = true"),
            BOTH,
            0xac9d_7e8c_b343_92ef,
        ),
        (
            format!("kind = \"beta\", {MEANS}, concentration = 6.0"),
            BOTH,
            0x2878_8649_d312_6503,
        ),
        (
            "kind = \"lower_bound\", k = 5, margin = 0.1, threshold = 0.4, alternative = true"
                .into(),
            hard,
            0xc46f_a7b3_b489_bbc2,
        ),
        (
            "kind = \"l1\", margin = 0.1, alternative = true".into(),
            hard,
            0xc425_f6b5_fd91_b3bc,
        ),
        (
            "kind = \"l2\", best_margin = 0.2".into(),
            hard,
            0x72db_b9c0_439d_5ccc,
        ),
        (
            "kind = \"linear\", d = 3, k = 4".into(),
            ONE,
            0x5dfe_0a14_37ce_3396,
        ),
        (
            "kind = \"linear\", d = 3, k = 4, actions = \"fixed\", instance_seed = 7".into(),
            ONE,
            0x4d26_1912_1aae_2bcf,
        ),
        (
            "kind = \"linear\", d = 3, k = 4, actions = \"sphere\"".into(),
            CENTRED,
            0x6267_8f11_9348_665d,
        ),
        (
            "kind = \"linear\", d = 2, k = 4, actions = \"ball\", theta = [0.5, 0.1]".into(),
            CENTRED,
            0x0bda_a551_1d7b_60f2,
        ),
        (list.into(), CENTRED, 0x3e10_c6d8_4264_49a4),
        (
            "kind = \"authors_linear\", threshold = 0.4".into(),
            "agent = [{ kind = \"oplb\" }, { kind = \"hplc_lucb\" }]",
            0xd086_fff2_d62a_e2d9,
        ),
        (
            "kind = \"directions\", instance_seed = 3".into(),
            origin,
            0x12d7_9c38_97da_4c09,
        ),
        (
            "kind = \"directions\", instances = \"published\"".into(),
            origin,
            0xbc12_2f7c_f8c7_0c7c,
        ),
    ];
    let found: Vec<u64> = (cases.iter())
        .map(|(environment, rest, _)| digest(environment, rest))
        .collect();
    let pinned: Vec<u64> = cases.iter().map(|case| case.2).collect();
    assert_eq!(found, pinned);
}
