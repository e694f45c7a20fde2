//! Arguments of every command, with their help.

use std::path::PathBuf;

use banister_engine::Role;
use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;

/// Bandits with guardrails: learn which action earns the most while every policy keeps its expected
/// costs under given thresholds.
#[derive(Debug, Parser)]
#[command(name = "banister", version, arg_required_else_help = true)]
#[command(
    after_help = "Example:\n  banister reproduce          the paper's figures, in under a minute\n  banister init && banister run experiment.toml"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Reproduce the paper: its figures, and every claim with its verdict
    #[command(
        after_help = "Example:\n  banister reproduce --out results/reproduce\n  banister reproduce --horizon 20000 --runs 4     a quick look\n\nWrites figures (SVG, PNG), report.html, and all numbers as CSV and Parquet."
    )]
    Reproduce(Reproduce),
    /// Run experiments: any environment, any agents side by side
    #[command(
        after_help = "Example:\n  banister init experiment.toml\n  banister run experiment.toml --out results/mine"
    )]
    Run(Run),
    /// Compare agents on the same instances and the same outcomes: a suite, or experiments of your own
    #[command(
        after_help = "Example:\n  banister compare --suite paper\n  banister compare --suite hard --agents opb,ma_ops,doslb --horizon 50000\n  banister compare sweep.toml --out results/sweep\n  banister compare --list\n  banister compare --published\n\nAn interrupted comparison resumes when started again. Lists of values in an experiment file\nmake a grid: at_most = [0.2, 0.5] two instances, delta = [0.1, 0.01] two agents."
    )]
    Compare(Compare),
    /// Write a commented example experiment
    #[command(
        after_help = "Example:\n  banister init experiment.toml\n  banister init --linear linear.toml"
    )]
    Init(Init),
    /// Solve one round, linear program or exact OPLB: JSON in, policy and certificate out
    #[command(
        after_help = "Example:\n  echo '{\"kind\":\"lp\",\"reward\":[0.1,0.9],\"costs\":[[0,1]],\"thresholds\":[0.25]}' | banister solve\n  banister solve segments.json      a policy per segment under one budget\n  banister solve round.json --max-micros 500      exact OPLB, whose format the book describes\n\nAn infeasible program is an answer (status \"infeasible\", exit code 0); malformed input is exit code 2."
    )]
    Solve(Solve),
    /// Compute the theory's bounds: regret bounds, lower bounds, the limit of certified play, T_0, radii
    #[command(
        after_help = "Example:\n  banister bound experiment.toml      its own bounds, with the limit of certified play\n  banister bound --arms 4 --horizon 1000000 --margin 0.2\n  banister bound --arms 10 --horizon 50000 --margin 0.1 --margin 0.3 --json\n  banister bound --dimension 8 --horizon 100000 --margin 0.25     linear actions"
    )]
    Bound(Bound),
    /// Serve decisions over HTTP, with a page to look at
    #[command(
        after_help = "Example:\n  banister serve\n  banister serve --database postgres://banister@db/banister --listen 0.0.0.0:8787\n  banister serve --config banister.toml\n\nEvery flag can be given as BANISTER_NAME in the environment or as a key of the TOML file;\nflags take precedence, then the environment, then the file."
    )]
    Serve(Box<Serve>),
    /// Create, list and revoke the tokens of a service
    #[command(
        after_help = "Example:\n  banister token create --role admin me\n  banister token create --role decide shop --database postgres://banister@db/banister\n  banister token revoke shop"
    )]
    Token(Token),
    /// Copy a service's log to a new file, whole, while the service runs
    #[command(
        after_help = "Example:\n  banister backup --data-dir banister-data /backups/banister-monday.db\n  banister rebuild --database /backups/banister-monday.db      prove that the copy is whole\n\nA log in PostgreSQL is backed up by its own tools: pg_dump -Fc -d postgres://banister@db/banister -f banister.dump"
    )]
    Backup(Backup),
    /// Replay a service's whole log and prove that its learned state follows from it
    #[command(
        after_help = "Example:\n  banister rebuild\n  banister rebuild --database postgres://banister@db/banister --json"
    )]
    Rebuild(Rebuild),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  banister completions bash > ~/.local/share/bash-completion/completions/banister"
    )]
    Completions {
        /// Shell to complete for
        shell: Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// Options of every simulation.
#[derive(Debug, clap::Args)]
pub struct Simulation {
    /// Threads; the results are the same for any number [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Leave wall times out of the results, so that the files are the same bytes every time
    #[arg(long)]
    pub no_timing: bool,
    /// Hide the progress bar
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Rounds per run, overriding the experiments
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    pub horizon: Option<u64>,
    /// Runs per agent, overriding the experiments
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: Option<u64>,
    /// Seed, overriding the experiments
    #[arg(long)]
    pub seed: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub struct Reproduce {
    /// Folder to write to
    #[arg(long, value_name = "DIR", default_value = "results/reproduce", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    #[command(flatten)]
    pub simulation: Simulation,
}

#[derive(Debug, clap::Args)]
pub struct Run {
    /// Experiments (TOML); each is one instance of the results
    #[arg(required = true, value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub experiments: Vec<PathBuf>,
    /// Folder to write to [default: results/NAME of the first experiment]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub simulation: Simulation,
}

#[derive(Debug, clap::Args)]
pub struct Compare {
    /// Experiments (TOML), instead of a suite; lists of values in them make a grid
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath, conflicts_with = "suite")]
    pub experiments: Vec<PathBuf>,
    /// A named suite of instances: paper, hard, linear, random, authors-linear, authors-long, directions,
    /// routing, contexts, holdout, tuning
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// Agents by kind, separated by commas, instead of those proposed for the instances
    #[arg(long, value_name = "KIND,…")]
    pub agents: Option<String>,
    /// Skip agents on instances they do not support
    #[arg(long)]
    pub skip_unfit: bool,
    /// Seed of the instances of the suites `random` and `directions`
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub instance_seed: u64,
    /// Swept fields of the heat map as x,y [default: the first two by table and name]
    #[arg(long, value_name = "FIELD,FIELD")]
    pub heat_map: Option<String>,
    /// Folder to write to [default: results/compare-NAME]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Discard an unfinished comparison and start again
    #[arg(long)]
    pub restart: bool,
    /// List the suites and the agents
    #[arg(long)]
    pub list: bool,
    /// Show every published number beside ours, from stored results: nothing runs
    #[arg(long, conflicts_with_all = ["suite", "experiments", "list"])]
    pub published: bool,
    #[command(flatten)]
    pub simulation: Simulation,
}

#[derive(Debug, clap::Args)]
pub struct Init {
    /// File to write
    #[arg(default_value = "experiment.toml", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// An example with feature vectors instead of arms
    #[arg(long)]
    pub linear: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, clap::Args)]
pub struct Solve {
    /// File to read; standard input if absent or `-`
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// One JSON object per line, in and out
    #[arg(long)]
    pub lines: bool,
    /// Time limit; the answer is then a feasible policy with its proven gap (exact OPLB)
    #[arg(long, value_name = "MICROS")]
    pub max_micros: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub struct Bound {
    /// Experiment file with arms (TOML): K, margins and R are those of its instance, T unless given, and the
    /// limit of certified play is computed from its true means
    #[arg(value_hint = ValueHint::FilePath, conflicts_with_all = ["arms", "dimension", "margin", "sub_gaussian"])]
    pub experiment: Option<PathBuf>,
    /// K, the number of arms: bounds of OPB
    #[arg(long, value_name = "K", required_unless_present_any = ["dimension", "experiment"])]
    pub arms: Option<usize>,
    /// d, the length of feature vectors: bounds of OPLB
    #[arg(long, value_name = "d", conflicts_with = "arms")]
    pub dimension: Option<usize>,
    /// T, the number of rounds
    #[arg(long, value_name = "T", required_unless_present = "experiment")]
    pub horizon: Option<u64>,
    /// Δ, the safe action's margin τ − c_0 in units of the cost's range; once per guardrail
    #[arg(
        long,
        value_name = "Δ",
        required_unless_present = "experiment",
        allow_negative_numbers = true
    )]
    pub margin: Vec<f64>,
    /// ρ, the best margin that any arm has, at least the safe one's: lower bounds that depend on it
    #[arg(
        long,
        value_name = "ρ",
        conflicts_with_all = ["dimension", "experiment"],
        allow_negative_numbers = true
    )]
    pub best_margin: Option<f64>,
    /// δ, the probability with which a bound may fail
    #[arg(
        long,
        value_name = "δ",
        default_value_t = 0.01,
        allow_negative_numbers = true
    )]
    pub delta: f64,
    /// R, the sub-Gaussian constant, for T_0 and the radii (1/2 for signals in [0, 1]; the regret bounds
    /// of OPB are for such signals)
    #[arg(
        long,
        value_name = "R",
        default_value_t = 0.5,
        allow_negative_numbers = true
    )]
    pub sub_gaussian: f64,
    /// L: every feature vector is at most this long [default: 1]
    #[arg(
        long,
        value_name = "L",
        conflicts_with_all = ["arms", "experiment"],
        allow_negative_numbers = true
    )]
    pub feature_norm: Option<f64>,
    /// S: every parameter is at most this long, in units of its signal's range [default: 1]
    #[arg(
        long,
        value_name = "S",
        conflicts_with_all = ["arms", "experiment"],
        allow_negative_numbers = true
    )]
    pub parameter_norm: Option<f64>,
    /// λ, the ridge; at least L² [default: L²]
    #[arg(
        long,
        value_name = "λ",
        conflicts_with_all = ["arms", "experiment"],
        allow_negative_numbers = true
    )]
    pub lambda: Option<f64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Place of a service's log. The environment is read where these are put together, since a flag of one must
/// outweigh the variable of the other.
#[derive(Debug, Clone, clap::Args)]
pub struct LogPlace {
    /// Folder of the SQLite file banister.db [default: the current one] [env: BANISTER_DATA_DIR]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data_dir: Option<PathBuf>,
    /// postgres://…, shared by any number of services; or the path of a SQLite file [env:
    /// BANISTER_DATABASE]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// TOML file with settings
    #[arg(long, value_name = "FILE", env = "BANISTER_CONFIG", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct Serve {
    #[command(flatten)]
    pub place: LogPlace,
    /// Address and port [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS", env = "BANISTER_LISTEN")]
    pub listen: Option<String>,
    /// Certificate chain (PEM), to serve over TLS
    #[arg(long, value_name = "FILE", env = "BANISTER_TLS_CERT", value_hint = ValueHint::FilePath)]
    pub tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", env = "BANISTER_TLS_KEY", value_hint = ValueHint::FilePath)]
    pub tls_key: Option<PathBuf>,
    /// Require tokens even on loopback before the first one is created
    #[arg(long, env = "BANISTER_REQUIRE_TOKEN", num_args = 0..=1, default_missing_value = "true")]
    pub require_token: Option<bool>,
    /// Largest body of a request [default: 2097152]
    #[arg(long, value_name = "BYTES", env = "BANISTER_MAX_BODY")]
    pub max_body: Option<usize>,
    /// Largest file to import [default: 134217728]
    #[arg(long, value_name = "BYTES", env = "BANISTER_MAX_IMPORT")]
    pub max_import: Option<usize>,
    /// Largest batch of decisions or outcomes [default: 1000]
    #[arg(long, value_name = "N", env = "BANISTER_MAX_BATCH")]
    pub max_batch: Option<usize>,
    /// Most connections [default: as many as descriptors and memory allow]
    #[arg(long, value_name = "N", env = "BANISTER_MAX_CONNECTIONS")]
    pub max_connections: Option<usize>,
    /// Most connections from one address [default: half of all]
    #[arg(long, value_name = "N", env = "BANISTER_MAX_ADDRESS_CONNECTIONS")]
    pub max_address_connections: Option<usize>,
    /// Open decisions kept in memory, in bytes [default: a quarter of the memory limit]
    #[arg(long, value_name = "BYTES", env = "BANISTER_OPEN_BYTES")]
    pub open_bytes: Option<usize>,
    /// Requests per second of one token, or of one address without tokens, each entry of a batch being one;
    /// 0: unlimited [default: 0]
    #[arg(long, value_name = "N", env = "BANISTER_RATE")]
    pub rate: Option<f64>,
    /// Bytes of bodies per second of one token or address; 0: unlimited [default: 0]
    #[arg(long, value_name = "BYTES", env = "BANISTER_BYTES_RATE")]
    pub bytes_rate: Option<f64>,
    /// Seconds of computation per second of one token or address; 0: unlimited [default: 0]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_WORK")]
    pub work: Option<f64>,
    /// Requests per second about one experiment; 0: unlimited [default: 0]
    #[arg(long, value_name = "N", env = "BANISTER_EXPERIMENT_RATE")]
    pub experiment_rate: Option<f64>,
    /// Bytes of bodies per second about one experiment; 0: unlimited [default: 0]
    #[arg(long, value_name = "BYTES", env = "BANISTER_EXPERIMENT_BYTES_RATE")]
    pub experiment_bytes_rate: Option<f64>,
    /// Seconds of computation per second about one experiment; 0: unlimited [default: 0]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_EXPERIMENT_WORK")]
    pub experiment_work: Option<f64>,
    /// Time limit of a request [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_TIMEOUT")]
    pub timeout: Option<f64>,
    /// Events between snapshots of experiments [default: 20000]
    #[arg(long, value_name = "N", env = "BANISTER_SNAPSHOT_EVERY")]
    pub snapshot_every: Option<u64>,
    /// Tokens that decide repeat, and report on, their own decisions only
    #[arg(long, env = "BANISTER_OWN_IDS", num_args = 0..=1, default_missing_value = "true")]
    pub own_ids: Option<bool>,
    /// Seconds that the clock may be away from the log's time before nothing is written [default: 60]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_MAX_CLOCK_SKEW")]
    pub max_clock_skew: Option<f64>,
    /// The clock is right now, whatever the log's last event says: go on from here
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub accept_clock: Option<bool>,
    /// Seconds without a proof that the log answers, after which the service is not ready [default: 3]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_READY_AGE")]
    pub ready_age: Option<f64>,
    /// Seconds after which tokens that could not be read again are not trusted [default: 30]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_TOKEN_AGE")]
    pub token_age: Option<f64>,
    /// Most connections to PostgreSQL [default: 8]
    #[arg(long, value_name = "N", env = "BANISTER_PG_CONNECTIONS")]
    pub pg_connections: Option<usize>,
    /// Longest wait for another service that writes to PostgreSQL [default: 4]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_PG_LOCK_TIMEOUT")]
    pub pg_lock_timeout: Option<f64>,
    /// Longest time of a statement in PostgreSQL [default: 5]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_PG_STATEMENT_TIMEOUT")]
    pub pg_statement_timeout: Option<f64>,
    /// Time after which PostgreSQL takes the log from a service that froze with it [default: 2.5]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_PG_IDLE_TIMEOUT")]
    pub pg_idle_timeout: Option<f64>,
    /// Log level: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", env = "BANISTER_LOG")]
    pub log: Option<String>,
    /// Log format: text or json [default: text]
    #[arg(long, value_name = "FORMAT", env = "BANISTER_LOG_FORMAT")]
    pub log_format: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Token {
    #[command(subcommand)]
    pub command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it; it is not shown again
    #[command(
        after_help = "Example:\n  banister token create --role decide shop\n  banister token create --role read --experiments 'checkout-*,ranking' --expires 30d dashboard"
    )]
    Create(NewToken),
    /// List the tokens with their roles and limits
    #[command(after_help = "Example:\n  banister token list")]
    List {
        #[command(flatten)]
        place: LogPlace,
    },
    /// Revoke a token; services notice within a second
    #[command(after_help = "Example:\n  banister token revoke shop")]
    Revoke {
        /// Name of the token
        name: String,
        #[command(flatten)]
        place: LogPlace,
    },
}

#[derive(Debug, clap::Args)]
pub struct NewToken {
    /// Name of the token
    pub name: String,
    /// Role: all may read; report (outcomes), decide-only (ask for decisions), decide (both), or admin
    /// (everything)
    #[arg(long, value_parser = Role::ALL.map(Role::name))]
    pub role: String,
    /// Experiments that it may see, as patterns of their names separated by commas, in which * stands for any
    /// text [default: all]
    #[arg(long, value_name = "PATTERNS")]
    pub experiments: Option<String>,
    /// End of its life: a time (2027-01-01T00:00:00Z) or a span (30d) [default: none]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<String>,
    /// Requests per second; 0: unlimited [default: the service's]
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Bytes of bodies per second; 0: unlimited [default: the service's]
    #[arg(long, value_name = "BYTES")]
    pub bytes_rate: Option<f64>,
    /// Seconds of computation per second; 0: unlimited [default: the service's]
    #[arg(long, value_name = "SECONDS")]
    pub work: Option<f64>,
    #[command(flatten)]
    pub place: LogPlace,
}

#[derive(Debug, clap::Args)]
pub struct Backup {
    /// File to make; an existing one is not overwritten
    #[arg(value_hint = ValueHint::FilePath)]
    pub destination: PathBuf,
    #[command(flatten)]
    pub place: LogPlace,
}

#[derive(Debug, clap::Args)]
pub struct Rebuild {
    #[command(flatten)]
    pub place: LogPlace,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Hide the progress bar
    #[arg(long, short)]
    pub quiet: bool,
}
