# Lines of JSON of the table that ncu prints. The first line of quoted fields is the header, the second one
# has units; then there is a line for each kernel.
/^"/ {
    gsub(/^"|"$/, "")
    count = split($0, field, /","/)
    if (++row == 1) { for (i = 1; i <= count; i++) at[field[i]] = i; next }
    if (row == 2) next
    printf "{%s,\"kernel\":\"%s\"", head, field[at["Kernel Name"]]
    wanted = split(metrics, metric, ",")
    for (i = 1; i <= wanted; i++) {
        value = (metric[i] in at) ? field[at[metric[i]]] : ""
        gsub(/,/, "", value)
        if (value ~ /^[0-9.]+$/) printf ",\"%s\":%s", metric[i], value
    }
    print "}"
}
