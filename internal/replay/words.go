package replay

import "strings"

// role is what a word means to the proof.
type role uint8

const (
	plain     role = iota
	opener         // a keyword that may stand before "(" without being called
	pure           // a function that changes nothing and waits for nothing
	impure         // a function that does
	forbidden      // a reserved word no reading statement has, except where provably says so
)

// roles of the words that matter. A word that is not here may be a name, and a name before "(" a stored function.
var roles = func() map[string]role {
	m := map[string]role{}
	for _, l := range []struct {
		role  role
		words string
	}{
		{opener, openers}, {pure, pureFunctions}, {impure, impureFunctions}, {forbidden, forbiddenWords},
	} {
		for _, w := range strings.Fields(l.words) {
			m[w] = l.role
		}
	}
	return m
}()

const forbiddenWords = `
	into outfile dumpfile procedure delete update call lock unlock drop alter grant revoke create load rename set kill purge
	shutdown optimize analyze install uninstall`

// impureFunctions have effects, wait, or read files. Words that are not here and not pure are refused just as well; these
// are named for the sake of the reason given.
const impureFunctions = `
	sleep benchmark get_lock release_lock release_all_locks master_pos_wait source_pos_wait master_gtid_wait
	wait_for_executed_gtid_set wait_until_sql_thread_after_gtids load_file nextval setval lastval currval sys_exec sys_eval
	sys_set sys_get group_replication_set_as_primary group_replication_switch_to_single_primary_mode
	asynchronous_connection_failover_add_source asynchronous_connection_failover_delete_source
	service_get_read_locks service_get_write_locks service_release_locks version_tokens_set version_tokens_edit
	version_tokens_delete version_tokens_lock_shared version_tokens_lock_exclusive keyring_key_generate keyring_key_store
	keyring_key_remove audit_log_filter_set_filter audit_log_rotate gen_blocklist mysql_firewall_flush_status`

const openers = `
	select from where on using and or xor not in exists any all some values value row rows as join straight_join cross inner left
	right natural over index key force use ignore partition by union except minus intersect having when then else case distinct
	distinctrow limit offset between like regexp rlike div mod interval rollup char binary decimal dec numeric fixed nchar varchar varbinary
	time datetime timestamp date signed unsigned double float real integer int lateral columns path group within of table
	sql_no_cache sql_cache sql_calc_found_rows high_priority sql_small_result sql_big_result sql_buffer_result against with
	recursive escape separator returning default is collate for order window character charset range preceding following
	json bit year enum`

const pureFunctions = `
	abs acos adddate addtime aes_decrypt aes_encrypt any_value ascii asin atan atan2 avg bin bin_to_uuid bit_and bit_count
	bit_length bit_or bit_xor cast ceil ceiling char_length character_length chr coalesce coercibility collation column_check
	column_exists column_get column_json column_list compress concat concat_ws connection_id conv convert convert_tz
	cos cot count crc32 crc32c cume_dist curdate current_date current_role current_time current_timestamp current_user
	curtime database date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear decode
	decode_histogram decode_oracle degrees dense_rank des_decrypt des_encrypt elt encode encrypt exp export_set extract
	extractvalue field find_in_set first_value floor format format_bytes format_pico_time found_rows from_base64 from_days
	from_unixtime geomcollection geometrycollection get_format glength greatest group_concat grouping gtid_subset gtid_subtract
	hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr is_free_lock is_ipv4 is_ipv4_compat
	is_ipv4_mapped is_ipv6 is_used_lock is_uuid isnull json_array json_array_append json_array_insert json_array_intersect
	json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed json_equals json_exists
	json_extract json_insert json_key_value json_keys json_length json_loose json_merge json_merge_patch
	json_merge_preserve json_normalize json_object json_object_filter_keys json_object_to_array json_objectagg
	json_overlaps json_pretty json_query json_quote json_remove json_replace json_schema_valid
	json_schema_validation_report json_search json_set json_storage_free json_storage_size json_table json_type
	json_unquote json_valid json_value kdf lag last_day last_insert_id last_value lcase lead least length lengthb linestring
	ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_set makedate maketime match max mbrcontains
	mbrcoveredby mbrcovers mbrdisjoint mbrequal mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin md5 median member
	microsecond mid min minute mod month monthname multilinestring multipoint multipolygon name_const natural_sort_key
	now nth_value ntile nullif nvl nvl2 oct octet_length old_password ord password percent_rank percentile_cont
	percentile_disc period_add period_diff pi point polygon position pow power ps_current_thread_id ps_thread_id quarter
	quote radians rand random_bytes rank regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse
	roles_graphml round row_count row_number rpad rtrim schema sec_to_time second session_user sformat sha sha1 sha2 sign
	sin soundex space sqrt st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_boundary st_buffer
	st_buffer_strategy st_centroid st_contains st_convexhull st_crosses st_difference st_dimension st_disjoint st_distance
	st_distance_sphere st_endpoint st_envelope st_equals st_exteriorring st_geohash st_geomcollfromtext
	st_geometryfromtext st_geometryfromwkb st_geometryn st_geometrytype st_geomfromgeojson st_geomfromtext st_geomfromwkb
	st_interiorringn st_intersection st_intersects st_isclosed st_isempty st_isring st_issimple st_isvalid
	st_latfromgeohash st_latitude st_length st_linefromtext st_linefromwkb st_longfromgeohash st_longitude
	st_makeenvelope st_numgeometries st_numinteriorring st_numinteriorrings st_numpoints st_overlaps st_pointfromgeohash
	st_pointfromtext st_pointfromwkb st_pointn st_pointonsurface st_polyfromtext st_polyfromwkb st_relate st_simplify
	st_srid st_startpoint st_swapxy st_symdifference st_touches st_transform st_union st_validate st_within st_x st_y std
	stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum sysdate
	system_user tan time_format time_to_sec timediff timestampadd timestampdiff to_base64 to_char to_days to_number
	to_seconds trim trim_oracle trunc truncate ucase uncompress uncompressed_length unhex unix_timestamp updatexml upper
	user utc_date utc_time utc_timestamp uuid uuid_short uuid_to_bin validate_password_strength var_pop var_samp variance
	version vec_distance vec_distance_euclidean vec_distance_cosine vec_fromtext vec_totext week weekday weekofyear
	weight_string yearweek`

// firstWords says what a statement is by its first word. What is not here is refused.
var firstWords = map[string]Class{
	"select": Read, "values": Read, "table": Read, "with": Read,
	"insert": Write, "update": Write, "delete": Write, "replace": Write,
	"create": DDL, "alter": DDL, "drop": DDL, "rename": DDL, "truncate": DDL,
	"begin": Txn, "start": Txn, "commit": Txn, "rollback": Txn, "savepoint": Txn, "release": Txn,
	"use": Session, "set": Session,
	"show": Skip, "describe": Skip, "desc": Skip, "explain": Skip, "help": Skip,
}
