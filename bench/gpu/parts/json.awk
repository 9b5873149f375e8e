# The value of a key in a line of JSON without nested objects; strings without their quotes. Empty if the line
# lacks the key.
function get(key,    found) {
    if (!match($0, "\"" key "\":(\"[^\"]*\"|[^,}]*)")) return ""
    found = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
    gsub(/"/, "", found)
    return found
}
