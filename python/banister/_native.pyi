"""The native half of banister. See the classes and functions of `banister` itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self, disjoint_base

from ._agent import Alarm
from ._guardrail import RewardLike
from ._types import (
    ArmName,
    ContextLike,
    ContextsLike,
    CostsLike,
    Float,
    Int,
    Labelled,
    SegmentLike,
    SegmentsLike,
    Time,
)
from .client.types import Certificate
from .segments import SegmentCertificate

__version__: str

class _Random(Protocol):
    """A numpy Generator, or anything else with a `random` method."""

    def random(self) -> float: ...

@final
class LeaseHolder:
    """The newest lease of an experiment, and the exposures that wait. See `banister.client.Lease`."""
    def __new__(cls, experiment: str, safe: str, public_key: str | None, limit: int) -> Self: ...
    def accept(self, answer: bytes, sent: int) -> None: ...
    def decide(self, unit: str, segment: str, clock: int) -> tuple[str, str | None]: ...
    def decide_many(self, units: list[str], segment: str, clock: int) -> tuple[list[str], list[str | None]]: ...
    def left(self, clock: int) -> int: ...
    def waiting(self) -> int: ...
    def take_exposures(self) -> str: ...

@final
class Decision:
    """A decision: an action, its probability, the policy it was drawn from, and the certificate."""
    def __new__(cls, pickled: bytes) -> Self: ...
    @property
    def action(self) -> Any:
        """The action to play: its name, or its number where arms have no names."""
    @property
    def index(self) -> int:
        """The number of the action. Where the safe action was not among the actions offered, it comes
        after the last of them."""
    @property
    def probability(self) -> float:
        """The probability with which it was drawn: its propensity."""
    @property
    def is_safe(self) -> bool:
        """True if it is the safe action."""
    @property
    def scale(self) -> float:
        """Share of its length that the action is to be played at: 1 but for agents that play parts of
        actions, between them and a safe action whose features are all 0. What is played then has the
        features `scale * features`."""
    @property
    def features(self) -> NDArray[np.float64] | None:
        """The features of the action, where it has any."""
    @property
    def segment(self) -> SegmentCertificate | None:
        """The segment's own part of the certificate, with its name; None from agents that do not tell segments
        apart."""
    @property
    def policy(self) -> dict[Any, float]:
        """The policy as a dictionary from action to probability, without zeros."""
    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The policy as a vector, one probability per action."""
    @property
    def certificate(self) -> Certificate:
        """Proof that the policy keeps its guardrails, and a bound on its reward."""
    @property
    def alarm(self) -> Alarm | None:
        """The oldest unacknowledged alarm, or None."""
    @property
    def serial(self) -> int:
        """Its number among the decisions of its agent, from 1."""
    @property
    def agent_id(self) -> str:
        """The identity of the agent that made it: `agent.id`."""
    def to_dict(self) -> dict[str, Any]:
        """Returns everything as a dictionary of plain values, for logs. The policy is a list of pairs, without
        zeros."""
    def _repr_html_(self) -> str: ...

@final
class DecisionBatch:
    """Many decisions: arrays with one entry per decision."""
    def __new__(cls, pickled: bytes) -> Self: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> Decision: ...
    def __iter__(self) -> Iterator[Decision]: ...
    @property
    def indices(self) -> NDArray[np.int64]:
        """Numbers of the actions drawn."""
    @property
    def actions(self) -> list[Any]:
        """The actions drawn: names, or numbers where arms have no names."""
    @property
    def probability(self) -> NDArray[np.float64]:
        """The probabilities with which they were drawn."""
    @property
    def segments(self) -> list[str] | None:
        """Names of their segments; None from agents that do not tell segments apart."""
    @property
    def scale(self) -> NDArray[np.float64]:
        """Shares of their length that the actions are to be played at; see `Decision.scale`."""
    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The policies as rows, one probability per action."""
    def to_dict(self) -> dict[str, Any]:
        """All decisions as dictionaries of plain values; see `Decision.to_dict`."""
    def _repr_html_(self) -> str: ...

@final
class Fields:
    """Fields by name, as the core has them."""
    def __new__(cls, fields: Mapping[str, Mapping[str, Any]]) -> Self: ...
    @property
    def names(self) -> list[str]:
        """Names of the numbers of a vector."""
    @property
    def dimension(self) -> int:
        """Length of the vectors."""
    @property
    def norm(self) -> float:
        """Upper bound on the Euclidean length of every vector."""
    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The fields as declared."""
    def vector(self, row: object, argument: str) -> NDArray[np.float64]:
        """Returns the vector of a row."""
    def matrix(self, columns: Sequence[list[Any]], argument: str) -> NDArray[np.float64]:
        """Returns one vector per row, from one list per field in the order of their names."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@disjoint_base
class Agent:
    """An agent: decides, observes, learns. Make one with its class, e.g. `banister.Opb(...)`."""
    def __new__(cls, **kwargs: Any) -> Self: ...
    def decide(
        self,
        actions: ArrayLike | None = None,
        rng: _Random | None = None,
        *,
        context: ContextLike | None = None,
        segment: SegmentLike | None = None,
        time: Time | None = None,
    ) -> Decision:
        """Decides on an action."""
    def observe(
        self,
        action: Decision | ArmName,
        reward: Float,
        costs: Float | Sequence[Float] | NDArray[Any] | Mapping[str, Float] | Labelled | None = None,
        *,
        context: ContextLike | None = None,
        segment: SegmentLike | None = None,
        time: Time | None = None,
    ) -> None:
        """Observes an outcome: of a `Decision` (also of one long past), or of an arm by name or number."""
    def decide_batch(
        self,
        size: Int | None = None,
        actions: ArrayLike | None = None,
        rng: _Random | None = None,
        *,
        contexts: ContextsLike | None = None,
        segments: SegmentsLike | None = None,
        time: Time | None = None,
        _is_kept: bool = True,
    ) -> DecisionBatch:
        """Makes many decisions at once, without learning in between."""
    def observe_batch(
        self,
        actions: object = None,
        rewards: ArrayLike | None = None,
        costs: CostsLike | None = None,
        *,
        features: ArrayLike | None = None,
        contexts: ContextsLike | None = None,
        segments: SegmentsLike | None = None,
        _is_logged: bool = False,
    ) -> None:
        """Observes many outcomes at once: all of them, or none if one is refused."""
    def _policy_in(self, segment: SegmentLike) -> dict[Any, float]: ...
    def _segment_names(self, segments: SegmentsLike) -> list[str]: ...
    def _segments(self) -> list[dict[str, Any]]: ...
    @property
    def _segment_fields(self) -> list[str] | None: ...
    @property
    def alarms(self) -> list[Alarm]:
        """Unacknowledged alarms, the oldest first; empty for an agent that is not watched."""
    def acknowledge(self) -> None:
        """Clears the alarms, once a person has seen them: their tests start anew, and the safe action is not
        forced any more."""
    @property
    def assumptions(self) -> list[tuple[str, bool]]:
        """The assumptions that certificates rest on: pairs of a text, and True if a monitor watches it."""
    def evidence(self, guardrail: str | int) -> NDArray[np.float64]:
        """Returns the evidence of a breach of a guardrail over time: rows of outcomes watched and log10 of the
        evidence. An alarm is raised at −log10 of `alarm_delta`. Empty where no monitor watches it."""
    @property
    def id(self) -> str:
        """The identity of the agent, which its copies and snapshots keep: decisions have it too."""
    def add_arm(
        self,
        name: ArmName,
        features: ArrayLike | None = None,
        ranges: Mapping[str, ArrayLike] | None = None,
        weights: Mapping[str, Mapping[str, Float]] | None = None,
    ) -> int:
        """Offers a new arm, with its features if the agent is linear, its ranges where they are by arm (a dictionary by
        signal, `"reward"` or the name of a guardrail), and its weights where they are (by guardrail, then by signal).
        One that was retired is offered again, with all that is known of it. Returns its number."""
    def retire_arm(self, arm: ArmName) -> None:
        """Stops offering an arm, by name or number. Its late outcomes are still accepted."""
    def set_weights(self, arm: ArmName, weights: Mapping[str, Mapping[str, Float]]) -> None:
        """Sets other weights of an arm, by name or number: a dictionary by guardrail, then by signal. They count
        from the next decision on, and nothing is forgotten."""
    def forget_arm(self, arm: ArmName) -> None:
        """Forgets an arm, by name or number, that is known to have changed: what was learned of it, and outcomes of its
        decisions so far that come later."""
    def estimates(self, segment: SegmentLike | None = None) -> dict[str, Any]:
        """Returns the estimates of the arms, or the actions on offer: a dictionary of columns
        (`pandas.DataFrame(agent.estimates())`). `segment` (`Segmented`): where; one that was never
        seen has the pool's."""
    def _lifts(self) -> list[dict[str, Any]]: ...
    def _worth_left(self) -> dict[str, Any] | None: ...
    def settle(self, settled: bool = True) -> None:
        """Settles: plays the policy of `worth_left` from now on instead of exploring, as long as bounds in force
        certify it, else the one that is best at that time. It goes on learning and is watched. `settle(False)` explores
        again."""
    @property
    def is_settled(self) -> bool:
        """True if it has settled."""
    @property
    def arms(self) -> list[Any]:
        """All arms: their names, or their numbers where they have no names."""
    @property
    def context(self) -> int | None:
        """Length of the context that a decision brings; None for agents without."""
    @property
    def _fields(self) -> dict[str, dict[str, Any]] | None: ...
    @property
    def safe(self) -> Any:
        """The safe arm: its name or number."""
    @property
    def guardrails(self) -> list[str]:
        """Names of the guardrails."""
    @property
    def costs(self) -> list[str]:
        """Names of the costs that outcomes bring: the guardrails, or for weighted sums their signals."""
    @property
    def outcomes(self) -> int:
        """Number of outcomes taken."""
    @property
    def problem(self) -> dict[str, Any]:
        """The problem as declared: arms, safe arm, features or context, reward, guardrails, segments."""
    @property
    def config(self) -> dict[str, Any]:
        """The parameters, as in TOML."""
    def reset(self) -> None:
        """Forgets all outcomes: the agent is as it was made, but for its random draws, which do not repeat."""
    def to_json(self) -> str:
        """Returns the whole state as JSON, random stream included."""
    @staticmethod
    def _kind_of(snapshot: str) -> str: ...

@final
class Solution:
    """The policy of a round, with its proof."""
    @property
    def status(self) -> Literal["optimal", "budget", "infeasible"]:
        """ "optimal", "budget" (work ran out: a feasible policy with its proven gap) or "infeasible"."""
    @property
    def policy(self) -> dict[int, float]:
        """The policy as a dictionary from action to probability, without zeros."""
    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The policy as a vector, one probability per action."""
    @property
    def value(self) -> float:
        """The objective at the policy; NaN if infeasible."""
    @property
    def upper_bound(self) -> float:
        """Proven upper bound on the objective of every feasible policy."""
    @property
    def gap(self) -> float:
        """`upper_bound - value`."""
    @property
    def costs(self) -> NDArray[np.float64]:
        """The policy's cost per guardrail."""
    @property
    def prices(self) -> NDArray[np.float64]:
        """Shadow price per guardrail: what one more unit of its threshold would earn."""
    @property
    def nodes(self) -> int:
        """Steps it took."""

@final
class SolutionBatch:
    """The policies of many rounds: arrays with one entry, or row, per round."""
    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> Solution: ...
    def __iter__(self) -> Iterator[Solution]: ...
    @property
    def status(self) -> list[Literal["optimal", "budget", "infeasible"]]:
        """Status of each round."""
    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The policies as rows, one probability per action."""
    @property
    def value(self) -> NDArray[np.float64]:
        """The objectives at the policies; NaN where infeasible."""
    @property
    def upper_bound(self) -> NDArray[np.float64]:
        """Proven upper bounds on the objectives."""
    @property
    def gap(self) -> NDArray[np.float64]:
        """`upper_bound - value`."""
    @property
    def costs(self) -> NDArray[np.float64]:
        """The policies' costs, one column per guardrail."""
    @property
    def prices(self) -> NDArray[np.float64]:
        """Shadow prices, one column per guardrail."""

@final
class ResultTable:
    """A table of results. Anything that speaks the Arrow C data interface takes it as it is:
    `pyarrow.table(t)`, `polars.DataFrame(t)`."""
    def __new__(cls, pickled: bytes) -> Self: ...
    @property
    def names(self) -> list[str]:
        """Names of the columns."""
    def __len__(self) -> int: ...
    def columns(self) -> dict[str, Any]:
        """The columns as NumPy arrays (names as lists); what is unknown is NaN."""
    def to_csv(self) -> bytes:
        """The table as the command line writes it."""
    def to_parquet(self) -> bytes:
        """The table as a Parquet file, as the command line writes it."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Results:
    """Results of a simulation."""
    def __new__(cls, pickled: bytes) -> Self: ...
    def table(self, name: str) -> ResultTable:
        """A table by name: `curves` (statistics over runs at the checkpoints), `runs` or `alarms` (one row per run)."""
    @property
    def instances(self) -> list[dict[str, Any]]:
        """The instances: each with its name, arms, guardrails, optimum and agents."""

@final
class Experiment:
    """A checked experiment, ready to run."""
    def __new__(
        cls,
        environment: object,
        agents: list[Any],
        *,
        run: Mapping[str, Any],
        guardrails: object | None = None,
        reward: object | None = None,
        name: str = "simulation",
        folder: str = "",
        problem: dict[str, Any] | None = None,
    ) -> Self: ...
    @property
    def labels(self) -> list[str]:
        """Labels of the agents."""
    @property
    def resolved(self) -> dict[str, Any]:
        """The experiment as resolved, in the words of TOML."""
    @property
    def total_work(self) -> int:
        """The work of all runs together, about its nanoseconds on one core."""
    def plan(self, work_per_task: int) -> list[tuple[int, int, int]]:
        """Tasks of about this much work: an agent's place and its runs from, to."""
    def run_shard(self, agent: int, start: int, end: int, timing: bool) -> bytes:
        """Runs of one agent on one thread, as bytes for `gather`."""

@final
class Comparison:
    """A checked comparison, ready to run."""
    def __new__(
        cls,
        sources: list[Any],
        agents: list[Any] | None = None,
        *,
        settings: dict[str, Any],
        skip_unfit: bool = False,
        folder: str = "",
    ) -> Self: ...
    def run(
        self,
        threads: int | None = None,
        timing: bool = True,
        checkpoint: str | None = None,
        progress: Callable[[float, int], None] | None = None,
    ) -> Compared:
        """Plays it on all cores. `checkpoint` is a file that holds every finished run until all are;
        what it holds already is not played again. `progress` as for `run_experiments`."""

@final
class Compared:
    """Results of a comparison."""
    def __new__(cls, pickled: bytes) -> Self: ...
    @property
    def results(self) -> Results:
        """Curves and runs."""
    def table(self, name: str) -> ResultTable:
        """A table by name: `leaderboard` (one row per instance and agent, by promise), `pairs` (paired differences by
        instance), `overall` (those over all instances), `ranks` (mean ranks over instances), `traces` (every run at
        every checkpoint, with the values that were swept), `published` (published numbers beside ours) or `left_out`
        (agents that do not fit an instance)."""
    @property
    def points(self) -> list[dict[str, Any]]:
        """Points of a figure of regret against violation, one entry per instance and agent: the means and
        the ends of their intervals, where these are known."""

def curves_svg(results: Results, instance: int | None) -> str:
    """Draws regret, costs against their thresholds and reward over time as SVG: of all instances or of one."""

def render_png(svg: str, scale: float) -> bytes:
    """Draws an SVG of this module as PNG, at a number of pixels per unit."""

def safety_svg(compared: Compared, instance: int | None) -> str | None:
    """Draws regret and violation of every agent as SVG: on all instances or on one. None where no instance has
    both guardrails and known means."""

def _forked(in_child: bool) -> None: ...
def command_line(args: list[str]) -> int:
    """Runs a command line, the program's name first; returns its exit code."""

def gather(experiments: Sequence[Experiment], shards: Sequence[bytes]) -> Results:
    """The results that shards make together, in whatever order they come."""

def plan(
    experiment: Experiment,
    lift: float | None,
    traffic: float | None,
    threads: int | None,
    progress: Callable[[float, int], None] | None,
) -> tuple[dict[str, Any], str]:
    """Plans with the first agent of an experiment: the answer, and the figure as SVG."""

def read_toml(text: str) -> dict[str, Any]:
    """TOML text as a dictionary. Python 3.10 has no reader of its own."""

def table_order(
    declared: Mapping[str, Any], rows: int, horizon: int, seed: int, run: int
) -> tuple[list[int], list[int]]:
    """Rows of a table that a run's agents learn from beforehand, and those played: `declared` has `order`
    and `log`."""

def run_experiments(
    experiments: Sequence[Experiment],
    threads: int | None = None,
    timing: bool = True,
    progress: Callable[[float, int], None] | None = None,
) -> Results:
    """Runs experiments on all cores. `progress` is called with the share of the work done and the
    number of rounds."""

def agent_schema() -> dict[str, Any]:
    """The registry of agents as JSON Schema. Each kind says beside its keys what it promises, whether it
    takes features or segments, and what it cannot do without: a horizon, or a safe action at the origin."""

def guarantees() -> list[tuple[str, str]]:
    """Lists the guarantees of agents, the strongest first: each by its name and in words."""

def suites() -> list[tuple[str, str]]:
    """The suites by name, each with what it is for."""

@overload
def solve_lp(
    reward: Sequence[float],
    costs: Sequence[float] | Sequence[Sequence[float]],
    thresholds: float | Sequence[float],
) -> Solution:
    """Solves the policy LP: the distribution over actions with the largest reward whose costs keep their
    thresholds."""

@overload
def solve_lp(reward: ArrayLike, costs: ArrayLike, thresholds: ArrayLike) -> Any:
    """Solves the policy LP: the distribution over actions with the largest reward whose costs keep their
    thresholds."""

def solve_oplb(
    actions: ArrayLike,
    *,
    safe: int,
    safe_costs: ArrayLike,
    thresholds: ArrayLike,
    gram: ArrayLike,
    reward: Mapping[str, ArrayLike] | tuple[ArrayLike, ArrayLike],
    costs: Mapping[str, ArrayLike] | Sequence[Mapping[str, ArrayLike] | tuple[ArrayLike, ArrayLike]],
    solver: Literal["linearised", "exact"] = "linearised",
    relative_gap: float | None = None,
    max_work: int | None = None,
) -> Any:
    """Solves a round of OPLB given by its confidence sets, with the words of `banister solve`."""

def check_log(log: Any) -> None:
    """Refuses a log with anything in it that no question could use."""

def evaluate_log(
    log: Any,
    policy: int | NDArray[np.float64],
    *,
    model: NDArray[np.float64] | None,
    reward: RewardLike | None,
    guardrails: Sequence[Any],
    options: Mapping[str, object],
    by_segment: bool = False,
    safe: int | None = None,
    lift: str | None = None,
) -> Any:
    """Estimates the reward and every cost of a policy, and judges the guardrails."""

def direction_symbol(direction: str) -> str:
    """Returns the relation between an allowed signal and its threshold: "≤" or "≥"."""

def feature_dimension(agent: Agent) -> int | None:
    """Length of an agent's feature vectors; `None` for agents that take none."""

def replay_log(
    log: Any,
    agent: Agent,
    *,
    options: Mapping[str, object],
    progress: Callable[[float, int], None] | None = None,
) -> dict[str, Any]:
    """Replays a log through an agent. `progress` is called with the share and the number of rows read."""

def warm_start_agent(agent: Agent, log: Any, frequencies: str) -> list[str]:
    """Feeds every outcome of a log to an agent: all, or none if one is refused. Returns what it cannot teach."""
