"""What the files for a bucket promise."""

from __future__ import annotations

import json

import yaml

from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from tests.deploy.files import DEPLOY, IN_A_BUCKET, filled_in, own_services, text

FOR_STORAGE = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"}


def test_whoever_keeps_files_gets_the_bucket_and_a_way_to_it():
    services = yaml.safe_load(filled_in(text(IN_A_BUCKET)))["services"]
    assert set(services) == set(own_services())
    for name, it in services.items():
        assert set(it["environment"]) == {*FOR_STORAGE, "FACEFUSION_STORAGE_URL"}, name
        assert set(it["networks"]) == {"front"}, name


def test_the_variables_are_read_by_the_program():
    assert "FACEFUSION_STORAGE_URL" in {spec.variable for spec in program_schema(load_application())}
    source = text("facefusion/service/bucket.py")
    assert {name for name in FOR_STORAGE if f'"{name}"' in source or f"``{name}``" in source} == FOR_STORAGE


def test_the_example_names_what_has_to_be_set():
    example = text("deploy/.env.example")
    for name in ("STORAGE_URL", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert f"#{name}=" in example


def test_broken_uploads_go_after_a_day_and_nothing_else_does():
    (rule,) = json.loads((DEPLOY / "bucket-lifecycle.json").read_text())["Rules"]
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert "Expiration" not in rule
