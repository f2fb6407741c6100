package server

import (
	"fmt"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer/analyzererrors"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/types"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// errorTable says what GMS's kinds of errors are to a client of MySQL. The first row that matches counts. Rows without a text keep
// the one of GMS, which is MySQL's or near it.
var errorTable = []errorRow{
	{kind: gms.ErrSyntaxError, number: 1064, state: "42000"}, // what our parser says was read by flattened
	{kind: gms.ErrUnsupportedSyntax, number: 1235, state: "42000"},
	{kind: gms.ErrUnsupportedFeature, number: 1235, state: "42000", text: "This version of hearth doesn't yet support '{0}'"},
	{kind: gms.ErrInvalidSyntax, number: 1064, state: "42000"},

	{kind: gms.ErrNoDatabaseSelected, number: 1046, state: "3D000", text: "No database selected"},
	{kind: gms.ErrDatabaseNotFound, in: isDropDatabase, number: 1008, state: "HY000", text: "Can't drop database '{0}'; database doesn't exist"},
	{kind: gms.ErrDatabaseNotFound, number: 1049, state: "42000", text: "Unknown database '{0}'"},
	{kind: gms.ErrDatabaseExists, number: 1007, state: "HY000", text: "Can't create database '{0}'; database exists"},
	{kind: gms.ErrInvalidDatabaseName, number: 1102, state: "42000", text: "Incorrect database name '{0}'"},

	{kind: gms.ErrTableNotFound, in: isDropTable, number: 1051, state: "42S02", say: func(parts []string, at place) string {
		return fmt.Sprintf("Unknown table '%s'", at.qualified(parts[0]))
	}},
	{kind: gms.ErrTableNotFound, number: 1146, state: "42S02", say: func(parts []string, at place) string {
		return fmt.Sprintf("Table '%s' doesn't exist", at.qualified(parts[0]))
	}},
	{kind: gms.ErrUnknownTable, in: isDropTable, number: 1051, state: "42S02"},
	{kind: gms.ErrUnknownTable, number: 1146, state: "42S02", say: func(parts []string, at place) string {
		return fmt.Sprintf("Table '%s' doesn't exist", at.qualified(parts[0]))
	}},
	{kind: gms.ErrTableAlreadyExists, number: 1050, state: "42S01", text: "Table '{0}' already exists"},
	{kind: gms.ErrExistingView, number: 1050, state: "42S01", text: "Table '{1}' already exists"},
	{kind: gms.ErrViewDoesNotExist, in: isDropView, number: 1051, state: "42S02", text: "Unknown table '{0}.{1}'"},
	{kind: gms.ErrViewDoesNotExist, number: 1146, state: "42S02", text: "Table '{0}.{1}' doesn't exist"},
	{kind: gms.ErrExpectedTableFoundView, number: 1347, state: "HY000", say: func(parts []string, at place) string {
		return fmt.Sprintf("'%s' is not BASE TABLE", at.qualified(parts[0]))
	}},
	{kind: gms.ErrInvalidRefInView, number: 1356, state: "HY000"},
	{kind: gms.ErrDuplicateAliasOrTable, number: 1066, state: "42000", text: "Not unique table/alias: '{0}'"},

	{kind: gms.ErrColumnNotFound, in: isDropColumn, number: 1091, state: "42000", text: "Can't DROP '{0}'; check that column/key exists"},
	{kind: gms.ErrColumnNotFound, in: isSet, number: 1193, state: "HY000", text: "Unknown system variable '{0}'"},
	{kind: gms.ErrColumnNotFound, number: 1054, state: "42S22", say: unknownColumn},
	{kind: gms.ErrTableColumnNotFound, in: isDropColumn, number: 1091, state: "42000", text: "Can't DROP '{1}'; check that column/key exists"},
	{kind: gms.ErrTableColumnNotFound, number: 1054, state: "42S22", say: func(parts []string, at place) string {
		if _, isDDL := at.stmt.(*ast.AlterTable); isDDL {
			return fmt.Sprintf("Unknown column '%s' in '%s'", parts[1], parts[0])
		}
		return unknownColumn([]string{strings.TrimPrefix(parts[0]+".", ".") + parts[1]}, at)
	}},
	{kind: gms.ErrUnknownColumn, in: writesRows, number: 1054, state: "42S22", text: "Unknown column '{0}' in 'field list'"},
	{kind: gms.ErrUnknownColumn, number: 1054, state: "42S22"},
	{kind: gms.ErrMisusedAlias, number: 1054, state: "42S22", say: unknownColumn},
	{kind: gms.ErrAmbiguousColumnName, number: 1052, state: "23000", say: ambiguousColumn},
	{kind: gms.ErrAmbiguousColumnOrAliasName, number: 1052, state: "23000", say: ambiguousColumn},
	{kind: gms.ErrAmbiguousColumnInOrderBy, number: 1052, state: "23000", text: "Column '{0}' in order clause is ambiguous"},
	{kind: gms.ErrColumnExists, number: 1060, state: "42S21", text: "Duplicate column name '{0}'"},
	{kind: gms.ErrDuplicateColumn, number: 1060, state: "42S21", text: "Duplicate column name '{0}'"},
	{kind: gms.ErrColumnSpecifiedTwice, number: 1110, state: "42000", text: "Column '{0}' specified twice"},
	{kind: gms.ErrInvalidColTypeDefinition, number: 1063, state: "42000", text: "Incorrect column specifier for column '{0}'"},
	{kind: gms.ErrInvalidColumnDefaultValue, number: 1067, state: "42000"},
	{kind: gms.ErrIncompatibleDefaultType, number: 1067, state: "42000"},
	{kind: gms.ErrInvalidOnUpdate, number: 1294, state: "HY000", text: "Invalid ON UPDATE clause for '{0}' column"},
	{kind: gms.ErrUserVariableNoDefault, number: 1231, state: "42000"},

	{kind: gms.ErrUnknownSystemVariable, number: 1193, state: "HY000", say: func(parts []string, _ place) string {
		return fmt.Sprintf("Unknown system variable '%s'", strings.TrimPrefix(parts[0], "@@"))
	}},
	{kind: gms.ErrSystemVariableReadOnly, number: 1238, state: "HY000"},
	{kind: gms.ErrSystemVariableGlobalOnly, number: 1229, state: "HY000"},
	{kind: gms.ErrSystemVariableSessionOnly, number: 1228, state: "HY000"},
	{kind: gms.ErrInvalidSystemVariableValue, number: 1231, state: "42000"},
	{kind: gms.ErrSessionDoesNotSupportPersistence, number: 1238, state: "HY000"},

	{kind: gms.ErrPrimaryKeyViolation, number: 1062, state: "23000"},
	{kind: gms.ErrUniqueKeyViolation, number: 1062, state: "23000"},
	{kind: gms.ErrDuplicateEntry, number: 1062, state: "23000"},
	{kind: gms.ErrInsertIntoNonNullableProvidedNull, number: 1048, state: "23000", text: "Column '{0}' cannot be null"},
	{kind: gms.ErrInsertIntoNonNullableDefaultNullColumn, number: 1364, state: "HY000"},
	{kind: gms.ErrColumnDefaultReturnedNull, number: 1364, state: "HY000"},
	{kind: types.ErrLengthBeyondLimit, number: 1406, state: "22001", text: "Data too long for column '{1}' at row 1"},
	{kind: gms.ErrValueOutOfRange, in: writesRows, number: 1264, state: "22003", say: outOfRange},
	{kind: gms.ErrValueOutOfRange, number: 1690, state: "22003", text: "{0} value is out of range in '{1}'"},
	{kind: types.ErrConvertToDecimalLimit, number: 1264, state: "22003"},
	{kind: expression.ErrIntDivDataOutOfRange, number: 1690, state: "22003"},
	{kind: types.ErrConvertingToTime, number: 1292, state: "22007"},
	{kind: types.ErrConvertingToTimeOutOfRange, number: 1292, state: "22007", text: "Incorrect {1} value: '{0}'"},
	{kind: types.ErrConvertingToTimeType, number: 1292, state: "22007", text: "Incorrect time value: '{0}'"},
	{kind: types.ErrConvertingToYear, number: 1264, state: "22003", text: "Out of range value '{0}' for a column of type YEAR"},
	{kind: types.ErrConvertingToDecimal, number: 1366, state: "HY000", text: "Incorrect decimal value: '{0}'"},
	{kind: types.ErrConvertingToEnum, number: 1265, state: "01000", text: "Data truncated: '{0}' is not a value of the ENUM"},
	{kind: types.ErrDataTruncatedForColumn, number: 1265, state: "01000", text: "Data truncated for column '{0}' at row 1"},
	{kind: gms.ErrConvertingToSet, number: 1265, state: "01000", text: "Data truncated: '{0}' is not a value of the SET"},
	{kind: gms.ErrInvalidSetValue, number: 1265, state: "01000", text: "Data truncated: '{0}' is not a value of the SET"},
	{kind: gms.ErrTooLargeForSet, number: 1265, state: "01000"},
	{kind: gms.ErrEnumTypeTruncated, number: 1265, state: "01000"},
	{kind: types.ErrBadCharsetString, number: 1366, state: "HY000", text: "Incorrect string value: '{1}'"},
	{kind: gms.ErrCharSetInvalidString, number: 1300, state: "HY000", text: "Invalid {0} character string: '{1}'"},
	{kind: gms.ErrIncorrectValue, number: 1292, state: "22007"},
	{kind: gms.ErrInvalidValue, number: 1366, state: "HY000", text: "Incorrect {1} value: '{0}'"},
	{kind: gms.ErrInvalidValueType, number: 1366, state: "HY000"},
	{kind: gms.ErrInsertIntoMismatchValueCount, number: 1136, state: "21S01", text: "Column count doesn't match value count at row 1"},
	{kind: gms.ErrColValCountMismatch, number: 1136, state: "21S01"},
	{kind: gms.ErrGeneratedColumnValue, number: 3105, state: "HY000",
		text: "The value specified for generated column '{0}' in table '{1}' is not allowed."},
	{kind: gms.ErrInvalidJSONText, number: 3141, state: "22032"},
	{kind: gms.ErrInvalidJson, number: 3140, state: "22032"},
	{kind: gms.ErrInvalidJSONArgument, number: 3146, state: "22032"},
	{kind: gms.ErrJSONObjectAggNullKey, number: 3158, state: "22032"},
	{kind: gms.ErrUuidUnableToParse, number: 1411, state: "HY000", text: "Incorrect string value: '{0}' for function uuid_to_bin"},

	{kind: gms.ErrCheckConstraintViolated, number: 3819, state: "HY000", text: "Check constraint '{0}' is violated."},
	{kind: gms.ErrUnknownConstraint, number: 3940, state: "HY000", text: "Constraint '{0}' does not exist."},
	{kind: gms.ErrCheckConstraintInvalidatedByColumnAlter, number: 3959, state: "HY000",
		text: "Check constraint '{1}' uses column '{0}', hence column cannot be dropped or renamed."},
	{kind: gms.ErrForeignKeyChildViolation, number: 1452, state: "23000",
		text: "Cannot add or update a child row: a foreign key constraint fails (`{1}`, CONSTRAINT `{0}` REFERENCES `{2}`)"},
	{kind: gms.ErrForeignKeyNotResolved, number: 1452, state: "23000"},
	{kind: gms.ErrForeignKeyParentViolation, number: 1451, state: "23000",
		text: "Cannot delete or update a parent row: a foreign key constraint fails (`{1}`, CONSTRAINT `{0}` REFERENCES `{2}`)"},
	{kind: gms.ErrForeignKeyDropTable, number: 3730, state: "HY000",
		text: "Cannot drop table '{0}' referenced by a foreign key constraint '{1}'."},
	{kind: gms.ErrForeignKeyDropColumn, number: 1828, state: "HY000", text: "Cannot drop column '{0}': needed in a foreign key constraint '{1}'"},
	{kind: gms.ErrForeignKeyDropIndex, number: 1553, state: "HY000", text: "Cannot drop index '{0}': needed in a foreign key constraint"},
	{kind: gms.ErrCantDropIndex, number: 1553, state: "HY000", text: "Cannot drop index '{0}': needed in a foreign key constraint"},
	{kind: gms.ErrForeignKeyDuplicateName, number: 1826, state: "HY000", text: "Duplicate foreign key constraint name '{0}'"},
	{kind: gms.ErrForeignKeyNotFound, number: 1091, state: "42000", text: "Can't DROP '{0}'; check that column/key exists"},
	{kind: gms.ErrForeignKeyColumnCountMismatch, number: 1239, state: "42000",
		text: "Incorrect foreign key definition: Key reference and table reference don't match"},
	{kind: gms.ErrForeignKeyColumnTypeMismatch, number: 3780, state: "HY000",
		text: "Referencing column '{0}' and referenced column '{1}' in foreign key constraint are incompatible."},
	{kind: gms.ErrForeignKeyMissingReferenceIndex, number: 1822, state: "HY000",
		text: "Failed to add the foreign key constraint. Missing index for constraint '{0}' in the referenced table '{1}'"},
	{kind: gms.ErrForeignKeySetNullNonNullable, number: 1830, state: "HY000", text: "Column '{0}' cannot be NOT NULL: needed in a foreign key constraint SET NULL"},
	{kind: gms.ErrForeignKeyTypeChangeSetNull, number: 1830, state: "HY000",
		text: "Column '{0}' cannot be NOT NULL: needed in a foreign key constraint '{1}' SET NULL"},
	{kind: gms.ErrForeignKeyTypeChange, number: 1832, state: "HY000", text: "Cannot change column '{0}': used in a foreign key constraint"},
	{kind: gms.ErrForeignKeyTextBlob, number: 1170, state: "42000"},
	{kind: gms.ErrForeignKeySetDefault, number: 1235, state: "42000"},
	{kind: gms.ErrForeignKeyDepthLimit, number: 3008, state: "HY000"},
	{kind: gms.ErrTruncateReferencedFromForeignKey, number: 1701, state: "42000",
		text: "Cannot truncate a table referenced in a foreign key constraint (`{2}`, CONSTRAINT `{1}`)"},

	{kind: gms.ErrCantDropFieldOrKey, number: 1091, state: "42000", text: "Can't DROP '{0}'; check that column/key exists"},
	{kind: gms.ErrIndexNotFound, number: 1091, state: "42000", text: "Can't DROP '{0}'; check that column/key exists"},
	{kind: gms.ErrKeyColumnDoesNotExist, number: 1072, state: "42000", text: "Key column '{0}' doesn't exist in table"},
	{kind: gms.ErrUnknownIndexColumn, number: 1072, state: "42000", text: "Key column '{0}' doesn't exist in table"},
	{kind: gms.ErrMultiplePrimaryKeysDefined, number: 1068, state: "42000", text: "Multiple primary key defined"},
	{kind: gms.ErrWrongAutoKey, number: 1075, state: "42000",
		text: "Incorrect table definition; there can be only one auto column and it must be defined as a key"},
	{kind: gms.ErrInvalidAutoIncCols, number: 1075, state: "42000",
		text: "Incorrect table definition; there can be only one auto column and it must be defined as a key"},
	{kind: gms.ErrDuplicateKey, number: 1061, state: "42000"},
	{kind: gms.ErrInvalidIndexName, number: 1280, state: "42000", text: "Incorrect index name '{0}'"},
	{kind: gms.ErrInvalidIdentifier, number: 1059, state: "42000", text: "Identifier name '{0}' is too long"},
	{kind: gms.ErrInvalidIndexPrefix, number: 1089, state: "HY000"},
	{kind: gms.ErrInvalidBlobTextKey, number: 1170, state: "42000", text: "BLOB/TEXT column '{0}' used in key specification without a key length"},
	{kind: gms.ErrKeyTooLong, number: 1071, state: "42000", text: "Specified key was too long; max key length is 3072 bytes"},
	{kind: gms.ErrKeyZero, number: 1391, state: "HY000", text: "Key part '{0}' length cannot be 0"},
	{kind: gms.ErrTooManyKeyParts, number: 1070, state: "42000", text: "Too many key parts specified; max {0} parts allowed"},
	{kind: gms.ErrJSONIndex, number: 3152, state: "42000"},
	{kind: planbuilder.ErrPrimaryKeyOnNullField, number: 1171, state: "42000",
		text: "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead"},
	{kind: analyzererrors.ErrInvalidRowLength, number: 1118, state: "42000", text: "Row size too large. The maximum row size is {0} bytes, found {1}"},
	{kind: gms.ErrPartitionNotFound, number: 1526, state: "HY000"},

	{kind: gms.ErrFunctionNotFound, number: 1305, state: "42000", say: func(parts []string, at place) string {
		return fmt.Sprintf("FUNCTION %s does not exist", at.qualified(parts[0]))
	}},
	{kind: gms.ErrTableFunctionNotFound, number: 1305, state: "42000", text: "FUNCTION {0} does not exist"},
	{kind: gms.ErrStoredProcedureDoesNotExist, number: 1305, state: "42000", say: func(parts []string, at place) string {
		return fmt.Sprintf("PROCEDURE %s does not exist", at.qualified(parts[0]))
	}},
	{kind: gms.ErrStoredProcedureAlreadyExists, number: 1304, state: "42000", text: "PROCEDURE {0} already exists"},
	{kind: gms.ErrCallIncorrectParameterCount, number: 1318, state: "42000",
		text: "Incorrect number of arguments for PROCEDURE {0}; expected {1}, got {2}"},
	{kind: gms.ErrProcedureRecursiveCall, number: 1456, state: "HY000"},
	{kind: gms.ErrInvalidArgumentNumber, number: 1582, state: "42000", text: "Incorrect parameter count in the call to native function '{0}'"},
	{kind: gms.ErrInvalidArgument, number: 1210, state: "HY000", text: "Incorrect arguments to {0}"},
	{kind: gms.ErrInvalidArgumentDetails, number: 1210, state: "HY000"},
	{kind: gms.ErrTriggerDoesNotExist, number: 1360, state: "HY000", text: "Trigger does not exist"},
	{kind: gms.ErrTriggerTableInUse, number: 1442, state: "HY000"},
	{kind: gms.ErrInvalidUseOfOldNew, number: 1363, state: "HY000"},
	{kind: gms.ErrInvalidUpdateOfOldRow, number: 1362, state: "HY000"},
	{kind: gms.ErrInvalidUpdateInAfterTrigger, number: 1362, state: "HY000"},
	{kind: gms.ErrNoFullTextIndexFound, number: 1191, state: "HY000", text: "Can't find FULLTEXT index matching the column list"},
	{kind: gms.ErrEventAlreadyExists, number: 1537, state: "HY000"},
	{kind: gms.ErrEventDoesNotExist, number: 1539, state: "HY000", text: "Unknown event '{0}'"},
	{kind: gms.ErrUnknownEvent, number: 1539, state: "HY000"},
	{kind: gms.ErrDeclareVariableDuplicate, number: 1331, state: "42000", text: "Duplicate variable: {0}"},
	{kind: gms.ErrDeclareConditionDuplicate, number: 1332, state: "42000", text: "Duplicate condition: {0}"},
	{kind: gms.ErrDeclareCursorDuplicate, number: 1333, state: "42000", text: "Duplicate cursor: {0}"},
	{kind: gms.ErrDeclareHandlerDuplicate, number: 1413, state: "42000"},
	{kind: gms.ErrDeclareConditionNotFound, number: 1319, state: "42000", text: "Undefined CONDITION: {0}"},
	{kind: gms.ErrDeclareConditionOrderInvalid, number: 1337, state: "42000"},
	{kind: gms.ErrDeclareVariableOrderInvalid, number: 1337, state: "42000"},
	{kind: gms.ErrDeclareCursorOrderInvalid, number: 1338, state: "42000"},
	{kind: gms.ErrLoopRedefinition, number: 1309, state: "42000", text: "Redefining label {0}"},
	{kind: gms.ErrLoopLabelNotFound, number: 1308, state: "42000"},
	{kind: gms.ErrCursorNotFound, number: 1324, state: "42000", text: "Undefined CURSOR: {0}"},
	{kind: gms.ErrCursorAlreadyOpen, number: 1325, state: "24000", text: "Cursor is already open"},
	{kind: gms.ErrCursorNotOpen, number: 1326, state: "24000", text: "Cursor is not open"},
	{kind: gms.ErrFetchIncorrectCount, number: 1328, state: "HY000", text: "Incorrect number of FETCH variables"},
	{kind: gms.ErrSavepointDoesNotExist, number: 1305, state: "42000"},

	{kind: gms.ErrUnknownPreparedStatement, number: 1243, state: "HY000"},
	{kind: gms.ErrUnboundPreparedStatementVariable, number: 1210, state: "HY000", text: "Incorrect arguments to EXECUTE"},
	{kind: planbuilder.ErrUnionSchemasDifferentLength, number: 1222, state: "21000", text: "The used SELECT statements have a different number of columns"},
	{kind: gms.ErrColumnNumberDoesNotMatch, number: 1222, state: "21000"},
	{kind: gms.ErrColumnCountMismatch, number: 1353, state: "HY000"},
	{kind: planbuilder.ErrQualifiedOrderBy, number: 1250, state: "42000"},
	{kind: gms.ErrExpectedSingleRow, number: 1242, state: "21000", text: "Subquery returns more than 1 row"},
	{kind: gms.ErrMoreThanOneRow, number: 1172, state: "42000"},
	{kind: gms.ErrInvalidOperandColumns, number: 1241, state: "21000", text: "Operand should contain {0} column(s)"},
	{kind: gms.ErrInvalidColumnNumber, number: 1241, state: "21000", text: "Operand should contain {0} column(s)"},
	{kind: gms.ErrNonAggregatedColumnWithoutGroupBy, number: 1140, state: "42000"},
	{kind: analyzererrors.ErrValidationGroupBy, number: 1055, state: "42000"},
	{kind: gms.ErrAggregationUnsupported, number: 1111, state: "HY000", text: "Invalid use of group function"},
	{kind: gms.ErrNoTablesUsed, number: 1096, state: "HY000"},
	{kind: gms.ErrCteRecursionLimitExceeded, number: 3636, state: "HY000"},
	{kind: gms.ErrRecursiveCTEMissingUnion, number: 3573, state: "HY000"},
	{kind: gms.ErrUnknownWindowName, number: 3579, state: "HY000", text: "Window name '{0}' is not defined."},
	{kind: gms.ErrUnsupportedJoinFactorCount, number: 1116, state: "HY000", text: "Too many tables; hearth can only use {0} tables in a join"},
	{kind: gms.ErrCollationUnknown, number: 1273, state: "HY000", text: "Unknown collation: '{0}'"},
	{kind: gms.ErrCharSetUnknown, number: 1115, state: "42000", text: "Unknown character set: '{0}'"},
	{kind: gms.ErrCollationInvalidForCharSet, number: 1253, state: "42000"},
	{kind: gms.ErrCollationIllegalMix, number: 1267, state: "HY000"},
	{kind: expression.ErrInvalidRegexp, number: 3685, state: "HY000"},

	{kind: gms.ErrReadOnlyTransaction, number: 1792, state: "25006", text: "Cannot execute statement in a READ ONLY transaction."},
	{kind: gms.ErrReadOnly, number: 1290, state: "HY000", text: "The hearth server is running with the --read-only option so it cannot execute this statement"},
	{kind: analyzererrors.ErrReadOnlyDatabase, number: 1044, state: "42000"},
	{kind: gms.ErrLockDeadlock, number: 1213, state: "40001", text: "Deadlock found when trying to get lock; try restarting transaction"},
	{kind: gms.ErrLockTimeout, number: 3131, state: "42000"},
	{kind: gms.ErrNoMemoryAvailable, number: erOutOfSortMemory, state: stateMemory, text: "Out of sort memory, consider increasing server sort buffer size"},

	{kind: gms.ErrDatabaseAccessDeniedForUser, number: 1044, state: "42000"},
	{kind: gms.ErrTableAccessDeniedForUser, number: 1142, state: "42000", say: func(parts []string, at place) string {
		return fmt.Sprintf("%s command denied to user %s for table '%s'", verbOf(at.stmt), parts[0], parts[1])
	}},
	{kind: gms.ErrPrivilegeCheckFailed, in: usesTables, number: 1142, state: "42000", say: func(parts []string, at place) string {
		return fmt.Sprintf("%s command denied to user %s for table '%s'", verbOf(at.stmt), parts[0], at.someTable())
	}},
	{kind: gms.ErrPrivilegeCheckFailed, number: 1227, state: "42000",
		text: "Access denied for user {0}; you need more privileges for this operation"},
	{kind: gms.ErrUserCreationFailure, number: 1396, state: "HY000"},
	{kind: gms.ErrUserAlterFailure, number: 1396, state: "HY000"},
	{kind: gms.ErrUserDeletionFailure, number: 1396, state: "HY000"},
	{kind: gms.ErrRoleCreationFailure, number: 1396, state: "HY000"},
	{kind: gms.ErrRoleDeletionFailure, number: 1396, state: "HY000"},
	{kind: gms.ErrUserNameTooLong, number: 1470, state: "HY000"},
	{kind: gms.ErrUserHostTooLong, number: 1470, state: "HY000"},
	{kind: gms.ErrGrantUserDoesNotExist, number: 1410, state: "42000"},
	{kind: gms.ErrRevokeUserDoesNotExist, number: 1141, state: "42000"},
	{kind: gms.ErrShowGrantsUserDoesNotExist, number: 1141, state: "42000"},
	{kind: gms.ErrGrantRevokeRoleDoesNotExist, number: 3523, state: "HY000"},
	{kind: gms.ErrGrantRevokeIllegalPrivilege, number: 1144, state: "42000"},
	{kind: gms.ErrSecureFilePriv, number: 1290, state: "HY000"},
	{kind: gms.ErrFileExists, number: 1086, state: "HY000"},
	{kind: gms.ErrLoadDataCannotOpen, number: 13, state: "HY000"},
}

// textTable is for errors that GMS makes without a kind.
var textTable = []struct {
	contains string
	number   int
	state    string
	text     string // empty: GMS's
}{
	{contains: "invalid arguments. expected", number: 1210, state: "HY000", text: "Incorrect arguments to EXECUTE"},
	{contains: "invalid bind variable count", number: 1210, state: "HY000", text: "Incorrect arguments to EXECUTE"},
	{contains: "syntax error at position", number: 1064, state: "42000"},
	{contains: "insufficient SUPER privileges", number: 1227, state: "42000"},
	{contains: "does not have an auto increment", number: 1075, state: "42000"},
	{contains: "ENDS is either invalid or before STARTS", number: 1543, state: "HY000"},
	{contains: "The event was not changed. Specify a time in the future", number: 1589, state: "HY000"},
}

func unknownColumn(parts []string, at place) string {
	return fmt.Sprintf("Unknown column '%s' in '%s'", parts[0], at.clause(parts[0]))
}

func ambiguousColumn(parts []string, at place) string {
	return fmt.Sprintf("Column '%s' in %s is ambiguous", parts[0], at.clause(parts[0]))
}

// outOfRange names the column, which GMS does not: it is the only one of that type, or remains unnamed.
func outOfRange(parts []string, at place) string {
	name := ""
	for _, c := range at.columns {
		if c.Type.String() != parts[1] {
			continue
		}
		if name != "" {
			name = ""
			break
		}
		name = c.Name
	}
	if name == "" {
		return fmt.Sprintf("Out of range value '%s' for a column of type %s at row 1", parts[0], parts[1])
	}
	return fmt.Sprintf("Out of range value for column '%s' at row 1", name)
}
