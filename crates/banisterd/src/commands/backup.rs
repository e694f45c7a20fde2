//! `banisterd backup`: a copy of a service's log.

use super::serve::existing;
use crate::args::Backup;
use banister_terminal::Failure;

pub fn backup(args: &Backup) -> Result<(), Failure> {
    let database = existing(&args.place)?;
    let copied = database.backup(&args.destination);
    let last = copied.map_err(|error| {
        if error.passing {
            Failure::Other(error.to_string())
        } else {
            Failure::input(error)
        }
    })?;
    let place = args.destination.display();
    banister_terminal::say(format!("{last} events copied to {place}."))?;
    Ok(())
}
