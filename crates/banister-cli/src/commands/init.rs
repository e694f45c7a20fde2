//! `banister init`: a commented example to start from.

use crate::args::Init;
use crate::failure::Failure;

const EXAMPLE: &str = include_str!("../../../../experiments/example.toml");

pub fn init(args: &Init) -> Result<(), Failure> {
    if args.path.exists() && !args.force {
        return Err(Failure::input(format!(
            "`{}` exists already: choose another name, or overwrite it with --force",
            args.path.display()
        )));
    }
    banister_report::write_atomically(&args.path, EXAMPLE.as_bytes())?;
    println!(
        "Wrote {0}. Run it with:\n  banister run {0}",
        args.path.display()
    );
    Ok(())
}
