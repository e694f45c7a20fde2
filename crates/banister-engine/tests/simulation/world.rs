//! Processes, an operator, and the scheduler that lets one of them, or a caller, act at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::super::{Engine, Monitor, Options};
use super::callers::{Plan, plan};
use super::connection::{Connection, Process, SetsKnown};
use super::database::{Bug, Shared};
use super::ledger::{Ledger, check};
use super::network::{Mailbox, Message, Request};
use crate::state::{EngineState, ExperimentStatus, Forgets, PLANTED};
use crate::store::{Snapshot, Span, Store};

/// Steps of a world before everything is mended.
const STEPS: [usize; 3] = [60, 120, 300];
const DAY: f64 = 86_400.0;

#[derive(Default)]
pub struct Running {
    pub engine: Option<Engine>,
    /// True if the operator accepted the clock, which was right and has not moved since.
    pub is_accepted: bool,
}

/// Numbers of a world, or of many.
#[derive(Debug, Default, Clone)]
pub struct Numbers {
    pub events: u64,
    pub commits: u64,
    pub answers: u64,
    pub refusals: u64,
    pub restarts: u64,
    pub clock_sets: u64,
    pub alarms: u64,
    /// Decisions for another action than the safe one.
    pub explored: u64,
    pub expired: u64,
    /// Decisions that a budget refused, or forced to be safe.
    pub exhausted: u64,
    pub faults: BTreeMap<&'static str, u64>,
}

struct Quiet;

impl Monitor for Quiet {
    fn committed(&self, _: usize, _: f64) {}
    fn follows(&self, _: u64, _: u64) {}
    fn clock(&self, _: f64) {}
    fn outage(&self, _: Option<&str>) {}
}

/// Faults that a world may have.
pub struct Temper {
    pub rate: f64,
    pub kills: bool,
    pub clocks: bool,
    pub networks: bool,
    pub snapshots: bool,
    pub snapshot_every: u64,
}

pub struct World {
    pub rng: ChaCha12Rng,
    pub server: Shared,
    pub processes: Vec<Running>,
    pub plans: Vec<Plan>,
    pub inbox: Vec<Message>,
    pub mailbox: Mailbox,
    /// Requests for decisions that were sent, to be sent again.
    pub sent: Vec<Message>,
    pub ledger: Ledger,
    pub temper: Temper,
    pub is_over: bool,
    pub next_id: u64,
    pub numbers: Numbers,
}

/// Plays one world; an error names the invariant that failed.
pub fn run(seed: u64, bug: Option<Bug>, traced: bool) -> (Result<Numbers, String>, Vec<String>) {
    let mut world = World::new(seed, bug, traced);
    let forgets = match bug {
        Some(Bug::BatchForgetsReservations) => Some(Forgets::Batch),
        Some(Bug::SnapshotForgetsReservations) => Some(Forgets::Snapshot),
        _ => None,
    };
    PLANTED.set(forgets);
    let lived = world.live();
    PLANTED.set(None);
    let mut server = world.server.lock();
    let mut numbers = world.numbers.clone();
    numbers.events = server.records.len() as u64;
    numbers.commits = server.commits;
    numbers.faults = server.faults.clone();
    (
        lived.map(|()| numbers),
        server.trace.take().unwrap_or_default(),
    )
}

impl World {
    fn new(seed: u64, bug: Option<Bug>, traced: bool) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let count = *[1, 2, 2, 3].choose(&mut rng).unwrap_or(&1);
        let temper = Temper {
            rate: *[0.0, 0.01, 0.03, 0.1].choose(&mut rng).unwrap_or(&0.0),
            kills: rng.random(),
            clocks: rng.random_bool(0.4),
            networks: rng.random(),
            snapshots: rng.random(),
            snapshot_every: *[1, 5, 30, 20_000].choose(&mut rng).unwrap_or(&1),
        };
        let server = Shared::new(rng.random(), count, bug, traced);
        let plans = (0..rng.random_range(1..4))
            .map(|i| plan(i, &mut rng))
            .collect();
        Self {
            server,
            processes: (0..count).map(|_| Running::default()).collect(),
            plans,
            inbox: Vec::new(),
            mailbox: Mailbox::default(),
            sent: Vec::new(),
            ledger: Ledger::default(),
            temper,
            is_over: false,
            next_id: 0,
            numbers: Numbers::default(),
            rng,
        }
    }

    fn live(&mut self) -> Result<(), String> {
        for process in 0..self.processes.len() {
            self.start(process, false)?;
        }
        {
            let mut server = self.server.lock();
            server.rate = self.temper.rate;
            server.may_kill = self.temper.kills;
        }
        let steps = *STEPS.choose(&mut self.rng).unwrap_or(&1);
        for step in 0..steps {
            self.step()?;
            if step % 50 == 49 {
                let mut fold = self.ledger.audit(&self.server.lock())?;
                self.compare_running(&mut fold)?;
            }
        }
        self.finish()
    }

    fn step(&mut self) -> Result<(), String> {
        let process = self.rng.random_range(0..self.processes.len());
        match self.rng.random_range(0..100) {
            0..30 => self.ask(),
            30..68 => drop(self.deliver(process)?),
            68..76 => self.catch_up(process)?,
            76..84 => self.send(0, Request::Ttls),
            84..91 => {
                let most = *[0.1, 2.0, 20.0, 200.0]
                    .choose(&mut self.rng)
                    .unwrap_or(&1.0);
                let time = self.rng.random_range(0.0..most);
                self.server.lock().pass(Duration::from_secs_f64(time));
            }
            _ => self.disturb(process)?,
        }
        Ok(())
    }

    /// Lets a process do something, and buries it if it dies.
    pub fn act(&mut self, process: usize, act: impl FnOnce(&mut Engine)) -> Result<(), String> {
        let running = &mut self.processes[process];
        let Some(engine) = &mut running.engine else {
            return Ok(());
        };
        act(engine);
        if let Some(reason) = &engine.outage {
            let never = [
                "defect",
                "cannot be read",
                "goes from",
                "is taken",
                "has an outcome",
            ];
            check!(
                !never.iter().any(|n| reason.contains(n)),
                "process {process}: {reason}"
            );
            check!(
                !(running.is_accepted && reason.contains("--accept-clock")),
                "process {process} was told to accept the clock: {reason}"
            );
        }
        if self.server.lock().dead[process] {
            running.engine = None;
        }
        Ok(())
    }

    fn catch_up(&mut self, process: usize) -> Result<(), String> {
        self.act(process, Engine::catch_up)?;
        let outage = self.processes[process]
            .engine
            .as_ref()
            .and_then(|e| e.outage.clone());
        let clock_is_right = self.server.lock().clock_error == 0.0;
        // The operator reads the reason, now and then.
        if outage.is_some_and(|reason| reason.contains("--accept-clock"))
            && self.rng.random_bool(if clock_is_right { 0.8 } else { 0.2 })
        {
            self.start(process, true)?;
        }
        Ok(())
    }

    /// Starts a process, or ends it and starts another in its place.
    fn start(&mut self, process: usize, accept_clock: bool) -> Result<(), String> {
        self.numbers.restarts += 1;
        self.server
            .note(|| format!("process {process} starts, accept_clock: {accept_clock}"));
        let platform = Process {
            server: self.server.clone(),
            number: process,
            up: Duration::from_secs(self.rng.random_range(0..1_000_000)),
            sets_known: SetsKnown::default(),
        };
        let options = Options {
            snapshot_every: self.temper.snapshot_every,
            accept_clock,
            ..Options::default()
        };
        let mut server = self.server.lock();
        server.dead[process] = false;
        let is_accepted = accept_clock && server.clock_error == 0.0;
        drop(server);
        let rng = ChaCha12Rng::seed_from_u64(self.rng.random());
        self.processes[process] = Running {
            engine: Some(Engine::new(
                Box::new(platform),
                options,
                Box::new(Quiet),
                rng,
            )),
            is_accepted,
        };
        self.act(process, Engine::catch_up)
    }

    /// Something goes wrong outside of every operation, or is mended.
    fn disturb(&mut self, process: usize) -> Result<(), String> {
        if self.processes[process].engine.is_none() {
            return self.start(process, false);
        }
        let time = Duration::from_secs_f64(self.rng.random_range(0.0..10.0));
        if self.temper.clocks && self.rng.random_bool(0.4) {
            self.move_clock();
            return Ok(());
        }
        match self.rng.random_range(0..6) {
            0 if self.temper.kills => {
                self.server.lock().kill(process);
                self.processes[process].engine = None;
            }
            1 => {
                self.act(process, Engine::snapshot_all)?;
                self.start(process, false)?;
            }
            2 if self.temper.rate > 0.0 => self.server.lock().fill_disk(time),
            3 if self.temper.networks => {
                let mut server = self.server.lock();
                server.cut_off[process] = server.time + time;
                server.fault("cut off");
            }
            4 | 5 if self.temper.snapshots => self.spoil_snapshot(),
            _ => {}
        }
        Ok(())
    }

    fn move_clock(&mut self) {
        let jumps = [0.5, 30.0, 300.0, 3600.0, 30.0 * DAY, 3652.0 * DAY];
        let jump = *jumps.choose(&mut self.rng).unwrap_or(&0.5);
        let mut server = self.server.lock();
        server.clock_error = match self.rng.random_range(0..4) {
            0 => jump,
            1 => -jump,
            _ => 0.0,
        };
        server.fault("clock moved");
        let error = server.clock_error;
        server.note(|| format!("the clock is {error} s off"));
        self.ledger.jumps.push(server.time);
        self.processes
            .iter_mut()
            .for_each(|p| p.is_accepted = false);
    }

    fn spoil_snapshot(&mut self) {
        let mut server = self.server.lock();
        let keys: Vec<u64> = server.snapshots.keys().copied().collect();
        let Some(key) = keys.choose(&mut self.rng) else {
            return;
        };
        match self.rng.random_range(0..4) {
            0 => {
                server.fault("snapshots lost");
                server.snapshots.clear();
            }
            1 => {
                server.fault("a snapshot lost");
                server.snapshots.remove(key);
            }
            2 => {
                server.fault("snapshot damaged");
                if let Some(Snapshot { body, .. }) = server.snapshots.get_mut(key) {
                    let place = self.rng.random_range(0..body.len());
                    body[place] ^= 1 << self.rng.random_range(0..8);
                }
            }
            _ => {
                server.fault("older snapshot");
                let past = server
                    .past_snapshots
                    .iter()
                    .filter(|s| s.experiment == *key);
                let past: Vec<Snapshot> = past.cloned().collect();
                if let Some(older) = past.choose(&mut self.rng) {
                    server.snapshots.insert(*key, older.clone());
                }
            }
        }
    }

    /// Everything is mended: all become available, callers get their answers, times to live end, and all
    /// ways of folding the log agree.
    fn finish(&mut self) -> Result<(), String> {
        self.is_over = true;
        {
            let mut server = self.server.lock();
            server.mend();
            server.note(|| "everything is mended".into());
            if server.clock_error != 0.0 {
                server.clock_error = 0.0;
                self.ledger.jumps.push(server.time);
            }
        }
        for process in 0..self.processes.len() {
            self.recover(process)?;
        }
        for _ in 0..60 {
            self.server.lock().pass(Duration::from_secs(10));
            for process in 0..self.processes.len() {
                // Some ask again at once; not for ever.
                let mut turns = 0..100;
                while turns.next().is_some() && self.deliver(process)? {}
                self.recover(process)?;
            }
            for process in 0..self.processes.len() {
                self.act(process, Engine::catch_up)?;
                let due = self.server.lock().time;
                self.inbox.push(Message {
                    experiment: 0,
                    request: Request::Ttls,
                    process,
                    due,
                });
            }
        }
        self.compare()
    }

    /// The operator does what the process asks for.
    fn recover(&mut self, process: usize) -> Result<(), String> {
        if self.processes[process].engine.is_none() {
            self.start(process, false)?;
        }
        let mut reason = String::new();
        for accept in [false, false, true, false] {
            if accept {
                self.start(process, true)?;
            }
            self.act(process, Engine::catch_up)?;
            let engine = self.processes[process].engine.as_ref();
            match engine.and_then(|engine| engine.outage.clone()) {
                None => return Ok(()),
                Some(outage) => reason = outage,
            }
        }
        Err(format!(
            "process {process} does not become available: {reason}"
        ))
    }

    fn compare(&mut self) -> Result<(), String> {
        let mut fold = self.ledger.audit(&self.server.lock())?;
        let left = self
            .inbox
            .iter()
            .filter(|m| !matches!(m.request, Request::Ttls))
            .count();
        check!(
            left == 0,
            "{left} messages were never answered: {:?}",
            self.inbox
        );
        self.numbers.clock_sets += fold.clock_sets().count() as u64;
        for experiment in fold.experiments() {
            self.numbers.alarms += experiment.alarms.len() as u64;
            let is_over = experiment.status == ExperimentStatus::Archived;
            if is_over || experiment.checked.declaration.ttl_seconds.is_none() {
                continue;
            }
            let span = Span {
                before: fold.number + 1,
                ..Span::after(experiment.key, 0, 10)
            };
            let open = Connection::open(&self.server, 0, SetsKnown::default())
                .and_then(|mut reader| reader.overdue(&span));
            let open = open.map_err(|e| e.to_string())?;
            check!(open.is_empty(), "{open:?} never expired");
        }
        for process in 0..self.processes.len() {
            self.agrees(process, "as it ran", &mut fold)?;
            // From whatever snapshots there are, and from those of a proper end.
            self.start(process, false)?;
            self.agrees(process, "from snapshots", &mut fold)?;
            self.act(process, Engine::snapshot_all)?;
            self.start(process, false)?;
            self.agrees(process, "after a proper end", &mut fold)?;
        }
        Ok(())
    }

    /// Processes that have folded the whole log agree with it.
    fn compare_running(&mut self, fold: &mut EngineState) -> Result<(), String> {
        for (process, running) in self.processes.iter_mut().enumerate() {
            let state = running.engine.as_mut().and_then(|e| e.state.as_mut());
            if let Some(state) = state.filter(|state| state.number == fold.number) {
                check_equal(&format!("process {process}, in between"), state, fold)?;
            }
        }
        Ok(())
    }

    /// A process has folded the whole log, and agrees with it.
    fn agrees(&mut self, process: usize, how: &str, fold: &mut EngineState) -> Result<(), String> {
        self.act(process, Engine::catch_up)?;
        let engine = self.processes[process].engine.as_mut();
        let state = engine.and_then(|engine| engine.state.as_mut());
        let state = state.ok_or("a process has no state")?;
        check_equal(&format!("process {process}, {how}"), state, fold)
    }
}

fn check_equal(who: &str, state: &mut EngineState, fold: &mut EngineState) -> Result<(), String> {
    let differs = |what: &str| format!("{who}: another {what} than the log");
    check!(state.number == fold.number, "{}", differs("last event"));
    check!(state.time == fold.time, "{}", differs("time"));
    check!(
        state.clock_sets() == fold.clock_sets(),
        "{}",
        differs("clock")
    );
    let digests = |state: &mut EngineState| -> Result<Vec<String>, String> {
        let each = state.experiments_mut().map(|own| own.digest());
        each.collect::<Result<_, _>>().map_err(|e| e.to_string())
    };
    check!(
        digests(state)? == digests(fold)?,
        "{}",
        differs("learned state")
    );
    Ok(())
}
