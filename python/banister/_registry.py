"""The core's registry of agents, read from its JSON Schema."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A parameter of an agent."""

    name: str
    annotation: str
    default: object
    description: str
    choices: Mapping[str, str] = field(default_factory=dict)
    #: Only for agents whose actions have features.
    features_only: bool = False
    #: Only for agents with a policy for every segment.
    segments_only: bool = False
    #: Only for the core's agents on arms.
    sums_only: bool = False


#: Arguments of every agent's constructor, beside the parameters of its kind.
COMMON = (
    Parameter("arms", "ArmsLike | None", None, "the number of arms, or a list of their names: strings, or integers."),
    Parameter(
        "features",
        "ArrayLike | None",
        None,
        "one row of features per arm, where the arms stay the same.",
        features_only=True,
    ),
    Parameter(
        "safe_action",
        "ArrayLike | None",
        None,
        "features of the safe action, where every round brings other actions.",
        features_only=True,
    ),
    Parameter(
        "context",
        "Int | Features | Mapping[str, Mapping[str, object]] | None",
        None,
        "with named arms: the length of the context that a decision brings, or its Features. Every arm but the "
        "safe one has a parameter of its own; the safe arm's means are the same in every context, unless Oplb's "
        '`model` is "per_arm".',
        features_only=True,
    ),
    Parameter(
        "segments",
        "Sequence[ArmName] | Mapping[str, object] | None",
        None,
        "names of segments that are known; others may come at any time. δ is set aside for as many, and where some "
        'guardrail has scope "each" they have policies of their own at once. Segments made from '
        'several fields are declared as {"fields": ["country", "device"], "known": [{"country": "de", "device": '
        '"mobile"}]}; a decision then brings a dictionary or a tuple.',
        segments_only=True,
    ),
    Parameter("safe", "ArmName | None", None, "the safe arm, by name or number; by default the first."),
    Parameter(
        "guardrails",
        "GuardrailLike | Sequence[GuardrailLike]",
        (),
        "the guardrails, each a Guardrail or a dictionary with the same keys.",
    ),
    Parameter(
        "reward",
        "RewardLike | None",
        None,
        "what is known of the reward, a Reward or a dictionary with the same keys; by default it lies in [0, 1].",
    ),
    Parameter(
        "signals",
        "Mapping[str, object] | None",
        None,
        'ranges by name, such as {"input_tokens": [0, 8000]}, of what guardrails with `weights` are sums of.',
        sums_only=True,
    ),
    Parameter(
        "seed",
        "Int | np.random.Generator | None",
        None,
        "of the agent's own draws: an integer, or a numpy Generator to draw one from.",
    ),
)

_START = (">>> import banister", ">>> agent = banister.{name}(")
_END = (">>> agent.observe(decision, reward=1.0, costs=0.2)", ">>> agent.outcomes", "1")
_ARMS_EXAMPLE = (
    '...     ["control", "bold"],',
    '...     guardrails=[{{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}}],',
    "...     seed=7,{more}",
    "... )",
    ">>> decision = agent.decide({segment})",
)
_FEATURES_EXAMPLE = (
    "...     safe_action=[1.0, 0.0],",
    "...     parameter_norm=1.0,",
    '...     guardrails=[{{"name": "spend", "at_most": 0.5, "safe_cost": 0.1}}],',
    "...     seed=7,{more}",
    "... )",
    ">>> decision = agent.decide(actions=[[0.6, 0.8], [0.8, -0.6]])",
)
# The safe action is to do nothing; what is played may be a part of an action.
_ORIGIN_EXAMPLE = (
    "...     features=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],",
    "...     parameter_norm=1.0,",
    '...     guardrails=[{{"name": "spend", "at_most": 0.5, "safe_cost": 0.0, "range": [-1, 1]}}],',
    "...     reward=banister.Reward(range=(-1, 1)),",
    "...     seed=7,{more}",
    "... )",
    ">>> decision = agent.decide()",
    ">>> 0 < decision.scale <= 1",
    "True",
)


@dataclass(frozen=True)
class Kind:
    """A kind of agent."""

    name: str
    description: str
    #: The guarantee about its guardrails: a name, and the same in words.
    guarantee: str
    promise: str
    takes_features: bool
    #: True if it has a policy for every segment.
    takes_segments: bool
    #: True if it needs the number of rounds, or a safe action whose features are all 0.
    needs_horizon: bool
    needs_origin: bool
    #: True if another paper has it: the core knows nothing of it.
    is_rival: bool
    parameters: tuple[Parameter, ...]

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """All arguments of the constructor."""
        every = (*COMMON, *self.parameters)
        return tuple(
            one
            for one in every
            if (self.takes_features or not one.features_only)
            and (self.takes_segments or not one.segments_only)
            and not (one.sums_only and (self.takes_features or self.is_rival))
        )

    @property
    def class_name(self) -> str:
        """`opb` is the class `Opb`, `ma_ops` the class `MaOps`."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def example(self) -> tuple[str, ...]:
        """Lines of a doctest."""
        by_features = _ORIGIN_EXAMPLE if self.needs_origin else _FEATURES_EXAMPLE
        lines = by_features if self.takes_features else _ARMS_EXAMPLE
        more = " horizon=1000," if self.needs_horizon else ""
        segment = 'segment="de"' if self.takes_segments else ""
        every = (*_START, *lines, *_END)
        name = f"rivals.{self.class_name}" if self.is_rival else self.class_name
        return tuple(line.format(name=name, more=more, segment=segment) for line in every)

    @property
    def base_name(self) -> str:
        """The class that it is made from."""
        return "SegmentedAgent" if self.takes_segments else "Agent"


_TYPES = {"number": "Float", "integer": "Int", "string": "str", "boolean": "bool", "null": "None"}


def kinds(schema: Mapping[str, Any]) -> list[Kind]:
    """Returns every kind of agent with its parameters."""
    definitions = schema.get("$defs", {})
    return [_kind(variant, definitions) for variant in schema["oneOf"]]


def _kind(variant: Mapping[str, Any], definitions: Mapping[str, Any]) -> Kind:
    properties = dict(variant["properties"])
    name = properties.pop("kind")["const"]
    parameters = [
        _parameter(key, entry, definitions, key in variant.get("required", ())) for key, entry in properties.items()
    ]
    parameters.sort(key=lambda parameter: parameter.name)
    description = " ".join(variant["description"].split())
    return Kind(name, description, parameters=tuple(parameters), **variant["traits"])


def _parameter(key: str, entry: Mapping[str, Any], definitions: Mapping[str, Any], required: bool) -> Parameter:
    annotation, choices = _annotation(entry, definitions)
    default = entry.get("default")
    if default is None and not required and "None" not in annotation.split(" | "):
        annotation += " | None"
    description = " ".join(entry.get("description", "").split())
    # Python has its own use for `lambda`.
    name = f"{key}_" if keyword.iskeyword(key) else key
    return Parameter(name, annotation, default, description, choices)


def _annotation(entry: Mapping[str, Any], definitions: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Returns the type of a value, and the meanings of the words it may be."""
    if "$ref" in entry:
        return _annotation(definitions[entry["$ref"].rsplit("/", 1)[-1]], definitions)
    if "const" in entry:
        return f'Literal["{entry["const"]}"]', {entry["const"]: entry.get("description", "")}
    if "enum" in entry:
        words = ", ".join(f'"{word}"' for word in entry["enum"])
        return f"Literal[{words}]", {}
    alternatives = entry.get("oneOf") or entry.get("anyOf")
    if alternatives:
        return _union(_annotation(one, definitions) for one in alternatives)
    types = entry["type"] if isinstance(entry["type"], list) else [entry["type"]]
    if "additionalProperties" in entry:
        return f"Mapping[str, {_annotation(entry['additionalProperties'], definitions)[0]}]", {}
    names = ["Sequence[Float]" if one == "array" else _TYPES.get(one, "object") for one in types]
    return " | ".join(names), {}


def _union(parts: Any) -> tuple[str, dict[str, str]]:
    annotations: list[str] = []
    words: list[str] = []
    choices: dict[str, str] = {}
    for annotation, meanings in parts:
        choices.update(meanings)
        if annotation.startswith("Literal["):
            words.append(annotation[len("Literal[") : -1])
        else:
            annotations.append(annotation)
    if words:
        annotations.insert(0, f"Literal[{', '.join(words)}]")
    return " | ".join(annotations), choices
