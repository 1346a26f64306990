// What BuildKit's own parser and linter have against a Dockerfile, a line for each; nothing is built, and no registry
// is asked: of the base image only its platform is needed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

var platform = ocispecs.Platform{OS: "linux", Architecture: "amd64"}

type offline struct{}

func (offline) ResolveImageConfig(
	_ context.Context, ref string, _ sourceresolver.Opt,
) (string, digest.Digest, []byte, error) {
	config, err := json.Marshal(ocispecs.Image{Platform: platform})
	return ref, digest.FromBytes(config), config, err
}

func lint(path string) (found []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sources := llb.NewSourceMap(nil, path, "Dockerfile", text)
	sources.Definition = &llb.Definition{}
	results, err := dockerfile2llb.DockerfileLint(context.Background(), text, dockerfile2llb.ConvertOpt{
		SourceMap: sources, TargetPlatform: &platform, MetaResolver: offline{},
	})
	if err != nil {
		return nil, err
	}
	for _, warning := range results.Warnings {
		found = append(found, warning.RuleName+": "+warning.Detail)
	}
	if results.Error != nil {
		found = append(found, results.Error.Message)
	}
	return found, nil
}

func main() {
	found, err := lint(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, line := range found {
		fmt.Println(line)
	}
}
