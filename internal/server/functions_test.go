package server

import "testing"

// TestFunctions: values are those of MySQL 8.0.
func TestFunctions(t *testing.T) {
	c := conn(t, open(t, start(t)))
	for _, f := range []struct{ call, want string }{
		{"INSERT('Quadratic', 3, 4, 'What')", "QuWhattic"},
		{"INSERT('Quadratic', -1, 4, 'What')", "Quadratic"},
		{"INSERT('Quadratic', 3, 100, 'What')", "QuWhat"},
		{"INSERT('größe', 3, 1, 'oe')", "groeße"},
		{"INSERT(NULL, 1, 1, 'a')", "NULL"},
		{"INTERVAL(23, 1, 15, 17, 30, 44, 200)", "3"},
		{"INTERVAL(10, 1, 10, 100, 1000)", "2"},
		{"INTERVAL(22, 23, 30, 44, 200)", "0"},
		{"INTERVAL(NULL, 1)", "-1"},
		{"MAKE_SET(1, 'a', 'b', 'c')", "a"},
		{"MAKE_SET(1 | 4, 'hello', 'nice', 'world')", "hello,world"},
		{"MAKE_SET(1 | 4, 'hello', 'nice', NULL, 'world')", "hello"},
		{"MAKE_SET(0, 'a', 'b', 'c')", ""},
		{"EXPORT_SET(5, 'Y', 'N', ',', 4)", "Y,N,Y,N"},
		{"EXPORT_SET(6, '1', '0', ',', 10)", "0,1,1,0,0,0,0,0,0,0"},
		{"OCT(12)", "14"},
		{"OCT(-1)", "1777777777777777777777"},
		{"OCT(NULL)", "NULL"},
		{"PERIOD_ADD(200801, 2)", "200803"},
		{"PERIOD_ADD(9912, 1)", "200001"},
		{"PERIOD_DIFF(200802, 200703)", "11"},
		{"FORMAT_BYTES(512)", " 512 bytes"},
		{"FORMAT_BYTES(18446644073709551615)", "16.00 EiB"},
		{"FORMAT_PICO_TIME(3501)", "3.50 ns"},
		{"FORMAT_PICO_TIME(188732396662000)", "3.15 min"},
		{"FORMAT_PICO_TIME(7)", "  7 ps"},
		{"HEX(AES_ENCRYPT('text', 'password'))", "F6BD0FA8DCB7F8CD4A2FAABC54668044"},
		{"AES_DECRYPT(AES_ENCRYPT('secret', 'key'), 'key')", "secret"},
		{"AES_DECRYPT(AES_ENCRYPT('secret', 'key'), 'other')", "NULL"},
		{"AES_DECRYPT('short', 'key')", "NULL"},
		{"BENCHMARK(10, MD5('a'))", "0"},
		{"BENCHMARK(-1, 1)", "NULL"},
		{"SEC_TO_TIME(2378)", "00:39:38"},
		{"MAKETIME(12, 15, 30)", "12:15:30"},
		{"MAKETIME(12, 60, 30)", "NULL"},
		{"MAKEDATE(2011, 32)", "2011-02-01"},
		{"MAKEDATE(2011, 0)", "NULL"},
		{"TO_SECONDS('2009-11-29 13:43:32')", "63426721412"},
		{"ADDTIME('2007-12-31 23:59:59.999999', '1 1:1:1.000002')", "2008-01-02 01:01:01.000001"},
		{"ADDTIME('01:00:00', '02:00:00')", "03:00:00"},
		{"SUBTIME('05:00:00', '02:30:00')", "02:30:00"},
		{"~1", "18446744073709551614"},
		{"~~1", "1"},
		{"~(-5)", "4"},
		{"~NULL", "NULL"},
		{"5 & ~1", "4"},
		{"1 << 63 | ~0 & 1", "9223372036854775809"},
		{"~0 >> 1", "9223372036854775807"},
		{"~0 ^ 1", "18446744073709551614"},
		{"~0 << 64", "0"},
		{"5--1", "6"},
	} {
		got, err := tryRows(t.Context(), c, "SELECT "+f.call)
		if err != nil || len(got) != 1 || got[0] != f.want {
			t.Errorf("%s: got %q and %v, want %q", f.call, got, err, f.want)
		}
	}
	a, b := rows(t, c, "SELECT UUID_SHORT()"), rows(t, c, "SELECT UUID_SHORT()")
	if a[0] == b[0] {
		t.Errorf("UUID_SHORT twice gave %s", a)
	}
	exec(t, c, "SET SESSION block_encryption_mode = 'aes-256-cbc'")
	expect(t, rows(t, c, "SELECT AES_DECRYPT(AES_ENCRYPT('secret', 'key', '0123456789abcdef'), 'key', '0123456789abcdef')"), "secret")
	_, err := tryRows(t.Context(), c, "SELECT AES_ENCRYPT('secret', 'key')")
	failsWith(t, err, erWrongArguments)
}
