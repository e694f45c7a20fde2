//! `banisterd token`: who may use a service.

use banister_engine::{
    Role, Scope, Store, StoreError, StoredToken, Timestamp, Token, parse_expiry,
};
use banister_service::checked_rate;

use super::serve::database_of;
use crate::args::{LogPlace, NewToken, TokenCommand};
use banister_terminal::Failure;

/// Names that stand for others among the authors of changes: callers without a token, and the service itself.
const RESERVED: [&str; 2] = ["anonymous", "banister"];

pub fn token(command: &TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(new) => create(new),
        TokenCommand::List { place } => list(place),
        TokenCommand::Revoke { name, place } => revoke(name, place),
    }
}

fn create(new: &NewToken) -> Result<(), Failure> {
    let name = &new.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(Failure::input(format!(
            "`name` is {name:?}: must be 1 to 64 letters, digits, `.`, `_` or `-`"
        )));
    }
    if RESERVED.contains(&name.as_str()) {
        return Err(Failure::input(format!(
            "`name` is {name:?}: this name is reserved, choose another"
        )));
    }
    let role: Role = new.role.parse().map_err(Failure::input)?;
    let mut token = Token::new(name, role);
    let stored = &mut token.stored;
    let scope = new.experiments.as_deref().map(Scope::parse).transpose();
    stored.scope = scope
        .map_err(Failure::input)?
        .map(|scope| scope.to_string());
    let expires = new.expires.as_deref();
    let expires = expires.map(|text| parse_expiry(text, stored.created));
    stored.expires = expires.transpose().map_err(Failure::input)?;
    stored.rate = checked_rate("rate", new.rate).map_err(Failure::input)?;
    let mut store = open(&new.place)?;
    if !store.add_token(&token.stored).map_err(failed)? {
        return Err(Failure::input(format!(
            "there is or was a token called `{name}`: choose another name, since events keep it as their author's"
        )));
    }
    eprintln!("The token `{name}` with the role {role}. It is not shown again:");
    banister_terminal::say(token.secret)?;
    Ok(())
}

fn list(place: &LogPlace) -> Result<(), Failure> {
    let database = database_of(place)?;
    if !database.exists() {
        let place = database.shown();
        banister_terminal::say(format!("No tokens: there is no log at {place} yet."))?;
        return Ok(());
    }
    let tokens = open(place)?.tokens().map_err(failed)?;
    if tokens.is_empty() {
        banister_terminal::say("No tokens: the service is open, on this machine only.")?;
        return Ok(());
    }
    let head = ["name", "role", "experiments", "expires", "rate", "created"];
    let mut rows = vec![head.map(str::to_string)];
    rows.extend(tokens.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let line: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        banister_terminal::say(line.join("  ").trim_end())?;
    }
    Ok(())
}

fn row(token: &StoredToken) -> [String; 6] {
    let expires = token.expires.map(|time| {
        if time <= Timestamp::now() {
            format!("{time} (over)")
        } else {
            time.to_string()
        }
    });
    [
        token.name.clone(),
        token.role.clone(),
        token.scope.clone().unwrap_or_else(|| "all".into()),
        expires.unwrap_or_else(|| "never".into()),
        token
            .rate
            .map_or_else(|| "-".into(), |rate| rate.to_string()),
        token.created.to_string(),
    ]
}

fn revoke(name: &str, place: &LogPlace) -> Result<(), Failure> {
    let known = database_of(place)?.exists();
    if !(known && open(place)?.revoke_token(name).map_err(failed)?) {
        return Err(Failure::input(format!("there is no token called `{name}`")));
    }
    banister_terminal::say(format!("The token `{name}` is revoked."))?;
    Ok(())
}

fn open(place: &LogPlace) -> Result<Box<dyn Store>, Failure> {
    database_of(place)?.open().map_err(failed)
}

fn failed(error: StoreError) -> Failure {
    Failure::Other(error.to_string())
}
