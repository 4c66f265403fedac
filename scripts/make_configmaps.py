"""Write deploy/kubernetes/configmap.yaml anew from the files that Docker Compose mounts."""

from __future__ import annotations

from pathlib import Path

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
OUTPUT = DEPLOY / "kubernetes" / "configmap.yaml"

HEAD = """\
# Settings as files: copies of deploy/facefusion.ini, deploy/redis/redis.conf and those in deploy/nginx, but for
# upstream.conf, which is the cluster's own. Written by scripts/make_configmaps.py; a test compares.
"""

UPSTREAM = """\
# All replicas of the API, as the cluster's name service tells them now.
upstream api {
    zone api 128k;
    least_conn;
    resolver kube-dns.kube-system.svc.cluster.local valid=5s;
    server api.facefusion.svc.cluster.local:7860 resolve max_fails=2 fail_timeout=5s;
    keepalive 32;
}
"""

MAPS = {
    "facefusion": ("facefusion.ini",),
    "redis": ("redis/redis.conf",),
    "gateway": ("nginx/main.conf", "nginx/http.conf", "nginx/api.conf", "nginx/tls.conf"),
}
"""Files under deploy/ in each ConfigMap."""


def document() -> str:
    """The file as it has to be."""
    files = {name: {Path(path).name: read(path) for path in paths} for name, paths in MAPS.items()}
    files["gateway"]["upstream.conf"] = UPSTREAM
    return HEAD + "---\n".join(config_map(name, texts) for name, texts in files.items())


def read(path: str) -> str:
    """A file under deploy/."""
    return (DEPLOY / path).read_text(encoding="utf-8")


def config_map(name: str, texts: dict[str, str]) -> str:
    """One ConfigMap of some files' texts."""
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: facefusion\ndata:\n"
    return head + "".join(f"  {key}: |\n{indented(text)}" for key, text in texts.items())


def indented(text: str) -> str:
    """A text as a block of YAML two levels deep; empty lines stay so."""
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


if __name__ == "__main__":
    OUTPUT.write_text(document(), encoding="utf-8")
