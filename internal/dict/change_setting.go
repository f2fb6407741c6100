package dict

import "strings"

// The settings: persisted variables and users. They have no names that could be locked; whoever changes them holds SettingsLock
// exclusively.

// PutVariable stores the value of a global variable (SET PERSIST).
func (c *Change) PutVariable(name, value string) error {
	if err := checkName(name); err != nil {
		return err
	}
	record := encode(variableRecord{versioned{format}, text(value)})
	if err := c.put(variablePrefix+strings.ToLower(name), record); err != nil {
		return err
	}
	c.add(func(e *edit) { put(e, &e.next.variables, name, value) })
	return nil
}

// DropVariable forgets the persisted value of a variable. It is no error if there is none.
func (c *Change) DropVariable(name string) error {
	if _, ok := c.Schema().Variable(name); !ok {
		return nil
	}
	if err := c.delete(variablePrefix + strings.ToLower(name)); err != nil {
		return err
	}
	c.add(func(e *edit) { drop(e, &e.next.variables, name) })
	return nil
}

// PutUsers stores the users and grants, opaque bytes to us. It keeps no reference to data.
func (c *Change) PutUsers(data []byte) error {
	data = append([]byte{}, data...)
	if err := c.put(usersKey, encode(usersRecord{versioned{format}, data})); err != nil {
		return err
	}
	c.add(func(e *edit) { e.next.users = data })
	return nil
}
