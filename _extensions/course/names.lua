-- Link each public name of attention.py and the modules beside it, wherever it stands as code in the
-- text: `fused_attention`, `KVCache.append`, `flex.py`. course/render/read/names.py lists them.
--
-- Runs in both engines, before folds.lua, so that a heading that becomes a title holds no link.

local root = "" -- from the page to the site's root
local places = {} -- {fused_attention = "attention", ["flex.py"] = "flex", …}

local function read_places()
  -- Not quarto.project.directory, which is nil while `quarto preview FILE` renders the file first.
  local folder = quarto and quarto.project.offset or "." -- from the page, where Quarto starts Pandoc
  local file = io.open(folder .. "/.course/names.json", "r")
  if not file then return {} end
  local text = file:read("a")
  file:close()
  return pandoc.json.decode(text, false)
end

-- The sections of a module's page stand in the page itself, not in the cell that wrote them.
local function lifted(div)
  if not div.classes:includes("source-pages") then return nil end
  local written
  div:walk { Div = function(inner)
    if inner.classes:includes("cell-output-markdown") then written = inner.content end
  end }
  return written
end

local function linked(element)
  local name = element.text:match("^([%a_][%w_.]*)%(") or element.text:match("^[%a_][%w_.]*$")
  local module = name and places[name]
  if not module then return nil end
  local anchor = name == module .. ".py" and "" or "#" .. name
  local target = root .. "sources/" .. module .. ".html" .. anchor
  return pandoc.Link(element, target, "", { class = "source-link" }), false -- or its code is linked again
end

function Pandoc(doc)
  if not FORMAT:match("html") then return nil end
  root = quarto and quarto.project.offset .. "/"
    or pandoc.utils.stringify(doc.meta["site-root"] or "")
  places = read_places()
  doc.blocks = doc.blocks:walk {
    traverse = "topdown",
    Link = function(found) return found, false end,
    Header = function(found) return found, false end,
    Code = linked,
  }
  doc.blocks = doc.blocks:walk { Div = lifted }
  return doc
end
