-- Marks where the text ends, so that references and footnotes can follow in the appendix.
-- Runs last: sections are made here, or the marker would end up inside the last of them.

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
