-- Mark the end of the text, so that the references follow in the appendix.
-- Runs last, and makes the sections itself, or the marker would end up inside the last of them.

function Pandoc(doc)
  local references
  local text = doc.blocks:filter(function(block)
    local is_references = block.t == "Div" and block.identifier == "refs"
    if is_references then references = block end
    return not is_references
  end)
  doc.blocks = pandoc.utils.make_sections(false, nil, text)
  doc.blocks:insert(pandoc.RawBlock("html", "<!--appendix-->"))
  if references then doc.blocks:insert(references) end
  return doc
end
