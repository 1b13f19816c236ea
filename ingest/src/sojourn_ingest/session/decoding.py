"""From a source to files of facts that no commit names yet."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace

from sojourn_ingest.formats.content.file_parts import PartOfFile
from sojourn_ingest.formats.content.whole_characters import whole_characters
from sojourn_ingest.formats.interface import Context, FilePart, Format, InputError, Reading, Source, SplittableFormat
from sojourn_ingest.host_names import HostNames
from sojourn_ingest.lake import DataFile, FactWriter, Lake
from sojourn_ingest.lake.long_texts import too_long
from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.session.draft import Draft

logger = logging.getLogger(__name__)

#: The reason where a reader itself failed: nothing that it gave is kept.
INTERNAL_ERROR = "internal_error"


class _LakeFault(Exception):  # noqa: N818 - it carries an error past those of the reader
    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def decode(
    lake: Lake, context: Context, draft: Draft, source: Source, chosen: Format, reading: Reading
) -> tuple[DataFile, ...]:
    """Read a source into files of facts; ``reading`` says what was read and refused.

    Raises
    ------
    InputError
        If nothing can be read, or the reader failed.
    OSError
        If the lake cannot be written to.
    """
    pseudonymiser = context.pseudonymiser
    # The version of other facts does not say under which policy they are, so it is the same for them under both.
    hosts = HostNames(pseudonymiser if chosen.holds_addresses else replace(pseudonymiser, policy="pseudonymise"))
    forgotten = pseudonymiser.forgotten.host_keys
    with FactWriter(lake.storage, draft.content_hash or None, draft.version, forgotten) as writer:
        try:
            with whole_characters():
                for name, batch in chosen.facts(source, context, reading):
                    rows = hosts.replaced_in(name, batch)
                    try:
                        writer.write(name, rows)
                    except OSError as error:
                        raise _LakeFault(error) from error
        except (InputError, OperatorError, MemoryError):
            # The last two are not the source's: a store that cannot be reached, a machine that is too small.
            raise
        except _LakeFault as fault:
            # The disk of the lake, not the reader: the ingest ends, and the same command completes it.
            raise fault.error from fault
        except BaseException as error:
            # A panic of the decoder derives from BaseException and from no class that can be imported.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            # The place of the fault is reported; its message only if it cannot quote an address.
            frames = "; ".join(f"{at.filename}:{at.lineno}" for at in traceback.extract_tb(error.__traceback__))
            what = type(error).__name__ if chosen.holds_addresses else f"{type(error).__name__}: {error}"
            logger.error("%s: reader %s failed: %s, at %s", draft.path, chosen.name, what, frames)  # noqa: TRY400
            text = f"reader {chosen.name} failed: {what}; please report this"
            raise InputError(INTERNAL_ERROR, text) from error
        files = writer.finish(reading.content_hash)
        reading.refuse("forgotten_host", writer.forgotten_rows)
        for reason, count in writer.refused_texts.items():
            reading.refuse(reason, count)
        if writer.refused_texts and not files:
            raise too_long(next(iter(writer.refused_texts)))
        return files


def decode_part(
    lake: Lake, context: Context, draft: Draft, source: Source, whole: SplittableFormat, part: FilePart
) -> tuple[tuple[DataFile, ...], Reading]:
    """Read one part of a file, as facts of the whole, whose hash and version are the draft's.

    Raises
    ------
    InputError
        If nothing of the first part can be read.
    """
    reading = Reading()
    return decode(lake, context, draft, source, PartOfFile(whole, part), reading), reading
