-- Keep a sum that stands in a sentence together: "2 · 3" and "= 6" aren't torn at the end of a
-- line, nor is a vector such as (2, −1). A line may still end before +, − and =.
--
-- Runs in both engines.

local NO_BREAK = "\u{a0}"
local TIGHT = { ["·"] = true, ["×"] = true, ["÷"] = true }
local LOOSE = { ["+"] = true, ["−"] = true, ["="] = true, ["≈"] = true }
local NUMBER = "^[(%[]*[−-]?%d"
local LONGEST_VECTOR = 16

local function text(inline) return inline and inline.t == "Str" and inline.text or "" end

local function ends_in_number(inline) return text(inline):match("[%d)%]°½¼¾⅓⅔]$") ~= nil end

-- Inside "(3, −1)": an entry and its comma, with the bracket open before it.
local function in_vector(inlines, i)
  local length = 0
  for j = i - 1, 1, -1 do
    length = length + 1 + #text(inlines[j])
    local is_entry = text(inlines[j]):match(",$")
    local is_space = inlines[j].t == "Space" or text(inlines[j]) == NO_BREAK
    if not (is_entry or is_space) or length > LONGEST_VECTOR then return false end
    if text(inlines[j]):match("^%([−%d.]+,$") then return text(inlines[i + 1]):match("^[−%d.]+[,)]") end
  end
end

local function holds(inlines, i)
  local before, after = inlines[i - 1], inlines[i + 1]
  if TIGHT[text(after)] then return ends_in_number(before) end
  if TIGHT[text(before)] or LOOSE[text(before)] then return text(after):match(NUMBER) ~= nil end
  return in_vector(inlines, i)
end

traverse = "topdown" -- so that a table can be passed over: its cells are narrow on a phone

function Table(cells) return cells, false end

function Inlines(inlines)
  if not FORMAT:match("html") then return nil end
  for i = 2, #inlines - 1 do
    if inlines[i].t == "Space" and holds(inlines, i) then inlines[i] = pandoc.Str(NO_BREAK) end
  end
  return inlines
end
