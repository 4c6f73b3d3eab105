require("margin").setup()
