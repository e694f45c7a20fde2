// Meaning of a guardrail's direction: the one place of the page that knows which side is allowed.

export const DIRECTIONS = {
  at_most: { words: "at most", low: false, worst: "upper", allowed: "≤", forbidden: ">", side: "below" },
  at_least: { words: "at least", low: true, worst: "lower", allowed: "≥", forbidden: "<", side: "above" },
};

// Direction of a declared guardrail, and its threshold as `value`.
export const directionOf = (guardrail) => {
  const key = Object.keys(DIRECTIONS).find((key) => guardrail[key] !== null && guardrail[key] !== undefined);
  return { value: guardrail[key], ...DIRECTIONS[key || "at_most"] };
};
