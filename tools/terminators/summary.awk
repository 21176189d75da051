# Reduces lines of `round row terminator metric value` to medians, ranges and ratios to one terminator.
# Variables: base (a terminator), libraries (whether libraries are compared), json (the output file), about (a file whose lines are added to it).

BEGIN { FS = "\t" }

$4 == "failed" { failures[$2 SUBSEP $3]++; next }

{
    value[$1, $2, $3, $4] = $5
    if (!(($2, $4) in known)) { known[$2, $4]; order[++kinds] = $2 SUBSEP $4 }
    if (!($3 in named)) { named[$3]; names[++terminators] = $3 }
    if ($1 > rounds) rounds = $1
}

# Median, minimum and maximum of numbers 1 to n of `list`.
function spread(n,    i, j, swap) {
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && list[j - 1] > list[j]; j--) { swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap }
    middle = n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    least = list[1]
    most = list[n]
}

# The terminator that ratios are relative to: for a server on several libraries, itself on the system's.
function base_of(name) { return libraries && sub(/@.*/, "@system", name) ? name : base }

function better(metric) { return metric ~ /per-second$|of-two/ ? "more" : "less" }

function figure(number) {
    if (number >= 1000) return sprintf("%.0f", number)
    return sprintf(number >= 10 ? "%.1f" : "%.3f", number)
}

function quoted(text) { gsub(/["\\]/, "\\\\&", text); gsub(/[\001-\037]/, " ", text); return "\"" text "\"" }

END {
    printf "{\"about\":[" > json
    while ((getline line < about) > 0) { printf "%s%s", comma, quoted(line) > json; comma = "," }
    printf "],\"base\":%s,\"figures\":[", quoted(base) > json
    comma = ""
    for (kind = 1; kind <= kinds; kind++) {
        split(order[kind], part, SUBSEP)
        row = part[1]
        metric = part[2]
        printf "\n%s: %s (%s is better)\n", row, metric, better(metric)
        for (which = 1; which <= terminators; which++) {
            name = names[which]
            n = ratios = 0
            values = ""
            for (round = 1; round <= rounds; round++) {
                if (!((round, row, name, metric) in value)) continue
                list[++n] = value[round, row, name, metric] + 0
                values = values (n > 1 ? "," : "") list[n]
            }
            if (!n) continue
            spread(n)
            text = sprintf("%10s  (%s to %s)", figure(middle), figure(least), figure(most))
            printf "%s{\"row\":%s,\"metric\":%s,\"better\":\"%s\",\"terminator\":%s,\"median\":%.6g,\"least\":%.6g,\"most\":%.6g,\"values\":[%s]",
                comma, quoted(row), quoted(metric), better(metric), quoted(name), middle, least, most, values > json
            comma = ","
            for (round = 1; round <= rounds; round++) {
                if (!((round, row, name, metric) in value) || !((round, row, base_of(name), metric) in value)) continue
                if (value[round, row, base_of(name), metric] + 0 == 0) continue
                list[++ratios] = value[round, row, name, metric] / value[round, row, base_of(name), metric]
            }
            if (ratios) {
                spread(ratios)
                text = sprintf("%-36s %.2f [%.2f to %.2f] of %s", text, middle, least, most, base_of(name))
                printf ",\"ratio\":%.6g,\"ratio_least\":%.6g,\"ratio_most\":%.6g", middle, least, most > json
            }
            printf "}" > json
            printf "  %-24s %s\n", name, text
        }
    }
    printf "],\"failed\":[" > json
    comma = ""
    for (failure in failures) {
        split(failure, part, SUBSEP)
        printf "\nFAILED %d times: %s, %s\n", failures[failure], part[1], part[2]
        printf "%s{\"row\":%s,\"terminator\":%s,\"times\":%d}", comma, quoted(part[1]), quoted(part[2]), failures[failure] > json
        comma = ","
    }
    printf "]}\n" > json
}
