-- Number figures, tables, equations and sections, frame them as Quarto does, resolve references.
-- In a notebook: the same numbers without the frames, and sections by their titles.
-- Runs after callouts.lua, whose titles are not sections, and before citeproc.

local NAMES = { fig = "Figure", tbl = "Table", eq = "Equation", sec = "Section" }
local counts = { fig = 0, tbl = 0, eq = 0 }
local numbers = {} -- label → "3" or "1.2"
local titles = {} -- of sections
local in_notebook = not FORMAT:match("html")

local function kind_of(label)
  local kind = label:match("^(%l+)%-")
  return NAMES[kind] and kind
end

local function number(label, kind)
  counts[kind] = counts[kind] + 1
  numbers[label] = tostring(counts[kind])
  return numbers[label]
end

local function caption_of(kind, label, inlines)
  local start = pandoc.Inlines { pandoc.Str(NAMES[kind] .. "\u{a0}" .. number(label, kind)) }
  if in_notebook then start = pandoc.Inlines { pandoc.Strong(start) } end
  if #inlines == 0 then return start end
  return start .. { pandoc.Str(":"), pandoc.Space() } .. inlines
end

local function html(text) return pandoc.RawBlock("html", text) end

-- Frame a figure or a table; a table's caption stands above it.
local function float(kind, label, content, caption, classes, attributes)
  local place = kind == "tbl" and "top" or "bottom"
  if in_notebook then
    local text = pandoc.Blocks { pandoc.Para(caption_of(kind, label, caption)) }
    return pandoc.Div(kind == "tbl" and text .. content or pandoc.Blocks(content) .. text)
  end
  local id = label .. "-caption"
  local inner = pandoc.Div(content, { ["aria-describedby"] = id })
  local captioned = pandoc.Blocks {
    html(('<figcaption class="quarto-float-caption-%s quarto-float-caption quarto-float-%s" id="%s">')
      :format(place, kind, id)),
    pandoc.Plain(caption_of(kind, label, caption)),
    html("</figcaption>"),
  }
  local parts = kind == "tbl" and captioned .. { inner } or pandoc.Blocks { inner } .. captioned
  parts:insert(1, html(('<figure class="quarto-float quarto-float-%s figure">'):format(kind)))
  parts:insert(html("</figure>"))
  local all = pandoc.List { "quarto-float", "quarto-figure", "quarto-figure-center", "anchored" }
  return pandoc.Div(parts, pandoc.Attr(label, all .. (classes or {}), attributes))
end

local function alt_text(image)
  local alt = image.attributes["fig-alt"]
  if alt then
    image.attributes["fig-alt"] = nil
    image.attributes.alt = alt
  end
  image.classes:insert("figure-img")
  if not image.attributes.width then image.classes:insert("img-fluid") end
  return image
end

-- Unwrap a paragraph that holds only images.
local function without_paragraphs(blocks)
  return blocks:map(function(block)
    local only_image = block.t == "Para" and #block.content == 1 and block.content[1].t == "Image"
    return only_image and pandoc.Plain(block.content) or block
  end)
end

local function plain_figure(figure)
  local caption = pandoc.utils.blocks_to_inlines(figure.caption.long)
  if in_notebook then return pandoc.Div(figure.content .. { pandoc.Para(caption) }) end
  local parts = pandoc.Blocks { html('<figure class="figure">') } .. figure.content
  if #caption > 0 then
    parts:extend { html("<figcaption>"), pandoc.Plain(caption), html("</figcaption>") }
  end
  parts:insert(html("</figure>"))
  return pandoc.Div(parts, { class = "quarto-figure quarto-figure-center" })
end

local function captioned_div(div, kind)
  local last = div.content[#div.content]
  local caption = pandoc.Inlines {}
  local is_caption = #div.content > 1 and last.t == "Para" and last.content[1].t ~= "Image"
  if is_caption then caption = div.content:remove().content end
  local content = without_paragraphs(div.content)
  for i, block in ipairs(content) do
    if block.t == "Figure" then content[i] = plain_figure(block) end
  end
  return float(kind, div.identifier, content, caption, div.classes, div.attributes)
end

-- What Quarto writes of an image's attributes on the figure around it too.
local function of_figure(image)
  local kept = {}
  for key, value in pairs(image and image.attributes or {}) do
    if key == "style" or key == "lang" or key:match("^data%-") then kept[key] = value end
  end
  return kept
end

-- An image with a label alone in its paragraph is a figure without a caption too.
local function uncaptioned(para)
  local image = #para.content == 1 and para.content[1]
  if not image or image.t ~= "Image" or kind_of(image.identifier) ~= "fig" then return nil end
  local label = image.identifier
  image.identifier = ""
  return float("fig", label, { pandoc.Plain { image } }, {}, {}, of_figure(image)), false
end

local floats = {
  traverse = "topdown",
  Para = uncaptioned,
  Plain = uncaptioned,
  Div = function(div)
    local kind = kind_of(div.identifier)
    if kind == "fig" or kind == "tbl" then return captioned_div(div, kind), false end
  end,
  Figure = function(figure)
    if kind_of(figure.identifier) ~= "fig" then return plain_figure(figure), false end
    local caption = pandoc.utils.blocks_to_inlines(figure.caption.long)
    local image = figure.content[1] and figure.content[1].content[1]
    local classes, attributes = image and image.classes, of_figure(image)
    return float("fig", figure.identifier, figure.content, caption, classes, attributes), false
  end,
  Table = function(tbl)
    local label, classes = tbl.identifier, tbl.classes:clone()
    tbl.classes:extend { "caption-top", "table" }
    if kind_of(label) ~= "tbl" then return tbl, false end
    local caption = pandoc.utils.blocks_to_inlines(tbl.caption.long)
    local attributes = pandoc.AttributeList(tbl.attributes)
    tbl.identifier, tbl.attributes = "", {}
    tbl.caption = { long = {} }
    return float("tbl", label, { tbl }, caption, classes, attributes), false
  end,
}

local function is_space(inline) return inline.t == "Space" or inline.t == "SoftBreak" end

-- Take the formula before a label off the end of `inlines`.
local function take_formula(inlines)
  local last = #inlines
  if last > 0 and is_space(inlines[last]) then last = last - 1 end
  if last == 0 or inlines[last].t ~= "Math" then return nil end
  local formula = inlines[last]
  while #inlines >= last do inlines:remove() end
  return formula
end

-- $$…$$ {#eq-x}
local function equations(inlines)
  local result = pandoc.Inlines {}
  for _, inline in ipairs(inlines) do
    local label, rest = (inline.text or ""):match("^{#(eq%-[%w_-]+)}(.*)")
    local formula = label and inline.t == "Str" and take_formula(result)
    if formula then
      formula.text = ("%s\\qquad(%s)"):format(formula.text, number(label, "eq"))
      result:insert(pandoc.Span({ formula }, { id = label }))
      if rest ~= "" then result:insert(pandoc.Str(rest)) end
    else
      result:insert(inline)
    end
  end
  return result
end

local function number_sections(blocks)
  local levels = {}
  blocks:walk {
    Header = function(header)
      if header.classes:includes("unnumbered") then return end
      local level = header.level
      levels[level] = (levels[level] or 0) + 1
      for deeper = level + 1, 6 do levels[deeper] = nil end
      local parts = {}
      for i = levels[1] and 1 or 2, level do -- 0 for a level that was left out, as in Quarto
        table.insert(parts, tostring(levels[i] or 0))
      end
      numbers[header.identifier] = table.concat(parts, ".")
      titles[header.identifier] = header.content
    end,
  }
end

local function reference(citation)
  local kind = kind_of(citation.id)
  local text = numbers[citation.id]
  if not (kind and text) then return nil end
  if in_notebook and kind == "sec" then
    return pandoc.Link(titles[citation.id], "#" .. citation.id)
  end
  if citation.mode ~= "SuppressAuthor" then text = NAMES[kind] .. "\u{a0}" .. text end
  if in_notebook then return pandoc.Str(text) end
  return pandoc.Link(text, "#" .. citation.id, "", { class = "quarto-xref" })
end

local function references(cite)
  local links = pandoc.Inlines {}
  for _, citation in ipairs(cite.citations) do
    local link = reference(citation)
    if not link then return nil end
    if #links > 0 then links:extend { pandoc.Str(","), pandoc.Space() } end
    links:extend(citation.prefix)
    if #citation.prefix > 0 then links:insert(pandoc.Space()) end
    links:insert(link)
    links:extend(citation.suffix)
  end
  return links
end

function Pandoc(doc)
  number_sections(doc.blocks)
  doc.blocks = doc.blocks:walk(floats):walk({ Inlines = equations })
  doc.blocks = doc.blocks:walk({ Image = alt_text }):walk({ Cite = references })
  return doc
end
