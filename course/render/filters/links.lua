-- Convert links between sources to relative links between pages, which work below any subpath.

local root = ""

local function address(target)
  if target:match("^/[^/]") then target = root .. target:sub(2) end
  local path, anchor = target:match("^([^#]*)(.*)$")
  if not path:match("^%a[%w+.-]*:") then path = path:gsub("%.qmd$", ".html") end
  return path .. anchor
end

function Pandoc(doc)
  root = pandoc.utils.stringify(doc.meta["site-root"] or "")
  return doc:walk {
    Link = function(link)
      link.target = address(link.target)
      return link
    end,
    Image = function(image)
      image.src = address(image.src)
      return image
    end,
  }
end
