"""Python cells to outputs, in a fresh kernel."""

import sys

# Skip an optional import of jsonschema, which nbclient imports: building its grammars of addresses
# takes a second, and no notebook is checked for addresses.
sys.modules.setdefault("rfc3987_syntax", None)
