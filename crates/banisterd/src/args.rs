//! Arguments of every command, with their help.

use std::net::SocketAddr;
use std::path::PathBuf;

use banister_engine::Role;
use banister_service::Given;
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
    #[command(flatten)]
    pub given: Given,
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
    /// Over HTTP: time that a connection waits for the whole head of its next request
    #[arg(long, value_name = "SECONDS", default_value_t = 75, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub idle_timeout: u64,
}
