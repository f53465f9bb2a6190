"""docs/openapi.yaml is right in itself, says what the server does, and its example runs under curl."""

import json
import os
import re
import shutil
import subprocess
import textwrap
import unittest

from tests.harness import OWNERS, PATIENCE, REFERENCE, BackendCase, authority, hub_request
from tests.test_readings import bundle_request, observation

DOCUMENT = REFERENCE.parent / "docs" / "openapi.yaml"

try:
    import yaml
except ImportError:
    yaml = None
try:
    import jsonschema
    import openapi_spec_validator
except ImportError:
    jsonschema = openapi_spec_validator = None


def example() -> str:
    """The shell example, cut out by its indentation: this needs no YAML parser."""
    found = re.search(r"^( *)source: \|\n((?:\1  .*\n|\s*\n)+)", DOCUMENT.read_text(), re.MULTILINE)
    assert found, "the document has no example"
    return textwrap.dedent(found.group(2))


class Example(BackendCase):
    @unittest.skipUnless(shutil.which("curl") and shutil.which("openssl"), "curl and openssl are needed to run the example")
    def test_the_example_runs_as_it_stands(self):
        done = subprocess.run(["sh"], input=example(), capture_output=True, text=True, timeout=PATIENCE, env={
            "PATH": os.environ["PATH"], "BASE": f"https://127.0.0.1:{self.backend.port}", "CA": str(authority() / "ca.pem"),
            "TOKEN": OWNERS["anna"], "OWNER": "anna"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual((lines[1], lines[3]), ("201", "200"), done.stdout)
        self.assertEqual(lines[0], lines[2])
        self.assertIn('"key": "curl-example-1"', lines[0])
        self.device = "CURL-0001"
        self.assertEqual(self.held(4711, 1), [4711])


@unittest.skipIf(yaml is None, "PyYAML is not installed")
class Document(BackendCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.document = yaml.safe_load(DOCUMENT.read_text())
        cls.operation = cls.document["paths"]["/v1/raw-windows"]["post"]

    def parameters(self) -> dict[str, dict]:
        return {value["name"]: value for value in self.document["components"]["parameters"].values()}

    @unittest.skipIf(openapi_spec_validator is None, "openapi-spec-validator is not installed")
    def test_the_document_is_openapi_3_1(self):
        openapi_spec_validator.validate(self.document)

    def test_the_headers_are_those_of_a_request(self):
        sent = set(hub_request(device=self.device, gaps='(7 1 2);reason="overwritten"').headers) - {"Authorization", "Content-Type"}
        self.assertEqual(set(self.parameters()), sent)

    def test_a_header_that_is_called_required_is_required_and_no_other(self):
        request = hub_request(device=self.device, gaps='(7 1 2);reason="overwritten"')
        for name, parameter in self.parameters().items():
            with self.subTest(name):
                self.assertEqual(self.send(request.without(name)).status == 400, parameter["required"])

    def test_the_examples_of_the_headers_are_accepted(self):
        examples = {name: str(parameter["example"]) for name, parameter in self.parameters().items() if name not in ("Content-Digest", "Hub-Count", "Hub-Owner", "Hub-Gaps")}
        request = hub_request(4711, 128, device=self.device, gaps=self.parameters()["Hub-Gaps"]["example"])
        request.headers.update(examples)
        self.assertEqual(self.send(request).status, 201)

    def test_every_answer_of_the_server_is_documented(self):
        self.assertLessEqual({"200", "201", "400", "401", "403", "411", "413", "415", "422"}, set(self.operation["responses"]))

    @unittest.skipIf(jsonschema is None, "openapi-spec-validator is not installed")
    def test_receipts_and_problems_follow_their_schemas(self):
        def check(name: str, value: object) -> None:
            jsonschema.validate(value, {"$ref": f"#/components/schemas/{name}", "components": self.document["components"]}, jsonschema.Draft202012Validator)

        request = hub_request(device=self.device)
        check("Receipt", self.send(request).json)
        check("Problem", self.send(request.having(Hub_First="x")).json)
        check("Receipt", self.operation["responses"]["201"]["content"]["application/json"]["example"])
        check("Problem", self.operation["responses"]["400"]["content"]["application/problem+json"]["example"])
        with self.assertRaises(jsonschema.ValidationError):
            check("Receipt", {"status": "ok"})
        for header, parameter in (("Idempotency-Key", "IdempotencyKey"), ("Hub-Device", "HubDevice")):
            schema = self.document["components"]["parameters"][parameter]["schema"]["$ref"].rpartition("/")[2]
            check(schema, request.headers[header])

    def test_every_answer_to_readings_is_documented(self):
        responses = self.document["paths"]["/v1/readings"]["post"]["responses"]
        self.assertLessEqual({"200", "400", "401", "403", "412", "413", "415", "422"}, set(responses))

    @unittest.skipIf(jsonschema is None, "openapi-spec-validator is not installed")
    def test_bundles_and_their_answers_follow_their_schemas(self):
        def check(name: str, value: object) -> None:
            jsonschema.validate(value, {"$ref": f"#/components/schemas/{name}", "components": self.document["components"]}, jsonschema.Draft202012Validator)

        request = bundle_request(observation("r-openapi"))
        check("TransactionBundle", json.loads(request.body))
        check("TransactionResponse", self.send(request).json)
        check("OperationOutcome", self.send(bundle_request(observation("r-openapi"), owner="ben")).json)
        check("Problem", self.send(bundle_request(body=b"{}")).json)
        responses = self.document["paths"]["/v1/readings"]["post"]["responses"]
        check("TransactionResponse", responses["200"]["content"]["application/fhir+json"]["example"])
        check("OperationOutcome", responses["412"]["content"]["application/fhir+json"]["example"])
        with self.assertRaises(jsonschema.ValidationError):
            check("TransactionBundle", {"resourceType": "Bundle", "type": "batch", "entry": []})


if __name__ == "__main__":
    unittest.main()
