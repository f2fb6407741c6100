// Package chart draws measurements: lines over time and bars side by side, as SVG and PNG, on light and on dark paper.
//
// It does not know what was measured. The drawing itself is gonum's plot; here is the look: titles that say the finding, one
// colour for one system everywhere, labels with units.
//
// # Rules
//
//  1. A system has one colour, see Colors; two lines of one system differ by their dashes.
//  2. A picture without data is an error, not an empty picture.
//  3. Save writes all four files or says which one failed.
package chart
