//! `banisterd serve`: decisions over HTTP.

use banister_engine::Database;
use banister_service::{Given, ServeError, Settings};

use crate::args::{LogPlace, Serve};
use banister_terminal::Failure;

pub fn serve(args: &Serve) -> Result<(), Failure> {
    let settings = args.given.clone().or(given_of(&args.place)?);
    let settings = settings.check().map_err(Failure::input)?;
    start_logs(&settings);
    let scheme = if settings.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let place = settings.database.shown();
    let served = banister_service::serve(settings, move |address| {
        // Nobody may be reading; that is no reason not to serve.
        let _ = banister_terminal::say(format!(
            "banisterd: the log is {place}\nbanisterd: the page is at {scheme}://{address}/"
        ));
    });
    served.map_err(|error| match error {
        ServeError::Setting(message) => Failure::input(message),
        other => Failure::Other(other.to_string()),
    })
}

/// Settings of the log's place: flags first, then the environment, then the file.
pub fn given_of(place: &LogPlace) -> Result<Given, Failure> {
    let file = match &place.config {
        None => Given::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|e| Failure::input(format!("cannot read {}: {e}", path.display())))?;
            Given::from_toml(&text)
                .map_err(|e| Failure::input(format!("{}: {e}", path.display())))?
        }
    };
    let flags = Given {
        data_dir: place.data_dir.clone(),
        database: place.database.clone(),
        ..Given::default()
    };
    let environment = Given {
        data_dir: std::env::var_os("BANISTER_DATA_DIR").map(Into::into),
        database: std::env::var("BANISTER_DATABASE").ok(),
        ..Given::default()
    };
    Ok(flags.or(environment).or(file))
}

/// The log of the place given.
pub fn database_of(place: &LogPlace) -> Result<Database, Failure> {
    given_of(place)?.database().map_err(Failure::input)
}

/// The log of the place given, which must be there.
pub fn existing(place: &LogPlace) -> Result<Database, Failure> {
    let database = database_of(place)?;
    if database.exists() {
        return Ok(database);
    }
    let place = database.shown();
    Err(Failure::input(format!("there is no log at {place}")))
}

fn start_logs(settings: &Settings) {
    let logs = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(settings.level)
        .with_target(false);
    // Within one process the first choice stays: the Python package may have started a service before.
    let _ = if settings.json_logs {
        logs.json().flatten_event(true).try_init()
    } else {
        let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
        logs.with_ansi(colours).try_init()
    };
}
