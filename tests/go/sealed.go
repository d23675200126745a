// What Go's own packages say of a log that was sealed: golang.org/x/mod/sumdb, note and tlog.
//
// Usage: sealed KEY FOLDER PROOF LEAF
//
// FOLDER is what a place keeps of a shard. Each of its checkpoints must be signed with KEY, and the
// largest must go on from it, by hashes that are read from the tiles. PROOF is a C2SP tlog-proof,
// which must prove the event whose leaf is LEAF, in hexadecimal digits.
package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// tiles reads the tiles of a folder.
type tiles string

func (folder tiles) Height() int { return 8 }

func (folder tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (folder tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, tile := range wanted {
		// C2SP's paths are those of Go without the height.
		name := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		bytes, err := os.ReadFile(filepath.Join(string(folder), name))
		if err != nil {
			return nil, err
		}
		data = append(data, bytes)
	}
	return data, nil
}

func main() {
	key, folder, proof, leaf := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	verifier, err := note.NewVerifier(key)
	must(err)
	keys := note.VerifierList(verifier)
	names, err := filepath.Glob(filepath.Join(folder, "checkpoints", "*"))
	must(err)
	last := checkpoint(keys, read(names[len(names)-1]))
	hashes := tlog.TileHashReader(last, tiles(folder))
	for _, name := range names {
		old := checkpoint(keys, read(name))
		consistency, err := tlog.ProveTree(last.N, old.N, hashes)
		must(err)
		must(tlog.CheckTree(consistency, last.N, last.Hash, old.N, old.Hash))
	}
	fmt.Printf("checkpoints: %d, the last one of size %d\n", len(names), last.N)
	index, inclusion, tree := recordProof(keys, read(proof))
	var sealed tlog.Hash
	_, err = hex.Decode(sealed[:], []byte(leaf))
	must(err)
	must(tlog.CheckRecord(inclusion, tree.N, tree.Hash, index, sealed))
	fmt.Printf("event %d of %d is proved\n", index+1, tree.N)
}

func checkpoint(keys note.Verifiers, text string) tlog.Tree {
	signed, err := note.Open([]byte(text), keys)
	must(err)
	lines := strings.Split(signed.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	root, err := tlog.ParseHash(lines[2])
	must(err)
	return tlog.Tree{N: size, Hash: root}
}

func recordProof(keys note.Verifiers, text string) (int64, tlog.RecordProof, tlog.Tree) {
	head, signed, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	must(err)
	var hashes tlog.RecordProof
	for _, line := range lines[2:] {
		hash, err := tlog.ParseHash(line)
		must(err)
		hashes = append(hashes, hash)
	}
	return index, hashes, checkpoint(keys, signed)
}

func read(name string) string {
	text, err := os.ReadFile(name)
	must(err)
	return string(text)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
