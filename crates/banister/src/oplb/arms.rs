//! Actions with names, which can be added and retired.

use super::Oplb;
use crate::error::Error;

impl Oplb {
    /// Names of the actions on offer; empty if they were offered by their features alone.
    pub fn names(&self) -> &[String] {
        &self.evidence.names
    }

    /// Offers one more action beside those on offer, which need names too. Its number is returned.
    /// Unlike an arm of [`crate::Opb`] it costs nothing in confidence: the ellipsoids hold for every
    /// action there could be.
    pub fn add_arm(&mut self, name: &str, features: Option<&[f64]>) -> Result<usize, Error> {
        let (actions, names) = self.evidence.with_arm(name, features)?;
        self.offer_named(&actions, names)?;
        let arm = self.evidence.names.len() - 1;
        if let Some(fit) = &mut self.fit {
            fit.add_arm(arm);
        }
        Ok(arm)
    }

    /// Stops offering an action; those after it move up by one number. Late outcomes of it are
    /// taken by its features.
    pub fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        let (actions, names) = self.evidence.without_arm(arm)?;
        self.offer_named(&actions, names)?;
        if let Some(fit) = &mut self.fit {
            fit.remove_arm(arm);
        }
        Ok(())
    }

    fn offer_named(&mut self, actions: &[f64], names: Vec<String>) -> Result<(), Error> {
        self.offer(actions)?;
        self.evidence.names = names;
        Ok(())
    }
}
