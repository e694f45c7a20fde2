//! Arguments of every command, with their help.

use std::net::SocketAddr;
use std::path::PathBuf;

use banister_engine::Role;
use banister_terminal::Common;
use banister_terminal::clap::{self, Parser, Subcommand, ValueHint};

/// Decisions with guardrails over HTTP: every policy that is published keeps its expected costs under given thresholds.
#[derive(Debug, Parser)]
#[command(name = "banisterd", version, arg_required_else_help = true)]
#[command(
    after_help = "Example:\n  banisterd serve          the page is at http://127.0.0.1:8787/"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve decisions over HTTP, with a page to look at
    #[command(
        after_help = "Example:\n  banisterd serve\n  banisterd serve --database postgres://banister@db/banister --listen 0.0.0.0:8787\n  banisterd serve --config banister.toml\n  banisterd serve --webhooks webhooks.toml      tell Slack of alarms\n\nEvery flag can be given as BANISTER_NAME in the environment or as a key of the TOML file;\nflags take precedence, then the environment, then the file."
    )]
    Serve(Box<Serve>),
    /// Create, list and revoke the tokens of a service
    #[command(
        after_help = "Example:\n  banisterd token create --role admin me\n  banisterd token create --role decide shop --database postgres://banister@db/banister\n  banisterd token revoke shop"
    )]
    Token(Token),
    /// Copy a service's log to a new file, whole, while the service runs
    #[command(
        after_help = "Example:\n  banisterd backup --data-dir banister-data /backups/banister-monday.db\n  banisterd rebuild --database /backups/banister-monday.db      prove that the copy is whole\n\nA log in PostgreSQL is backed up by its own tools: pg_dump -Fc -d postgres://banister@db/banister -f banister.dump"
    )]
    Backup(Backup),
    /// Replay a service's whole log and prove that its learned state follows from it
    #[command(
        after_help = "Example:\n  banisterd rebuild\n  banisterd rebuild --database postgres://banister@db/banister --json"
    )]
    Rebuild(Rebuild),
    /// Offer a running service to assistants, as tools of the Model Context Protocol
    #[command(
        after_help = "Example:\n  banisterd mcp --token-file token.txt      on standard input and output\n  banisterd mcp --url https://banister.example --listen 127.0.0.1:8788      over HTTP, with every caller's own token"
    )]
    Mcp(Mcp),
    #[command(flatten)]
    Common(Common),
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
    /// Secret that signs leases, 64 hexadecimal digits; replicas need the same [default: a new random one at every start]
    #[arg(long, value_name = "FILE", env = "BANISTER_LEASE_KEY", value_hint = ValueHint::FilePath)]
    pub lease_key: Option<PathBuf>,
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
    /// Largest difference between clock and log time, in seconds, at which the service still writes [default: 60]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_MAX_CLOCK_SKEW")]
    pub max_clock_skew: Option<f64>,
    /// Trust the current clock even if it contradicts the log's last event
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
    /// TOML file of receivers of alarms and other notices
    #[arg(long, value_name = "FILE", env = "BANISTER_WEBHOOKS", value_hint = ValueHint::FilePath)]
    pub webhooks: Option<PathBuf>,
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
        after_help = "Example:\n  banisterd token create --role decide shop\n  banisterd token create --role read --experiments 'checkout-*,ranking' --expires 30d dashboard"
    )]
    Create(NewToken),
    /// List the tokens with their roles and limits
    #[command(after_help = "Example:\n  banisterd token list")]
    List {
        #[command(flatten)]
        place: LogPlace,
    },
    /// Revoke a token; services notice within a second
    #[command(after_help = "Example:\n  banisterd token revoke shop")]
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

#[derive(Debug, clap::Args)]
pub struct Mcp {
    /// Address of the service
    #[arg(long, env = "BANISTER_URL", default_value = "http://127.0.0.1:8787")]
    pub url: String,
    /// File with the token that calls are made with [default: the variable BANISTER_TOKEN, if it is set]
    #[arg(long, value_name = "FILE", env = "BANISTER_TOKEN_FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// The token itself: other users can see flags, so there is none.
    #[arg(skip = std::env::var("BANISTER_TOKEN").ok())]
    pub token: Option<String>,
    /// Serve over HTTP on this address and port of this machine, instead of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
}
