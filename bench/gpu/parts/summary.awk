# The tables that run.sh prints, from the lines of its result.
function cell(value) { return value == "" ? "-" : sprintf("%.2f", value) }
function ascending(list, count,    i, j, swapped) {
    for (i = 2; i <= count; i++) for (j = i; j > 1 && list[j] + 0 < list[j - 1] + 0; j--) {
        swapped = list[j]; list[j] = list[j - 1]; list[j - 1] = swapped
    }
}
{ part = get("part"); key = get("model") " " get("schedule"); batch = get("batch") }
part == "device" && get("name") {
    printf "%s, sm_%s, driver %s\n", get("name"), get("capability"), get("driver")
}
part == "bandwidth" {
    printf "GB/s: device %s, fill %s, up %s, down %s\n",
        get("device_gb_s"), get("fill_gb_s"), get("up_gb_s"), get("down_gb_s")
}
part == "launch" && get("us_back_to_back") {
    printf "launch: %s us in a row, %s us with a wait\n", get("us_back_to_back"), get("us_with_wait")
}
part == "predict" && get("ok") {
    printf "schedc predict --target gpu, %s: %s rows, %s different, %s s\n",
        get("model"), get("rows"), get("different"), get("seconds")
}
(part == "check" || part == "time") && get("schedule") && !(key in seen) {
    seen[key] = 1; keys[++count] = key; verdict[key] = "not checked"
}
get("left_out") && part != "check" && part != "time" { out[++outs] = part " " get("of") ": " get("left_out") }
part == "check" && get("ok") == "true" && verdict[key] != "WRONG" {
    verdict[key] = get("exact") == "true" ? "equal" : "close" }
part == "check" && get("ok") == "false" { verdict[key] = "WRONG" }
part == "sweep_check" { in_sweep++; if (get("ok") == "false") wrong[++wrongs] = key }
get("failed") {
    if (key in seen && verdict[key] != "WRONG") verdict[key] = "FAILED"
    failed[key] = failed[key] " " part
}
part == "time" && get("us") {
    time[key, get("what"), batch] = get("us")
    if (!(batch in known)) { known[batch] = 1; batches[++num] = batch }
}
part == "regret" { regrets[++cases] = $0 }
part == "peer" && get("left_out") == "" { peers[++peer_lines] = $0 }
part == "tuned" {
    searched[get("strategy"), batch] = get("seconds")
    counted[get("strategy"), batch] = get("predicted_us")
    searches++
}
part == "predicted" { predicted[key] = get("shared_wavefronts") }
part == "ncu_sample" { measured[key] += get("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum") }
part == "ncu" && get("kernel") { kernels[++num_kernels] = $0 }
END {
    ascending(batches, num)
    split("kernel resident host", whats, " ")
    for (w = 1; w <= 3; w++) {
        printf "\nmicroseconds of a call, %s\n%-44s %-11s",
            whats[w] == "kernel" ? "kernels alone" : \
            whats[w] == "resident" ? "rows on the device, with a wait" : "host to host",
            "model schedule", "margins"
        for (b = 1; b <= num; b++) printf " %11s", batches[b]
        print ""
        for (i = 1; i <= count; i++) {
            printf "%-44s %-11s", keys[i], verdict[keys[i]]
            for (b = 1; b <= num; b++) printf " %11s", cell(time[keys[i], whats[w], batches[b]])
            print ""
        }
    }
    if (cases) {
        print "\nmicroseconds of kernels: the chosen schedule, its prediction, and the fastest of all schedules"
        printf "%-20s %9s %10s %10s %10s %7s %10s %5s  %s\n", "model", "rows", "chosen", "predicted", "fastest",
            "slower", "in order", "of", "fastest schedule"
        for (i = 1; i <= cases; i++) {
            $0 = regrets[i]
            slower = get("chosen_us") == "" ? "-" : \
                sprintf("%.1f%%", 100 * (get("chosen_us") / get("fastest_us") - 1))
            printf "%-20s %9s %10s %10s %10s %7s %10s %5s  %s\n", get("model"), get("batch"),
                cell(get("chosen_us")), cell(get("predicted_us")), cell(get("fastest_us")), slower,
                cell(get("in_order_us")), get("schedules"), get("fastest")
        }
    }
    if (peer_lines) {
        print "\nmicroseconds of a call by peers"
        printf "%-20s %9s  %-14s %12s %12s\n", "model", "rows", "peer", "resident", "host to host"
        for (i = 1; i <= peer_lines; i++) {
            $0 = peers[i]
            printf "%-20s %9s  %-14s %12s %12s\n", get("model"), get("batch"), get("peer"),
                cell(get("resident_us")), cell(get("host_us"))
        }
    }
    if (num_kernels) {
        print "\ncounters of one call"
        printf "%-44s %8s %-20s %10s %9s %9s %9s\n", "model schedule", "rows", "kernel", "us", "registers",
            "warps %", "issue %"
        for (i = 1; i <= num_kernels; i++) {
            $0 = kernels[i]
            ns = get("gpu__time_duration.sum")
            printf "%-44s %8s %-20s %10s %9s %9s %9s\n", get("model") " " get("schedule"), get("batch"),
                get("kernel"), cell(ns == "" ? "" : ns / 1000), get("launch__registers_per_thread"),
                cell(get("sm__warps_active.avg.pct_of_peak_sustained_active")),
                cell(get("smsp__issue_active.avg.pct_of_peak_sustained_active"))
        }
    }
    for (i = 1; i <= count; i++) if (measured[keys[i]] != "") {
        if (!titled++) printf "\nwavefronts of shared memory in one small call\n%-44s %14s %14s\n",
            "model schedule", "simulated", "measured"
        printf "%-44s %14s %14s\n", keys[i], predicted[keys[i]], measured[keys[i]]
    }
    if (searches) {
        print "\nmicroseconds of kernels: schedules of schedc tune by counts, and the fastest one here"
        printf "%9s  %-12s %10s %10s %10s %8s %9s  %s\n", "rows", "strategy", "predicted", "measured",
            "fastest", "slower", "search s", "fastest schedule"
        split("neighbours silvanforge", strategies, " ")
        for (b = 1; b <= num; b++) for (s = 1; s <= 2; s++) {
            strategy = strategies[s]; found = ""; least = ""
            if (!((strategy, batches[b]) in searched)) continue
            for (i = 1; i <= count; i++) {
                v = time[keys[i], "kernel", batches[b]]
                if (v != "" && (least == "" || v + 0 < least + 0)) { least = v; fastest = keys[i] }
                if (v != "" && keys[i] ~ (" tuned_" strategy "$")) found = v
            }
            if (found == "") continue
            printf "%9s  %-12s %10.2f %10.2f %10.2f %7.1f%% %9s  %s\n", batches[b], strategy,
                counted[strategy, batches[b]], found, least, 100 * (found / least - 1),
                searched[strategy, batches[b]], fastest
        }
    }
    print ""
    if (in_sweep) printf "%d schedules of the sweep were checked\n", in_sweep
    for (i = 1; i <= wrongs; i++) print "WRONG in the sweep: " wrong[i]
    for (key in failed) printf "FAILED: %s:%s\n", key, failed[key]
    for (i = 1; i <= outs; i++) print "left out: " out[i]
}
