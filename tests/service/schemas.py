"""Answers checked against the served OpenAPI document."""

import re

import jsonschema


class Document:
    """The served document, and checks of answers against it."""

    def __init__(self, document):
        self.document = document
        self.seen = set()

    def operation(self, method, path):
        for template, item in self.document["paths"].items():
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
            if re.fullmatch(pattern, path.split("?")[0]) and method.lower() in item:
                # Literal paths before patterns: `decisions:batch` is no name.
                return template, item[method.lower()]
        raise AssertionError(f"{method} {path} is not in the document")

    def schema(self, schema):
        """A schema with the document's components, so that references lead somewhere."""
        return schema | {"components": self.document["components"]}

    def valid(self, schema, value):
        validator = jsonschema.Draft202012Validator(
            self.schema(schema), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
        )
        errors = [f"{e.json_path}: {e.message[:300]}" for e in validator.iter_errors(value)]
        assert errors == [], errors

    def check(self, method, path, answer):
        """Status, content type and body are as the document says."""
        _, operation = self.operation(method, path)
        responses = operation["responses"]
        assert str(answer.status) in responses, (method, path, answer)
        content = responses[str(answer.status)]["content"]
        assert answer.kind in content, (method, path, answer.headers)
        if answer.kind in ("application/json", "application/problem+json"):
            self.valid(content[answer.kind]["schema"], answer.json())
        self.seen.add((operation["operationId"], answer.status))
        return answer

    def check_request(self, method, path, body):
        """What we send is what the document asks for."""
        _, operation = self.operation(method, path)
        self.valid(operation["requestBody"]["content"]["application/json"]["schema"], body)
