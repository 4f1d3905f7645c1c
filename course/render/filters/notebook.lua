-- The last filter of a notebook: leave only Markdown that Jupyter reads, with marks at headings.

local page = "" -- the page's address in the site
local anchors = {} -- identifier of a heading → Jupyter's anchor

local function has(element, class) return element.classes:includes(class) end

local function mark(text) return pandoc.CodeBlock(text, { class = "notebook-mark" }) end

-- Jupyter's rule for the anchors of headings.
local function anchor_of(header) return (pandoc.utils.stringify(header):gsub(" ", "-")) end

local function address(target)
  if target:match("^%a[%w+.-]*:") then return target end
  local place = target:match("^#(.*)")
  if place then return anchors[place] and "#" .. anchors[place] or page .. target end
  local path, count = page:gsub("[^/]*$", "") .. target, nil
  repeat path, count = path:gsub("[^/]+/%.%./", "", 1) until count == 0
  return path
end

-- ---- Folded boxes and answers: to <details> ---------------------------------------------------

local function is_mark(code) return has(code, "notebook-mark") end

local function holds_cells(block)
  local found = false
  pandoc.Blocks({ block }):walk { CodeBlock = function(code) found = found or is_mark(code) end }
  return found
end

local function folded(title, blocks)
  if #blocks == 0 then return {} end
  local summary = pandoc.write(pandoc.Pandoc(pandoc.Plain(title)), "html")
  local opening = ("<details><summary>%s</summary>"):format(summary)
  return pandoc.Blocks { pandoc.RawBlock("html", opening) } .. blocks
    .. { pandoc.RawBlock("html", "</details>") }
end

local function fold_cell(code)
  if is_mark(code) and code.text:match("^cell") then code.text = code.text .. " folded" end
  return code
end

-- A notebook's cell can't stand inside <details>, so text and cells fold separately.
local function fold(title, content)
  local result, text = pandoc.Blocks {}, pandoc.Blocks {}
  for _, block in ipairs(content) do
    if holds_cells(block) then
      result:extend(folded(title, text))
      result:extend(pandoc.Blocks({ block }):walk { CodeBlock = fold_cell })
      text = pandoc.Blocks {}
    else
      text:insert(block)
    end
  end
  result:extend(folded(title, text))
  return result
end

-- ---- The rest ------------------------------------------------------------------------------------

local function div(element)
  if has(element, "folded") then
    local title = element.content:remove(1)
    return fold(title.content, element.content)
  end
  if element.identifier == "refs" then
    return pandoc.Blocks { pandoc.Header(2, "References") } .. element.content
  end
  if has(element, "widget") then
    local link = pandoc.Link("Play with it on the page", page .. "#" .. element.identifier)
    return element.content .. { pandoc.Para { pandoc.Strong(link) } }
  end
  return element.content
end

local function span(element)
  if has(element, "source") then return pandoc.Code(pandoc.utils.stringify(element)) end
  if has(element, "q") or has(element, "k") or has(element, "v") then
    return pandoc.Strong(element.content)
  end
  return element.content
end

local plain = {
  Div = div, Span = span,
  Link = function(link) return pandoc.Link(link.content, address(link.target), link.title) end,
  Image = function(image)
    local alt = image.attributes.alt
    return pandoc.Image(alt and { pandoc.Str(alt) } or image.caption, address(image.src))
  end,
  Figure = function(figure) return figure.content end,
  Header = function(header) return pandoc.Header(header.level, header.content) end,
  RawBlock = function(raw) if raw.text:match("^<script") then return {} end end,
}

function Pandoc(doc)
  page = pandoc.utils.stringify(doc.meta["page-address"])
  doc.blocks:walk { Header = function(header) anchors[header.identifier] = anchor_of(header) end }
  local blocks = pandoc.Blocks {}
  for _, block in ipairs(doc.blocks:walk(plain)) do
    if block.t == "Header" then blocks:insert(mark("break")) end
    blocks:insert(block)
  end
  return pandoc.Pandoc(blocks)
end
