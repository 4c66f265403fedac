"""The page that documents the API: made here of the OpenAPI document, without a script or anything of other sites."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

Table = dict[str, Any]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""Content security policy of the page."""

STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace } pre { overflow: auto; padding: .75rem; border: 1px solid #8886 }
h2 { margin-top: 2.5rem; border-top: 1px solid #8886; padding-top: 1rem } table { border-collapse: collapse }
td, th { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0 } .verb { font-weight: 600 }
"""

FIRST_STEPS = """curl -H "Authorization: Bearer $API_TOKEN" -F file=@face.jpg  {base}/v1/assets
curl -H "Authorization: Bearer $API_TOKEN" -F file=@clip.mp4  {base}/v1/assets
curl -H "Authorization: Bearer $API_TOKEN" -H "Content-Type: application/json" \\
     -d '{{"sources": ["ID OF face.jpg"], "target": "ID OF clip.mp4"}}'  {base}/v1/jobs
curl -H "Authorization: Bearer $API_TOKEN" -N  {base}/v1/jobs/ID/events
curl -H "Authorization: Bearer $API_TOKEN" -o result.mp4  {base}/v1/jobs/ID/result"""


def page_of(document: Table, base: str) -> str:
    """The page.

    Args:
        document: OpenAPI.
        base: address of the service, for examples.
    """
    info = document["info"]
    body = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        f"<p>{escape(info['description'])} The same for programs: <a href='/openapi.json'>openapi.json</a>.</p>",
        f"<pre>{escape(FIRST_STEPS.format(base=base))}</pre>",
        *_operations(document),
        "<h2>Settings of a step</h2>",
        *_settings(document),
    ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>FaceFusion API</title>"
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _operations(document: Table) -> Iterator[str]:
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            yield f"<h2><span class='verb'>{escape(verb.upper())}</span> <code>{escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p>"
            yield from _example(document, operation)
            rows = "".join(
                f"<tr><td>{escape(status)}</td><td>{escape(answer['description'])}</td></tr>"
                for status, answer in operation["responses"].items()
            )
            yield f"<table>{rows}</table>"


def _example(document: Table, operation: Table) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    for example in document["components"]["schemas"].get(name, {}).get("examples", ()):
        yield f"<pre>{escape(json.dumps(example, indent=2))}</pre>"


def _settings(document: Table) -> Iterator[str]:
    step = document["components"]["schemas"]["JobRequest"]["properties"]["step"]
    rows = (
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(setting['description'])}</td></tr>"
        for name, setting in step["properties"].items()
    )
    yield f"<table>{''.join(rows)}</table>"
