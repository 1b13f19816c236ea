"""The decoder extension: its interface and the errors that it raises."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import sojourn_ingest
from sojourn_ingest import _native


def interface() -> ast.Module:
    return ast.parse((Path(sojourn_ingest.__file__).parent / "_native.pyi").read_text())


def parameters(function: ast.FunctionDef) -> list[str]:
    names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    return [name for name in names if name != "self"]


def runtime_parameters(thing: Any) -> list[str]:
    return [name for name in inspect.signature(thing).parameters if name != "self"]


def test_the_stub_declares_what_the_module_has() -> None:
    declared = {node.name for node in interface().body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert declared == {name for name in dir(_native) if not name.startswith("__")}


def test_the_stub_declares_the_parameters_that_the_module_takes() -> None:
    for node in interface().body:
        if isinstance(node, ast.FunctionDef):
            assert runtime_parameters(getattr(_native, node.name)) == parameters(node), node.name
        elif isinstance(node, ast.ClassDef):
            runtime = getattr(_native, node.name)
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                    assert runtime_parameters(runtime) == parameters(member), node.name
                elif isinstance(member, ast.FunctionDef):
                    assert runtime_parameters(getattr(runtime, member.name)) == parameters(member), member.name
                elif isinstance(member, ast.AnnAssign):
                    assert isinstance(member.target, ast.Name)
                    assert hasattr(runtime, member.target.id), member.target.id


def test_every_fault_is_a_decode_error() -> None:
    for node in interface().body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
            kind = getattr(_native, node.name)
            assert issubclass(kind, _native.DecodeError)
            assert kind.__module__ == "sojourn_ingest._native"


def test_the_core_has_a_version() -> None:
    assert _native.core_version().count(".") == 2
