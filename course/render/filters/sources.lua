-- Show attention.py and the modules beside it as pages, and link each `name` of theirs to its place.
--
-- `::: {.source-listing data-module="flex.py"}` becomes the listing of a module: its public names,
-- then its code, with a heading for each public function or class and an anchor for each method.
-- `::: {.source-index}` becomes the list of all modules. In every page, `fused_attention`,
-- `KVCache.append` and `flex.py` link there, wherever they stand as code in the text.
--
-- Runs in both engines. The pages are sources/NAME.qmd; the modules lie in the project's root.

local MODULES = { "attention", "variants", "positions", "caching", "flex", "analysis", "interchange" }
local root = "" -- from the page to the site's root

local function lines_of(module)
  -- Not quarto.project.directory, which is nil while `quarto preview FILE` renders the file first.
  local folder = quarto and quarto.project.offset or "." -- from the page, where Quarto starts Pandoc
  local file = io.open(folder .. "/" .. module .. ".py", "r")
  local lines = {}
  if not file then return lines end
  for line in file:lines() do lines[#lines + 1] = (line:gsub("\r$", "")) end
  file:close()
  return lines
end

-- ---- A module in pieces ----------------------------------------------------------------------

local function has_odd_quotes(line)
  local _, count = line:gsub('"""', "")
  return count % 2 == 1
end

-- Cut the lines first … last where `begins` says so, outside of texts in three quotes. A piece is
-- {first, last}, without the empty lines at its end.
local function cut(lines, first, last, begins)
  local pieces, inside = {}, false
  for i = first, last do
    local after_empty = i == first or lines[i - 1] == ""
    if not inside and lines[i] ~= "" and (i == first or after_empty and begins(lines[i])) then
      pieces[#pieces + 1] = { first = i }
    end
    if lines[i] ~= "" and #pieces > 0 then pieces[#pieces].last = i end
    if has_odd_quotes(lines[i]) then inside = not inside end
  end
  return pieces
end

local function name_in(lines, piece, indent)
  for i = piece.first, piece.last do
    for _, word in ipairs { "def", "class" } do
      local name = lines[i]:match("^" .. indent .. word .. "%s+([%a_][%w_]*)")
      if name then return name, word end
    end
  end
end

-- The first sentence or line of a docstring, as Markdown.
local function summary(lines, piece)
  for i = piece.first, piece.last do
    local text = lines[i]:match('^%s*"""(.*)$')
    if text then
      text = text:gsub('"""$', "")
      while not text:match("[.!?:]%s*$") and i < piece.last and lines[i + 1] ~= "" do
        i = i + 1
        text = text .. " " .. lines[i]:gsub("^%s+", ""):gsub('"""$', "")
      end
      return (text:gsub("``", "`"):gsub("%s%s.*$", ""):gsub("%s+$", ""))
    end
  end
  return ""
end

-- The pieces of a module: {first, last, name, word, section, public, about}.
local function pieces_of(lines)
  local pieces = cut(lines, 1, #lines, function(line) return line:match("^[^%s)%]}]") end)
  local found = {}
  for _, piece in ipairs(pieces) do
    piece.section = lines[piece.first]:match("^# %-%-%- (.-) %-+$")
    if not piece.section then
      piece.name, piece.word = name_in(lines, piece, "")
      piece.public = piece.name and not piece.name:match("^_")
      piece.about = piece.public and summary(lines, piece)
    end
    local before = found[#found]
    local joins = before and not (before.name or before.section or piece.name or piece.section)
    if joins and before.first > 1 then before.last = piece.last else found[#found + 1] = piece end
  end
  return found
end

-- Where each public name stands: {fused_attention = "attention", ["KVCache.append"] = …}.
local places
local function place_of(name)
  if not places then
    places = {}
    for _, module in ipairs(MODULES) do
      local lines = lines_of(module)
      for _, piece in ipairs(pieces_of(lines)) do
        if piece.public then
          places[piece.name] = module
          for i = piece.first, piece.word == "class" and piece.last or 0 do
            local method = lines[i]:match("^    def ([%a][%w_]*)")
            if method then places[piece.name .. "." .. method] = module end
          end
        end
      end
    end
  end
  return places[name]
end

-- ---- A module as a page ----------------------------------------------------------------------

local function markdown(text) return pandoc.read(text, "commonmark").blocks[1] end

local function inlines(text)
  local block = markdown(text)
  return block and block.content or pandoc.Inlines {}
end

local function code(lines, piece, id, class)
  local text = table.concat(lines, "\n", piece.first, piece.last)
  return pandoc.Div(pandoc.CodeBlock(text, { class = "python" }), {
    id = id or "", class = class, style = "--line: " .. piece.first - 1,
  })
end

-- A class is cut before each of its methods, so that each has an anchor.
local function class_code(lines, piece)
  local function begins(line) return line:match("^    [@d]") end
  local parts = pandoc.Blocks {}
  for i, part in ipairs(cut(lines, piece.first, piece.last, begins)) do
    local method = i > 1 and name_in(lines, part, "    ")
    parts:insert(code(lines, part, method and piece.name .. "." .. method, "source-code"))
  end
  return pandoc.Div(parts, { class = "source-class" })
end

local function link(name, target, class)
  return pandoc.Link(pandoc.Code(name), target, "", class and { class = class } or {})
end

local function listing(module)
  local lines = lines_of(module)
  local pieces = pieces_of(lines)
  local names, blocks, level = {}, pandoc.Blocks {}, 2
  for i, piece in ipairs(pieces) do
    if piece.section then
      level = 3
      local id = "part-" .. piece.section:match("^[^:]+"):lower():gsub("[^%w]+", "-")
      blocks:insert(pandoc.Header(2, inlines(piece.section), { id = id }))
    elseif piece.public then
      if piece.about ~= "" then
        local name = pandoc.Inlines { link(piece.name, "#" .. piece.name), pandoc.Str(" – ") }
        names[#names + 1] = pandoc.Plain(name .. inlines(piece.about))
      end
      blocks:insert(pandoc.Header(level, pandoc.Code(piece.name), { id = piece.name }))
      blocks:insert(pandoc.Div({}, { class = "mentions", ["data-name"] = piece.name }))
      local shown = piece.word == "class" and class_code(lines, piece)
      blocks:insert(shown or code(lines, piece, nil, "source-code whole"))
    else
      blocks:insert(code(lines, piece, piece.name or i == 1 and "top" or nil, "source-code"))
    end
  end
  return pandoc.Blocks { pandoc.Div(pandoc.BulletList(names), { class = "source-names" }) } .. blocks
end

local function index()
  local blocks = pandoc.Blocks {}
  for _, module in ipairs(MODULES) do
    local lines = lines_of(module)
    local pieces, names = pieces_of(lines), pandoc.Inlines {}
    for _, piece in ipairs(pieces) do
      if piece.public then
        if #names > 0 then names:extend { pandoc.Str(","), pandoc.Space() } end
        names:insert(link(piece.name, module .. ".html#" .. piece.name))
      end
    end
    blocks:insert(pandoc.Header(2, link(module .. ".py", module .. ".html"), { id = module }))
    if pieces[1] then blocks:insert(pandoc.Para(inlines(summary(lines, pieces[1])))) end
    blocks:insert(pandoc.Para(names))
  end
  return blocks
end

-- ---- Names in the text -----------------------------------------------------------------------

local function address(text)
  local module = text:match("^([%a_]+)%.py$")
  for _, known in ipairs(MODULES) do
    if known == module then return root .. "sources/" .. module .. ".html" end
  end
  local name = text:match("^([%a_][%w_.]*)%(") or text:match("^[%a_][%w_.]*$")
  local place = name and place_of(name)
  return place and root .. "sources/" .. place .. ".html#" .. name
end

local function linked(element)
  local target = not element.classes:includes("no-link") and address(element.text)
  if not target then return nil end
  return pandoc.Link(element, target, "", { class = "source-link" }), false -- or its code is linked again
end

function Pandoc(doc)
  if not FORMAT:match("html") then return nil end
  root = quarto and quarto.project.offset .. "/"
    or pandoc.utils.stringify(doc.meta["site-root"] or "")
  doc.blocks = doc.blocks:walk {
    traverse = "topdown",
    Link = function(found) return found, false end,
    Header = function(found) return found, false end,
    Div = function(found) -- a callout's title is a button, which can't hold a link
      if found.classes:includes("callout-header") then return found, false end
    end,
    Code = linked,
  }
  doc.blocks = doc.blocks:walk {
    Div = function(div)
      if div.classes:includes("source-listing") then
        div.content = listing((div.attributes["data-module"] or div.attributes.module):gsub("%.py$", ""))
        return div.content
      elseif div.classes:includes("source-index") then
        return index()
      end
    end,
  }
  return doc
end
