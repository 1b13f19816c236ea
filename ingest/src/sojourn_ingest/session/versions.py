"""Which version facts are of, and which versions will do in their place."""

from __future__ import annotations

from sojourn_ingest.formats.interface import Context, Format


class Versions:
    """Versions of facts: those of the reader, and what else the facts depend on in this ingest."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def of(self, chosen: Format, bound: str = "") -> str:
        """Return the version of the facts that a reader gives; ``bound`` as from :meth:`Format.bound_to`."""
        return chosen.version + bound + self._suffix(chosen)

    def compatible(self, chosen: Format, bound: str = "") -> tuple[str, ...]:
        """Return the versions of facts that hold all that a reader gives."""
        return tuple(version + bound + self._suffix(chosen) for version in chosen.compatible_versions())

    def is_served_by(self, chosen: Format, version: str) -> bool:
        """Return whether facts of another path's reader, of this version, will do for this reader."""
        suffix = self._suffix(chosen)
        return version.endswith(suffix) and chosen.is_served_by(version.removesuffix(suffix))

    def _suffix(self, chosen: Format) -> str:
        # Facts with addresses under another policy or key do not join with these, and clients of connections are others
        # under another prefix list: they are facts of another version.
        enriched = f"+{self._context.enrichment.fingerprint}" if chosen.is_enriched else ""
        return enriched + (f"+{self._context.pseudonymiser.fingerprint}" if chosen.holds_addresses else "")
