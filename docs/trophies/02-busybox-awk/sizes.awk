/^Section:/ { section = $2 }
/^Installed-Size:/ { sum[section] += $2; n[section]++ }
END { for (s in sum) printf "%s %d %.1f\n", s, n[s], sum[s] / n[s] }
