package tpcc

import "fmt"

// Scale is how many rows there are (clause 1.2 and 4.2).
type Scale struct {
	Warehouses int
	Districts  int // of a warehouse
	Customers  int // of a district; as many orders has it at first
	Items      int // of the catalogue; as many rows of stock has a warehouse
}

// Standard is the scale of the standard.
func Standard(warehouses int) Scale { return Scale{warehouses, 10, 3000, 100_000} }

// Bytes of a row as the standard counts them (clause 4.2.2).
const (
	warehouseBytes = 89
	districtBytes  = 95
	customerBytes  = 655
	historyBytes   = 46
	orderBytes     = 24
	newOrderBytes  = 8
	lineBytes      = 54
	stockBytes     = 306
	itemBytes      = 82
)

const (
	meanLines = 10 // of an order
	// undelivered is the part of the first orders that wait for their delivery: the last 900 of 3,000.
	undelivered = 0.3
)

// Bytes of all rows at first. What an engine adds to a row is not in it.
func (s Scale) Bytes() int64 {
	customers := float64(s.Warehouses * s.Districts * s.Customers)
	return int64(s.Items)*itemBytes + int64(s.Warehouses)*(warehouseBytes+int64(s.Districts)*districtBytes+int64(s.Items)*stockBytes) +
		int64(customers*(customerBytes+historyBytes+orderBytes+undelivered*newOrderBytes+meanLines*lineBytes))
}

// ScaleFor is the scale of about so many bytes: warehouses of the standard, or one smaller one.
func ScaleFor(bytes int64) Scale {
	if n := bytes / (Standard(2).Bytes() - Standard(1).Bytes()); n > 0 {
		return Standard(int(n))
	}
	s := Standard(1)
	part := float64(bytes) / float64(s.Bytes())
	s.Customers, s.Items = max(leastCustomers, int(float64(s.Customers)*part)), max(leastItems, int(float64(s.Items)*part))
	return s
}

const (
	leastCustomers = 10
	leastItems     = 100 // an order has up to 15 different ones
)

// Validate says what a scale lacks.
func (s Scale) Validate() error {
	if s.Warehouses < 1 || s.Districts < 1 || s.Customers < leastCustomers || s.Items < leastItems {
		return fmt.Errorf("scale %+v: want a warehouse, a district, %d customers and %d items at least", s, leastCustomers, leastItems)
	}
	return nil
}

// String is "52 warehouses".
func (s Scale) String() string {
	if s == Standard(s.Warehouses) {
		return fmt.Sprintf("%d warehouses", s.Warehouses)
	}
	return fmt.Sprintf("%d small warehouses (%d districts of %d customers, %d items)", s.Warehouses, s.Districts, s.Customers, s.Items)
}

// delivered is how many orders of a district are delivered at first; those after it wait.
func (s Scale) delivered() int { return s.Customers - int(float64(s.Customers)*undelivered) }
