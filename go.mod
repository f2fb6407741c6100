module github.com/hearthdb/hearth

go 1.26.0
