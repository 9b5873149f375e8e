-- A buffer with a schedule.

vim.bo.commentstring = "// %s"
vim.bo.comments = "://,b:#"
vim.bo.shiftwidth = 4
vim.bo.expandtab = true

require("schedc").attach(vim.api.nvim_get_current_buf())
