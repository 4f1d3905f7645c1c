-- Colour Q, K and V inside formulas: give <mi>Q</mi> class="q", and so on.
--
-- Runs in both engines. Under Quarto it must follow `quarto` in `filters:`, because Quarto looks
-- for equation labels beside formulas, and this filter converts formulas to HTML.

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
