-- Colour Q, K and V inside formulas: give <mi>Q</mi> class="q", and so on.
--
-- Runs in both engines, last, because it converts formulas to HTML.

local CLASSES = {}
for class, letters in pairs {
  q = "Q q 𝐐 𝐪 𝑸 𝒒 𝑄 𝑞",
  k = "K k 𝐊 𝐤 𝑲 𝒌 𝐾 𝑘",
  v = "V v 𝐕 𝐯 𝑽 𝒗 𝑉 𝑣",
} do
  for letter in letters:gmatch("%S+") do CLASSES[letter] = class end
end

local function coloured(attributes, letter)
  local class = CLASSES[letter]
  if class then return ('<mi class="%s"%s>%s</mi>'):format(class, attributes, letter) end
end

function Math(math)
  if not FORMAT:match("html") then return nil end
  local html = pandoc.write(pandoc.Pandoc(pandoc.Plain(math)), "html",
    { html_math_method = "mathml" })
  -- Leave a formula that Pandoc can't read: it puts the TeX in a span.
  if not html:find("<math", 1, true) then return nil end
  return pandoc.RawInline("html", (html:gsub("<mi([^>]*)>([^<]*)</mi>", coloured)))
end

-- Keep a formula and the mark after it on one line: WebKit would begin the next line with a comma.
function Inlines(inlines)
  if not FORMAT:match("html") then return nil end
  for i = #inlines - 1, 1, -1 do
    local formula, after = inlines[i], inlines[i + 1]
    local mark = after.t == "Str" and after.text:match("^[.,;:!?)]+")
    if mark and formula.t == "RawInline" and formula.text:find("^<math") then
      local kept = pandoc.Span({ formula, pandoc.Str(mark) }, { class = "with-mark" })
      local rest = after.text:sub(#mark + 1)
      inlines:remove(i + 1)
      inlines[i] = kept
      if rest ~= "" then inlines:insert(i + 1, pandoc.Str(rest)) end
    end
  end
  return inlines
end
