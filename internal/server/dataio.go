package server

// filesDir is where, in the data directory, the files lie that LOAD DATA INFILE and LOAD_FILE may read and INTO OUTFILE may write
// (secure_file_priv). It is not made: who wants to use it makes it.
const filesDir = "files"
