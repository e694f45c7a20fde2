//! Pinned shards: the bytes of a short run in every kind of environment. A change of random streams, of the
//! arithmetic, or of what identifies an experiment shows here.

use banister_sim::{ExperimentConfig, Options, Progress, Shard, run_shard};

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

/// A shard as version 3 wrote it: what later versions add must not hide a change of what was there.
fn version_3(shard: &Shard) -> Vec<u8> {
    let mut bytes = b"banister shard 3\n".to_vec();
    let mut add = |value: Result<Vec<u8>, postcard::Error>| bytes.extend(value.expect("bytes"));
    let head = (shard.experiment, shard.agent, shard.traces.len());
    add(postcard::to_stdvec(&head));
    for trace in &shard.traces {
        let own = &trace.summary;
        let curves = (
            &trace.regret,
            &trace.reward,
            &trace.cost,
            &trace.worst,
            &trace.price,
        );
        add(postcard::to_stdvec(&(curves, &trace.optimum)));
        add(postcard::to_stdvec(&(
            own.run,
            own.seed,
            own.regret,
            own.reward_end,
        )));
        add(postcard::to_stdvec(&(
            own.violations,
            own.worst_exceedance,
            &own.pulls,
        )));
        let alarms = (own.first_alarm, own.violations_after_alarm);
        add(postcard::to_stdvec(&(
            alarms,
            &own.measured,
            own.nanoseconds_per_round,
        )));
    }
    bytes
}

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
        for byte in version_3(&shard) {
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
            0x5692_c72f_1c27_e199,
        ),
        (changes, BOTH, 0x32fe_8bb7_5a36_e20e),
        (
            "kind = \"gaussian\", rewards = [0.1, 0.8], costs = [[0.1, 0.9]], sd = 0.2".into(),
            NOISY,
            0xb1d0_78a6_8028_6647,
        ),
        (
            format!("kind = \"clipped_gaussian\", {MEANS}"),
            BOTH,
            0x87e8_df8f_9655_eea1,
        ),
        (
            format!("kind = \"clipped_gaussian\", {MEANS}, sd = 0.2, nominal = true"),
            BOTH,
            0x4116_f65e_5d44_35a4,
        ),
        (
            format!("kind = \"beta\", {MEANS}, concentration = 6.0"),
            BOTH,
            0x42c2_5a15_e78c_1b75,
        ),
        (
            "kind = \"lower_bound\", k = 5, margin = 0.1, threshold = 0.4, alternative = true"
                .into(),
            hard,
            0x2c26_49b8_2180_7a8e,
        ),
        (
            "kind = \"l1\", margin = 0.1, alternative = true".into(),
            hard,
            0xa5f1_cb52_7bbe_3b99,
        ),
        (
            "kind = \"l2\", best_margin = 0.2".into(),
            hard,
            0x2d02_c0d9_9268_38ec,
        ),
        (
            "kind = \"linear\", d = 3, k = 4".into(),
            ONE,
            0x680f_ff1c_1288_d928,
        ),
        (
            "kind = \"linear\", d = 3, k = 4, actions = \"fixed\", instance_seed = 7".into(),
            ONE,
            0xc7a1_4d30_bf68_8efd,
        ),
        (
            "kind = \"linear\", d = 3, k = 4, actions = \"sphere\"".into(),
            CENTRED,
            0xe6eb_47fe_8da4_4617,
        ),
        (
            "kind = \"linear\", d = 2, k = 4, actions = \"ball\", theta = [0.5, 0.1]".into(),
            CENTRED,
            0x72b8_341f_d553_1766,
        ),
        (list.into(), CENTRED, 0x0ad2_1390_3dce_650a),
        (
            "kind = \"authors_linear\", threshold = 0.4".into(),
            "agent = [{ kind = \"oplb\" }, { kind = \"hplc_lucb\" }]",
            0xfecf_01a0_e7d1_fcef,
        ),
        (
            "kind = \"directions\", instance_seed = 3".into(),
            origin,
            0xaaa7_43ed_6653_f0df,
        ),
        (
            "kind = \"directions\", instances = \"published\"".into(),
            origin,
            0xf5d7_431f_bb6a_ae49,
        ),
    ];
    let found: Vec<u64> = (cases.iter())
        .map(|(environment, rest, _)| digest(environment, rest))
        .collect();
    let pinned: Vec<u64> = cases.iter().map(|case| case.2).collect();
    assert_eq!(found, pinned);
}
