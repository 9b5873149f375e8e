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

-- For each buffer whose nest is shown, the function that shows it anew.
local pictures = {}

-- The client that is attached to a buffer.
local function client_of(buffer)
  for _, client in ipairs(clients()) do
    if vim.lsp.buf_is_attached(buffer, client.id) then
      return client
    end
  end
end

-- Asks one client, and no other one of the same buffer.
local function request(client, method, params, answered, buffer)
  if vim.fn.has("nvim-0.11") == 1 then
    client:request(method, params, answered, buffer)
  else
    client.request(method, params, answered, buffer)
  end
end

-- Asks the server about a buffer; the answer goes to a function, and what is wrong to the user.
local function ask(buffer, method, params, done)
  local client = client_of(buffer)
  if not client then
    vim.notify("schedc: the language server is not attached to this buffer", vim.log.levels.WARN)
    return
  end
  request(client, method, params, function(failure, answer)
    if failure then
      vim.notify("schedc: " .. failure.message, vim.log.levels.ERROR)
    else
      done(answer)
    end
  end, buffer)
end

-- Asks for the lenses of a buffer and shows them. Neovim's own function for that, which newer versions do not need, drops
-- a wish while an answer is on its way.
local function show_lenses(buffer)
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true, { bufnr = buffer })
    return
  end
  local client = vim.api.nvim_buf_is_loaded(buffer) and client_of(buffer)
  if client then
    local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
    request(client, "textDocument/codeLens", params, vim.lsp.codelens.on_codelens, buffer)
  end
end

-- More is known of a document although its text is the same: its model has been read.
local function changed(_, params)
  local buffer = vim.uri_to_bufnr(params.uri)
  if pictures[buffer] then
    pictures[buffer]()
  end
  show_lenses(buffer)
end

-- Neovim shows lenses when it is asked to.
local function attached(client, buffer)
  show_lenses(buffer)
  if pictures[buffer] then
    pictures[buffer]()
  end
  vim.api.nvim_create_autocmd({ "BufEnter", "InsertLeave", "TextChanged" }, {
    group = vim.api.nvim_create_augroup("schedc_lenses_" .. buffer, { clear = true }),
    buffer = buffer,
    callback = function()
      show_lenses(buffer)
    end,
  })
  if config.on_attach then
    config.on_attach(client, buffer)
  end
end

local function client_options(buffer)
  local function of_lens(run)
    return function(_, context)
      run(context.bufnr)
    end
  end
  return {
    name = "schedc",
    cmd = command(),
    root_dir = root(vim.api.nvim_buf_get_name(buffer)),
    init_options = config.settings,
    settings = { schedc = config.settings },
    handlers = { ["sched/changed"] = changed },
    -- What lenses do is done here, since the server only answers.
    commands = {
      ["schedc.showNest"] = of_lens(M.nest),
      ["schedc.build"] = of_lens(M.build),
      ["schedc.bench"] = of_lens(M.bench),
    },
    on_attach = attached,
  }
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

-- Opens a buffer that belongs to no file in a window beside the current one, which stays the current one.
local function beside()
  local target = vim.api.nvim_create_buf(false, true)
  vim.bo[target].bufhidden = "wipe"
  vim.cmd("vertical sbuffer " .. target)
  vim.cmd("wincmd p")
  return target
end

-- The buffer that a command is about: 0 or nothing is the current one.
local function buffer_of(buffer)
  return (buffer and buffer ~= 0) and buffer or vim.api.nvim_get_current_buf()
end

--- Builds a library of a schedule, beside it.
function M.build(buffer)
  buffer = buffer_of(buffer)
  local params = { command = "schedc.build", arguments = { { uri = vim.uri_from_bufnr(buffer) } } }
  ask(buffer, "workspace/executeCommand", params, function(answer)
    vim.notify("schedc: wrote " .. answer.output)
  end)
end

--- Measures a schedule with rows that are drawn, and shows its speed in a window beside it.
function M.bench(buffer)
  buffer = buffer_of(buffer)
  local params = { command = "schedc.bench", arguments = { { uri = vim.uri_from_bufnr(buffer) } } }
  vim.notify("schedc: measuring")
  ask(buffer, "workspace/executeCommand", params, function(answer)
    local lines = { "  rows  threads   µs per row" }
    for _, point in ipairs(answer.points) do
      table.insert(lines, ("%6d %8d %12.4f"):format(point.batch, point.threads, point.us_per_row))
    end
    vim.api.nvim_buf_set_lines(beside(), 0, -1, false, lines)
  end)
end

--- Shows the loop nest of a schedule in a window beside it, and keeps it up to date.
function M.nest(buffer)
  local source = buffer_of(buffer)
  local target = beside()
  local function update()
    local params = { textDocument = vim.lsp.util.make_text_document_params(source) }
    vim.lsp.buf_request(source, "sched/nest", params, function(_, answer)
      if answer and vim.api.nvim_buf_is_valid(target) then
        local text = answer.text
        if text == "" then
          text = "(the nest appears as soon as the schedule can be understood)"
        elseif answer.stale then
          text = text .. "\n(as of the last text without mistakes)"
        end
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

for name, what in pairs({
  SchedcNest = { M.nest, "Show the loop nest beside the schedule" },
  SchedcBuild = { M.build, "Build a library of the schedule" },
  SchedcBench = { M.bench, "Measure the schedule" },
}) do
  vim.api.nvim_create_user_command(name, function()
    what[1]()
  end, { desc = what[2] })
end
vim.api.nvim_create_user_command("SchedcRestart", M.restart, { desc = "Restart the language server" })

return M
