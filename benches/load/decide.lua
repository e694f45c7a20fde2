-- Decisions alone, each durable before its answer.
wrk.method = "POST"
wrk.path = "/v1/experiments/small/decisions"
wrk.headers["content-type"] = "application/json"
wrk.body = "{}"
