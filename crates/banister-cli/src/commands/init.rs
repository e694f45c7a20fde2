//! `banister init`: a commented example to start from.

use crate::args::Init;
use banister_terminal::Failure;

const ARMS: &str = include_str!("../../experiments/example.toml");
const LINEAR: &str = include_str!("../../experiments/example-linear.toml");

pub fn init(args: &Init) -> Result<(), Failure> {
    if args.path.exists() && !args.force {
        return Err(Failure::input(format!(
            "`{}` exists already: choose another name, or overwrite it with --force",
            args.path.display()
        )));
    }
    let example = if args.linear { LINEAR } else { ARMS };
    banister_report::write_atomically(&args.path, example.as_bytes())?;
    banister_terminal::say(format!(
        "Wrote {0}. Run it with:\n  banister run {0}",
        args.path.display()
    ))?;
    Ok(())
}
