"""Python cells to outputs, in a fresh kernel."""

import sys

# jsonschema, which nbclient imports, can do without: its grammars of addresses take a second to
# build, and notebooks are checked for none.
sys.modules.setdefault("rfc3987_syntax", None)
