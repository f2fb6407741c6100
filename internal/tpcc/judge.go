package tpcc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// judge compares.
func judge(warehouses map[int]cents, all places) error {
	found := map[int]*InconsistentError{}
	say := func(condition int, format string, args ...any) {
		if found[condition] == nil {
			found[condition] = &InconsistentError{Condition: condition, First: fmt.Sprintf(format, args...)}
		}
		found[condition].Places++
	}
	districts := slices.SortedFunc(maps.Values(all), func(a, b *district) int { return cmp.Or(a.w-b.w, a.d-b.d) })
	sums := map[int]cents{}
	for _, d := range districts {
		sums[d.w] += d.ytd
	}
	for _, w := range slices.Sorted(maps.Keys(warehouses)) {
		if warehouses[w] != sums[w] {
			say(1, "warehouse %d: w_ytd is %s, the sum of its districts' d_ytd %s", w, warehouses[w], sums[w])
		}
	}
	for _, d := range districts {
		where := fmt.Sprintf("district %d of warehouse %d", d.d, d.w)
		if d.next-1 != d.largest {
			say(2, "%s: d_next_o_id is %d, the largest o_id %d", where, d.next, d.largest)
		} else if d.waiting > 0 && d.next-1 != d.to {
			say(2, "%s: d_next_o_id is %d, the largest no_o_id %d", where, d.next, d.to)
		}
		if d.waiting > 0 && d.to-d.from+1 != d.waiting {
			say(3, "%s: no_o_id goes from %d to %d, but there are %d rows", where, d.from, d.to, d.waiting)
		}
		if d.lines != d.counted {
			say(4, "%s: the sum of o_ol_cnt is %d, there are %d rows in order_line", where, d.lines, d.counted)
		}
	}
	var errs []error
	for _, c := range slices.Sorted(maps.Keys(found)) {
		errs = append(errs, found[c])
	}
	return errors.Join(errs...)
}
