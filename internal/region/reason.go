package region

// Reason says why surviving memory was thrown away. Empty: it was not.
type Reason string

const (
	ReasonUnfinished         Reason = "its creation was not finished"
	ReasonOtherLayout        Reason = "other layout or format"
	ReasonDamagedHeader      Reason = "damaged header"
	ReasonForeignUUID        Reason = "foreign database"
	ReasonOtherBoot          Reason = "other boot of the machine"
	ReasonThirdAttach        Reason = "third attach in a row that did not get ready"
	ReasonStaleIncarnation   Reason = "the database ran without it meanwhile"
	ReasonDamagedDescriptors Reason = "damaged descriptors"
)

// keepsRing tells whether the ring is still good when the frames go for this reason.
func (why Reason) keepsRing() bool {
	return why == ReasonThirdAttach || why == ReasonDamagedDescriptors
}
