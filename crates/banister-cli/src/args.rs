//! Arguments of every command, with their help.

use std::path::PathBuf;

use banister_terminal::Common;
use banister_terminal::clap::{self, Parser, Subcommand, ValueHint};

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
    /// Plan an experiment: decisions until an arm is certified and its lift known, and what that costs meanwhile
    #[command(
        after_help = "Example:\n  banister init experiment.toml\n  banister plan experiment.toml --lift 0.02 --traffic 5000 --out results/plan\n\nThe means in the file are those that you expect.",
        mut_arg("no_timing", |arg| arg.hide(true))
    )]
    Plan(Plan),
    /// Estimate from a log what another policy earns, which guardrails it keeps, and what arms are worth
    #[command(
        after_help = "Example:\n  banister evaluate log.csv policy.toml\n\nThe log (CSV or Parquet, such as the service exports) has the columns `action`, `pscore` (the\nprobability with which it was played), `reward`, and one for each guardrail. The policy is a file such as\n\n  policy = { control = 0.7, bold = 0.3 }\n  adaptive = true          # the logging policy learned from these outcomes\n  [[guardrail]]\n  name = \"complaints\"\n  at_most = 0.05\n\nand may have `safe`, [reward] and [options] (estimator, interval, confidence, …). With `safe = \"control\"`\nand `lift = \"constant\"`, or \"concurrent\" where means may move, every arm's lift over the safe one follows."
    )]
    Evaluate(Evaluate),
    #[command(flatten)]
    Common(Common),
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
    /// routing, contexts, moving, holdout, tuning
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
pub struct Plan {
    /// Experiment (TOML) with arms; its first agent decides
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub experiment: PathBuf,
    /// Half-width to which the lift of the reward over the safe arm shall be known
    #[arg(long, value_name = "±x", allow_negative_numbers = true)]
    pub lift: Option<f64>,
    /// Decisions per day, to say times in days
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub traffic: Option<f64>,
    /// Folder to write figure, report and numbers to [default: none]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub simulation: Simulation,
}

#[derive(Debug, clap::Args)]
pub struct Evaluate {
    /// Logged rounds, one per row, in the order of the decisions
    #[arg(value_name = "LOG.csv", value_hint = ValueHint::FilePath)]
    pub log: PathBuf,
    /// The policy to judge, and its guardrails
    #[arg(value_name = "POLICY.toml", value_hint = ValueHint::FilePath)]
    pub policy: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
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
    #[arg(long, value_name = "Δ", required_unless_present = "experiment")]
    #[arg(allow_negative_numbers = true)]
    pub margin: Vec<f64>,
    /// ρ, the best margin that any arm has, at least the safe one's: lower bounds that depend on it
    #[arg(long, value_name = "ρ")]
    #[arg(conflicts_with_all = ["dimension", "experiment"])]
    #[arg(allow_negative_numbers = true)]
    pub best_margin: Option<f64>,
    /// δ, the probability with which a bound may fail
    #[arg(long, value_name = "δ", default_value_t = 0.01)]
    #[arg(allow_negative_numbers = true)]
    pub delta: f64,
    /// R, the sub-Gaussian constant, for T_0 and the radii (1/2 for signals in [0, 1]; the regret bounds
    /// of OPB are for such signals)
    #[arg(long, value_name = "R", default_value_t = 0.5)]
    #[arg(allow_negative_numbers = true)]
    pub sub_gaussian: f64,
    /// L: every feature vector is at most this long [default: 1]
    #[arg(long, value_name = "L", conflicts_with_all = ["arms", "experiment"])]
    #[arg(allow_negative_numbers = true)]
    pub feature_norm: Option<f64>,
    /// S: every parameter is at most this long, in units of its signal's range [default: 1]
    #[arg(long, value_name = "S", conflicts_with_all = ["arms", "experiment"])]
    #[arg(allow_negative_numbers = true)]
    pub parameter_norm: Option<f64>,
    /// λ, the ridge; at least L² [default: L²]
    #[arg(long, value_name = "λ", conflicts_with_all = ["arms", "experiment"])]
    #[arg(allow_negative_numbers = true)]
    pub lambda: Option<f64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
