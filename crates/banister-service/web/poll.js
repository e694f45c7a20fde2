// Asks again every two seconds while the page is visible, and not at all while it is hidden.

const EVERY = 2000;
const SLOWEST = 5000;

// `task(signal)` is awaited, so requests never pile up. Returns `{ now(), stop() }`.
export function poll(task) {
  let timer = null,
    running = false,
    again = false,
    stopped = false,
    failures = 0;
  const abort = new AbortController();

  async function run() {
    clearTimeout(timer);
    timer = null;
    if (stopped || document.hidden) return;
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await task(abort.signal);
      failures = 0;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === undefined) console.error(error);
      failures++;
    } finally {
      running = false;
    }
    if (stopped) return;
    if (again) {
      again = false;
      run();
      return;
    }
    timer = setTimeout(run, Math.min(SLOWEST, EVERY * Math.max(1, failures)));
  }

  const wake = () => {
    if (!document.hidden) run();
  };
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", wake);
  run();
  return {
    now: run,
    stop() {
      stopped = true;
      clearTimeout(timer);
      abort.abort();
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
    },
  };
}
