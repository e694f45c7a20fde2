#!/bin/sh
# The first experiment, with nothing but curl. Start the service first, in another terminal:
#
#     banisterd serve --data-dir banister-data
#
# Then: sh examples/quickstart.sh
set -eu

URL=${BANISTER_URL:-http://127.0.0.1:8787}
NAME=quickstart-$$ # a name of its own, so that you may run this again

# Asks the service: METHOD PATH [JSON]. A refusal is shown, and ends the script.
ask() {
    echo "> $1 $2 ${3:-}"
    # A service on your own machine needs no token until you make one.
    curl --silent --show-error --fail-with-body --noproxy 127.0.0.1,localhost \
        ${BANISTER_TOKEN:+--header "Authorization: Bearer $BANISTER_TOKEN"} \
        --header 'Content-Type: application/json' \
        --request "$1" "$URL$2" ${3:+--data "$3"}
    echo
    echo
}

# 1. Declare it: two arms, which of them is safe, and what must not go wrong: at most one complaint in
#    ten visits. We know that control gets two in a hundred.
ask POST /v1/experiments '{
  "name": "'"$NAME"'",
  "arms": ["control", "bold"],
  "safe": "control",
  "guardrails": [{"name": "complaints", "at_most": 0.1, "safe_cost": 0.02}]
}'

# 2. Decide: what should order 17 see? The answer has the action, the policy that it was drawn from, and
#    the certificate of why that policy keeps the guardrail.
ask POST "/v1/experiments/$NAME/decisions" '{"id": "order-17"}'

#    The id makes it safe to ask again: the same order gets the same answer.
ask POST "/v1/experiments/$NAME/decisions" '{"id": "order-17"}'

# 3. Report how it went, when you know it. First the purchase ...
ask POST "/v1/experiments/$NAME/outcomes" '{"decision": "order-17", "reward": 1}'

#    ... and later that nobody complained. Now the outcome is complete, and learned from.
ask POST "/v1/experiments/$NAME/outcomes" '{"decision": "order-17", "costs": {"complaints": 0}}'

# 4. Look: what the service knows and does now ...
ask GET "/v1/experiments/$NAME/state"

#    ... and why it decided as it did.
ask GET "/v1/experiments/$NAME/decisions/order-17"

echo "The page is at $URL/"
