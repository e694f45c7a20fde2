//! Actions with names, which can be added and retired.

use super::Evidence;
use crate::error::Error;
use crate::problem::{check_name, check_vector};

/// A set of actions to offer: features one after another, and names.
type Named = (Vec<f64>, Vec<String>);

impl Evidence {
    /// The set on offer with one more action at its end.
    pub fn with_arm(&self, name: &str, features: Option<&[f64]>) -> Result<Named, Error> {
        self.check_named(name)?;
        check_name(&self.names, name, "arm")?;
        let Some(x) = features else {
            let allowed = format!("an arm needs its {} features here", self.dimension());
            return Err(Error::invalid("features", "absent", allowed));
        };
        if self.problem.declared.features.is_empty() {
            let allowed = "arms are their own features here: declare `features` to add arms later";
            return Err(Error::invalid("arm", name, allowed));
        }
        check_vector("features", x, self.dimension())?;
        let mut actions = self.actions.all_features().to_vec();
        actions.extend_from_slice(x);
        let mut names = self.names.clone();
        names.push(name.to_string());
        Ok((actions, names))
    }

    /// The set on offer without an action.
    pub fn without_arm(&self, arm: usize) -> Result<Named, Error> {
        self.check_named("retire")?;
        self.check_action(arm)?;
        if arm == self.actions.safe {
            let allowed = "the safe arm cannot be retired";
            return Err(Error::invalid("arm", &self.names[arm], allowed));
        }
        let d = self.dimension();
        let mut actions = self.actions.all_features().to_vec();
        actions.drain(arm * d..(arm + 1) * d);
        let mut names = self.names.clone();
        names.remove(arm);
        Ok((actions, names))
    }

    fn check_named(&self, name: &str) -> Result<(), Error> {
        if !self.names.is_empty() {
            return Ok(());
        }
        let allowed = "the actions on offer have no names: offer another set instead";
        Err(Error::invalid("arm", name, allowed))
    }
}
