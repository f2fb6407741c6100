package bench

import (
	"fmt"
	"html/template"
	"os"
	"strings"

	"github.com/hearthdb/hearth/internal/restart"
)

// draw writes the pictures beside the page, and the page with the pictures in it.
func (d *demo) draw(results []DemoResult) error {
	if d.cfg.Page == "" {
		return nil
	}
	var lines []restart.Styled
	for i, r := range results {
		lines = append(lines, restart.Styled{Timeline: r.line, Label: r.Title, Color: demoScenes[i].color, Dashed: demoScenes[i].stop == StopClean})
	}
	subtitle := fmt.Sprintf("%d clients over the MySQL protocol, each transaction reads nine rows and changes one; %.2f GB of rows",
		demoClients, float64(d.cfg.Bytes)/1e9)
	if disk := d.server.Disk.String(); disk != "" {
		subtitle += "; the " + disk
	}
	base := d.cfg.pictures()
	picture := restart.Picture{
		Title: demoTitle(results), Subtitle: subtitle, Unit: "transactions per second", Mark: "restart", Window: pictureWindow,
		From: -d.cfg.Before.Seconds(), To: d.cfg.After.Seconds(),
	}
	if err := picture.Lines(lines).Save(base); err != nil {
		return err
	}
	page := demoPage{Title: demoTitle(results), Subtitle: subtitle, Results: results}
	for file, into := range map[string]*template.HTML{base + ".svg": &page.Light, base + "-dark.svg": &page.Dark} {
		svg, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		*into = inlineSVG(svg)
	}
	f, err := os.Create(d.cfg.Page)
	if err != nil {
		return err
	}
	if err := demoTemplate.Execute(f, page); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", d.cfg.Page, err)
	}
	return f.Close()
}

// demoTitle says the finding.
func demoTitle(results []DemoResult) string {
	if len(results) == 0 {
		return "Nothing was restarted"
	}
	first := results[0]
	if first.FifthSecond < 0 {
		return fmt.Sprintf("Killed under load, hearth answers again after %.2f s", first.Blackout)
	}
	return fmt.Sprintf("Killed under load, hearth answers again after %.2f s and is at %.0f %% of full speed in the fifth second",
		first.Blackout, first.FifthSecond)
}

type demoPage struct {
	Title, Subtitle string
	Light, Dark     template.HTML
	Results         []DemoResult
}

// inlineSVG is an SVG file of our own without the XML declaration, which HTML does not want.
func inlineSVG(svg []byte) template.HTML {
	s := string(svg)
	if at := strings.Index(s, "<svg"); at > 0 {
		s = s[at:]
	}
	return template.HTML(s)
}

var demoTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hearth: {{.Title}}</title>
<style>
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--net:#d0d7de;--paper:#fff}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}
svg{width:100%;height:auto}.wide{overflow-x:auto}.dark{display:none}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.4rem .6rem;border-bottom:1px solid var(--net)}
th:first-child,td:first-child{text-align:left}
small{color:var(--soft)}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9ea7b3;--net:#30363d;--paper:#0d1117}.light{display:none}.dark{display:block}}
</style>
<div class="light">{{.Light}}</div><div class="dark">{{.Dark}}</div>
<div class="wide"><table>
<tr><th>restart<th>blackout<th>before<th>fifth second<th>back at 90 %<th>commits acknowledged<th>lost
{{range .Results}}<tr><td>{{.Title}}<br><small>{{.Start}}</small><td>{{printf "%.2f s" .Blackout}}<td>{{printf "%.0f/s" .Before}}<td>{{.Fifth}}<td>{{.Back}}<td>{{.Acknowledged}}<td>{{.Lost}}
{{end}}</table></div>
<p><small>{{.Subtitle}}. The blackout is the time from the last answer to the first; seconds to 90 % count from the first answer.</small></p>
</html>
`))
