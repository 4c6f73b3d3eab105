-- Changes a value of a type that the host has registered under the name "User".

mine:update("user", "User", function(user)
  print("the script sees", user.first, user.last, user.age)
  user.age = user.age + 1
end)

-- What the type's own code refuses changes nothing.
local ok, problem = pcall(mine.set, mine, "user",
  { first = "Ada", last = "King", age = -1 }, "User")
assert(not ok)
print("refused", problem)
