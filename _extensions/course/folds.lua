-- Fold `::: {.box}`, more for whoever wants it, and `::: {.answer}`: the heading that the div begins
-- with becomes the line that opens it. The class "folded" stands for all kinds, in styles and for
-- course/render/filters/notebook.lua, which folds them in notebooks.
--
-- Runs in both engines.

local KINDS = { "box", "answer" }

local function is_folded(div)
  for _, kind in ipairs(KINDS) do
    if div.classes:includes(kind) then return true end
  end
end

-- The opening tag, with the div's own id, classes and attributes.
local function opening(div)
  local html = pandoc.write(pandoc.Pandoc(pandoc.Div({}, div.attr)), "html")
  return html:match("^<div(.-)>")
end

function Div(div)
  if is_folded(div) then div.classes:insert("folded") end
  if not FORMAT:match("html") then return div end
  if div.attributes["for"] then -- which HTML knows of labels alone
    div.attributes["data-for"], div.attributes["for"] = div.attributes["for"], nil
    return div
  end
  if not div.classes:includes("folded") then return nil end
  local title = div.content:remove(1)
  if not title or title.t ~= "Header" then
    error("folds.lua: a box begins with its heading, on a line of its own: ## Title")
  end
  return {
    pandoc.RawBlock("html", ('<details%s><summary id="%s">'):format(opening(div), title.identifier)),
    pandoc.Plain(pandoc.Span(title.content)), -- one item beside the word "show"
    pandoc.RawBlock("html", "</summary>"),
    pandoc.Div(div.content), -- keeps the sections of its own headings inside
    pandoc.RawBlock("html", "</details>"),
  }
end
