//! Arguments of every command, with their help.

use std::path::PathBuf;

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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Reproduce the paper: its figures, its claims, and how far they hold
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
        after_help = "Example:\n  banister compare --suite paper\n  banister compare --suite hard --agents opb,margin_adaptive,doslb --horizon 50000\n  banister compare sweep.toml --out results/sweep\n  banister compare --list\n\nInterrupted, it goes on where it stopped when started again. Lists of values in an experiment file\nmake a grid: at_most = [0.2, 0.5] two instances, delta = [0.1, 0.01] two agents."
    )]
    Compare(Compare),
    /// Write a commented example experiment
    #[command(
        after_help = "Example:\n  banister init experiment.toml\n  banister init --linear linear.toml"
    )]
    Init(Init),
    /// Solve one round, linear program or exact OPLB: JSON in, policy and certificate out
    #[command(
        after_help = "Example:\n  echo '{\"kind\":\"lp\",\"reward\":[0.1,0.9],\"costs\":[[0,1]],\"thresholds\":[0.25]}' | banister solve\n  banister solve round.json --max-micros 500      exact OPLB, whose format the book describes\n\nAn infeasible program is an answer (status \"infeasible\", exit code 0); malformed input is exit code 2."
    )]
    Solve(Solve),
    /// Compute what the theory promises: regret bounds, lower bounds, T_0, radii
    #[command(
        after_help = "Example:\n  banister bound --arms 4 --horizon 1000000 --margin 0.2\n  banister bound --arms 10 --horizon 50000 --margin 0.1 --margin 0.3 --json\n  banister bound --dimension 8 --horizon 100000 --margin 0.25     linear actions"
    )]
    Bound(Bound),
    /// Serve decisions over HTTP, with a page to look at
    #[command(
        after_help = "Example:\n  banister serve\n  banister serve --database postgres://banister@db/banister --listen 0.0.0.0:8787\n  banister serve --config banister.toml\n\nEvery flag can be given as BANISTER_NAME in the environment or as a key of the TOML file;\nflags weigh most, then the environment, then the file."
    )]
    Serve(Serve),
    /// Make, list and revoke the tokens of a service
    #[command(
        after_help = "Example:\n  banister token create --role admin me\n  banister token create --role decide shop --database postgres://banister@db/banister\n  banister token revoke shop"
    )]
    Token(Token),
    /// Fold a service's whole log again, and prove that what was learned follows from it
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

/// How simulations run, whatever they simulate.
#[derive(Debug, clap::Args)]
pub struct Simulation {
    /// Threads; the results are the same for any number [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Leave wall times out of the results, so that the files are the same bytes every time
    #[arg(long)]
    pub no_timing: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Rounds per run, instead of what the experiments say
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    pub horizon: Option<u64>,
    /// Runs per agent, instead of what the experiments say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: Option<u64>,
    /// Seed, instead of what the experiments say
    #[arg(long)]
    pub seed: Option<u64>,
}

/// `banister reproduce`.
#[derive(Debug, clap::Args)]
pub struct Reproduce {
    /// Where to write
    #[arg(long, value_name = "DIR", default_value = "results/reproduce", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// How to run.
    #[command(flatten)]
    pub simulation: Simulation,
}

/// `banister run`.
#[derive(Debug, clap::Args)]
pub struct Run {
    /// Experiments (TOML); each is one instance of the results
    #[arg(required = true, value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub experiments: Vec<PathBuf>,
    /// Where to write [default: results/NAME of the first experiment]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// How to run.
    #[command(flatten)]
    pub simulation: Simulation,
}

/// `banister compare`.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// Experiments (TOML), instead of a suite; lists of values in them make a grid
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath, conflicts_with = "suite")]
    pub experiments: Vec<PathBuf>,
    /// A named suite of instances: paper, hard, linear, random, authors-linear, directions
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// Agents by kind, separated by commas, instead of those proposed for the instances
    #[arg(long, value_name = "KIND,…")]
    pub agents: Option<String>,
    /// Go on without agents where they do not fit an instance
    #[arg(long)]
    pub skip_unfit: bool,
    /// Seed of the instances of the suites `random` and `directions`
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub instance_seed: u64,
    /// Swept fields of the heat map as x,y [default: the first two by table and name]
    #[arg(long, value_name = "FIELD,FIELD")]
    pub heat_map: Option<String>,
    /// Where to write [default: results/compare-NAME]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Start afresh, even if an unfinished comparison is there
    #[arg(long)]
    pub restart: bool,
    /// Show the suites and the agents there are
    #[arg(long)]
    pub list: bool,
    /// How to run.
    #[command(flatten)]
    pub simulation: Simulation,
}

/// `banister init`.
#[derive(Debug, clap::Args)]
pub struct Init {
    /// Where to write
    #[arg(default_value = "experiment.toml", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// An example with feature vectors instead of arms
    #[arg(long)]
    pub linear: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// `banister solve`.
#[derive(Debug, clap::Args)]
pub struct Solve {
    /// File to read; standard input if absent or `-`
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// One JSON object per line, in and out
    #[arg(long)]
    pub lines: bool,
    /// Stop proving after this long, with a feasible policy and its honest gap (exact OPLB)
    #[arg(long, value_name = "MICROS")]
    pub max_micros: Option<u64>,
}

/// `banister bound`.
#[derive(Debug, clap::Args)]
pub struct Bound {
    /// K, the number of arms: bounds of OPB
    #[arg(long, value_name = "K", required_unless_present = "dimension")]
    pub arms: Option<usize>,
    /// d, the length of feature vectors: bounds of OPLB
    #[arg(long, value_name = "d", conflicts_with = "arms")]
    pub dimension: Option<usize>,
    /// T, the number of rounds
    #[arg(long, value_name = "T")]
    pub horizon: u64,
    /// Δ, the safe action's margin τ − c_0 in units of the cost's range; once per guardrail
    #[arg(long, value_name = "Δ", required = true, allow_negative_numbers = true)]
    pub margin: Vec<f64>,
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
        conflicts_with = "arms",
        allow_negative_numbers = true
    )]
    pub feature_norm: Option<f64>,
    /// S: every parameter is at most this long, in units of its signal's range [default: 1]
    #[arg(
        long,
        value_name = "S",
        conflicts_with = "arms",
        allow_negative_numbers = true
    )]
    pub parameter_norm: Option<f64>,
    /// λ, the ridge; at least L² [default: L²]
    #[arg(
        long,
        value_name = "λ",
        conflicts_with = "arms",
        allow_negative_numbers = true
    )]
    pub lambda: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Where a service's log is. The environment is read where these are put together, since a flag of one must
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

/// `banister serve`.
#[derive(Debug, clap::Args)]
pub struct Serve {
    /// Where the log is.
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
    /// Ask for tokens even on loopback with none made yet
    #[arg(long, env = "BANISTER_REQUIRE_TOKEN", num_args = 0..=1, default_missing_value = "true")]
    pub require_token: Option<bool>,
    /// Longest body of a request [default: 2097152]
    #[arg(long, value_name = "BYTES", env = "BANISTER_MAX_BODY")]
    pub max_body: Option<usize>,
    /// Longest file to import [default: 134217728]
    #[arg(long, value_name = "BYTES", env = "BANISTER_MAX_IMPORT")]
    pub max_import: Option<usize>,
    /// Most decisions or outcomes of one batch [default: 1000]
    #[arg(long, value_name = "N", env = "BANISTER_MAX_BATCH")]
    pub max_batch: Option<usize>,
    /// Most requests per second of one token, or of one address without tokens; 0: any number [default: 0]
    #[arg(long, value_name = "N", env = "BANISTER_RATE")]
    pub rate: Option<f64>,
    /// When a request is given up [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_TIMEOUT")]
    pub timeout: Option<f64>,
    /// Events after which experiments are snapshotted anew [default: 20000]
    #[arg(long, value_name = "N", env = "BANISTER_SNAPSHOT_EVERY")]
    pub snapshot_every: Option<u64>,
    /// What to log: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", env = "BANISTER_LOG")]
    pub log: Option<String>,
    /// How: text or json [default: text]
    #[arg(long, value_name = "FORMAT", env = "BANISTER_LOG_FORMAT")]
    pub log_format: Option<String>,
}

/// `banister token`.
#[derive(Debug, clap::Args)]
pub struct Token {
    /// What to do.
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// The commands about tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and print it: this is the only time it is seen
    #[command(after_help = "Example:\n  banister token create --role decide shop")]
    Create {
        /// What it is called
        name: String,
        /// What it may do: read, decide (and read), or admin (everything)
        #[arg(long, value_parser = ["read", "decide", "admin"])]
        role: String,
        /// Where the log is.
        #[command(flatten)]
        place: LogPlace,
    },
    /// List the tokens by name and role
    #[command(after_help = "Example:\n  banister token list")]
    List {
        /// Where the log is.
        #[command(flatten)]
        place: LogPlace,
    },
    /// Take a token away; services notice within a second
    #[command(after_help = "Example:\n  banister token revoke shop")]
    Revoke {
        /// What it is called
        name: String,
        /// Where the log is.
        #[command(flatten)]
        place: LogPlace,
    },
}

/// `banister rebuild`.
#[derive(Debug, clap::Args)]
pub struct Rebuild {
    /// Where the log is.
    #[command(flatten)]
    pub place: LogPlace,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}
