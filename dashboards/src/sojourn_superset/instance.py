"""Bring Superset's own database up to date, once per version, and load the assets into it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import io
import json
import logging
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sojourn_superset.security import (
    ADMINISTRATORS_ONLY,
    VIEWER,
    VIEWER_PERMISSIONS,
    keep_to_administrators,
    sync_viewer_role,
)
from sojourn_superset.settings import SettingError, Settings

PREPARED = "prepared.json"
IMPORTED = "imported.json"
JOURNAL = "wal"
ASSET_MARK = "sojourn-asset:"
"""Prefix of `external_url` on everything that the importer owns; what does not carry it is never touched."""

Say = Callable[[str], None]


def prepare(settings: Settings, say: Say) -> None:
    """Migrate the metadata database, set the admin's password, register permissions; skip when already done."""
    stamp = _preparation(settings)
    keep_private(settings)
    if settings.database.is_file() and _read(settings.home / PREPARED) == stamp:
        say(f"Superset {stamp['superset']} is prepared already")
        return
    (settings.home / PREPARED).unlink(missing_ok=True)
    with _application(settings, say):
        from flask_migrate import upgrade
        from sqlalchemy import text
        from superset import appbuilder, security_manager
        from superset.extensions import db, migrate

        say("Superset: migrating its metadata database")
        with _quiet(settings.logs / "migration.log"):
            upgrade(directory=migrate.directory)
        # Who reads need not wait until an import is written. The file keeps the mode.
        db.session.execute(text(f"PRAGMA journal_mode={JOURNAL}"))
        say("Superset: registering roles and permissions")
        appbuilder.add_permissions(update_perms=True)
        security_manager.sync_role_definitions()
        keep_to_administrators(security_manager)
        sync_viewer_role(security_manager)
        db.session.commit()
        user = security_manager.find_user(settings.admin_user)
        if user is None:
            user = security_manager.add_user(
                settings.admin_user,
                "Sojourn",
                "Administrator",
                f"{settings.admin_user}@localhost",
                security_manager.find_role("Admin"),
                settings.admin_password,
            )
            if not user:
                raise RuntimeError(f"could not create the user {settings.admin_user}; see {settings.logs}")
            say(f"Superset: created the user {settings.admin_user}")
        else:
            security_manager.reset_password(user.id, settings.admin_password)
            say(f"Superset: set the password of {settings.admin_user}")
    _write(settings.home / PREPARED, stamp)


def keep_private(settings: Settings) -> None:
    """Make the folder of Superset and its database readable by their owner only: hashes of passwords are in it.

    Raises
    ------
    SettingError
        If they belong to someone else.
    """
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        settings.home.chmod(0o700)
        # Those of a journal are taken from the database.
        for file in settings.home.glob(f"{settings.database.name}*"):
            file.chmod(0o600)
    except OSError as error:
        raise SettingError(f"cannot keep {settings.home} to its owner: {error}") from error


def load_assets(settings: Settings, contents: dict[str, str], api: str, say: Say, force: bool = False) -> bool:
    """Make Superset hold exactly these assets of ours; return whether anything had to be done.

    Parameters
    ----------
    contents
        File name to YAML, in Superset's export format.
    api
        URL of the API that these assets ask, by whose builds Superset's cache goes.
    force
        Import although these very assets have been imported before.
    """
    stamp = {"superset": version("apache-superset"), "assets": digest(contents), "api": api, "roles": 1}
    if not force and settings.database.is_file() and _read(settings.home / IMPORTED) == stamp:
        say("Superset: the dashboard is up to date")
        return False
    (settings.home / IMPORTED).unlink(missing_ok=True)
    with _application(settings, say):
        from superset import security_manager
        from superset.commands.importers.v1.assets import ImportAssetsCommand
        from superset.utils.core import override_user

        say("Superset: importing the dashboard")
        admin = security_manager.find_user(settings.admin_user)
        if admin is None:
            raise RuntimeError(f"no user {settings.admin_user} in Superset; run `sojourn-superset prepare` first")
        with override_user(admin):
            ImportAssetsCommand(contents).run()
            for gone in _remove_gone(contents):
                say(f"Superset: removed {gone}, which the assets no longer have")
            _let_viewers_read()
    _write(settings.home / IMPORTED, stamp)
    return True


def add_viewer(settings: Settings, name: str, password: str, say: Say) -> None:
    """Create a user who reads dashboards, or set the password of one.

    Raises
    ------
    SettingError
        If a user of this name has another role: the command never takes rights away or lends them.
    """
    with _application(settings, say):
        from superset import security_manager

        role = security_manager.find_role(VIEWER)
        user = security_manager.find_user(name)
        if role is None:
            raise SettingError(f"no role {VIEWER!r}; run `sojourn-superset prepare` first")
        if user is None:
            if not security_manager.add_user(name, name, "Viewer", f"{name}@localhost", role, password):
                raise RuntimeError(f"could not create the user {name}; see {settings.logs}")
            say(f"Superset: created the viewer {name}")
        elif [one.name for one in user.roles] == [VIEWER]:
            security_manager.reset_password(user.id, password)
            say(f"Superset: set the password of the viewer {name}")
        else:
            raise SettingError(f"the user {name} is not a viewer; choose another name")


def _let_viewers_read() -> None:
    """Let viewers read the datasets of the database that was imported."""
    from superset import security_manager
    from superset.extensions import db
    from superset.models.core import Database

    for database in db.session.query(Database).filter(Database.external_url.like(f"{ASSET_MARK}%")):
        sync_viewer_role(security_manager, database.perm)
    db.session.commit()


def digest(contents: dict[str, str]) -> str:
    """Return one hash over all files."""
    text = json.dumps(contents, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _remove_gone(contents: dict[str, str]) -> list[str]:
    """Delete what carries our mark but is in none of the files: importing merges, it never deletes."""
    import yaml
    from superset.connectors.sqla.models import SqlaTable
    from superset.extensions import db
    from superset.models.core import Database
    from superset.models.dashboard import Dashboard
    from superset.models.slice import Slice

    present = {str(yaml.safe_load(text).get("uuid")) for text in contents.values()}
    removed = []
    # a dashboard before its charts, a chart before its dataset: nothing is left pointing at what is gone
    for model in (Dashboard, Slice, SqlaTable, Database):
        ours = db.session.query(model).filter(model.external_url.like(f"{ASSET_MARK}%")).all()
        for item in ours:
            if str(item.uuid) not in present:
                removed.append(item.external_url.removeprefix(ASSET_MARK))
                db.session.delete(item)
        db.session.flush()
    db.session.commit()
    return removed


@functools.cache
def _create_app() -> Any:
    from superset.app import create_app

    return create_app()


@contextlib.contextmanager
def _application(settings: Settings, say: Say) -> Iterator[None]:
    """Enter Superset's application context; starting it takes ten seconds and more, so one per process."""
    os.environ["SUPERSET_CONFIG_PATH"] = str(settings.config)
    keep_private(settings)
    # Before Superset makes it, which would let everyone read it.
    settings.database.touch(mode=0o600)
    if not _create_app.cache_info().currsize:
        say("Superset: starting it up")
    # it greets on standard output, without even ending the line
    with contextlib.redirect_stdout(io.StringIO()):
        app = _create_app()
    with app.app_context():
        yield


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Send what the migrations print, some hundred lines, to a file; they also replace the log handlers."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    with log.open("a", encoding="utf-8") as stream:
        try:
            with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                yield
        finally:
            root.handlers, root.level = handlers, level
            for logger in logging.Logger.manager.loggerDict.values():
                if isinstance(logger, logging.Logger):
                    logger.disabled = False


def _preparation(settings: Settings) -> dict[str, str]:
    """Return what the preparation depends on; the password only as a keyed hash."""
    permissions = (sorted(VIEWER_PERMISSIONS), sorted(ADMINISTRATORS_ONLY))
    login = f"{settings.admin_user}:{settings.admin_password}".encode()
    return {
        "superset": version("apache-superset"),
        "journal": JOURNAL,
        "permissions": hashlib.sha256(repr(permissions).encode()).hexdigest(),
        "login": hmac.new(settings.secret_key.encode(), login, hashlib.sha256).hexdigest(),
    }


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def _write(path: Path, value: Any) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=1) + "\n")
    partial.replace(path)
