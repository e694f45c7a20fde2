"""Made from the registry by `python -m banister._stubs`."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._agent import Agent
from ._features import Features
from ._guardrail import GuardrailLike, RewardLike
from ._types import ArmName, ArmsLike, Float, Int
from .segments import SegmentedAgent

__all__ = ["SOps", "SColts", "MaOps", "Doslb", "RColts", "LinConTs", "LinConKlUcb", "PessimisticOptimistic", "ConservativeUcb", "UcbBwk", "PrimalDualBwk", "LagrangeBwk", "Always", "Ucb1", "KlUcb", "Thompson", "HplcLucb", "HpUcb", "SafeLts", "Roful", "GenOp", "SafeLucb", "LinSColts", "LinRColts", "ConservativeLinUcb", "LinUcb", "LinTs"]

class SOps(Agent):
    """S-OPS: K arms, and policies that keep every guardrail in every round with probability 1 − `delta`: mirror descent among those that may, mixed with the safe arm as far as that needs.

    Promise: safe in every round (`guarantee` is "every_round").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        exploration: γ, added to the probabilities that losses are divided by; by default η.
        horizon: T: the number of rounds that the learning rate is for; `omd` needs it or a
            `learning_rate`.
        label: Name in results; by default `s_ops`.
        learning_rate: η of mirror descent; by default √(ln(32mKT/δ)/(2KT)).
        update: Choice of the policy that is then made safe: `omd`, the default, is the paper's
            mirror descent; `optimistic` is LP(U; l), for rewards with fixed means.
            "omd": Online mirror descent on estimated losses, as in the paper: for rewards that
                may change at will.
            "optimistic": LP(U; l), for rewards with fixed means: the doubly optimistic policy.

    Example:
        >>> import banister
        >>> agent = banister.rivals.SOps(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7, horizon=1000,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["every_round"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        exploration: Float | None = None,
        horizon: Int | None = None,
        label: str | None = None,
        learning_rate: Float | None = None,
        update: Literal["omd", "optimistic"] = "omd",
    ) -> SOps: ...

class SColts(Agent):
    """S-COLTS: K arms, and policies that keep every guardrail in every round with probability 1 − `delta`: sampled ones, mixed with the safe arm as far as that needs.

    Promise: safe in every round (`guarantee` is "every_round").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        label: Name in results; by default `s_colts`.
        omega: ω: scale of the random moves of the estimates, in half-widths of their intervals;
            by default 1.

    Example:
        >>> import banister
        >>> agent = banister.rivals.SColts(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["every_round"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        omega: Float = 1.0,
    ) -> SColts: ...

class MaOps(Agent):
    """MA-OPS: K arms, and policies that keep every guardrail in every round with probability 1 − `delta`: as S-OPS, but it first looks for a policy with more margin than the safe arm to mix with.

    Promise: safe in every round (`guarantee` is "every_round").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        exploration: γ, added to the probabilities that losses are divided by; by default η.
        horizon: T: the number of rounds that the learning rate is for; `omd` needs it or a
            `learning_rate`.
        label: Name in results; by default `ma_ops`.
        learning_rate: η of mirror descent; by default √(ln(32mKT/δ)/(2KT)), with T the rounds
            left after the search.
        update: Choice of the policy that is then made safe: `omd`, the default, is the paper's
            mirror descent; `optimistic` is LP(U; l), for rewards with fixed means.
            "omd": Online mirror descent on estimated losses, as in the paper: for rewards that
                may change at will.
            "optimistic": LP(U; l), for rewards with fixed means: the doubly optimistic policy.

    Example:
        >>> import banister
        >>> agent = banister.rivals.MaOps(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7, horizon=1000,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["every_round"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        exploration: Float | None = None,
        horizon: Int | None = None,
        label: str | None = None,
        learning_rate: Float | None = None,
        update: Literal["omd", "optimistic"] = "omd",
    ) -> MaOps: ...

class Doslb(Agent):
    """Doubly optimistic: K arms, cumulative costs only.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        label: Name in results; by default `doslb`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.Doslb(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
    ) -> Doslb: ...

class RColts(Agent):
    """R-COLTS: K arms, cumulative costs only, the best of several sampled programs.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        draws_per_round: Number of draws in a round, 1 to 1000; by default ⌈ln(1/δ)⌉.
        label: Name in results; by default `r_colts`.
        omega: ω: scale of the random moves of the estimates, in half-widths of their intervals;
            by default 1.

    Example:
        >>> import banister
        >>> agent = banister.rivals.RColts(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        draws_per_round: Int | None = None,
        label: str | None = None,
        omega: Float = 1.0,
    ) -> RColts: ...

class LinConTs(Agent):
    """LinConTS: K arms, cumulative costs only, by Thompson sampling of rewards and costs.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        label: Name in results; by default `lin_con_ts`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.LinConTs(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        label: str | None = None,
    ) -> LinConTs: ...

class LinConKlUcb(Agent):
    """LinCon-KL-UCB: K arms, cumulative costs only, by KL-UCB's bounds of rewards and costs.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        label: Name in results; by default `lin_con_kl_ucb`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.LinConKlUcb(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        label: str | None = None,
    ) -> LinConKlUcb: ...

class PessimisticOptimistic(Agent):
    """The pessimistic-optimistic primal-dual agent: K arms, cumulative costs only, kept by queues.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        label: Name in results; by default `pessimistic_optimistic`.
        margin: Δ: a margin that some policy has under every guardrail, as a share of the
            guardrail's range; by default the smallest margin of the safe arm.
        reward_weight: Weight of rewards against costs: V_t = Δ·m^{1/4}·√(`reward_weight`·t), by
            default 2/3.
        tightening: Tightening of thresholds: by m^{3/4}·√(`tightening`/t), by default 6.

    Example:
        >>> import banister
        >>> agent = banister.rivals.PessimisticOptimistic(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        margin: Float | None = None,
        reward_weight: Float = 0.6666666666666666,
        tightening: Float = 6.0,
    ) -> PessimisticOptimistic: ...

class ConservativeUcb(Agent):
    """Conservative UCB: K arms; summed costs keep the thresholds at all times with probability 1 − `delta`, single rounds need not.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        label: Name in results; by default `conservative_ucb`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.ConservativeUcb(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
    ) -> ConservativeUcb: ...

class UcbBwk(Agent):
    """UCB for bandits with knapsacks: K arms, cumulative costs only, within budgets for a known number of rounds; the safe arm once one is spent.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        epsilon: ε: the share of each budget that is held back, 0 or more and below 1; by
            default min(1/2, √(K·ln T/B)), with B the smallest budget.
        horizon: T: the number of rounds that the budgets are for. It has no default.
        label: Name in results; by default `ucb_bwk`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.UcbBwk(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7, horizon=1000,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        epsilon: Float | None = None,
        horizon: Int | None = None,
        label: str | None = None,
    ) -> UcbBwk: ...

class PrimalDualBwk(Agent):
    """PrimalDualBwK: K arms, cumulative costs only, within budgets for a known number of rounds; the safe arm once one is spent.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        epsilon: ε: growth rate of prices; by default √(ln(m+1)/B), with m guardrails and B the
            smallest budget.
        horizon: T: the number of rounds that the budgets are for. It has no default.
        label: Name in results; by default `primal_dual_bwk`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.PrimalDualBwk(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7, horizon=1000,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        epsilon: Float | None = None,
        horizon: Int | None = None,
        label: str | None = None,
    ) -> PrimalDualBwk: ...

class LagrangeBwk(Agent):
    """LagrangeBwK: K arms, cumulative costs only, within budgets for a known number of rounds; the safe arm once one is spent.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        epsilon: ε: learning rate of Hedge; by default √(8·ln(m+1)/T), with m guardrails.
        exploration: γ of EXP3.P, the share of exploration, above 0 and below 1; by default
            min(3/5, 2√(3K·ln K/(5T))).
        horizon: T: the number of rounds that the budgets are for. It has no default.
        label: Name in results; by default `lagrange_bwk`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.LagrangeBwk(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7, horizon=1000,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        epsilon: Float | None = None,
        exploration: Float | None = None,
        horizon: Int | None = None,
        label: str | None = None,
    ) -> LagrangeBwk: ...

class Always(Agent):
    """One arm for ever: K arms, guardrails ignored.

    Promise: unsafe (`guarantee` is "unsafe").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        arm: The arm, by its name; by default the safe one.
        label: Name in results; by default `always`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.Always(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        arm: str | None = None,
        label: str | None = None,
    ) -> Always: ...

class Ucb1(Agent):
    """UCB1: K arms, guardrails ignored.

    Promise: unsafe (`guarantee` is "unsafe").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        exploration: Width of the bonus: 4 is UCB1's √(2 ln t / n) for rewards in [0, 1].
        label: Name in results; by default `ucb1`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.Ucb1(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        exploration: Float = 4.0,
        label: str | None = None,
    ) -> Ucb1: ...

class KlUcb(Agent):
    """KL-UCB: K arms, guardrails ignored.

    Promise: unsafe (`guarantee` is "unsafe").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        c: c of the level ln t + c·ln ln t, 0 or more; by default 0, as its paper advises in
            practice (its theorem is for 3).
        label: Name in results; by default `kl_ucb`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.KlUcb(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        c: Float = 0.0,
        label: str | None = None,
    ) -> KlUcb: ...

class Thompson(Agent):
    """Thompson sampling: K arms, guardrails ignored.

    Promise: unsafe (`guarantee` is "unsafe").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        label: Name in results; by default `thompson`.

    Example:
        >>> import banister
        >>> agent = banister.rivals.Thompson(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        label: str | None = None,
    ) -> Thompson: ...

class HplcLucb(Agent):
    """HPLC-LUCB: feature vectors beside x_0 = 0, every action played is safe with high probability.

    Promise: safe per action (`guarantee` is "per_action").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ of the confidence sets. By default it falls as 1/(1 + log entries) with
            `authors` radii, as in the authors' runs, and is 0.01 with `logdet`.
        label: Name in results; by default `hplc_lucb`.
        lambda_: λ, the ridge; by default 0.1 with `authors` radii, 1 with `logdet`.
        log_every: Outcomes per log entry, which δ of `authors` radii falls with unless it is
            given; by default 1. The authors' runs have 100 for 10⁶ rounds and fewer, and 1000
            for 10⁷.
        noise_factor: Factor on the noise constant R in the first term of `authors` radii; by
            default 2, as in the authors' runs. Below 1 it voids the guarantee.
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        radius: Width of the confidence sets: `authors`, the default, as in the authors' runs,
            or `logdet`, as other agents have it.
            "authors": 2R √(ln(det Σ/λ^d) + 2 ln(1/δ_t)) + √λ S with δ_t = 1/(1 + log entries),
                as in the authors' runs; and, as there, `safe_lts` does not choose x_0.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S, valid at level δ, as
                [`Radius::Logdet`].

    Example:
        >>> import banister
        >>> agent = banister.rivals.HplcLucb(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["per_action"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float | None = None,
        label: str | None = None,
        lambda_: Float | None = None,
        log_every: Int | None = None,
        noise_factor: Float | None = None,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["authors", "logdet"] = "authors",
    ) -> HplcLucb: ...

class HpUcb(Agent):
    """HP-UCB: feature vectors beside x_0 = 0, the realised cost of every action played keeps the guardrail with high probability.

    Promise: safe per action (`guarantee` is "per_action").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some interval may fail; by default 0.01.
        label: Name in results; by default `hp_ucb`.
        lambda_: λ, the ridge; by default 1.
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        tail: Probability with which the realised cost of a round may exceed the threshold,
            above 0 and at most 1; by default 0.01. With 1 only the mean cost is kept.

    Example:
        >>> import banister
        >>> agent = banister.rivals.HpUcb(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["per_action"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        lambda_: Float = 1.0,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        tail: Float = 0.01,
    ) -> HpUcb: ...

class SafeLts(Agent):
    """Safe-LTS: feature vectors beside x_0 = 0, Thompson sampling among safe actions.

    Promise: safe per action (`guarantee` is "per_action").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ of the confidence sets. By default it falls as 1/(1 + log entries) with
            `authors` radii, as in the authors' runs, and is 0.01 with `logdet`.
        label: Name in results; by default `safe_lts`.
        lambda_: λ, the ridge; by default 0.1 with `authors` radii, 1 with `logdet`.
        log_every: Outcomes per log entry, which δ of `authors` radii falls with unless it is
            given; by default 1. The authors' runs have 100 for 10⁶ rounds and fewer, and 1000
            for 10⁷.
        noise_factor: Factor on the noise constant R in the first term of `authors` radii; by
            default 2, as in the authors' runs. Below 1 it voids the guarantee.
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        radius: Width of the confidence sets: `authors`, the default, as in the authors' runs,
            or `logdet`, as other agents have it.
            "authors": 2R √(ln(det Σ/λ^d) + 2 ln(1/δ_t)) + √λ S with δ_t = 1/(1 + log entries),
                as in the authors' runs; and, as there, `safe_lts` does not choose x_0.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S, valid at level δ, as
                [`Radius::Logdet`].

    Example:
        >>> import banister
        >>> agent = banister.rivals.SafeLts(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["per_action"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float | None = None,
        label: str | None = None,
        lambda_: Float | None = None,
        log_every: Int | None = None,
        noise_factor: Float | None = None,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["authors", "logdet"] = "authors",
    ) -> SafeLts: ...

class Roful(Agent):
    """ROFUL: feature vectors beside x_0 = 0, optimistic in direction, safe in length.

    Promise: safe per action (`guarantee` is "per_action").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        label: Name in results; by default `roful`.
        lambda_: λ, the ridge; by default 1.
        max_scale: x_max: the largest part of an action that is played, above 0 and at most 1;
            by default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.

    Example:
        >>> import banister
        >>> agent = banister.rivals.Roful(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["per_action"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        lambda_: Float = 1.0,
        max_scale: Float = 1.0,
        norm: Float | None = None,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> Roful: ...

class GenOp(Agent):
    """GenOP: feature vectors beside x_0 = 0, pessimistic in length, with a larger bonus on the reward.

    Promise: safe per action (`guarantee` is "per_action").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        label: Name in results; by default `gen_op`.
        lambda_: λ, the ridge; by default 1.
        max_scale: The largest part of an action that is played, above 0 and at most 1; by
            default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.

    Example:
        >>> import banister
        >>> agent = banister.rivals.GenOp(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["per_action"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        lambda_: Float = 1.0,
        max_scale: Float = 1.0,
        norm: Float | None = None,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> GenOp: ...

class SafeLucb(Agent):
    """Safe-LUCB: feature vectors beside x_0 = 0, explores short actions first.

    Promise: safe per action (`guarantee` is "per_action").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        exploration: T': outcomes of random short actions before it chooses; by default
            ⌈T^{2/3}⌉, which needs `horizon`.
        horizon: T, needed where `exploration` is not given.
        label: Name in results; by default `safe_lucb`.
        lambda_: λ, the ridge; by default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.

    Example:
        >>> import banister
        >>> agent = banister.rivals.SafeLucb(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7, horizon=1000,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["per_action"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        exploration: Int | None = None,
        horizon: Int | None = None,
        label: str | None = None,
        lambda_: Float = 1.0,
        norm: Float | None = None,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> SafeLucb: ...

class LinSColts(Agent):
    """S-COLTS on features beside x_0 = 0: reward and cost sampled together, safe in length.

    Promise: safe per action (`guarantee` is "per_action").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        label: Name in results; by default `lin_s_colts`.
        lambda_: λ, the ridge; by default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        omega: ω: scale of the random moves of the estimates, in radii of their confidence sets;
            by default 1.
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.

    Example:
        >>> import banister
        >>> agent = banister.rivals.LinSColts(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["per_action"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        lambda_: Float = 1.0,
        norm: Float | None = None,
        omega: Float = 1.0,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> LinSColts: ...

class LinRColts(Agent):
    """R-COLTS on features beside x_0 = 0: reward and cost sampled together, cumulative costs only.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        draws: r: a round has ⌈r ln(1/δ_t)⌉ draws, δ_t = δ/(t(t + 1)). By default 5.79: with ω =
            1 a draw is optimistic about the best action with probability P(η ≥ 1) = 0.159, and
            so one of them is with probability 1 − δ_t.
        label: Name in results; by default `lin_r_colts`.
        lambda_: λ, the ridge; by default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        omega: ω: scale of the random moves of the estimates, in radii of their confidence sets;
            by default 1.
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        play: Way of playing a part of an action: `scaled`, the default, or `mixed` with the
            safe action.
            "scaled": As s·x: the decision's `scale` is s, and the outcome is taken by its
                features s·x.
            "mixed": As a policy: x with probability s, the safe action otherwise. As x_0 = 0,
                it expects the same reward and costs; for callers that can only play whole
                actions.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.

    Example:
        >>> import banister
        >>> agent = banister.rivals.LinRColts(
        ...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}],
        ...     reward=banister.Reward(range=(-1, 1)),
        ...     seed=7,
        ... )
        >>> decision = agent.decide()
        >>> 0 < decision.scale <= 1
        True
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        draws: Float = 5.79,
        label: str | None = None,
        lambda_: Float = 1.0,
        norm: Float | None = None,
        omega: Float = 1.0,
        parameter_norm: Float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> LinRColts: ...

class ConservativeLinUcb(Agent):
    """Conservative LinUCB: feature vectors, cumulative costs only.

    Promise: cumulative budget (`guarantee` is "cumulative").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        label: Name in results; by default `conservative_lin_ucb`.
        lambda_: λ, the ridge; by default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.

    Example:
        >>> import banister
        >>> agent = banister.rivals.ConservativeLinUcb(
        ...     safe_action=[1.0, 0.0],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide(actions=[[0.6, 0.8], [0.8, -0.6]])
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        lambda_: Float = 1.0,
        norm: Float | None = None,
        parameter_norm: Float | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> ConservativeLinUcb: ...

class LinUcb(Agent):
    """LinUCB: feature vectors, guardrails ignored.

    Promise: unsafe (`guarantee` is "unsafe").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        label: Name in results; by default `lin_ucb`.
        lambda_: λ, the ridge; by default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.

    Example:
        >>> import banister
        >>> agent = banister.rivals.LinUcb(
        ...     safe_action=[1.0, 0.0],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide(actions=[[0.6, 0.8], [0.8, -0.6]])
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        lambda_: Float = 1.0,
        norm: Float | None = None,
        parameter_norm: Float | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> LinUcb: ...

class LinTs(Agent):
    """Linear Thompson sampling: feature vectors, guardrails ignored.

    Promise: unsafe (`guarantee` is "unsafe").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        features: one row of features per arm, where the arms stay the same.
        safe_action: features of the safe action, where every round brings other actions.
        context: with named arms: the length of the context that a decision brings, or its
            Features. Every arm but the safe one has a parameter of its own; the safe arm's
            means are the same in every context, unless Oplb's `model` is "per_arm".
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        delta: δ: probability with which some confidence set may fail; by default 0.01.
        label: Name in results; by default `lin_ts`.
        lambda_: λ, the ridge; by default 1.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        radius: Width of the confidence sets; by default `logdet`.
            "logdet": R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.
        v: v: spread of the samples around the estimate, in units of the reward's range; by
            default the radius of the reward's confidence set.

    Example:
        >>> import banister
        >>> agent = banister.rivals.LinTs(
        ...     safe_action=[1.0, 0.0],
        ...     parameter_norm=1.0,
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide(actions=[[0.6, 0.8], [0.8, -0.6]])
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        context: Int | Features | Mapping[str, Mapping[str, object]] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        seed: Int | np.random.Generator | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        lambda_: Float = 1.0,
        norm: Float | None = None,
        parameter_norm: Float | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
        v: Float | None = None,
    ) -> LinTs: ...
