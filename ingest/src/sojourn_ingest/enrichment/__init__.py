"""What is looked up of a client before its address becomes a pseudonym: AS, country, access technology, circuit."""

from sojourn_ingest.enrichment.access_rules import AccessRules
from sojourn_ingest.enrichment.circuit_table import CircuitTable
from sojourn_ingest.enrichment.enrichment import Enrichment
from sojourn_ingest.enrichment.prefix_list import PrefixList

__all__ = ["AccessRules", "CircuitTable", "Enrichment", "PrefixList"]
