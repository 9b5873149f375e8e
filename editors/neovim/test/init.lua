-- The smallest possible user configuration.

vim.opt.runtimepath:prepend(vim.fn.fnamemodify(vim.fn.expand("<sfile>:p"), ":h:h"))
vim.cmd("filetype plugin on | syntax on")
vim.opt.swapfile = false
require("schedc").setup({
  path = vim.env.SCHEDC or "schedc",
  on_attach = function(_, buffer)
    vim.keymap.set("n", "K", vim.lsp.buf.hover, { buffer = buffer })
  end,
})
