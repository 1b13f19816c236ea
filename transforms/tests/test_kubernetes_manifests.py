"""The Kubernetes manifests are valid by the schemas of Kubernetes, and refer to what exists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

VERSION = "1.33"
FOLDER = Path(__file__).resolve().parents[2] / "infra" / "kubernetes"
DOCUMENTS = [
    (path.name, document)
    for path in sorted(FOLDER.glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]
#: What the person who deploys provides: the volume with their captures.
PROVIDED = {("PersistentVolumeClaim", "captures")}


@pytest.mark.parametrize(
    ("file", "document"), DOCUMENTS, ids=[f"{f}-{d['kind']}-{d['metadata']['name']}" for f, d in DOCUMENTS]
)
def test_manifest_is_valid(file: str, document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, VERSION, strict=True)


def test_a_misspelt_field_would_be_found() -> None:
    document = next(d for _, d in DOCUMENTS if d["kind"] == "Deployment")
    broken = {**document, "spec": {**document["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSION, strict=True)


def references(node: object) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            kind = {
                "configMapRef": "ConfigMap", "secretRef": "Secret", "persistentVolumeClaim": "PersistentVolumeClaim",
            }.get(key)  # fmt: skip
            if kind is not None:
                yield kind, value.get("name") or value.get("claimName")
            if key == "serviceAccountName":
                yield "ServiceAccount", value
            yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def test_everything_referred_to_is_declared() -> None:
    declared = {(d["kind"], d["metadata"]["name"]) for _, d in DOCUMENTS} | PROVIDED
    assert {reference for _, d in DOCUMENTS for reference in references(d)} <= declared


def test_services_select_pods_that_exist() -> None:
    labels = set()
    for _, document in DOCUMENTS:
        spec = document.get("spec", {})
        template = spec.get("template") or spec.get("jobTemplate", {}).get("spec", {}).get("template")
        if template:
            labels.add(template["metadata"]["labels"]["app.kubernetes.io/name"])
    for _, document in DOCUMENTS:
        if document["kind"] == "Service":
            assert document["spec"]["selector"]["app.kubernetes.io/name"] in labels


@pytest.mark.parametrize(("image", "name"), [("service", "sojourn-api"), ("superset", "sojourn-superset")])
def test_servers_use_the_images_and_run_without_rights_on_a_read_only_root(image: str, name: str) -> None:
    (deployment,) = [d for _, d in DOCUMENTS if (d["kind"], d["metadata"]["name"]) == ("Deployment", name)]
    pod = deployment["spec"]["template"]["spec"]
    text = (FOLDER.parent / "images" / f"{image}.Dockerfile").read_text(encoding="utf-8")
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        assert f"-t {container['image']} ." in text
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert {volume["mountPath"] for volume in container["volumeMounts"]} == {"/var/sojourn", "/tmp"}
    user = f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
    assert pod["securityContext"]["runAsNonRoot"]
    assert f"\nUSER {user}\n" in text
