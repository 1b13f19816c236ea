"""Keys of permalinks that nobody can compute or guess.

Superset makes the key of a permalink from the number of its entry in a way that shows in a few hundred keys of one's
own: with them, whoever may make permalinks reads those of everybody, with statements of SQL Lab and filters of drafts.
Links of SQL Lab from before are numbers alone, behind `kv:`, and are not read.
"""

from __future__ import annotations

import hmac
from typing import Any

from sojourn_superset.security import derived_secret

MAC_CHARACTERS = 32
"""128 bits, as hexadecimal digits at the end of a key."""
KEY_OF_NUMBER = "kv:"
NO_ENTRY = 0
"""A number that no entry has."""


def sign_permalinks(app: Any) -> None:
    """Have keys of permalinks end with a code of the installation, and read no others."""
    from superset.commands.dashboard.permalink import create as create_dashboard
    from superset.commands.dashboard.permalink import get as get_dashboard
    from superset.commands.explore.permalink import create as create_explore
    from superset.commands.explore.permalink import get as get_explore
    from superset.commands.sql_lab.permalink import create as create_sql_lab
    from superset.commands.sql_lab.permalink import get as get_sql_lab
    from superset.key_value import utils

    encode, decode = utils.encode_permalink_key, utils.decode_permalink_id
    secret = derived_secret(app.config["SECRET_KEY"], "permalinks")

    def code_of(key: str, salt: str) -> str:
        of_key = f"{salt} {key}".encode("utf-8", "backslashreplace").decode()
        return derived_secret(secret, of_key)[:MAC_CHARACTERS]

    def encode_signed(key: int, salt: str) -> str:
        plain = str(encode(key=key, salt=salt))
        return plain + code_of(plain, salt)

    def decode_signed(key: str, salt: str) -> int:
        plain, code = key[:-MAC_CHARACTERS], key[-MAC_CHARACTERS:]
        if not (code.isascii() and hmac.compare_digest(code, code_of(plain, salt))):
            return NO_ENTRY
        return int(decode(key=plain, salt=salt))

    read_sql_lab = get_sql_lab.GetSqlLabPermalinkCommand.run
    get_sql_lab.GetSqlLabPermalinkCommand.run = lambda command: (
        None if command.key.startswith(KEY_OF_NUMBER) else read_sql_lab(command)
    )
    for module in (create_dashboard, create_explore, create_sql_lab):
        module.encode_permalink_key = encode_signed
    for module in (get_dashboard, get_explore, get_sql_lab):
        module.decode_permalink_id = decode_signed
