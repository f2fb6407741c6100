package sqlparse

import (
	"context"
)

// account passes 'user'@'host', or CURRENT_USER.
func account(c *cursor, ctx context.Context) (user, host string, ok bool) {
	if c.acceptAny("CURRENT_USER", "USER") {
		if c.accept("(") && !c.accept(")") {
			return "", "", false
		}
		client, ok := clientOf(ctx)
		return client.User, client.Address, ok
	}
	if user, ok = accountPart(c); !ok {
		return "", "", false
	}
	host = "%"
	if c.accept("@") {
		if host, ok = accountPart(c); !ok {
			return "", "", false
		}
	}
	return user, host, true
}

func accountPart(c *cursor) (string, bool) {
	if t := c.at(0); t.kind == str {
		c.i++
		return c.src[t.start+1 : t.end-1], true
	}
	return c.name()
}

// setPassword: SET PASSWORD [FOR account] = 'text' | PASSWORD('text') [REPLACE 'old'] [RETAIN CURRENT PASSWORD].
func setPassword(c *cursor, ctx context.Context) (string, bool) {
	client, known := clientOf(ctx)
	user, host := client.User, client.Address
	if c.accept("FOR") {
		if user, host, known = account(c, ctx); !known {
			return "", false
		}
	}
	if !known || !c.accept("=") {
		return "", false
	}
	wrapped := c.accept("PASSWORD", "(")
	password, ok := c.literal()
	if !ok || wrapped && !c.accept(")") {
		return "", false
	}
	if c.accept("REPLACE") { // the old password is asked for by policy only, and there is none
		if _, ok := c.literal(); !ok {
			return "", false
		}
	}
	if !c.done() { // RETAIN CURRENT PASSWORD would leave two
		return "", false
	}
	return "ALTER USER " + quoteString(user) + "@" + quoteString(host) + " IDENTIFIED BY " + password, true
}

// setRole accepts what asks for roles that are active anyhow; SET ROLE NONE would take rights away, and is refused.
func setRole(c *cursor, ctx context.Context) (string, bool) {
	if c.is(0, "NONE") {
		return "", false
	}
	return nothing(c, ctx)
}

func alterOwnUser(c *cursor, ctx context.Context) (string, bool) {
	client, ok := clientOf(ctx)
	if c.accept("(") && !c.accept(")") || !ok {
		return "", false
	}
	return "ALTER USER " + quoteString(client.User) + "@" + quoteString(client.Address) + " " + c.rest(), true
}
