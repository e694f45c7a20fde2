//! Arms: added, retired, numbered.

use super::OplbPerArm;
use super::arm::ArmSets;
use crate::error::Error;
use crate::interval::Budget;
use crate::problem::check_name;

impl OplbPerArm {
    /// Names of all arms there ever were.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds an arm, of which nothing is known in any context, or offers one again that was retired. Its number is
    /// returned.
    pub fn add_arm(&mut self, name: &str) -> Result<usize, Error> {
        let known = self.names.iter().position(|own| own == name);
        if let Some(arm) = known.filter(|&arm| !self.arms[arm].offered) {
            self.arms[arm].offered = true;
            self.place_arms();
            return Ok(arm);
        }
        check_name(&self.names, name, "arm")?;
        self.push_arm(name.to_string());
        self.place_arms();
        Ok(self.names.len() - 1)
    }

    /// Stops offering an arm; its number stays its own, and late outcomes of it are taken.
    pub fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.check_arm(arm)?;
        if arm == self.problem.declared.safe {
            let allowed = "the safe arm cannot be retired";
            return Err(Error::invalid("arm", &self.names[arm], allowed));
        }
        self.arms[arm].offered = false;
        self.place_arms();
        Ok(())
    }

    pub(super) fn push_arm(&mut self, name: String) {
        let number = self.names.len();
        let arm = ArmSets::new(self.frame(), number, self.comparisons(number));
        let mut row = vec![number as f64];
        row.extend_from_slice(self.context.as_deref().unwrap_or(&vec![0.0; self.numbers]));
        self.rows.push(row);
        self.names.push(name);
        self.arms.push(arm);
    }

    /// Gives every arm on offer a column.
    pub(super) fn place_arms(&mut self) {
        self.columns.clear();
        let offered = (0..self.arms.len()).filter(|&arm| self.arms[arm].offered);
        self.columns.extend(offered);
        let safe = self.problem.declared.safe;
        let column = self.columns.iter().position(|&arm| arm == safe);
        self.bounds.safe = column.unwrap_or(0);
        self.bounds.resize(self.columns.len());
        self.planner.reset(self.columns.len());
    }

    /// Numbers an arm, if it has no number yet: before its first outcome.
    pub(super) fn number(&mut self, arm: usize) {
        let sets = self.sets_of(arm);
        for side in 0..2 {
            if sets[side] > 0 && !self.arms[arm].places[side].is_given() {
                self.arms[arm].places[side] = self.budgets[side].next();
            }
        }
        self.level(arm);
    }

    /// Gives an arm the levels of its places: the test of its model has that of the reward's.
    pub(super) fn level(&mut self, arm: usize) {
        let sets = self.sets_of(arm);
        let fit_level = self.checked.fit_level(self.monitor.epoch());
        let fits = Budget::new(fit_level, self.problem.declared.arms.len());
        let own = &mut self.arms[arm];
        if own.places[0].is_given()
            && let Some(fit) = &mut own.fit
        {
            fit.set_level(fits.level(own.places[0]));
        }
        for side in 0..2 {
            if own.places[side].is_given() {
                own.log_levels[side] = self.budgets[side].log_level(own.places[side], sets[side]);
            }
        }
    }

    /// Confidence sets of an arm on the side of rewards and of costs: a known safe cost needs none.
    fn sets_of(&self, arm: usize) -> [usize; 2] {
        let is_safe = arm == self.problem.declared.safe;
        let guardrails = self.problem.guardrails.iter();
        let unknown = guardrails.filter(|g| !(is_safe && g.safe_cost.is_some()));
        [1, unknown.count()]
    }

    pub(super) fn check_arm(&self, arm: usize) -> Result<(), Error> {
        if arm < self.names.len() {
            return Ok(());
        }
        Err(Error::NoSuchArm {
            arm,
            last: self.names.len() - 1,
        })
    }
}
