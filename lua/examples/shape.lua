-- Types that a property list cannot hold: a shape whose file has colours as
-- four numbers and an image as data. The script works with objects.
--
--   lua5.4 shape.lua [DEFAULT.plist MINE.plist]

local kv = require "kvcodable"
local sample = dofile((arg[0]:match "^.*/" or "") .. "sample.lua")
sample(1, "DefaultShape.plist")
sample(2)

-- In the file red, green and blue from 0 to 255, alpha from 0 to 1. What has
-- not four numbers is no colour: the shape has the default then, black.
local Color = kv.array_of(kv.double):default({ 0, 0, 0, 1 }):convert {
  decode = function(numbers)
    if #numbers ~= 4 then return nil end
    return { red = numbers[1] / 255, green = numbers[2] / 255,
      blue = numbers[3] / 255, alpha = numbers[4] }
  end,
  encode = function(color)
    return { color.red * 255, color.green * 255, color.blue * 255,
      color.alpha }
  end,
}

-- In the file bytes; none are no image.
local Image = kv.data:convert {
  decode = function(data)
    if #data == 0 then return nil end
    return { bytes = data:bytes() }
  end,
  encode = function(image) return kv.data(image.bytes) end,
}

local Shape = kv.struct "Shape" {
  width = kv.double, height = kv.double,
  borderWidth = kv.double, cornerRadius = kv.double, isVisible = kv.bool,
  background = Color:key "backgroundColorValues",
  border = Color:key "borderColorValues",
  pattern = Image:key "patternImageData":optional(),
}

local shape = assert(kv.read(arg[1], Shape))
print("read", shape.width, shape.height, shape.background.green,
  shape.border.alpha, shape.pattern)

shape.width, shape.height = 300, 150
shape.background = { red = 1, green = 0, blue = 0, alpha = 0.5 }
shape.border = { red = 0, green = 0.2, blue = 1, alpha = 1 }
shape.borderWidth, shape.cornerRadius = 2.5, 12
assert(kv.write(arg[2], shape, Shape))

print("saved", assert(kv.read(arg[2], Shape)).background.alpha)
