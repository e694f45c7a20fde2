//! `banister token`: who may use a service.

use banister_engine::{Role, Store, StoreError, Token};

use super::serve::database_of;
use crate::args::{LogPlace, TokenCommand};
use crate::failure::Failure;
use crate::terminal;

pub fn token(command: &TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Create { name, role, place } => create(name, role, place),
        TokenCommand::List { place } => list(place),
        TokenCommand::Revoke { name, place } => revoke(name, place),
    }
}

fn create(name: &str, role: &str, place: &LogPlace) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(Failure::input(format!(
            "`name` is {name:?}: must be 1 to 64 letters, digits, `.`, `_` or `-`"
        )));
    }
    let role: Role = role.parse().map_err(Failure::input)?;
    let token = Token::new(name, role);
    let mut store = open(place)?;
    if !store.add_token(&token.stored).map_err(failed)? {
        return Err(Failure::input(format!(
            "there is a token called `{name}` already: revoke it, or choose another name"
        )));
    }
    eprintln!("The token `{name}` with the role {role}. It is not shown again:");
    terminal::say(token.secret)?;
    Ok(())
}

fn list(place: &LogPlace) -> Result<(), Failure> {
    let tokens = if database_of(place)?.exists() {
        open(place)?.tokens().map_err(failed)?
    } else {
        Vec::new()
    };
    if tokens.is_empty() {
        terminal::say("No tokens: the service is open, on this machine only.")?;
    }
    for token in tokens {
        terminal::say(format!(
            "{:<7} {}  {}",
            token.role, token.created, token.name
        ))?;
    }
    Ok(())
}

fn revoke(name: &str, place: &LogPlace) -> Result<(), Failure> {
    let known = database_of(place)?.exists();
    if !(known && open(place)?.revoke_token(name).map_err(failed)?) {
        return Err(Failure::input(format!("there is no token called `{name}`")));
    }
    terminal::say(format!("The token `{name}` is revoked."))?;
    Ok(())
}

fn open(place: &LogPlace) -> Result<Box<dyn Store>, Failure> {
    database_of(place)?.open().map_err(failed)
}

fn failed(error: StoreError) -> Failure {
    Failure::Other(error.to_string())
}
