-- Checks the texts that a user of the configuration sees, in a headless Neovim. Ends with an error at the
-- first missing text.

local PATIENCE = 60000

local steps = 0

local function until_seen(what, holds)
  if not vim.wait(PATIENCE, holds, 20) then
    error("not seen: " .. what, 0)
  end
end

local function step(name, run)
  run()
  steps = steps + 1
  print("ok " .. name .. "\n")
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function errors()
  return vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
end

local function expect(what, found, wanted)
  if not found:find(wanted, 1, true) then
    error(("%s: %q is not in %q"):format(what, wanted, found), 0)
  end
end

--- The text of the floating window; waits until there is one.
local function float()
  local found
  until_seen("a floating window", function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= "" then
        found = window
        return true
      end
    end
    return false
  end)
  return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(found), 0, -1, false), "\n")
end

--- The notifications that Neovim has shown so far.
local notifications = {}
vim.notify = function(message)
  table.insert(notifications, message)
end

--- Waits for a text in some window.
local function shown(wanted)
  until_seen(wanted, function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
      if table.concat(lines, "\n"):find(wanted, 1, true) then
        return true
      end
    end
    return false
  end)
end

--- The titles of the lenses, in order.
local function lenses()
  local titles = {}
  for _, lens in ipairs(vim.lsp.codelens.get(0)) do
    table.insert(titles, lens.command.title)
  end
  return table.concat(titles, ", ")
end

--- Runs the lens of the first line with this title.
local function run_lens(title)
  vim.ui.select = function(options, how, chosen)
    for _, option in ipairs(options) do
      if how.format_item(option) == title then
        return chosen(option)
      end
    end
    error("no lens is called " .. title, 0)
  end
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.lsp.codelens.run()
end

local function client()
  return (vim.lsp.get_clients or vim.lsp.buf_get_clients)()
end

local function run()
  vim.cmd("edit fast.sched")

  step("a schedule has its file type and its colours", function()
    assert(vim.bo.filetype == "sched", vim.bo.filetype)
    assert(vim.fn.synIDattr(vim.fn.synID(2, 1, 1), "name") == "schedDirective")
  end)

  step("the server attaches", function()
    until_seen("a client", function()
      return not vim.tbl_isempty(client())
    end)
  end)

  step("a mistake is reported with its code", function()
    until_seen("an error", function()
      return #errors() == 1
    end)
    local found = errors()[1]
    expect("message", found.message, "`parallel(batch)`: `tile` replaced `batch`")
    assert(found.lnum == 3, found.lnum)
    local code = found.code or found.user_data.lsp.code
    expect("code", code, "S0041")
  end)

  step("it goes away when the text is put right", function()
    vim.api.nvim_buf_set_lines(0, 3, 4, false, { "parallel(block)" })
    until_seen("a text without errors", function()
      return #errors() == 0
    end)
  end)

  step("hover shows the range of a loop", function()
    vim.api.nvim_win_set_cursor(0, { 5, 12 })
    vim.cmd("normal K")
    expect("hover", float(), "0..64")
    vim.cmd("normal! j")
  end)

  step("rename changes every occurrence", function()
    vim.api.nvim_win_set_cursor(0, { 5, 12 })
    vim.lsp.buf.rename("lane")
    until_seen("the new name", function()
      return text():find("interleave(lane, 8)", 1, true) ~= nil
    end)
    expect("tile", text(), "tile(batch, block, lane, 64)")
    expect("reorder", text(), "reorder(block, tree, lane)")
  end)

  step("formatting lays the text out", function()
    vim.api.nvim_buf_set_lines(0, 4, 5, false, { "interleave( lane ,8 )" })
    -- Newer versions renamed this function.
    if vim.lsp.buf.format then
      vim.lsp.buf.format({ timeout_ms = PATIENCE })
    else
      vim.lsp.buf.formatting_sync(nil, PATIENCE)
    end
    expect("text", text(), "interleave(lane, 8)")
  end)

  step("the loop nest is shown beside the text and follows it", function()
    vim.cmd("SchedcNest")
    shown("for block in 0..n_rows step 64 [parallel]")
    vim.api.nvim_buf_set_lines(0, 1, 2, false, { "tile(batch, block, lane, 32)" })
    vim.api.nvim_exec_autocmds("TextChanged", { buffer = 0 })
    shown("for block in 0..n_rows step 32 [parallel]")
  end)

  step("a nest that is shown before its model has been read is shown anew then", function()
    vim.cmd("only | edit late.sched")
    vim.cmd("SchedcNest")
    shown("for tree in 0..N_t")
    vim.loop.fs_copyfile(vim.env.MODEL, "late.json")
    shown("for tree in 0..100")
  end)

  step("a line that is only begun is left out of the nest, and is named", function()
    vim.cmd("only | edit none.sched")
    vim.cmd("SchedcNest")
    shown("for tree in 0..N_t")
    shown("(errors in line 1)")
    vim.cmd("only | edit fast.sched")
  end)

  step("lenses are shown and run their commands", function()
    until_seen("all lenses", function()
      return lenses() == "show nest, build, bench, ledger"
    end)
    run_lens("show nest")
    shown("for block in 0..n_rows step 32 [parallel]")
    run_lens("build")
    until_seen("the library", function()
      return table.concat(notifications, "\n"):find("wrote .*fast%.so") ~= nil
    end)
    assert(vim.fn.filereadable("fast.so") == 1, "there is no library")
    run_lens("bench")
    shown("µs per row")
    for _, message in ipairs(notifications) do
      assert(not message:find("not support", 1, true), message)
    end
    vim.cmd("only")
  end)

  --- The virtual text at the end of a line.
  local function at_end(line)
    local space = vim.api.nvim_get_namespaces()["schedc_ledger"]
    local marks = vim.api.nvim_buf_get_extmarks(0, space, { line, 0 }, { line, -1 }, { details = true })
    return marks[1] and marks[1][4].virt_text[1][1] or ""
  end

  step("the ledger stands at the ends of lines and is old when the text changes", function()
    vim.cmd("SchedcLedger")
    until_seen("a gain", function()
      return at_end(1):find("×", 1, true) ~= nil
    end)
    expect("last line", at_end(4), "schedc's own")
    vim.api.nvim_buf_set_lines(0, 1, 1, false, { "// fast" })
    vim.api.nvim_exec_autocmds("TextChanged", { buffer = 0 })
    until_seen("an old gain on its line", function()
      return at_end(2):find("before the last change", 1, true) ~= nil
    end)
    vim.api.nvim_buf_set_lines(0, 1, 2, false, {})
    vim.api.nvim_exec_autocmds("TextChanged", { buffer = 0 })
    until_seen("the gain of the first text", function()
      local label = at_end(1)
      return label:find("×", 1, true) ~= nil and not label:find("before", 1, true)
    end)
  end)

  step("values of a number are tried, and one is taken", function()
    vim.ui.select = function(options, how, chosen)
      expect("chart", how.format_item(options[1]), "µs")
      for _, option in ipairs(options) do
        if option.value == 4 then
          return chosen(option)
        end
      end
    end
    vim.api.nvim_win_set_cursor(0, { 5, 17 })
    vim.cmd("SchedcSweep")
    until_seen("the other value", function()
      return text():find("interleave(lane, 4)", 1, true) ~= nil
    end)
  end)

  for command, origin in pairs({ SchedcChoose = "chosen by schedc", SchedcTune = "found by schedc tune" }) do
    step(command .. " replaces the directives", function()
      local before = vim.api.nvim_buf_get_lines(0, 0, -1, false)
      vim.cmd(command)
      until_seen("the schedule", function()
        return text():find(origin, 1, true) ~= nil
      end)
      assert(not text():find("lane", 1, true), text())
      vim.api.nvim_buf_set_lines(0, 0, -1, false, before)
      until_seen("a text without errors", function()
        return #errors() == 0
      end)
    end)
  end

  step("calls of a measurement can be chosen, and stand beside the baselines", function()
    require("schedc").bench(0, { batch = { 1, 32 }, threads = { 1, 0 } })
    local texts = { "   1        1 ", "  32        1 ", "this schedule", "chosen schedule", "plain nest" }
    for _, wanted in ipairs(texts) do
      shown(wanted)
    end
    vim.cmd("only")
  end)

  step("a schedule is stepped through, with the changes marked", function()
    local first = vim.api.nvim_get_current_buf()
    local function marked()
      local space = vim.api.nvim_get_namespaces()["schedc_step"]
      for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
        local marks = vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, {})
        if #marks > 0 then
          return #marks
        end
      end
      return 0
    end
    vim.cmd("SchedcStep")
    shown("for block in 0..n_rows step 32")
    until_seen("marks of the tile", function()
      return marked() > 0
    end)
    assert(vim.api.nvim_get_current_buf() == first, "the text keeps the focus")
    local line = vim.api.nvim_win_get_cursor(0)[1]
    vim.cmd("SchedcStep")
    assert(vim.api.nvim_win_get_cursor(0)[1] > line, "the next directive")
    vim.cmd("SchedcStepBack")
    assert(vim.api.nvim_win_get_cursor(0)[1] == line, "the directive before")
    vim.cmd("only")
  end)

  step("an error shows its code", function()
    vim.api.nvim_buf_set_lines(0, 3, 4, false, { "parallel(batch)" })
    vim.cmd("SchedcBuild")
    until_seen("the finding", function()
      local message = "S0041: `parallel(batch)`: `tile` replaced `batch`"
      return table.concat(notifications, "\n"):find(message, 1, true) ~= nil
    end)
    vim.api.nvim_buf_set_lines(0, 3, 4, false, { "parallel(block)" })
    until_seen("a text without errors", function()
      return #errors() == 0
    end)
  end)

  step("a restart goes on where it was", function()
    vim.api.nvim_buf_set_lines(0, 3, 4, false, { "parallel(batch)" })
    until_seen("an error", function()
      return #errors() == 1
    end)
    vim.cmd("SchedcRestart")
    until_seen("a text without findings of the old server", function()
      return #errors() == 0
    end)
    until_seen("the error of the new server", function()
      return #errors() == 1
    end)
  end)
end

local fine, failure = pcall(run)
if fine then
  print(steps .. " steps passed\n")
  vim.cmd("qall!")
else
  io.stderr:write("\nFAILED after " .. steps .. " steps: " .. tostring(failure) .. "\n")
  vim.cmd("cquit 1")
end
