-- The language server of schedules, for Neovim 0.7 and newer.
--
--     require("schedc").setup({ model = "model.json" })
--
-- is optional; without it everything has its default.

local M = {}

local config = {
  -- The program.
  path = "schedc",
  -- Called with (client, buffer) when the server is attached to a buffer: the place for mappings.
  on_attach = nil,
  -- The settings of the server, as docs/lsp.md describes them.
  settings = {},
}

--- Changes the configuration. What is neither `path` nor `on_attach` is a setting of the server.
function M.setup(options)
  for name, value in pairs(options or {}) do
    if name == "path" or name == "on_attach" then
      config[name] = value
    else
      config.settings[name] = value
    end
  end
end

-- Newer versions have other names for some functions.
local function clients()
  local all = (vim.lsp.get_clients or vim.lsp.get_active_clients)()
  return vim.tbl_filter(function(client)
    return client.name == "schedc"
  end, all)
end

local function root(file)
  local folder = vim.fn.fnamemodify(file, ":p:h")
  local git = vim.fn.finddir(".git", folder .. ";")
  return git ~= "" and vim.fn.fnamemodify(git, ":p:h:h") or folder
end

--- What starts the server: the program beside schedc, which starts at once, while schedc loads a whole compiler first.
local function command()
  local folder = vim.fn.fnamemodify(vim.fn.resolve(vim.fn.exepath(config.path)), ":h")
  local server = folder .. "/schedc-lsp"
  return vim.fn.executable(server) == 1 and { server } or { config.path, "lsp" }
end

local function client_options(buffer)
  return {
    name = "schedc",
    cmd = command(),
    root_dir = root(vim.api.nvim_buf_get_name(buffer)),
    init_options = config.settings,
    settings = { schedc = config.settings },
    handlers = { ["sched/changed"] = changed },
    on_attach = config.on_attach,
  }
end

-- For each buffer whose nest is shown, the function that shows it anew.
local pictures = {}

-- More is known of a document although its text is the same: its model has been read.
local function changed(_, params)
  local update = pictures[vim.uri_to_bufnr(params.uri)]
  if update then
    update()
  end
end

local warned = false

--- Starts the server, unless it runs for the same project, and attaches it to a buffer.
function M.attach(buffer)
  if vim.fn.executable(config.path) == 0 then
    if not warned then
      warned = true
      local message = "schedc: %s is no program. Install schedc, or name it: require('schedc').setup({ path = ... })"
      vim.notify(message:format(config.path), vim.log.levels.WARN)
    end
    return
  end
  local options = client_options(buffer)
  if vim.lsp.start then
    vim.lsp.start(options, { bufnr = buffer })
    return
  end
  for _, client in ipairs(clients()) do
    if client.config.root_dir == options.root_dir then
      vim.lsp.buf_attach_client(buffer, client.id)
      return
    end
  end
  local id = vim.lsp.start_client(options)
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
end

--- Ends the server and starts it again, for all buffers with schedules.
function M.restart()
  local old = clients()
  vim.lsp.stop_client(old, true)
  vim.wait(2000, function()
    return #clients() == 0
  end, 20)
  warned = false
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype == "sched" then
      M.attach(buffer)
    end
  end
end

--- Shows the loop nest of the current schedule in a window beside it, and keeps it up to date.
function M.nest()
  local source = vim.api.nvim_get_current_buf()
  local target = vim.api.nvim_create_buf(false, true)
  vim.bo[target].bufhidden = "wipe"
  vim.cmd("vertical sbuffer " .. target)
  vim.cmd("wincmd p")
  local function update()
    local params = { textDocument = vim.lsp.util.make_text_document_params(source) }
    vim.lsp.buf_request(source, "sched/nest", params, function(_, answer)
      if answer and vim.api.nvim_buf_is_valid(target) then
        local text = answer.stale and answer.text .. "\n(as of the last text without mistakes)" or answer.text
        vim.api.nvim_buf_set_lines(target, 0, -1, false, vim.split(text, "\n"))
      end
    end)
  end
  pictures[source] = update
  update()
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = source,
    callback = function()
      -- The server's picture is of use only while its window is open.
      if not vim.api.nvim_buf_is_valid(target) then
        pictures[source] = nil
        return true
      end
      update()
    end,
  })
end

vim.api.nvim_create_user_command("SchedcNest", M.nest, { desc = "Show the loop nest beside the schedule" })
vim.api.nvim_create_user_command("SchedcRestart", M.restart, { desc = "Restart the language server" })

return M
