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

__all__ = ["Opb", "Oplb", "Segmented"]

class Opb(Agent):
    """The optimistic-pessimistic bandit: K arms, and policies that keep every guardrail in every round with probability 1 − `delta`.

    Promise: safe in every round (`guarantee` is "every_round").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        signals: ranges by name, such as {"input_tokens": [0, 8000]}, of what guardrails with
            `weights` are sums of.
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        alarm_delta: δ_b: probability that a breach is ever raised falsely, and that a true safe
            cost is ever refuted.
        delta: δ: probability with which any policy ever violates a guardrail.
        floor: Least probability of the safe action, by whose outcomes relative guardrails are
            watched.
        horizon: T, needed by `paper` and `published` intervals and by the T_0 rule.
        intersect: Intersects intervals over time; by default anytime ones only.
        intervals: Kind of confidence intervals; by default `mixture`, or `subgaussian` for sub-
            Gaussian signals.
            "mixture": Mixture of bets, anytime; the default for bounded signals.
            "kl": Binary Kullback-Leibler, anytime.
            "subgaussian": Normal mixture, anytime; the default for sub-Gaussian signals.
            "paper": As the paper's text specifies.
            "published": As in the code that made the paper's figures.
        label: Name in results; made from the other keys by default.
        lazy: Growth ε of an arm's outcomes after which its intervals and the policy are
            computed again, by default 0.005 (after each of the first 200 outcomes of an arm); 0
            computes after every outcome, as intervals with a horizon always do.
        log_term: Forces the radii's log term: voids the guarantee, for negative controls.
        on_breach: Reaction to an alarm; by default `relearn` for arms and `safe` elsewhere, or
            `alert` where the parameters void the guarantee.
            "safe": The safe action alone, until a person acknowledges the alarm.
            "relearn": Learning again of what the alarm is about, with a smaller share of δ: an
                arm's signal that has changed, arms that are suspected of a breach, or
                everything.
            "alert": Nothing but the alarm.
        optimism: Choice of optimism about the reward.
            "paper": As the paper analyses: α_r = 1 + 2/Δ, α_c = 1.
            "least": The smallest κ that the lemma allows.
            "index": The smallest κ for indices that grow with the number of outcomes: as safe
                as `least`, and its regret is bounded in expectation.
            "published": As in the code that made the paper's figures.
        optimism_delta: δ_o: probability, beside δ, with which the regret bound of `least` may
            fail; bounds that only serve optimism share it.
        rho: ρ of `subgaussian`: they are tightest around n = ρ·(a small multiple).
        unknown_safe_cost: Treatment of guardrails whose safe cost is unknown.
            "interval": Bound it like any other signal and play safe until the bound leaves a
                margin.
            "paper": The paper's T_0 rule, corrected: play safe until ĉ_0 + 3w ≤ τ, then use Δ̂
                = τ − ĉ_0 − w.

    Example:
        >>> import banister
        >>> agent = banister.Opb(
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
        signals: Mapping[str, object] | None = None,
        seed: Int | np.random.Generator | None = None,
        alarm_delta: Float | None = None,
        delta: Float = 0.01,
        floor: Float | None = None,
        horizon: Int | None = None,
        intersect: bool | None = None,
        intervals: Literal["mixture", "kl", "subgaussian", "paper", "published"] | None = None,
        label: str | None = None,
        lazy: Float | None = None,
        log_term: Float | None = None,
        on_breach: Literal["safe", "relearn", "alert"] | None = None,
        optimism: Literal["paper", "least", "index", "published"] = "index",
        optimism_delta: Float = 0.1,
        rho: Float = 1.0,
        unknown_safe_cost: Literal["interval", "paper"] = "interval",
    ) -> Opb: ...

class Oplb(Agent):
    """The optimistic-pessimistic linear bandit: actions are feature vectors, the same in every round or others each time, and policies keep every guardrail in every round with probability 1 − `delta`.

    Promise: safe in every round (`guarantee` is "every_round").

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
        alarm_delta: δ_b: probability that a breach is ever raised falsely, and that a true safe
            cost is ever refuted.
        delta: δ: probability with which any guardrail's bounds may ever fail; safety rests on
            them alone.
        floor: Least probability of the safe action, by whose outcomes relative guardrails are
            watched.
        horizon: T, needed by the T_0 rule.
        label: Name in results; made from the other keys by default.
        lambda_: λ, the ridge; by default `norm`², or 1. Of `multiscale` radii λ_0, the
            smallest; by default a twentieth of `norm`², or of the largest squared length among
            the declared actions and the first one with an outcome.
        link: Map from ⟨x, parameter⟩ to the mean, for all signals; S then bounds the parameters
            of log-odds.
            "identity": The mean itself, in the signal's units.
            "logistic": σ(z) = 1/(1 + e^{−z}) of the way from the low end of the range to the
                high one: for yes or no, and for any signal that never leaves its range.
        links: Links of single signals, by name: `reward`, or a guardrail's.
        long_features: Treatment of feature vectors longer than `norm`.
            "error": Refuse it with an error.
            "clip": Shorten it to `norm`: the agent's features are the shortened ones.
        max_work: Multiplications after which `exact` settles for a feasible policy and its
            proven gap.
        model: Parameters of named arms that share a context.
            "shared": One parameter for all features: the safe action's are fixed, so that its
                means are the same in every context.
            "per_arm": A parameter per arm, the safe one included: its means depend on the
                context too, and guardrails are certified in each.
        norm: L: every feature vector is at most this long; unchecked by default (`paper` radii
            need it).
        on_breach: Reaction to an alarm; by default `relearn` for arms and `safe` elsewhere, or
            `alert` where the parameters void the guarantee.
            "safe": The safe action alone, until a person acknowledges the alarm.
            "relearn": Learning again of what the alarm is about, with a smaller share of δ: an
                arm's signal that has changed, arms that are suspected of a breach, or
                everything.
            "alert": Nothing but the alarm.
        optimism: Choice of optimism about the reward, by default `least`; `index` explores less
            and is as safe, without a bound on its regret; `exact` has the paper's own.
            "paper": As the paper analyses: α_r = 1 + 2/Δ, α_c = 1.
            "least": The smallest κ that the lemma allows.
            "index": The smallest κ for indices that grow with the number of outcomes: as safe
                as `least`, and its regret is bounded in expectation.
            "published": As in the code that made the paper's figures.
        optimism_delta: Probability with which the reward's bounds may ever fail, on which only
            the regret rests.
        parameter_norm: S: every unknown parameter is at most this long, in units of its
            signal's range; to be declared, or √K where arms are their own features and means at
            most one range.
        radius: Width of the confidence sets; by default `multiscale`, or `logdet` for `exact`
            and `paper` optimism.
            "multiscale": The best of six bounds in every direction, each with a ridge λ_k =
                16^k λ_0 of its own.
            "logdet": One ellipsoid with radius R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
            "paper": One ellipsoid with radius R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed
                in the paper.
        radius_scale: Multiplies every radius: below 1 it voids the guarantee, for negative
            controls.
        relative_gap: Gap to which `exact` proves its policy best, relative to its value.
        solver: Problem that is solved each round.
            "linearised": An interval per action, then one linear program.
            "exact": The paper's bounds on whole policies, solved to a certified gap.
        unknown_safe_cost: Treatment of guardrails whose safe cost is unknown.
            "interval": Bound it like any other signal and play safe until the bound leaves a
                margin.
            "paper": The paper's T_0 rule, corrected: play safe until ĉ_0 + 3w ≤ τ, then use Δ̂
                = τ − ĉ_0 − w.

    Example:
        >>> import banister
        >>> agent = banister.Oplb(
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
    guarantee: ClassVar[Literal["every_round"]]
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
        alarm_delta: Float | None = None,
        delta: Float = 0.01,
        floor: Float | None = None,
        horizon: Int | None = None,
        label: str | None = None,
        lambda_: Float | None = None,
        link: Literal["identity", "logistic"] | None = None,
        links: Mapping[str, Literal["identity", "logistic"]] | None = None,
        long_features: Literal["error", "clip"] = "error",
        max_work: Int = 200000000,
        model: Literal["shared", "per_arm"] | None = None,
        norm: Float | None = None,
        on_breach: Literal["safe", "relearn", "alert"] | None = None,
        optimism: Literal["paper", "least", "index", "published"] | None = None,
        optimism_delta: Float = 0.1,
        parameter_norm: Float | None = None,
        radius: Literal["multiscale", "logdet", "paper"] | None = None,
        radius_scale: Float = 1.0,
        relative_gap: Float = 0.001,
        solver: Literal["linearised", "exact"] = "linearised",
        unknown_safe_cost: Literal["interval", "paper"] = "interval",
    ) -> Oplb: ...

class Segmented(SegmentedAgent):
    """Segments under one budget: K arms, a policy for every segment of users or requests, and guardrails over all segments or in each, kept in every round with probability 1 − `delta`.

    Promise: safe in every round (`guarantee` is "every_round").

    Parameters:
        arms: the number of arms, or a list of their names: strings, or integers.
        segments: names of segments that are known; others may come at any time. δ is set aside
            for as many, and where some guardrail has scope "each" they have policies of their
            own at once. Segments made from several fields are declared as {"fields":
            ["country", "device"], "known": [{"country": "de", "device": "mobile"}]}; a decision
            then brings a dictionary or a tuple.
        safe: the safe arm, by name or number; by default the first.
        guardrails: the guardrails, each a Guardrail or a dictionary with the same keys.
        reward: what is known of the reward, a Reward or a dictionary with the same keys; by
            default it lies in [0, 1].
        signals: ranges by name, such as {"input_tokens": [0, 8000]}, of what guardrails with
            `weights` are sums of.
        seed: of the agent's own draws: an integer, or a numpy Generator to draw one from.
        alarm_delta: δ_b: probability that a breach is ever raised falsely, and that a true safe
            cost is ever refuted.
        delta: δ: probability with which any policy ever violates a guardrail.
        label: Name in results; by default `segmented`.
        log_term: Forces the radii's log term: voids the guarantee, for negative controls.
        max_segments: Segments with statistics of their own, at most; rare ones give way to
            others.
        on_breach: Reaction to an alarm; by default `relearn` for arms and `safe` elsewhere, or
            `alert` where the parameters void the guarantee.
            "safe": The safe action alone, until a person acknowledges the alarm.
            "relearn": Learning again of what the alarm is about, with a smaller share of δ: an
                arm's signal that has changed, arms that are suspected of a breach, or
                everything.
            "alert": Nothing but the alarm.
        optimism_delta: δ_o, shared by bounds that only serve optimism.
        pool_until: Contexts of a segment that was not declared before it has a policy of its
            own; until then it shares one with other rare ones.

    Example:
        >>> import banister
        >>> agent = banister.Segmented(
        ...     ["control", "bold"],
        ...     guardrails=[{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}],
        ...     seed=7,
        ... )
        >>> decision = agent.decide(segment="de")
        >>> agent.observe(decision, reward=1.0, costs=0.2)
        >>> agent.outcomes
        1
    """
    guarantee: ClassVar[Literal["every_round"]]
    def __new__(
        cls,
        arms: ArmsLike | None = None,
        *,
        segments: Sequence[ArmName] | Mapping[str, object] | None = None,
        safe: ArmName | None = None,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: RewardLike | None = None,
        signals: Mapping[str, object] | None = None,
        seed: Int | np.random.Generator | None = None,
        alarm_delta: Float | None = None,
        delta: Float = 0.01,
        label: str | None = None,
        log_term: Float | None = None,
        max_segments: Int = 10000,
        on_breach: Literal["safe", "relearn", "alert"] | None = None,
        optimism_delta: Float = 0.1,
        pool_until: Int = 30,
    ) -> Segmented: ...
