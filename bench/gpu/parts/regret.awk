# For each model and number of rows: the time of the chosen schedule's kernels, the time that the cost model
# predicted for it, and the fastest timed schedules, of all and of those that add trees in the model's order.
# Times are compared within one measurement: the sweep if it timed the model, else the part `time`.
{ part = get("part"); model = get("model"); schedule = get("schedule"); batch = get("batch") + 0 }
(part == "check" || part == "sweep_check") && get("exact") == "true" { exact[model, schedule] = 1 }
(part == "check" || part == "sweep_check") && get("ok") == "false" { wrong[model, schedule] = 1 }
part == "predicted_time" && schedule == "chosen" { predicted[model, batch] = get("us") }
(part == "sweep" || part == "time" && get("what") == "kernel") && get("us") != "" {
    if (!((model, batch) in seen)) { seen[model, batch] = 1; models[++cases] = model; rows[cases] = batch }
    timed[part, model, batch] = timed[part, model, batch] " " schedule
    us[part, model, batch, schedule] = get("us") + 0
}
function field(name, value, is_text) {
    if (value == "") return ""
    return ",\"" name "\":" (is_text ? "\"" value "\"" : value)
}
END {
    for (i = 1; i <= cases; i++) {
        model = models[i]; batch = rows[i]
        source = (("sweep", model, batch) in timed) ? "sweep" : "time"
        count = split(timed[source, model, batch], names, " ")
        least = least_exact = fastest = fastest_exact = ""; right = 0
        for (j = 1; j <= count; j++) {
            if ((model, names[j]) in wrong) continue
            right++
            one = us[source, model, batch, names[j]]
            if (least == "" || one < least) { least = one; fastest = names[j] }
            if ((model, names[j]) in exact && (least_exact == "" || one < least_exact)) {
                least_exact = one; fastest_exact = names[j]
            }
        }
        if (!right) continue
        is_timed = ((source, model, batch, "chosen") in us) && !((model, "chosen") in wrong)
        printf "{\"part\":\"regret\",\"model\":\"%s\",\"batch\":%d,\"of\":\"%s\",\"schedules\":%d%s%s%s%s%s%s}\n",
            model, batch, source, right,
            field("chosen_us", is_timed ? us[source, model, batch, "chosen"] : ""),
            field("predicted_us", predicted[model, batch]),
            field("fastest_us", least), field("fastest", fastest, 1),
            field("in_order_us", least_exact), field("in_order", fastest_exact, 1)
    }
}
