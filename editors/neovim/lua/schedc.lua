-- The language server of schedules, for Neovim 0.7 and newer. Calling setup is optional; it changes defaults:
--
--     require("schedc").setup({ model = "model.json" })

local M = {}

local config = {
  -- Path of schedc.
  path = "schedc",
  -- Function of (client, buffer), called when the server is attached to a buffer. May define key mappings.
  on_attach = nil,
  -- The settings of the server, as docs/lsp.md describes them.
  settings = {},
}

--- Changes the configuration. Keys other than `path` and `on_attach` are settings of the server.
function M.setup(options)
  for name, value in pairs(options or {}) do
    if name == "path" or name == "on_attach" then
      config[name] = value
    else
      config.settings[name] = value
    end
  end
end

-- The clients of the server. Newer versions of Neovim have another name for the function that lists clients.
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

--- The command that starts the server: schedc-lsp beside schedc, which starts faster since it does not load
--- LLVM, or else `schedc lsp`.
local function command()
  local folder = vim.fn.fnamemodify(vim.fn.resolve(vim.fn.exepath(config.path)), ":h")
  local server = folder .. "/schedc-lsp"
  return vim.fn.executable(server) == 1 and { server } or { config.path, "lsp" }
end

-- For each buffer whose nest is shown, the function that redraws it.
local pictures = {}

-- The client that is attached to a buffer.
local function client_of(buffer)
  for _, client in ipairs(clients()) do
    if vim.lsp.buf_is_attached(buffer, client.id) then
      return client
    end
  end
end

-- Sends a request to one client only, and to no other client of the buffer.
local function request(client, method, params, answered, buffer)
  if vim.fn.has("nvim-0.11") == 1 then
    client:request(method, params, answered, buffer)
  else
    client.request(method, params, answered, buffer)
  end
end

-- Sends a request about a buffer. Calls `done` with the answer; shows errors to the user.
local function query(buffer, method, params, done)
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

-- Requests the code lenses of a buffer and shows them. Newer versions do this themselves; the function of
-- older ones drops a request while an answer is pending.
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

-- The namespace of the ledger's virtual text, and the buffers that have a ledger.
local space = vim.api.nvim_create_namespace("schedc_ledger")
local measured = {}

-- Shows the gain of each directive at the end of its line, and the time of the whole schedule at the end of
-- the last one; paler if the text has changed since.
local function show_ledger(buffer, answer)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  local colour = answer.stale and "Comment" or "DiagnosticInfo"
  for number, line in ipairs(answer.lines) do
    if line.position.line < vim.api.nvim_buf_line_count(buffer) then
      local has_total = number == #answer.lines and type(answer.total) == "string"
      local label = has_total and line.label .. ", " .. answer.total or line.label
      label = answer.stale and label .. " (before the last change)" or label
      vim.api.nvim_buf_set_extmark(buffer, space, line.position.line, 0, {
        virt_text = { { label, colour } },
        virt_text_pos = "eol",
      })
    end
  end
  measured[buffer] = #answer.lines > 0 or nil
end

-- Requests the ledger of a buffer.
local function update_ledger(buffer)
  local client = vim.api.nvim_buf_is_loaded(buffer) and client_of(buffer)
  if not client then
    return
  end
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) }, measure = false }
  request(client, "sched/ledger", params, function(_, answer)
    if answer then
      show_ledger(buffer, answer)
    end
  end, buffer)
end

-- Handler of a notification: the server's answers change although the text does not, since a model was read
-- or the schedule was measured.
local function changed(_, params)
  local buffer = vim.uri_to_bufnr(params.uri)
  update_ledger(buffer)
  if pictures[buffer] then
    pictures[buffer]()
  end
  show_lenses(buffer)
end

-- Called when the client is attached to a buffer. Requests code lenses, since Neovim shows them only on
-- request.
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
      if measured[buffer] then
        update_ledger(buffer)
      end
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
    -- The commands of the server's code lenses, which the client runs.
    commands = {
      ["schedc.showNest"] = of_lens(M.nest),
      ["schedc.build"] = of_lens(M.build),
      ["schedc.bench"] = of_lens(M.bench),
      ["schedc.showLedger"] = of_lens(M.ledger),
      ["schedc.choose"] = of_lens(M.choose),
      ["schedc.tune"] = of_lens(M.tune),
      ["schedc.sweep"] = function(command, context)
        M.sweep(context.bufnr, command.arguments[1].position)
      end,
    },
    on_attach = attached,
  }
end

local warned = false

--- Starts the server, unless one runs for the same project, and attaches it to a buffer.
function M.attach(buffer)
  if vim.fn.executable(config.path) == 0 then
    if not warned then
      warned = true
      local message = "schedc: %s is no program. Install it, or set require('schedc').setup({ path = ... })"
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

--- Restarts the server for all buffers with schedules.
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

-- Opens a scratch buffer in a window beside the current window, which keeps the focus.
local function beside()
  local target = vim.api.nvim_create_buf(false, true)
  vim.bo[target].bufhidden = "wipe"
  vim.cmd("vertical sbuffer " .. target)
  vim.cmd("wincmd p")
  return target
end

-- The buffer of a command; 0 or nil is the current one.
local function buffer_of(buffer)
  return (buffer and buffer ~= 0) and buffer or vim.api.nvim_get_current_buf()
end

--- Builds a library of a schedule, beside it.
function M.build(buffer)
  buffer = buffer_of(buffer)
  local params = { command = "schedc.build", arguments = { { uri = vim.uri_from_bufnr(buffer) } } }
  query(buffer, "workspace/executeCommand", params, function(answer)
    vim.notify("schedc: wrote " .. answer.output)
  end)
end

-- A line of the table of times: a schedule at one batch size and number of threads, with a bar on a
-- logarithmic scale.
local function time_line(point, least)
  local bar = ("="):rep(1 + math.floor(4 * math.log(point.us_per_row / least) / math.log(2) + 0.5))
  local name = point.schedule == "standard input" and "this schedule" or point.schedule
  return ("%6d %8d %12.4f  %-16s %s"):format(point.batch, point.threads, point.us_per_row, name, bar)
end

--- Measures a schedule with random rows and shows its speed in a window beside it, with the automatic
--- schedule and the plain nest for comparison. `calls` may give batch sizes and threads: { batch = { 1, 64 },
--- threads = { 1, 0 } }.
function M.bench(buffer, calls)
  buffer = buffer_of(buffer)
  local what = vim.tbl_extend("force", { uri = vim.uri_from_bufnr(buffer), baseline = true }, calls or {})
  vim.notify("schedc: measuring")
  local params = { command = "schedc.bench", arguments = { what } }
  query(buffer, "workspace/executeCommand", params, function(answer)
    local least = math.huge
    for _, point in ipairs(answer.points) do
      least = math.min(least, point.us_per_row)
    end
    local lines = { "  rows  threads   µs per row" }
    for _, point in ipairs(answer.points) do
      table.insert(lines, time_line(point, least))
    end
    vim.api.nvim_buf_set_lines(beside(), 0, -1, false, lines)
  end)
end

--- Measures the gain of each directive and shows it at the end of the directive's line.
function M.ledger(buffer)
  buffer = buffer_of(buffer)
  vim.notify("schedc: measuring each directive")
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) }, measure = true }
  query(buffer, "sched/ledger", params, function(answer)
    show_ledger(buffer, answer)
    if type(answer.offer) == "table" then
      vim.notify("schedc: " .. answer.offer.title .. " (:SchedcChoose)")
    end
  end)
end

-- Replaces a range that the server returned, if the text has not changed since the request.
local function replace(buffer, tick, range, text)
  if vim.api.nvim_buf_get_changedtick(buffer) ~= tick then
    vim.notify("schedc: the text has changed since; try again", vim.log.levels.WARN)
    return
  end
  local client = client_of(buffer)
  local encoding = client and client.offset_encoding or "utf-16"
  vim.lsp.util.apply_text_edits({ { range = range, newText = text } }, buffer, encoding)
end

-- A value with its time and a bar of proportional length.
local function value_line(one, sweep, most)
  local now = one.value == sweep.value and " (now)" or ""
  if type(one.us_per_row) ~= "number" then
    return ("%d%s: %s"):format(one.value, now, type(one.why) == "string" and one.why or "not measured")
  end
  local bar = ("="):rep(math.max(1, math.floor(24 * one.us_per_row / most + 0.5)))
  return ("%6d%-6s %10.4f µs  %s"):format(one.value, now, one.us_per_row, bar)
end

--- Tries values of the number at a position, or at the cursor, and writes the chosen one into the text.
function M.sweep(buffer, position)
  buffer = buffer_of(buffer)
  if not position then
    local client = client_of(buffer)
    local encoding = client and client.offset_encoding or "utf-16"
    position = vim.lsp.util.make_position_params(0, encoding).position
  end
  local what = { uri = vim.uri_from_bufnr(buffer), position = position }
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  vim.notify("schedc: trying values")
  local params = { command = "schedc.sweep", arguments = { what } }
  query(buffer, "workspace/executeCommand", params, function(sweep)
    local most = 0
    for _, one in ipairs(sweep.tried) do
      most = math.max(most, type(one.us_per_row) == "number" and one.us_per_row or 0)
    end
    local how = {
      prompt = ("Microseconds for a row with other values of %s:"):format(
        sweep.name:match("^%d+:%d+$") and "this number" or sweep.name
      ),
      format_item = function(one)
        return value_line(one, sweep, most)
      end,
    }
    vim.ui.select(sweep.tried, how, function(one)
      if one and one.value ~= sweep.value then
        replace(buffer, tick, sweep.range, tostring(one.value))
      end
    end)
  end)
end

--- Replaces the directives with the schedule that a command of the server returns.
local function put(buffer, command)
  buffer = buffer_of(buffer)
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  local params = { command = command, arguments = { { uri = vim.uri_from_bufnr(buffer) } } }
  query(buffer, "workspace/executeCommand", params, function(answer)
    replace(buffer, tick, answer.range, answer.text)
  end)
end

--- Replaces the directives with the automatic schedule.
function M.choose(buffer)
  put(buffer, "schedc.choose")
end

--- Searches for a fast schedule for some seconds and replaces the directives with it.
function M.tune(buffer)
  put(buffer, "schedc.tune")
end

--- Shows the loop nest of a schedule in a window beside the schedule, and keeps the nest up to date.
function M.nest(buffer)
  local source = buffer_of(buffer)
  local target = beside()
  local function update()
    local params = { textDocument = vim.lsp.util.make_text_document_params(source), leaveOut = true }
    vim.lsp.buf_request(source, "sched/nest", params, function(_, answer)
      if answer and vim.api.nvim_buf_is_valid(target) then
        local text = answer.text
        if text == "" then
          text = "(the nest appears as soon as the schedule has no errors)"
        elseif answer.left_out and #answer.left_out > 0 then
          local lines = vim.tbl_map(function(range) return range.start.line + 1 end, answer.left_out)
          text = text .. "\n(errors in line " .. table.concat(lines, ", ") .. ")"
        elseif answer.stale then
          text = text .. "\n(nest of the last text without errors)"
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
      -- Stops when the window with the nest was closed.
      if not vim.api.nvim_buf_is_valid(target) then
        pictures[source] = nil
        return true
      end
      update()
    end,
  })
end

-- For each buffer that is stepped through: the line after which the nest is shown, and the buffer that shows
-- it.
local stepped = {}
local changes = vim.api.nvim_create_namespace("schedc_step")

-- The lines with directives, from 0.
local function directive_lines(buffer)
  local lines = {}
  for at, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    if line:find("^%s*%a%w*%s*%(") then
      table.insert(lines, at - 1)
    end
  end
  return lines
end

-- Requests the text of the nest after a line; before the first line, this is the initial nest.
local function nest_after(buffer, line, done)
  local position = { line = math.max(line, 0), character = 0 }
  if line >= 0 then
    position.character = #vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1]
  end
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = position, leaveOut = true }
  query(buffer, "sched/nest", params, function(answer)
    done(vim.split(vim.trim(answer.text), "\n"))
  end)
end

--- Steps to the next or the previous directive, and shows the nest after it in a window beside the text.
--- Marks the lines that the nest before the directive lacks.
function M.step(buffer, back)
  buffer = buffer_of(buffer)
  local state = stepped[buffer]
  if not state or not vim.api.nvim_buf_is_valid(state.target) then
    state = { target = beside() }
    stepped[buffer] = state
  end
  local lines = directive_lines(buffer)
  local now
  for at = back and #lines or 1, back and 1 or #lines, back and -1 or 1 do
    local distance = state.line and (lines[at] - state.line) * (back and -1 or 1) or 1
    if distance > 0 then
      now = lines[at]
      break
    end
  end
  state.line = now
  if not now then
    vim.notify("schedc: there is no directive " .. (back and "before this one" or "after this one"))
    return
  end
  vim.api.nvim_win_set_cursor(0, { now + 1, 0 })
  nest_after(buffer, now - 1, function(before)
    nest_after(buffer, now, function(after)
      if not vim.api.nvim_buf_is_valid(state.target) then
        return
      end
      vim.api.nvim_buf_set_lines(state.target, 0, -1, false, after)
      vim.api.nvim_buf_clear_namespace(state.target, changes, 0, -1)
      for at, line in ipairs(after) do
        if not vim.tbl_contains(before, line) then
          local mark = { end_row = at, hl_group = "DiffAdd" }
          vim.api.nvim_buf_set_extmark(state.target, changes, at - 1, 0, mark)
        end
      end
    end)
  end)
end

--- Steps back to the previous directive.
function M.step_back(buffer)
  M.step(buffer, true)
end

for name, what in pairs({
  SchedcStep = { M.step, "Step to the next directive" },
  SchedcStepBack = { M.step_back, "Step back to the previous directive" },
  SchedcNest = { M.nest, "Show the loop nest beside the schedule" },
  SchedcBuild = { M.build, "Build a library of the schedule" },
  SchedcBench = { M.bench, "Measure the schedule" },
  SchedcLedger = { M.ledger, "Measure the gain of each directive" },
  SchedcSweep = { M.sweep, "Try values of the number at the cursor" },
  SchedcChoose = { M.choose, "Insert the schedule that schedc chooses" },
  SchedcTune = { M.tune, "Search for a fast schedule, and insert it" },
}) do
  vim.api.nvim_create_user_command(name, function()
    what[1]()
  end, { desc = what[2] })
end
vim.api.nvim_create_user_command("SchedcRestart", M.restart, { desc = "Restart the language server" })

return M
