-- Link each `[weights]{.term}` to its entry in the glossary, and end the page with the entries' notes,
-- which widgets/terms.js shows beside their links. Reads glossary.yml.
--
-- Runs in both engines, before qkv-math.lua, which colours the symbols.

local root = "" -- from the page to the site's root
local entries -- of glossary.yml, by every form of a term

local function slug(term)
  return (term:lower():gsub("[^%w]+", "-"):gsub("^%-", ""):gsub("%-$", ""))
end

local function read_entries()
  -- Not quarto.project.directory, which is nil while `quarto preview FILE` renders the file first.
  local folder = quarto and quarto.project.offset or "." -- from the page, where Quarto starts Pandoc
  local file = assert(io.open(folder .. "/glossary.yml", "r"))
  local text = file:read("a")
  file:close()
  local found = {}
  for term, entry in pairs(pandoc.read("---\n" .. text .. "\n---\n", "markdown").meta) do
    entry.term = term
    found[term] = entry
    for _, form in ipairs(entry.forms or {}) do found[pandoc.utils.stringify(form)] = entry end
  end
  return found
end

local function entry_of(name)
  entries = entries or read_entries()
  return entries[name] or entries[name:lower()]
    or error("terms.lua: there is no term \"" .. name .. "\" in glossary.yml")
end

local function note(entry)
  local head = pandoc.Inlines { pandoc.Strong(entry.term) }
  if entry.symbol then head:extend({ pandoc.Space() } .. entry.symbol) end
  local parts = pandoc.Blocks { pandoc.Para(head), pandoc.Para(entry.sentence) }
  return pandoc.Div(parts, pandoc.Attr("note-" .. slug(entry.term), { "term-note" }, {
    { "role", "tooltip" }, { "hidden", "hidden" }, -- pairs keep their order
  }))
end

function Pandoc(doc)
  if not FORMAT:match("html") then return nil end
  root = quarto and quarto.project.offset .. "/"
    or pandoc.utils.stringify(doc.meta["site-root"] or "")
  local notes, noted = pandoc.Blocks {}, {}
  doc.blocks = doc.blocks:walk { Span = function(span)
    if not span.classes:includes("term") then return nil end
    local entry = entry_of(span.attributes.name or pandoc.utils.stringify(span))
    if not noted[entry.term] then
      noted[entry.term] = true
      notes:insert(note(entry))
    end
    span.classes = span.classes:filter(function(class) return class ~= "term" end)
    span.attributes.name = nil
    local text = #span.classes > 0 and pandoc.Inlines { span } or span.content
    return pandoc.Link(text, root .. "glossary.html#term-" .. slug(entry.term), "", {
      class = "term", ["aria-describedby"] = "note-" .. slug(entry.term),
    })
  end }
  doc.blocks:extend(notes)
  return doc
end
