-- Convert ::: {.callout-tip collapse="true"} to the divs that Quarto makes of a callout.
-- In a notebook: to a quotation, or to <details> if it is folded.

local NAMES = {
  ["callout-note"] = "Note", ["callout-tip"] = "Tip", ["callout-important"] = "Important",
  ["callout-warning"] = "Warning", ["callout-caution"] = "Caution",
}
local count = 0

local function kind_of(div)
  for _, class in ipairs(div.classes) do
    if NAMES[class] then return class end
  end
end

local function take_title(div)
  local first, given = div.content[1], div.attributes.title
  div.attributes.title = nil
  if given then return pandoc.utils.blocks_to_inlines(pandoc.read(given, "markdown").blocks) end
  if first and first.t == "Header" then
    div.content:remove(1)
    return first.content
  end
end

local function title_container(title, kind)
  local inlines = title or { pandoc.Str(NAMES[kind]) }
  if title then
    local spoken = pandoc.Span(pandoc.Str(NAMES[kind]), { class = "screen-reader-only" })
    inlines = pandoc.Inlines { spoken } .. title
  end
  return pandoc.Div(pandoc.Plain(inlines), { class = "callout-title-container flex-fill" })
end

local function header(title, kind, target, collapsed)
  local icon = pandoc.Div(pandoc.RawBlock("html", '<i class="callout-icon"></i>'),
    { class = "callout-icon-container" })
  local parts = pandoc.Blocks { icon, title_container(title, kind) }
  if not target then
    return pandoc.Div(parts, { class = "callout-header d-flex align-content-center" })
  end
  parts:insert(pandoc.Div(pandoc.RawBlock("html", '<i class="callout-toggle"></i>'), {
    class = "callout-btn-toggle d-inline-block border-0 py-1 ps-1 pe-0 float-end",
  }))
  local classes = { "callout-header", "d-flex", "align-content-center" }
  if collapsed then table.insert(classes, "collapsed") end
  return pandoc.Div(parts, pandoc.Attr("", classes, { -- pairs keep their order
    { "data-bs-toggle", "collapse" },
    { "data-bs-target", "." .. target .. "-contents" },
    { "aria-controls", target },
    { "aria-expanded", collapsed and "false" or "true" },
    { "role", "button" },
    { "tabindex", "0" },
  }))
end

local function body(content, target, collapsed)
  local inner = pandoc.Div(content, { class = "callout-body-container callout-body" })
  if not target then return inner end
  local class = target .. "-contents callout-collapse collapse" .. (collapsed and "" or " show")
  return pandoc.Div(inner, { id = target, class = class })
end

local function is_mark(code) return code.classes:includes("notebook-mark") end

local function holds_cells(block)
  local found = false
  pandoc.Blocks({ block }):walk { CodeBlock = function(code) found = found or is_mark(code) end }
  return found
end

local function folded(title, blocks)
  local summary = pandoc.write(pandoc.Pandoc(pandoc.Plain(title)), "html")
  local opening = ("<details><summary>%s</summary>"):format(summary)
  return pandoc.Blocks { pandoc.RawBlock("html", opening) } .. blocks
    .. { pandoc.RawBlock("html", "</details>") }
end

-- A notebook's cell can't stand inside <details>, so text and cell fold separately.
local function folded_around_cells(title, content)
  local result, text = pandoc.Blocks {}, pandoc.Blocks {}
  local function fold_text()
    if #text > 0 then result:extend(folded(title, text)) end
    text = pandoc.Blocks {}
  end
  for _, block in ipairs(content) do
    if holds_cells(block) then
      fold_text()
      result:extend(pandoc.Blocks({ block }):walk { CodeBlock = function(code)
        if is_mark(code) and code.text:match("^cell") then code.text = code.text .. " folded" end
        return code
      end })
    else
      text:insert(block)
    end
  end
  fold_text()
  return result
end

local function for_notebook(title, content, collapsed)
  if collapsed then return folded_around_cells(title, content) end
  local blocks = pandoc.Blocks { pandoc.Para { pandoc.Strong(title) } } .. content
  return content:find_if(holds_cells) and blocks or pandoc.BlockQuote(blocks)
end

function Div(div)
  local kind = kind_of(div)
  if not kind then return nil end
  if not FORMAT:match("html") then
    local title = take_title(div) or { pandoc.Str(NAMES[kind]) }
    return for_notebook(title, div.content, div.attributes.collapse == "true")
  end
  count = count + 1
  local collapse = div.attributes.collapse
  div.attributes.collapse = nil
  local target = collapse and ("callout-" .. count) or nil
  local collapsed = collapse == "true"
  local title = take_title(div)
  div.content = {
    header(title, kind, target, collapsed),
    body(div.content, target, collapsed),
  }
  div.classes:extend { "callout", "callout-style-default", "callout-titled" }
  return div
end
