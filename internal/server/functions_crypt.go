package server

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"strconv"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

var cryptFunctions = []*function{
	{name: "aes_encrypt", min: 2, max: 3, result: types.LongBlob, call: aesEncrypt},
	{name: "aes_decrypt", min: 2, max: 3, result: types.LongBlob, call: aesDecrypt},
}

// aesMode reads block_encryption_mode, such as aes-256-cbc, and makes the cipher of it. MySQL folds the key: the bytes beyond its
// length are XORed over its beginning.
func aesMode(ctx *gms.Context, key []byte, args []any) (block cipher.Block, iv []byte, err error) {
	mode := "aes-128-ecb"
	if v, err := ctx.GetSessionVariable(ctx, "block_encryption_mode"); err == nil {
		if s, ok := v.(string); ok && s != "" {
			mode = strings.ToLower(s)
		}
	}
	parts := strings.Split(mode, "-")
	if len(parts) != 3 || parts[0] != "aes" {
		return nil, nil, wrongArguments("block_encryption_mode")
	}
	bits, err := strconv.Atoi(parts[1])
	if err != nil || bits != 128 && bits != 192 && bits != 256 {
		return nil, nil, wrongArguments("block_encryption_mode")
	}
	folded := make([]byte, bits/8)
	for i, b := range key {
		folded[i%len(folded)] ^= b
	}
	if block, err = aes.NewCipher(folded); err != nil {
		return nil, nil, err
	}
	switch parts[2] {
	case "ecb":
		return block, nil, nil
	case "cbc":
		if len(args) < 3 {
			return nil, nil, wrongArguments("aes_encrypt: the mode " + mode + " needs an initialization vector")
		}
		if iv, err = bytesArg(ctx, args[2]); err != nil {
			return nil, nil, err
		}
		if len(iv) < aes.BlockSize {
			return nil, nil, wrongArguments("aes_encrypt: the initialization vector has less than 16 bytes")
		}
		return block, iv[:aes.BlockSize], nil
	}
	return nil, nil, sqlError(errNotSupportedYet, stateSyntaxOrAccess, "This version of hearth doesn't support the mode "+mode)
}

// errNotSupportedYet is ER_NOT_SUPPORTED_YET.
const errNotSupportedYet = 1235

func aesEncrypt(ctx *gms.Context, args []any) (any, error) {
	text, block, iv, err := aesArgs(ctx, args)
	if err != nil {
		return nil, err
	}
	n := aes.BlockSize - len(text)%aes.BlockSize
	out := append(bytes.Clone(text), bytes.Repeat([]byte{byte(n)}, n)...)
	if iv != nil {
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(out, out)
		return out, nil
	}
	for i := 0; i < len(out); i += aes.BlockSize {
		block.Encrypt(out[i:], out[i:])
	}
	return out, nil
}

// aesDecrypt is NULL for what no encryption with this key gives.
func aesDecrypt(ctx *gms.Context, args []any) (any, error) {
	text, block, iv, err := aesArgs(ctx, args)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || len(text)%aes.BlockSize != 0 {
		return nil, nil
	}
	out := bytes.Clone(text)
	if iv != nil {
		cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, out)
	} else {
		for i := 0; i < len(out); i += aes.BlockSize {
			block.Decrypt(out[i:], out[i:])
		}
	}
	n := int(out[len(out)-1])
	if n < 1 || n > aes.BlockSize || !bytes.Equal(out[len(out)-n:], bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, nil
	}
	return out[:len(out)-n], nil
}

func aesArgs(ctx *gms.Context, args []any) (text []byte, block cipher.Block, iv []byte, err error) {
	if text, err = bytesArg(ctx, args[0]); err != nil {
		return nil, nil, nil, err
	}
	key, err := bytesArg(ctx, args[1])
	if err != nil {
		return nil, nil, nil, err
	}
	block, iv, err = aesMode(ctx, key, args)
	return text, block, iv, err
}
