//! Actions with names, which can be added and retired.

use super::Oplb;
use crate::error::Error;
use crate::problem::{check_name, check_vector};
use crate::snapshot::broken;

impl Oplb {
    /// Names of the actions on offer; empty if they were offered by their features alone.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Offers one more action beside those on offer, which need names too. Its number is returned.
    /// Unlike an arm of [`crate::Opb`] it costs nothing in confidence: the ellipsoids hold for every
    /// action there could be.
    pub fn add_arm(&mut self, name: &str, features: Option<&[f64]>) -> Result<usize, Error> {
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
        self.offer_named(&actions, names)?;
        Ok(self.names.len() - 1)
    }

    /// Stops offering an action; those after it move up by one number. Late outcomes of it are
    /// taken by its features.
    pub fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.check_named("retire")?;
        self.check_action(arm)?;
        if arm == self.safe() {
            let allowed = "the safe arm cannot be retired";
            return Err(Error::invalid("arm", &self.names[arm], allowed));
        }
        let d = self.dimension();
        let mut actions = self.actions.all_features().to_vec();
        actions.drain(arm * d..(arm + 1) * d);
        let mut names = self.names.clone();
        names.remove(arm);
        self.offer_named(&actions, names)
    }

    /// Takes up the names of a snapshot, once its actions are on offer.
    pub(super) fn restore_names(&mut self, names: Vec<String>) -> Result<(), Error> {
        let fits = names.is_empty() || names.len() == self.offered();
        if !fits {
            return Err(broken("`names` does not fit the actions on offer"));
        }
        self.names = names;
        Ok(())
    }

    fn offer_named(&mut self, actions: &[f64], names: Vec<String>) -> Result<(), Error> {
        self.offer(actions)?;
        self.names = names;
        Ok(())
    }

    fn check_named(&self, name: &str) -> Result<(), Error> {
        if !self.names.is_empty() {
            return Ok(());
        }
        let allowed = "the actions on offer have no names: offer another set instead";
        Err(Error::invalid("arm", name, allowed))
    }
}
