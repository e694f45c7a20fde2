//! The service under load: wrk from a second process, on loopback, bounded in time.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Outcome<T = ()> = Result<T, String>;

const CONNECTIONS: &str = "64";
const SECONDS: &str = "5";
const ROUNDS: usize = 4;
/// Callers that never read; as many descriptors are needed.
const STALLED: usize = 10_000;
/// Events of the log that a cold start is timed with.
const EVENTS: usize = 1_000_000;

/// Measures a release build with the scripts of a folder, and prints what it finds.
pub fn run(binary: &Path, scripts: &Path) -> Outcome {
    let place = std::env::temp_dir().join(format!("banister-load-{}", std::process::id()));
    fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let done = measure(binary, scripts, &place);
    // What is left of a measurement is of no use to anybody.
    let _ = fs::remove_dir_all(&place);
    done
}

fn measure(binary: &Path, scripts: &Path, place: &Path) -> Outcome {
    // A build of another commit, to see what a change costs.
    if let Some(other) = std::env::var_os("BANISTER_BESIDE") {
        return beside([binary, Path::new(&other)], scripts, place);
    }
    println!("{CONNECTIONS} connections, {SECONDS} s each, on the cores that the service has too");
    let service = Service::start(binary, place)?;
    service.create(&format!(
        r#"{{"name":"small","arms":["control","bold","green"],"safe":"control",{GUARDRAIL}}}"#
    ))?;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        // One after the other, so that a busy moment of the machine meets both.
        let empty = service.wrk("/healthz", None)?;
        let decide = service.wrk("", Some(&scripts.join("decide.lua")))?;
        ratios.push(decide.per_second / empty.per_second);
        println!(
            "  empty reply {:>7.0}/s p99 {:>6.2} ms · durable decisions {:>7.0}/s p99 {:>6.2} ms · {:.2} of it",
            empty.per_second,
            empty.p99,
            decide.per_second,
            decide.p99,
            decide.per_second / empty.per_second
        );
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "  best ratio {:.2}, median {:.2}",
        ratios[ROUNDS - 1],
        ratios[ROUNDS / 2]
    );

    for i in 1..=10 {
        let arms: Vec<String> = (0..1000).map(|a| format!("\"arm-{a}\"")).collect();
        service.create(&format!(
            r#"{{"name":"wide-{i}","arms":[{}],"safe":"arm-0",{GUARDRAIL}}}"#,
            arms.join(",")
        ))?;
    }
    let mut safe = vec!["0"; 64];
    safe[0] = "0.5";
    service.create(&format!(
        r#"{{"name":"linear","dimension":64,"safe_action":[{}],"agent":{{"kind":"oplb","parameter_norm":1}},{GUARDRAIL}}}"#,
        safe.join(",")
    ))?;
    println!(
        "ten experiments of 1000 arms and one of d = 64, decisions and outcomes half and half"
    );
    for round in 0..ROUNDS {
        let all = service.wrk("", Some(&scripts.join("traffic.lua")))?;
        println!(
            "  {} {:>7.0}/s p50 {:>6.2} ms p99 {:>6.2} ms, refused {}",
            if round == 0 {
                "first seconds"
            } else {
                "later        "
            },
            all.per_second,
            all.p50,
            all.p99,
            all.refused
        );
    }
    isolation(&service, scripts)?;
    println!("cold start");
    service.fill("small", EVENTS)?;
    service.kill();
    let begun = Instant::now();
    let service = Service::start(binary, place)?;
    let events = service.last_event()?;
    println!(
        "  {events} events, killed without warning: ready again after {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Durable decisions of two builds in turns, so that a busy moment of the machine meets both.
fn beside(builds: [&Path; 2], scripts: &Path, place: &Path) -> Outcome {
    let mut services = Vec::new();
    for (i, build) in builds.into_iter().enumerate() {
        let own = place.join(i.to_string());
        fs::create_dir_all(&own).map_err(|e| format!("{}: {e}", own.display()))?;
        let service = Service::start(build, &own)?;
        service.create(&format!(
            r#"{{"name":"small","arms":["control","bold","green"],"safe":"control",{GUARDRAIL}}}"#
        ))?;
        services.push(service);
    }
    let decide = scripts.join("decide.lua");
    for (connections, what) in [(CONNECTIONS, "64 connections"), ("1", "one connection")] {
        let (mut rates, mut tails) = (Vec::new(), Vec::new());
        for round in 0..4 * ROUNDS {
            let mut seen = Vec::new();
            for turn in 0..2 {
                let i = (round + turn) % 2;
                seen.push((i, services[i].load(connections, "", Some(&decide))?));
            }
            seen.sort_by_key(|one| one.0);
            let [this, other] = [&seen[0].1, &seen[1].1];
            rates.push(this.per_second / other.per_second);
            tails.push(this.p99 / other.p99);
            println!(
                "  {what}: {:>7.0}/s p99 {:>6.2} ms, the other {:>7.0}/s p99 {:>6.2} ms",
                this.per_second, this.p99, other.per_second, other.p99
            );
        }
        for (name, mut ratios) in [("durable decisions", rates), ("p99", tails)] {
            ratios.sort_by(f64::total_cmp);
            let n = ratios.len();
            println!(
                "  {what}, {name}: {:.3} of the other's in the median of {n} (middle half {:.3} to {:.3})",
                ratios[n / 2],
                ratios[n / 4],
                ratios[3 * n / 4]
            );
        }
    }
    Ok(())
}

/// Time of one experiment's decisions while others are heavy, or listed by many.
fn isolation(service: &Service, scripts: &Path) -> Outcome {
    let mut safe = vec!["0"; 256];
    safe[0] = "1";
    service.create(&format!(
        r#"{{"name":"heavy","dimension":256,"safe_action":[{}],"agent":{{"kind":"oplb","parameter_norm":1}},{GUARDRAIL}}}"#,
        safe.join(",")
    ))?;
    for i in 0..1000 {
        service.create(&format!(
            r#"{{"name":"listed-{i}","arms":["control","bold"],"safe":"control",{GUARDRAIL}}}"#
        ))?;
    }
    println!("decisions of one experiment, one at a time, while others are busy");
    let decide = scripts.join("decide.lua");
    let plain = || service.load("1", "", Some(&decide));
    let alone = plain()?;
    println!("  alone p50 {:.2} ms p99 {:.2} ms", alone.p50, alone.p99);
    let heavy = scripts.join("heavy.lua");
    let busy: [(&str, &str, &str, Option<&Path>); 2] = [
        ("12 connections deciding at d = 256", "12", "", Some(&heavy)),
        (
            "32 connections listing 1000 experiments",
            "32",
            "/v1/experiments?limit=1000",
            None,
        ),
    ];
    for (what, connections, path, script) in busy {
        let (beside, others) = std::thread::scope(|scope| {
            let others = scope.spawn(|| service.load(connections, path, script));
            let beside = plain();
            (beside, others.join())
        });
        let beside = beside?;
        let others = others.map_err(|_| "wrk's thread broke off")??;
        println!(
            "  {what} ({:.0}/s): p50 {:.2} ms p99 {:.2} ms, {:.1} times alone",
            others.per_second,
            beside.p50,
            beside.p99,
            beside.p50 / alone.p50
        );
    }
    let (beside, stalled) = std::thread::scope(|scope| {
        let stalled = scope.spawn(|| service.stall(STALLED));
        let beside = plain();
        (beside, stalled.join())
    });
    let stalled = stalled.map_err(|_| "a thread broke off")?;
    for (when, beside) in [("as they come", beside?), ("once they are there", plain()?)] {
        println!(
            "  {} callers that never read, {when}: p50 {:.2} ms p99 {:.2} ms, {:.1} times alone at p99",
            stalled.len(),
            beside.p50,
            beside.p99,
            beside.p99 / alone.p99
        );
    }
    println!("  memory at most so far: {}", service.memory()?);
    Ok(())
}

const GUARDRAIL: &str = r#""guardrails":[{"name":"cost","at_most":0.2,"safe_cost":0.05}]"#;

/// Measurements of wrk.
struct Seen {
    per_second: f64,
    p50: f64,
    p99: f64,
    refused: u64,
}

/// A running service.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    /// Starts it, and waits until it is ready.
    fn start(binary: &Path, place: &Path) -> Outcome<Self> {
        let mut child = Command::new(binary)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "error",
                "--data-dir",
            ])
            .arg(place)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", binary.display()))?;
        let out = child.stdout.take().ok_or("the service has no output")?;
        let address = BufReader::new(out)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                Some(
                    line.split_once("http://")?
                        .1
                        .trim_end_matches('/')
                        .to_string(),
                )
            })
            .ok_or("the service did not start")?;
        let service = Self { child, address };
        let begun = Instant::now();
        while service.ask("GET", "/readyz", "")?.0 != 200 {
            if begun.elapsed() > Duration::from_secs(60) {
                return Err("the service did not become ready".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(service)
    }

    /// Most memory that it ever had.
    fn memory(&self) -> Outcome<String> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        Ok(most.unwrap_or("not known").trim().to_string())
    }

    fn kill(mut self) {
        // SIGKILL: it has no time for snapshots.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn create(&self, declaration: &str) -> Outcome {
        match self.ask("POST", "/v1/experiments", declaration)? {
            (201, _) => Ok(()),
            (status, body) => Err(format!("creating an experiment: {status} {body}")),
        }
    }

    /// Writes decisions and outcomes in batches until the log has so many events.
    fn fill(&self, name: &str, events: usize) -> Outcome {
        let mut next = 0;
        while (self.last_event()? as usize) < events {
            let mut decisions = String::new();
            let mut outcomes = String::new();
            for i in 0..1000 {
                let comma = if i == 0 { "" } else { "," };
                let id = format!("fill-{next}");
                let _ = write!(decisions, r#"{comma}{{"id":"{id}"}}"#);
                let (reward, cost) = (next % 3 % 2, usize::from(next % 10 == 0));
                let _ = write!(
                    outcomes,
                    r#"{comma}{{"decision":"{id}","reward":{reward},"costs":{{"cost":{cost}}}}}"#
                );
                next += 1;
            }
            for (what, list) in [("decisions", decisions), ("outcomes", outcomes)] {
                let path = format!("/v1/experiments/{name}/{what}:batch");
                let (status, body) =
                    self.ask("POST", &path, &format!(r#"{{"{what}":[{list}]}}"#))?;
                if status != 200 {
                    return Err(format!("{path}: {status} {body}"));
                }
            }
        }
        Ok(())
    }

    fn last_event(&self) -> Outcome<u64> {
        let (_, metrics) = self.ask("GET", "/metrics", "")?;
        metrics
            .lines()
            .find_map(|line| line.strip_prefix("banister_log_number ")?.parse().ok())
            .ok_or_else(|| "the metrics do not say how long the log is".into())
    }

    /// Opens connections that send requests for the page, one after another, and read nothing.
    fn stall(&self, count: usize) -> Vec<TcpStream> {
        let requests = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(20);
        let open = || -> std::io::Result<TcpStream> {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.write_all(requests.as_bytes())?;
            Ok(stream)
        };
        // Some are closed before they have said everything; that is what is tried.
        (0..count).filter_map(|_| open().ok()).collect()
    }

    fn wrk(&self, path: &str, script: Option<&Path>) -> Outcome<Seen> {
        self.load(CONNECTIONS, path, script)
    }

    fn load(&self, connections: &str, path: &str, script: Option<&Path>) -> Outcome<Seen> {
        let mut command = Command::new("wrk");
        command.args(["-t1", "-c", connections, "-d", SECONDS, "--latency"]);
        if let Some(script) = script {
            command.arg("-s").arg(script);
        }
        let output = command
            .arg(format!("http://{}{path}", self.address))
            .output()
            .map_err(|e| format!("wrk: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let after = |label: &str| {
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(label))?;
            Some(line.trim_start().strip_prefix(label)?.trim().to_string())
        };
        let time = |label: &str| after(label).and_then(|value| milliseconds(&value));
        let rate = after("Requests/sec:").and_then(|value| value.parse().ok());
        let refused = after("Non-2xx or 3xx responses:").and_then(|value| value.parse().ok());
        match (rate, time("50%"), time("99%")) {
            (Some(per_second), Some(p50), Some(p99)) => Ok(Seen {
                per_second,
                p50,
                p99,
                refused: refused.unwrap_or(0),
            }),
            _ => Err(format!("wrk said:\n{text}")),
        }
    }

    /// One request on a connection of its own.
    fn ask(&self, method: &str, path: &str, body: &str) -> Outcome<(u16, String)> {
        let answer = (|| {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            write!(
                stream,
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok::<_, std::io::Error>(text)
        })();
        let answer = answer.map_err(|e| format!("{method} {path}: {e}"))?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Ok((status.unwrap_or(0), body.to_string()))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// wrk's way of writing times.
fn milliseconds(text: &str) -> Option<f64> {
    for (unit, scale) in [("us", 1e-3), ("ms", 1.0), ("s", 1e3)] {
        if let Some(number) = text.strip_suffix(unit)
            && let Ok(number) = number.parse::<f64>()
        {
            return Some(number * scale);
        }
    }
    None
}
