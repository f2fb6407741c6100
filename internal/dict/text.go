package dict

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// text is a string that may hold any bytes: literals in statements do. JSON strings cannot, so what is not valid UTF-8 is stored
// as {"base64": "..."}.
type text string

type opaqueText struct {
	Base64 string `json:"base64"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(opaqueText{base64.StdEncoding.EncodeToString([]byte(t))})
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	var o opaqueText
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(o.Base64)
	if err != nil {
		return fmt.Errorf("text in base64: %w", err)
	}
	*t = text(raw)
	return nil
}

func textsOf(list []string) []text {
	if list == nil {
		return nil
	}
	out := make([]text, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

func stringsOf(list []text) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = string(t)
	}
	return out
}
